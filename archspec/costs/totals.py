"""Sums of the costs of a tree: in all, by module, and over the layers that checkpointing recomputes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod

from archspec.costs.records import CHECKPOINT
from archspec.tables.quantities import COSTS, Term
from archspec.tree.node import Node, Routed
from archspec.tree.tensors import join_path
from archspec.typing_light import Any


def own_terms(quantity: str, node: Node, checkpointing: bool = False) -> list[Term]:
    """Return what a module itself adds to a cost; a recomputed layer saves its inputs only."""
    found = COSTS[quantity].node_terms(node)
    if quantity != "activation_bytes":
        return found
    recomputed = checkpointing and is_checkpointed(node)
    return [term for term in found if (term[0] == CHECKPOINT) == recomputed]


def counted_children(node: Node, quantity: str, checkpointing: bool = False) -> dict[str, Node]:
    """Return the children of a module whose terms count."""
    if quantity == "cache_elements" and node.cache is None:
        return {}
    if quantity == "activation_bytes" and checkpointing and is_checkpointed(node):
        return {}
    return node.children


def walk(
    node: Node, quantity: str, checkpointing: bool = False, path: str = "", routed: Routed | None = None
) -> Iterator[tuple[str, Node, Routed | None]]:
    """Yield every module whose terms count: its path, itself, and the experts that it is a part of.

    A parameter has the path of its module. Of experts that are modules only the computed ones are visited.
    """
    routed, children = _run_children(node, quantity, checkpointing, routed)
    yield path, node, routed
    for name, child in children:
        is_parameter = child.cls in ("Parameter", "Buffer")
        yield from walk(
            child, quantity, checkpointing, path if is_parameter else join_path(path, name), routed
        )


def _run_children(
    node: Node, quantity: str, checkpointing: bool, routed: Routed | None
) -> tuple[Routed | None, list[tuple[str, Node]]]:
    own, children = routed_of(node), list(counted_children(node, quantity, checkpointing).items())
    is_list = own is not None and len(children) == own.experts and children[0][1].children
    if own is not None and is_list and COSTS[quantity].active:
        return Routed(1, 1), children[: own.chosen]
    return own or routed, children


def total_cost(node: Node, quantity: str) -> int:
    """Return the FLOPs of a module and all inside it; a module in several places is read once."""
    known: dict[tuple[int, Routed | None], int] = {}

    def total_of(one: Node, routed: Routed | None) -> int:
        if (id(one), routed) not in known:
            share, children = _run_children(one, quantity, False, routed)
            own = sum(routed_share(prod(sizes), share) for _, sizes in own_terms(quantity, one))
            known[id(one), routed] = own + sum(total_of(child, share) for _, child in children)
        return known[id(one), routed]

    return total_of(node, None)


def by_module(node: Node, quantity: str) -> dict[str, int]:
    """Return the FLOPs of each module, without those of modules inside, by its path; zeros are left out."""
    found = Counter[str]()
    for path, one, routed in walk(node, quantity):
        found[path] += sum(routed_share(prod(sizes), routed) for _, sizes in own_terms(quantity, one))
    return {path: flops for path, flops in found.items() if flops}


def routed_of(node: Node) -> Routed | None:
    """Return the experts that the code computes: those that the router chooses, or more."""
    return node.computed or node.routed


def routed_share(flops: Any, routed: Routed | None) -> Any:
    """Return the FLOPs of the chosen experts, of those of all experts."""
    if routed is None or not routed.experts:
        return flops
    return flops * min(routed.chosen, routed.experts) // routed.experts


def is_checkpointed(node: Node) -> bool:
    """Return True if checkpointing recomputes a module."""
    return any(saved.name == CHECKPOINT for saved in node.saves)


def checkpointed_layers(node: Node) -> list[tuple[str, Node]]:
    """Return the layers that checkpointing recomputes, with their paths."""
    visits = walk(node, "activation_bytes", checkpointing=True)
    return [(path, one) for path, one, _ in visits if is_checkpointed(one)]
