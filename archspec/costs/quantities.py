"""The quantities of a call: for each, the terms that one module adds, without the modules inside."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from archspec.costs.records import Saved
from archspec.tree.node import Node, Routed
from archspec.typing_light import Any

CHECKPOINT = "checkpoint"  # in `saves:`, the inputs that a recomputed layer keeps
Term = tuple[str, tuple[Any, ...]]  # a name, and sizes whose product is added

TERMS: dict[str, Callable[[Node, bool], list[Term]]] = {
    "flops": lambda node, again: [(cost.name, (cost.flops,)) for cost in node.costs],
    "masked_flops": lambda node, again: [(cost.name, (cost.masked,)) for cost in node.costs],
    "training_flops": lambda node, again: [(cost.name, (cost.flops + cost.backward,)) for cost in node.costs],
    "cache_elements": lambda node, again: [
        (kept.name, (kept.times, *kept.shape)) for kept in node.cache or ()
    ],
    "activation_bytes": lambda node, again: [
        (saved.name, (saved.nbytes,)) for saved in own_saves(node, again)
    ],
}


def inside(node: Node, quantity: str, checkpointing: bool = False) -> dict[str, Node]:
    """Return the children of a module whose terms count."""
    if quantity == "cache_elements" and node.cache is None:
        return {}
    if quantity == "activation_bytes" and checkpointing and is_checkpointed(node):
        return {}
    return node.children


def total(node: Node, quantity: str, known: dict[int, int] | None = None) -> int:
    """Return the FLOPs of a module and of all inside it; a shared node is visited once."""
    known = {} if known is None else known
    if id(node) not in known:
        own = sum(prod(sizes) for _, sizes in TERMS[quantity](node, False))
        children = inside(node, quantity).values()
        whole = int(own) + sum(total(child, quantity, known) for child in children)
        known[id(node)] = routed_share(whole, routed_of(node))
    return known[id(node)]


def routed_of(node: Node) -> Routed | None:
    """Return the experts that the code computes: those that the router chooses, or more."""
    return node.computed or node.routed


def routed_share(flops: Any, routed: Routed | None) -> Any:
    """Return the FLOPs of the chosen experts, of those of all experts."""
    if routed is None or not routed.experts:
        return flops
    return flops * min(routed.chosen, routed.experts) // routed.experts


def own_saves(node: Node, checkpointing: bool) -> list[Saved]:
    """Return what a module itself saves; a recomputed layer saves its inputs only."""
    again = checkpointing and is_checkpointed(node)
    return [saved for saved in node.saves if (saved.name == CHECKPOINT) == again]


def is_checkpointed(node: Node) -> bool:
    """Return True for a layer that checkpointing recomputes."""
    return any(saved.name == CHECKPOINT for saved in node.saves)
