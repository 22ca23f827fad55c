"""What is described, as a report: the model types and their architectures."""

from __future__ import annotations

from collections.abc import Iterator

from archspec.arguments import checked, takes
from archspec.errors import Problem, UnknownArchitectureError, did_you_mean
from archspec.models.report import Report
from archspec.reports import Block, Table
from archspec.specs.library import Library
from archspec.specs.search_path import Specs, is_own, library_of
from archspec.typing_light import Any


class Catalogue(Report):
    """The model types that are described, with their architectures; made by :func:`catalogue`.

    ``model_types`` maps each to its architectures, the base model first; ``notes`` say where those stand that
    are not shipped, what they are in place of, and what is wrong with others.
    """

    def __init__(self, model_types: dict[str, tuple[str, ...]], notes: list[str]) -> None:
        self.model_types, self.notes = model_types, notes

    def as_json(self) -> dict[str, Any]:
        """Plain data, as `archspec list --json` prints it."""
        listed = [
            {"model_type": model_type, "architectures": list(names)}
            for model_type, names in self.model_types.items()
        ]
        return {"model_types": listed, "notes": self.notes}

    def blocks(self) -> Iterator[Block]:
        """A row for each model type, and the notes."""
        none = "(refused, or a part of others)"
        rows = [(model_type, " ".join(names) or none) for model_type, names in self.model_types.items()]
        count = sum(map(len, self.model_types.values()))
        caption = f"{count} architectures of {len(rows)} model types"
        yield Table("model type|architectures", rows, caption=caption, header=False)
        yield from (f"note: {note}" for note in self.notes)


@takes("list")
def catalogue(filter: str = "", specs: Specs = ()) -> Catalogue:
    """What :func:`archspec.load` takes: the model types and architectures whose names contain a text.

    ``specs`` are folders of specs of one's own.

    Errors: :class:`UnknownArchitectureError` where none does.

    >>> import archspec
    >>> print(archspec.catalogue("kosmos-2"))
    kosmos-2    Kosmos2Model Kosmos2ForConditionalGeneration
    kosmos-2.5  Kosmos2_5Model Kosmos2_5ForConditionalGeneration
    """
    library = library_of(specs)
    library.widen()
    found = library.catalogue()
    wanted = filter.lower()
    shown: dict[str, tuple[str, ...]] = {}
    for model_type, names in found.items():
        fitting = tuple(name for name in names if wanted in name.lower())
        if wanted in model_type.lower():
            shown[model_type] = names
        elif fitting:
            shown[model_type] = fitting
    if not shown:
        help_ = did_you_mean(filter, [*found, *(name for names in found.values() for name in names)])
        missing = Problem(f"nothing that is described contains {filter!r}", help=help_)
        raise UnknownArchitectureError([missing, *library.unread])
    return Catalogue(shown, [*_of_ones_own(library, shown)])


def _of_ones_own(library: Library, shown: dict[str, tuple[str, ...]]) -> Iterator[str]:
    for model_type in shown:
        first, *others = library.hidden(model_type)
        if is_own(library, model_type):
            hidden = "".join(f", in place of {one}" for one in others)
            yield f"{model_type} is described in {first}{hidden}"
    yield from map(str, library.unread)


@checked()
def architectures(specs: Specs = ()) -> list[str]:
    """Every architecture name that :func:`load` accepts, sorted."""
    library = library_of(specs)
    library.widen()
    return sorted(library.index())
