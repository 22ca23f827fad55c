"""A draft taken through the real compiler, and held to transformers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from archspec.derive.session import Draft
from archspec.errors import ArchspecError
from archspec.specs import library
from archspec.specs.records import Spec

if TYPE_CHECKING:
    from archspec.derive.target import Target
    from archspec.verify.verifier import Outcome


@contextmanager
def overlay(drafts: list[Draft], keep: bool = True) -> Iterator[str]:
    """The library with drafts in it, in a folder of their own; ``keep`` leaves specs that exist as they are."""
    before = library.folder
    source = before()
    with tempfile.TemporaryDirectory() as folder:
        for name in os.listdir(source):
            os.symlink(os.path.join(source, name), os.path.join(folder, name))
        for index, draft in enumerate(drafts):
            path = os.path.join(folder, draft.model_type + ".yaml")
            if os.path.lexists(path):
                if keep and index and not missing(draft, draft.model_type):
                    continue
                os.unlink(path)
            with open(path, "w", encoding="utf-8") as file:
                file.write(draft.text)
        setattr(library, "folder", lambda: folder)  # noqa: B010 - it is a cached function, of which this is none
        _forget()
        try:
            yield folder
        finally:
            library.folder = before
            _forget()


def missing(draft: Draft, model_type: str) -> list[str]:
    """What other drafts need of a draft, and the library's own spec of the model type does not have."""
    spec = library.load(model_type)
    fields = {*spec.fields, *spec.fixed, *spec.attribute_map, "num_labels", "model_type"}
    return [name for name in draft.asked if name not in fields and spec.module(name) is None]


def _forget() -> None:
    for name in ("load", "index", "model_types"):
        clear = getattr(getattr(library, name), "cache_clear", None)
        if clear is not None:
            clear()


def compiled(draft: Draft, folder: str) -> Spec:
    """The draft as the compiler reads it. Errors: :class:`archspec.errors.SpecError` for what it does not take."""
    return library.load_file(os.path.join(folder, draft.model_type + ".yaml"))


def verified(draft: Draft, target: Target, folder: str, samples: int, seed: int) -> list[Outcome]:
    """How each class of a draft does under verify."""
    from archspec.verify.verifier import verify_spec

    spec = compiled(draft, folder)
    if target.own:
        from archspec.derive.own_check import OwnVerifier

        return [OwnVerifier(spec, target, name, samples, seed).run() for name in draft.architectures]
    return [verify_spec(spec, name, samples, seed) for name in draft.architectures]


def params(draft: Draft, folder: str, architecture: str) -> int | None:
    """The parameters of a class at its default config, None where the draft refuses that one."""
    from archspec.configs.scope import Scope
    from archspec.tree.builder import Builder
    from archspec.tree.counts import counted
    from archspec.tree.tensors import tensors

    try:
        return counted(tensors(Builder(Scope(compiled(draft, folder), {})).build(architecture)))["params"]
    except ArchspecError:
        return None
