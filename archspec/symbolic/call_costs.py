"""The costs of a call as rows: a tree whose products and cached tensors stand where its tensors stood.

So loops, guards and routed experts are added up as those of parameters are.
"""

from __future__ import annotations

from typing import Any

from archspec.configs.scope import Scope
from archspec.costs.builder import Costed
from archspec.costs.records import Call, axes_of
from archspec.specs.torch_layers import Leaf
from archspec.symbolic.builder import SymbolicBuilder
from archspec.tree.node import Node


class SymbolicCostBuilder(Costed, SymbolicBuilder):
    """A symbolic builder at the axes of a call, which are symbols by their names."""

    def __init__(self, scope: Scope, call: Call, **options: Any) -> None:
        super().__init__(scope, **options)
        named = {name: self.path.field(name, value) for name, value in call._asdict().items()}
        self.axes = {**axes_of(call), **named, "context": named["past"] + named["tokens"]}


def priced(node: Node, keeps: bool = True) -> Node:
    """The tree with a row of elements for each product and cached tensor, in place of its tensors."""
    other = node.copy()
    keeps = keeps and node.cache is not None
    other.ties, other.output_embeddings = [], None
    rows = [
        Leaf(f"{cost.name}[{number}]", (size,), kind)
        for number, cost in enumerate(node.costs)
        for kind, size in (("flops", cost.flops), ("masked_flops", cost.masked))
    ]
    rows += [Leaf(kept.name, kept.shape, "cache") for kept in (node.cache or () if keeps else ())]
    other.tensors = [leaf._replace(name=f"{leaf.kind}:{leaf.name}") for leaf in rows]
    other.children = {name: priced(child, keeps) for name, child in node.children.items()}
    return other
