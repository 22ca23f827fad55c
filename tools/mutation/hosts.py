"""Lines that no architecture of their file shows: of a sub-config without classes, and of shared parts.

They are held against transformers in the specs that have them, their hosts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

from archspec.errors import Place
from archspec.specs.library import shipped
from archspec.specs.records import Spec
from archspec.verifying.generate.field_kinds import part_types


def shared() -> list[str]:
    """The names of the shared parts, as `use:` has them.

    >>> "shared/experts" in shared()
    True
    """
    files = os.listdir(os.path.join(shipped().folder, "shared"))
    return sorted("shared/" + file.removesuffix(".yaml") for file in files if file.endswith(".yaml"))


def without_architectures() -> list[str]:
    """What has lines and no architecture of its own: sub-configs' specs, and shared parts.

    >>> {"sam_prompt_encoder", "shared/experts"} <= set(without_architectures())
    True
    """
    return sorted(spec.model_type for spec in _described() if not spec.architectures) + shared()


def standing(name: str) -> Iterator[tuple[Spec, Spec, str]]:
    """Where the lines of a model type's spec, or of a shared part, can be held against transformers.

    Each is a spec with architectures, the one of its sub-configs that has the lines (or itself), and the
    lines' file: the spec's own architectures first, then those of specs that take over lines of it, then
    those of models that it is a part of.
    """
    having = [(spec, file) for spec in _described() if (file := file_of(spec, name))]
    having.sort(key=lambda one: one[0].model_type != name)
    yield from ((spec, spec, file) for spec, file in having if spec.architectures)
    yield from ((host, spec, file) for spec, file in having for host in hosts(spec))


def file_of(spec: Spec, part: str) -> str:
    """The file of a model type, or of a shared part, as places in a spec with lines of it say; else ''."""
    end = os.path.join("formulas", *part.split("/")) + ".yaml"
    expressions: tuple[tuple[Place, ...], ...] = (
        tuple(module.place for module in spec.modules.values()),
        tuple(field.place for field in spec.fields.values()),
        tuple(one.place for one in (*spec.require, *spec.fixed.values())),
    )
    return next(
        (place.source.name for places in expressions for place in places if place.source.name.endswith(end)),
        "",
    )


def hosts(part: Spec) -> list[Spec]:
    """The specs with architectures that have a part as a sub-config, or within one; the smallest first."""
    within = {part.model_type}
    while more := {spec.model_type for spec in _described() if types(spec) & within} - within:
        within |= more
    return [
        spec for spec in _described() if spec.architectures and spec.model_type in within - {part.model_type}
    ]


def types(spec: Spec) -> set[str]:
    """The model types of the sub-configs that a spec declares."""
    return {name for field in spec.fields.values() for name in part_types(spec.library, field)}


@cache
def _described() -> tuple[Spec, ...]:
    specs = (shipped().load(name) for name in shipped().model_types())
    return tuple(sorted((spec for spec in specs if not spec.refuse), key=lambda spec: len(spec.source.text)))
