"""Symbolic tensors of an architecture, and from them the closed forms of its quantities.

A tensor that many layers have is one row: its name with `{i}` in it, its shape, how often it stands,
and the guard under which it does. A guard on the layer's index becomes a count in closed form where
there is one (a modulus, a threshold), and a symbol with its definition where there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy

from archspec.layer_counts import Counter, SymbolicTensor
from archspec.rows import Path, mark_outputs, merged, tie_rows, walk
from archspec.symbolic import SymbolicBuilder
from archspec.symbols import Guard
from archspec.tree import Node


def symbolic_tensors(root: Node, builder: SymbolicBuilder) -> list[SymbolicTensor]:
    """The rows of a tree that a symbolic builder built."""
    builder.one_sided()
    rows = list(walk(root, Path()))
    tie_rows(root, rows)
    mark_outputs(root, rows)
    groups = merged(rows)
    alone: dict[tuple[str, frozenset[Guard]], int] = {}
    for members in groups.values():
        place = (members[0].template, members[0].guards)
        alone[place] = alone.get(place, 0) + 1
    counter = Counter(builder)
    return [
        tensor
        for members in groups.values()
        for tensor in counter.group(members, alone[members[0].template, members[0].guards] == 1)
    ]


QUANTITIES: dict[str, tuple[str, Callable[[SymbolicTensor], Any]]] = {
    "params": ("unique parameters", lambda t: t.numel if t.kind == "parameter" else 0),
    "trainable_params": ("parameters with requires_grad", lambda t: t.numel if t.kind == "parameter" and t.trainable else 0),
    "active_params": ("parameters that work on a token", lambda t: t.active if t.kind == "parameter" else 0),
    "embedding_params": (
        "embedding tables and output matrices",
        lambda t: t.numel if t.kind == "parameter" and t.embedding else 0,
    ),
    "non_embedding_params": ("all other parameters", lambda t: t.numel if t.kind == "parameter" and not t.embedding else 0),
    "buffers": ("elements of persistent buffers", lambda t: t.numel if t.kind == "buffer" else 0),
}


def total(tensors: list[SymbolicTensor], quantity: str) -> Any:
    """The closed form of one of :data:`QUANTITIES`, expanded."""
    return sympy.expand(sympy.Add(*(QUANTITIES[quantity][1](tensor) for tensor in tensors)))
