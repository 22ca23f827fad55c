"""Under the reading: whether a value holds a tensor."""

from __future__ import annotations

from typing import Any

from archspec.deriving.reading.values import Choice, Container, Instance, Leaf, ListValue, Mix, Mod, TensorOf
from archspec.specs.torch_layers import LEAVES, no_tensors


def holds_tensors(value: Any) -> bool:
    """Whether a module has a tensor on any way of the conditions in it."""
    if isinstance(value, Leaf):
        return LEAVES[value.kind] is not no_tensors
    if isinstance(value, Mix | Choice):
        return holds_tensors(value.then) or holds_tensors(value.other)
    if isinstance(value, Container):
        return holds_tensors(value.items)
    if isinstance(value, ListValue):
        sides = [side for part in value.parts for side in (part[2:4] if part[0] == "if" else part[1:2])]
        return any(map(holds_tensors, sides))
    if isinstance(value, dict):
        return any(map(holds_tensors, value.values()))
    if isinstance(value, Instance):
        fitted = value.template.fit if value.template is not None else None
        return holds_tensors(
            fitted if fitted is not None else {**value.attrs, **value.patched, "$base": value.base}
        )
    return isinstance(value, Mod | TensorOf)
