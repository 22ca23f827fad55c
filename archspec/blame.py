"""Which lines of a spec a difference is to be laid on, the nearest first."""

from __future__ import annotations

from typing import Any

from archspec.errors import Place
from archspec.places import class_place, tie_place, trail
from archspec.spec import Spec
from archspec.tree import Node


def blamed(spec: Spec, tree: Node | None, kind: str, name: str, detail: Any) -> list[Place]:
    """The lines for a difference of a kind in a tensor, a field or a class.

    ``detail`` is the prefix that the other side lacks (extra), the other end (tie), or the classes whose
    constructors refused (accepted).
    """
    if kind == "unmentioned":
        return _section(spec, name)
    if kind == "accepted":
        found = class_place(spec, detail)
        return [found] if found else [condition.place for condition in spec.require[:1]] or [Place(spec.source, 1, 1)]
    if tree is None:
        return []
    if kind == "tie":
        return tie_place(tree, name, str(detail or ""))
    return trail(tree, detail if kind == "extra" else name)[::-1]


def _section(spec: Spec, name: str) -> list[Place]:
    """The line of a fixed field, else that of the first field: where the field ought to be."""
    if name in spec.fixed:
        return [spec.fixed[name].place]
    own = [field.place for field in spec.fields.values() if field.place.source.name == spec.source.name]
    return sorted(own, key=lambda place: place.line)[:1] or [Place(spec.source, 1, 1)]
