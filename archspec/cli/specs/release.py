"""`archspec verify --changed` beside another release of transformers: what is new, gone, or different."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from glob import glob
from typing import Any, NamedTuple

from archspec.authoring.derive import save, undescribed
from archspec.errors import ArchspecError
from archspec.specs.exported import exported
from archspec.specs.library import TRANSFORMERS_VERSION, shipped
from archspec.sweeping.files import refuse_existing

Key = tuple[str, str]  # a model type and a class
SAMPLES = 2  # random configs for each class: a release is looked over in minutes


def is_another() -> bool:
    """Whether the transformers that is installed is not the one that the specs describe."""
    from archspec.reference import versions

    return versions()["transformers"] != TRANSFORMERS_VERSION


class Changes(NamedTuple):
    """What one release has and the other has not; the described classes of both, by the type they read."""

    new: list[Key]
    gone: list[Key]
    both: dict[str, tuple[str, ...]]


def changes() -> Changes:
    """How the classes of the transformers that is installed differ from those that the specs describe."""
    from archspec import reference

    here = {key: listing.reads for key, listing in reference.exported().items()}
    known = {(kind, name) for kind, found in exported().items() for name in found.classes}
    both: dict[str, dict[str, None]] = {}
    for (_, name), model_type in here.items():
        if model_type in shipped().index().get(name, ()):
            both.setdefault(model_type, {})[name] = None
    described = {model_type: tuple(names) for model_type, names in sorted(both.items())}
    return Changes(sorted(here.keys() - known), sorted(known - here.keys()), described)


def run(
    samples: int,
    seed: int,
    jobs: int,
    output: str,
    done: Callable[[list[Any]], None] | None = None,
    overwrite: bool = False,
) -> tuple[Any, list[str]]:
    """The verification of what both releases have, and the lines on what only one has.

    Errors: :class:`ArchspecError` if ``output`` has drafts already, unless ``overwrite``.
    """
    from archspec.verifying import campaign

    for path in glob(os.path.join(output, "*.yaml")):
        refuse_existing(path, overwrite)
    found = changes()
    report = campaign.run(found.both, samples, seed, jobs, done)
    new = _listed("new", found.new, drafted(found.new, output))
    return report, [*new, *_listed("gone", found.gone)]


def _listed(what: str, keys: list[Key], notes: dict[str, str] | None = None) -> Iterator[str]:
    """One line a model type."""
    types: dict[str, list[str]] = {}
    for model_type, name in keys:
        types.setdefault(model_type, []).append(name)
    yield f"{what}: {len(keys)} classes of {len(types)} model types"
    for model_type, names in types.items():
        note = (notes or {}).get(model_type, "")
        yield f"    {model_type}: {' '.join(names)}{note and f' ({note})'}"


def drafted(new: list[Key], output: str) -> dict[str, str]:
    """Model type -> where its draft was written, or why there is none."""
    from archspec.deriving import draft, find

    told: dict[str, str] = {}
    for model_type in dict.fromkeys(model_type for model_type, _ in new):
        try:
            target = find(model_type, "")
            drafts = draft(target.model_type, target.config, target.classes)
            paths = save(undescribed(drafts), output, overwrite=True)  # parts may be shared
        except ArchspecError as error:
            told[model_type] = f"no draft: {error.problems[0].message}"
        else:
            told[model_type] = f"draft: {paths[0]}"
    return told
