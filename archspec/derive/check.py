"""A draft taken through the real compiler, and held to transformers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from archspec import library
from archspec.derive.session import Draft
from archspec.spec import Spec

if TYPE_CHECKING:
    from archspec.derive.own import Target
    from archspec.verify import Outcome


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
        library.folder = lambda: folder
        _forget()
        try:
            yield folder
        finally:
            library.folder = before
            _forget()


def missing(draft: Draft, model_type: str) -> list[str]:
    """Modules of a draft that the library's own spec of the model type does not have."""
    spec = library.load(model_type)
    return [name for name in draft.modules if spec.module(name) is None]


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
    from archspec.verify import verify_spec

    spec = compiled(draft, folder)
    if target.own:
        return [_own(spec, target, name, samples, seed) for name in draft.architectures]
    return [verify_spec(spec, name, samples, seed) for name in draft.architectures]


def _own(spec: Spec, target: Target, name: str, samples: int, seed: int) -> Outcome:
    """The same for a class that is not of transformers: the config's object is made of the drawn fields."""
    from archspec.derive.own import build
    from archspec.oracle import module_rows
    from archspec.sampling import Sampler
    from archspec.verify import Difference, Outcome, compare, counted

    cls = next(cls for cls in target.classes if cls.__name__ == name)
    sampler = Sampler(spec, seed)
    compared = refused = 0
    differences: list[Difference] = []
    for turn in range(1 + 40 * samples):
        raw: dict[str, Any] = {"model_type": spec.model_type} if not turn else sampler.sample()
        raw = {key: value for key, value in raw.items() if key == "model_type" or key in spec.fields}
        ours = counted(spec, name, raw)
        try:
            theirs = module_rows(build(cls, type(target.config), raw))
        except Exception as error:  # whatever the user's own code raises is its refusal
            refused += 1
            if ours.error is None:
                differences.append(Difference(name, raw, "accepted", "", f"{type(error).__name__}: {error}", "a count"))
            continue
        if ours.error is not None:
            differences.append(Difference(name, raw, "refused", "", "a model", str(ours.error)))
            continue
        compared += 1
        sampler.accept() if turn else None
        differences += compare(name, raw, theirs, ours.rows)
        if compared > samples:
            break
    return Outcome(name, spec.model_type, compared, refused, tuple(differences))
