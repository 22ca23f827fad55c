"""`archspec verify --changed` beside another release of transformers: what is new, gone, or different."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from archspec.cli.verbs.derive import write_drafts
from archspec.errors import ArchspecError
from archspec.specs.exported import exported
from archspec.specs.library import TRANSFORMERS_VERSION, shipped

Key = tuple[str, str]  # a model type and a class
SAMPLES = 2  # random configs for each class: a release is looked over in minutes


def is_another() -> bool:
    """Whether the transformers that is installed is not the one that the specs describe."""
    from archspec.oracle import versions

    return versions()["transformers"] != TRANSFORMERS_VERSION


def run(
    samples: int, seed: int, jobs: int, output: str, done: Callable[[list[Any]], None] | None = None
) -> tuple[Any, list[str]]:
    """The verification of what both releases have, and the lines on what only one has."""
    from archspec import oracle
    from archspec.verify import campaign

    here = {key: listing.reads for key, listing in oracle.exported().items()}
    known = {
        (kind, name): line.reads for kind, found in exported().items() for name, line in found.classes.items()
    }
    described: dict[str, dict[str, None]] = {}
    for (_, name), model_type in here.items():
        if model_type in shipped().index().get(name, ()):
            described.setdefault(model_type, {})[name] = None
    report = campaign.run(
        {kind: tuple(names) for kind, names in sorted(described.items())}, samples, seed, jobs, done
    )
    new = sorted(here.keys() - known.keys())
    return report, [
        *_listed("new", new, drafted(new, output)),
        *_listed("gone", sorted(known.keys() - here.keys())),
    ]


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
    from archspec.derive import draft, find

    told: dict[str, str] = {}
    for model_type in dict.fromkeys(model_type for model_type, _ in new):
        try:
            target = find(model_type, "")
            paths = write_drafts(draft(target.model_type, target.config, target.classes), output)
        except ArchspecError as error:
            told[model_type] = f"no draft: {error.problems[0].message}"
        else:
            told[model_type] = f"draft: {paths[0]}"
    return told
