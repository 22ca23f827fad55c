"""What a module of a tree costs in a call: products that it computes, tensors that it keeps for the next one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from archspec.specs.torch_layers import Leaf
from archspec.tree.node import Node

Axes = dict[str, Any]  # the axes of a call by name, and `times` that a module runs
_PRODUCTS = ("Linear", "Conv1D", "Conv1d", "Conv2d", "Conv3d")  # each weight once a position


class Cost(NamedTuple):
    """FLOPs of one product, 2 per multiply-add; ``masked`` of them are not masked out."""

    name: str
    flops: Any
    masked: Any


class Kept(NamedTuple):
    """A tensor that a module keeps for the next call; the first axis is the batch."""

    name: str
    shape: tuple[Any, ...]


class Products(NamedTuple):
    """What one contraction of `ops:` comes to."""

    costs: list[Cost]
    kept: list[Kept]


def axes_of(batch: Any, tokens: Any, past: Any = 0, memory: Any = 0, encoded: Any = 0) -> Axes:
    """The axes of a call; ``context`` follows."""
    return {"batch": batch, "tokens": tokens, "past": past, "context": past + tokens, "memory": memory,
            "encoded": encoded, "times": 1}  # fmt: skip


def inner_axes(axes: Axes, given: Axes) -> Axes:
    """The axes inside a module of which some are given anew."""
    found = {**axes, **given}
    if "context" not in given:
        found["context"] = found["past"] + found["tokens"]
    found["times"] = axes["times"] * given.get("times", 1)
    return found


def weight_costs(layer: str, tensors: list[Leaf], axes: Axes) -> list[Cost]:
    """The products of a layer: 2 for each weight and position."""
    if layer not in _PRODUCTS:
        return []
    flops = 2 * axes["times"] * axes["batch"] * axes["tokens"]
    for size in tensors[0].shape:
        flops = flops * size
    return [Cost(layer, flops, flops)]


def own_flops(node: Node, prefix: str = "", routed: Any = None) -> Iterator[tuple[str, Cost]]:
    """Every product with the path of its module, those of routed experts as often as they work."""
    routed = node.routed or routed
    for cost in node.costs:
        if routed is not None and routed.experts:
            k, e = min(routed.chosen, routed.experts), routed.experts
            cost = cost._replace(flops=cost.flops * k // e, masked=cost.masked * k // e)
        yield prefix, cost
    for name, child in node.children.items():
        own = child.cls in ("Parameter", "Buffer")
        yield from own_flops(child, prefix if own else f"{prefix}.{name}" if prefix else name, routed)


def kept_tensors(node: Node, prefix: str = "") -> Iterator[tuple[str, Kept]]:
    for kept in node.cache:
        yield prefix, kept
    for name, child in node.children.items():
        yield from kept_tensors(child, f"{prefix}.{name}" if prefix else name)
