"""Under the reading: a list, known in parts, as one expression."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.values import ListValue

Node = Callable[[Any], ast.expr]


def joined(value: ListValue, item_node: Node, node: Node, decide: Callable[[ast.expr], ast.expr]) -> ast.expr:
    """`[a, b] + [f(i) for i in range(n)]`; the list of all items of an argument is the argument."""
    pieces: list[ast.expr] = []
    items: list[ast.expr] = []

    def inner(part: ListValue) -> ast.expr:
        return joined(part, item_node, node, decide)

    def close() -> None:
        if items:
            pieces.append(terms.listed(list(items)))
            items.clear()

    for part in value.parts:
        if part[0] == "item":
            items.append(item_node(part[1]))
            continue
        close()
        if part[0] == "each":
            loops = [
                ast.comprehension(t, inner(i) if isinstance(i, ListValue) else i, list(ifs), 0)
                for t, i, ifs in part[2]
            ]
            pieces.append(ast.ListComp(item_node(part[1]), loops))
        elif part[0] == "all":
            pieces.append(node(part[1]))
        else:
            _, test, one, two, _ = part
            pieces.append(terms.conditional(decide(test), inner(one), inner(two)))
    close()
    if not pieces:
        return ast.List([], ast.Load())
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = ast.BinOp(whole, ast.Add(), piece)
    return whole
