"""`archspec verify --changed` with another release of transformers: what it adds, removes and changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from glob import glob
from typing import Any, NamedTuple

from archspec.authoring.derive import new_drafts, save
from archspec.errors import ArchspecError
from archspec.specs.exported import exported_types
from archspec.specs.library import TRANSFORMERS_VERSION, shipped_library
from archspec.sweeping.files import refuse_existing

Key = tuple[str, str]  # a model type and a class
SAMPLES = 2  # random configs for each class, so that a release takes minutes


class Changes(NamedTuple):
    """Classes of one release only, and the supported classes of both by the model type that they read."""

    new: list[Key]
    gone: list[Key]
    both: dict[str, tuple[str, ...]]


def is_another() -> bool:
    """Return True if the installed transformers is not the one that the specs match."""
    from archspec.reference import versions

    return versions()["transformers"] != TRANSFORMERS_VERSION


def changes() -> Changes:
    """Return how the classes of the installed transformers differ from those that the specs match."""
    from archspec import reference

    here = {key: listing.reads for key, listing in reference.exported_classes().items()}
    known = {(kind, name) for kind, found in exported_types().items() for name in found.classes}
    both: dict[str, dict[str, None]] = {}
    for (_, name), model_type in here.items():
        if model_type in shipped_library().index().get(name, ()):
            both.setdefault(model_type, {})[name] = None
    supported = {model_type: tuple(names) for model_type, names in sorted(both.items())}
    return Changes(sorted(here.keys() - known), sorted(known - here.keys()), supported)


def verify_release(
    seed: int, jobs: int, output: str, done: Callable[[Any], None], overwrite: bool
) -> tuple[Any, list[str]]:
    """Return the verification of the classes of both releases, and lines on those of one release only.

    Errors: :class:`ArchspecError` if ``output`` has drafts already, unless ``overwrite``.
    """
    from archspec.verifying import campaign

    for path in glob(os.path.join(output, "*.yaml")):
        refuse_existing(path, overwrite)
    found = changes()
    report = campaign.run(found.both, SAMPLES, seed, jobs, done)
    new = _list_classes("new", found.new, draft_classes(found.new, output))
    return report, [*new, *_list_classes("removed", found.gone, {})]


def _list_classes(what: str, keys: list[Key], notes: dict[str, str]) -> Iterator[str]:
    types: dict[str, list[str]] = {}
    for model_type, name in keys:
        types.setdefault(model_type, []).append(name)
    yield f"{what}: {len(keys)} classes of {len(types)} model types"
    for model_type, names in types.items():
        note = f" ({notes[model_type]})" if model_type in notes else ""
        yield f"    {model_type}: {' '.join(names)}{note}"


def draft_classes(new: list[Key], output: str) -> dict[str, str]:
    """Return, for each model type, the path of its draft, or the reason for its absence."""
    from archspec.deriving import draft, find

    found: dict[str, str] = {}
    for model_type in dict.fromkeys(model_type for model_type, _ in new):
        try:
            target = find(model_type, "")
            drafts = draft(target.model_type, target.config, target.classes)
            paths = save(new_drafts(drafts), output, overwrite=True)  # parts may be shared
            found[model_type] = f"draft: {paths[0]}"
        except ArchspecError as error:
            found[model_type] = f"no draft: {error.problems[0].message}"
    return found
