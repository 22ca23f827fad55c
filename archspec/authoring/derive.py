"""`archspec.derive`: a spec drafted from the constructor of a class, and validated against the class."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from archspec.arguments import check_arguments, check_arguments_of
from archspec.authoring.verify import OutcomeFacts as OutcomeFacts
from archspec.deriving import Draft, compiled, draft, find, overlay, params, unread, verified
from archspec.errors import ArchspecError, SpecError, option
from archspec.extras import optional_import
from archspec.models.report import Report, fact
from archspec.reports import Block
from archspec.sweeping.files import refuse_existing
from archspec.verifying.verifier import Outcome

_SHOWN = 3


class Derived(Report):
    """Specs drafted from constructors, with verification results; made by :func:`archspec.derive`.

    It prints as the specs. ``outcomes`` are the items of ``architectures``.
    """

    drafts: dict[str, str] = fact(
        "spec text by model type, the requested one first",
        lambda self: {part.model_type: part.text for part in self._drafts},
        least=1,
    )
    unread: dict[str, str] = fact(
        "classes that could not be read, with the reason", lambda self: self._drafts[0].failed
    )
    refusal: SpecError | None = fact(
        "reason why the draft is invalid, or null",
        kind="str | None",
        json=lambda self: None if self.refusal is None else str(self.refusal),
    )
    architectures: list[Outcome] = fact(
        "the result of each class of the draft; empty if the draft was not verified",
        lambda self: self.outcomes,
        kind="list[OutcomeFacts]",
    )

    def __init__(
        self, drafts: Sequence[Draft], outcomes: Sequence[Outcome], refusal: SpecError | None = None
    ) -> None:
        self._drafts, self.outcomes, self.refusal = new_drafts(drafts), list(outcomes), refusal

    @property
    def has_differences(self) -> bool:
        """True if a class differs from the draft, or could not be read."""
        is_wrong = any(outcome.verdict == "wrong" for outcome in self.outcomes)
        return is_wrong or bool(self.unread) or self.refusal is not None

    @check_arguments
    def save(self, folder: str, overwrite: bool = False) -> list[str]:
        """Write each spec to a file in a directory, and return the files.

        Errors: :class:`ArchspecError`, also if a file exists, unless ``overwrite``.
        """
        return save(self._drafts, folder, overwrite)

    def as_json(self) -> dict[str, Any]:
        """Return plain data, as `archspec derive --json` prints it."""
        plain: dict[str, Any] = json.loads(json.dumps(super().as_json(), default=str))
        return plain  # configs hold whatever code takes

    def blocks(self) -> Iterator[Block]:
        """Yield the specs; each but the first is preceded by its file name."""
        for index, (model_type, text) in enumerate(self.drafts.items()):
            if index:
                yield f"\n# ---- {model_type}.yaml"
            yield text.removesuffix("\n")

    def verdicts(self) -> Iterator[str]:
        """Yield the result of each class as lines."""
        for outcome in self.outcomes:
            yield from _verdict(outcome)
        if self.refusal is not None:
            yield f"the draft is invalid:\n{self.refusal}"
        else:
            yield from (f"unread {name}: {reason}" for name, reason in self.unread.items())


@check_arguments_of("derive")
def derive(
    name: str | type,
    *,
    config: str | type = "",
    kwargs: Mapping[str, Any] | None = None,
    output: str | None = None,
    samples: int = 10,
    seed: int = 0,
    verify: bool = True,
    overwrite: bool = False,
) -> Derived:
    """Draft a spec from the constructor of a class, and verify it with ``samples`` random configs.

    ``name`` is a class, its name in transformers, a model type, or `module:Class` for your own class.
    ``config`` is its config class (or `module:Class`) if the constructor does not annotate it; ``kwargs`` are
    the keyword arguments of a class without a config. The specs are written to the directory ``output``;
    existing files are replaced only with ``overwrite``.

    Needs the extra `verify`. Errors: :class:`ArchspecError` for code that does not exist or cannot be read.
    """
    with optional_import():
        target = find(_class_name(name), _class_name(config), dict(kwargs or {}))
        drafts = draft(target.model_type, target.config, target.classes)
        if output:
            _paths(new_drafts(drafts), output, overwrite)
        outcomes: list[Outcome] = []
        counts: dict[str, int | None] = {}
        refusal: SpecError | None = None
        with overlay(drafts) as library:
            try:
                for part in drafts:
                    compiled(part, library)
                if problems := unread(drafts[0], target, library):
                    raise ArchspecError(problems)
                if verify:
                    outcomes = verified(drafts[0], target, library, samples, seed)
                counts = {one: params(drafts[0], library, one) for one in drafts[0].architectures}
            except SpecError as error:
                refusal = error
    for one in outcomes:
        drafts[0].record_verdict(one.architecture, one.verdict, one.compared, counts[one.architecture])
    if target.own and any(outcome.verdict == "wrong" for outcome in outcomes):
        drafts[0].refuse()
    found = Derived(drafts, outcomes, refusal)
    if output:
        found.save(output, overwrite)
    return found


def _class_name(cls: str | type) -> str:
    if isinstance(cls, str):
        return cls
    if cls.__module__.partition(".")[0] == "transformers":
        return cls.__name__
    return f"{cls.__module__}:{cls.__qualname__}"


def new_drafts(drafts: Sequence[Draft]) -> list[Draft]:
    """Return the requested draft, and those of its parts without a shipped spec."""
    from archspec.specs.library import shipped_library

    supported = set(shipped_library().model_types())
    return [part for index, part in enumerate(drafts) if not index or part.model_type not in supported]


def _paths(drafts: Sequence[Draft], folder: str, overwrite: bool) -> list[str]:
    """Return the files of drafts. Errors: :class:`ArchspecError` if one exists, unless ``overwrite``."""
    paths = [os.path.join(folder, part.model_type + ".yaml") for part in drafts]
    for path in paths:
        refuse_existing(path, overwrite)
    return paths


def save(drafts: Sequence[Draft], folder: str, overwrite: bool = False) -> list[str]:
    """Write drafts, and return the files. Errors: :class:`ArchspecError`, also if a file exists."""
    paths = _paths(drafts, folder, overwrite)
    try:
        os.makedirs(folder, exist_ok=True)
        for path, part in zip(paths, drafts, strict=True):
            with open(path, "w", encoding="utf-8") as file:
                file.write(part.text)
    except OSError as error:
        message = f"{folder}: {error.strerror or error}"
        raise ArchspecError(message, help=f"choose a writable directory for {option('output')}") from None
    return paths


def _verdict(outcome: Outcome) -> Iterator[str]:
    kinds = Counter(difference.kind for difference in outcome.differences)
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    compared = f"{outcome.compared} configs" + (f"; {counts}" if counts else "")
    yield f"{outcome.verdict} {outcome.architecture} ({compared})"
    for difference in outcome.differences[:_SHOWN]:
        config = {key: value for key, value in difference.config.items() if key != "model_type"}
        sides = f"the code {difference.expected[:120]!r}, the draft {difference.found[:120]!r}"
        yield f"  {difference.kind} {difference.name}: {sides}; {json.dumps(config, default=str)[:160]}"
