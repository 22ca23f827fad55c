"""The supported model types and their architectures, as a report."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping

from archspec.arguments import check_arguments, check_arguments_of
from archspec.errors import Problem, UnknownArchitectureError, list_names, nearest_names
from archspec.models.report import Record, Report, fact, note_lines
from archspec.reports import Block, Table
from archspec.specs.search_path import Specs, is_own, library_of


class ModelType(Record):
    """a model type"""

    model_type: str = fact("the model type", lambda one: one[0])
    architectures: list[str] = fact(
        "its supported classes, the base model first; may be empty", lambda one: one[1]
    )


class Catalog(Report):
    """The supported models; made by :func:`archspec.catalog`.

    ``model_types`` maps each model type to its architectures, the base model first. ``invalid`` are the model
    types of custom specs that are not valid.
    """

    model_types: Mapping[str, tuple[str, ...]] = fact(
        "the matching model types, sorted",
        kind="list[ModelType]",
        json=lambda self: self.model_types.items(),
        least=1,
    )
    notes: list[str] = fact("locations of custom specs, and problems in them")

    def __init__(
        self, model_types: dict[str, tuple[str, ...]], notes: list[str], invalid: Collection[str]
    ) -> None:
        self.model_types, self.notes, self.invalid = model_types, notes, invalid

    def blocks(self) -> Iterator[Block]:
        """Yield a row for each model type, and the notes."""
        rows = [
            (name, " ".join(names) or ("(invalid spec)" if name in self.invalid else "(no supported class)"))
            for name, names in self.model_types.items()
        ]
        count = sum(map(len, self.model_types.values()))
        caption = f"{count} architectures of {len(rows)} model types"
        yield Table("model type|architectures", rows, caption=caption, header=False)
        yield from note_lines(self.notes)


@check_arguments_of("list")
def catalog(filter: str = "", specs: Specs = ()) -> Catalog:
    """Return the supported model types and architectures whose names contain ``filter``.

    ``specs`` are directories with your own specs.

    >>> import archspec
    >>> print(archspec.catalog("kosmos-2"))
    kosmos-2    Kosmos2Model Kosmos2ForConditionalGeneration
    kosmos-2.5  Kosmos2_5Model Kosmos2_5ForConditionalGeneration
    """
    library = library_of(specs)
    library.add_fallbacks()
    found, wanted = library.catalog(), filter.lower()
    shown: dict[str, tuple[str, ...]] = {}
    for model_type, names in found.items():
        if wanted in model_type.lower():
            shown[model_type] = names
        elif matching := tuple(name for name in names if wanted in name.lower()):
            shown[model_type] = matching
    if not shown:
        near = nearest_names(filter, [*found, *(name for names in found.values() for name in names)])
        help_ = f"did you mean {list_names(near)}?" if near else "run archspec list to see all"
        missing = Problem(f"no supported model type or class contains {filter!r}", help=help_)
        raise UnknownArchitectureError([missing, *library.unread])
    files = {one.place.source.name for one in library.unread if one.place}
    invalid = {os.path.basename(file).removesuffix(".yaml") for file in files}
    notes = [
        f"{one} is in {', instead of '.join(library.files_of(one))}" for one in shown if is_own(library, one)
    ]
    return Catalog(shown, [*notes, *map(str, library.unread)], invalid)


@check_arguments
def architectures(specs: Specs = ()) -> list[str]:
    """Return every architecture name that :func:`archspec.load` accepts, sorted."""
    library = library_of(specs)
    library.add_fallbacks()
    return sorted(library.index())
