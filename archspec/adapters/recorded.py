"""formulas/gradients.json: the dependencies between products of layers, and the layers whose inputs are kept.

A layer has its modules with parameters, its products, and the modules whose products have other FLOPs, with
the costs of the module that the products belong to. A product has its module, its number of weights, and a
mask for each other operand: a bit for each module, and two for what the previous layer and another list of
layers return.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from archspec.configs.scope import Scope
from archspec.costs.totals import routed_share, walk
from archspec.specs.files import read_json
from archspec.tree.node import Node
from archspec.typing_light import Any, NamedTuple


class Product(NamedTuple):
    """The products of a module in a call: FLOPs of the forward pass, and of the gradients of all operands."""

    flops: int
    backward: int


def products_in(tree: Node) -> dict[str, list[Product]]:
    """Return the costs of each module by its path: its products, or groups of them."""
    found = dict[str, list[Product]]()
    for path, node, routed in walk(tree, "flops"):
        for cost in node.costs:
            flops = routed_share(cost.flops, routed)
            whole = routed_share(cost.flops + cost.backward, routed)
            found.setdefault(path, []).extend([Product(flops, whole - flops)] if flops else [])
    return {path: products for path, products in found.items() if products}


@cache
def record() -> dict[str, Any]:
    """Return formulas/gradients.json."""
    return dict(read_json("gradients.json"))


def bits(flags: list[bool]) -> int:
    """Return a mask whose first bit is the first flag."""
    return sum(flag << place for place, flag in enumerate(flags))


def outer_bits(layer: Any) -> set[int]:
    """Return the last two bits of each operand in a layer: 1 for the previous layer, 2 for another list."""
    sources, rows, _ = layer
    return {mask >> len(sources) for _, _, masks in rows for mask in masks}


def layers_of(tree: Node, stack: str) -> Iterator[tuple[str, Node]]:
    """Yield the layers of a list with their paths."""
    for name in stack.split("."):
        tree = tree.children[name]
    yield from ((f"{stack}.{name}", layer) for name, layer in tree.children.items())


def changed_flags(scope: Scope, unread: re.Pattern[str]) -> str:
    """Return the names of flags and texts with other values than usual, except ``unread`` ones.

    A dropout is such a flag: it is 0 or not.
    """
    usual = Scope(scope.spec, {"model_type": scope.spec.model_type, **scope.spec.valid_config})

    def is_changed(name: str) -> bool:
        value = scope.get(name)
        if isinstance(value, (bool, str)):
            return bool(value != usual.get(name))
        return "drop" in name and bool(value) != bool(usual.get(name))

    return ", ".join(name for name in scope.spec.fields if not unread.search(name) and is_changed(name))
