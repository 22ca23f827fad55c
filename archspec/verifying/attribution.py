"""Which lines of a spec a difference is to be laid on, the nearest first."""

from __future__ import annotations

from typing import Any

from archspec.errors import Place
from archspec.specs.records import Spec
from archspec.tree.builder import Node
from archspec.tree.tensors import modules
from archspec.verifying.places import once
from archspec.verifying.refusals import accepting
from archspec.verifying.trail import defining, tie_places, trail


def blamed(spec: Spec, tree: Node | None, kind: str, name: str, detail: Any) -> list[Place]:
    """The lines for a difference of a kind in a tensor, a field or a class.

    ``detail`` is the prefix that the other side lacks (extra), the other end (tie), or the classes whose
    constructors refused (accepted).
    """
    if kind == "unmentioned":
        return _section(spec, name)
    if kind == "accepted":
        return accepting(spec, tree, detail)
    if tree is None:
        return []
    if kind == "tie":
        return tie_places(tree, name, str(detail or ""))
    way = trail(tree, name)[::-1]
    if kind == "embedding":
        said = [node.output_embeddings.place for _, node in modules(tree) if node.output_embeddings]
        return [*said, defining(tree), *way]
    if kind == "extra":  # the whole may be too much, or what is within it
        return once([*trail(tree, detail)[::-1], *way])
    return way


def _section(spec: Spec, name: str) -> list[Place]:
    """The line of a fixed field, else that of the first field: where the field ought to be."""
    if name in spec.fixed:
        return [spec.fixed[name].place]
    own = [field.place for field in spec.fields.values() if field.place.source.name == spec.source.name]
    return [min(own, key=lambda place: place.line, default=Place(spec.source, 1, 1))]
