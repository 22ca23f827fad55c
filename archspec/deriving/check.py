"""A draft taken through the real compiler, and held to transformers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from archspec.deriving.session import Draft
from archspec.errors import ArchspecError, Problem
from archspec.specs.library import Library, shipped_library
from archspec.specs.records import Spec

if TYPE_CHECKING:
    from archspec.deriving.target import Target
    from archspec.verifying.verifier import Outcome


@contextmanager
def overlay(drafts: list[Draft], keep: bool = True) -> Iterator[Library]:
    """The library with drafts in it, in a folder of their own; ``keep`` leaves specs that exist as
    they are."""
    with tempfile.TemporaryDirectory() as folder:
        described = set(shipped_library().model_types())
        for index, draft in enumerate(drafts):
            kept = keep and index and draft.model_type in described and not missing(draft)
            if not kept:
                with open(os.path.join(folder, draft.model_type + ".yaml"), "w", encoding="utf-8") as file:
                    file.write(draft.text)
        yield Library(folder, *shipped_library().folders)


def missing(draft: Draft) -> list[str]:
    """What other drafts need of a draft, and the library's own spec of the model type does not have."""
    spec = shipped_library().load(draft.model_type)
    fields = {*spec.fields, *spec.fixed, *spec.attribute_map, "num_labels", "model_type"}
    return [name for name in draft.asked if name not in fields and spec.module(name) is None]


def compiled(draft: Draft, library: Library) -> Spec:
    """The draft as the compiler reads it. Errors: :class:`archspec.errors.SpecError` for what it does not
    take."""
    path = os.path.join(library.folder, draft.model_type + ".yaml")
    return library.load_file(path) if os.path.isfile(path) else library.load(draft.model_type)


def verified(draft: Draft, target: Target, library: Library, samples: int, seed: int) -> list[Outcome]:
    """How each class of a draft does under verify."""
    from archspec.verifying.verifier import verify_spec

    spec = compiled(draft, library)
    if target.own:
        from archspec.deriving.own_check import verify_class

        return [verify_class(spec, target, name, samples, seed) for name in draft.architectures]
    return [verify_spec(spec, name, samples, seed) for name in draft.architectures]


def unread(draft: Draft, target: Target, library: Library) -> list[Problem]:
    """The statements of the user's own code that were not read, where the draft lacks what they make."""
    if not target.own or not draft.skipped:
        return []
    from archspec.deriving.own_check import OwnClass
    from archspec.verifying.comparison import Comparer

    spec = compiled(draft, library)
    checks = (Comparer(spec, name, OwnClass(spec, target, name)) for name in draft.architectures)
    wrong = any(check.compare({"model_type": draft.model_type})[0] for check in checks)
    return draft.skipped if wrong else []


def params(draft: Draft, library: Library, architecture: str) -> int | None:
    """The parameters of a class at its default config, None where the draft refuses that one."""
    from archspec.configs.scope import Scope
    from archspec.tree.builder import Builder
    from archspec.tree.tensors import quantities_of, tensors

    try:
        return quantities_of(tensors(Builder(Scope(compiled(draft, library), {})).build(architecture)))[
            "params"
        ]
    except ArchspecError:
        return None
