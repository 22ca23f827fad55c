"""One module for all of its runs: on items of several sizes, or on items of an earlier forward pass."""

from __future__ import annotations

from archspec.tree.node import Node


def merge(nodes: list[Node | None]) -> Node | None:
    """Return one module with the costs of all its runs."""
    runs = [node for node in nodes if node is not None]
    if len(runs) < 2:
        return runs[0] if runs else None
    merged = runs[0].copy()
    for name in ("costs", "saves"):
        setattr(merged, name, [one for node in runs for one in getattr(node, name)])
    if merged.cache is not None:
        merged.cache = [one for node in runs for one in node.cache or ()]
    merged.children = {}
    for name in dict.fromkeys(name for node in runs for name in node.children):
        child = merge([node.children.get(name) for node in runs])
        assert child is not None  # of one run at least
        merged.children[name] = child
    return merged


def idle(node: Node) -> Node:
    """Return a module without costs."""
    other = node.copy()
    other.costs, other.saves = [], []
    other.children = {name: idle(child) for name, child in node.children.items()}
    return other


def without_saves(node: Node) -> Node:
    """Return a module whose output nothing reads, so that what it saves is freed."""
    other = node.copy()
    other.saves = []
    other.children = {name: without_saves(child) for name, child in node.children.items()}
    return other
