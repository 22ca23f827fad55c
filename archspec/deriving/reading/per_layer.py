"""Under the reading: fields that `__post_init__` gives some layers another value of, in
`per_layer_config`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from archspec.deriving.reading import terms
from archspec.deriving.reading.values import Unsupported

At = Callable[[ast.expr, ast.expr, ast.expr], dict[str, ast.expr]]


def overrides(table: ast.expr, position: ast.expr, at: At) -> dict[str, tuple[ast.expr, ast.expr]]:
    """Field -> the condition that a layer has its own value under, and that value.

    ``table`` is `{i: {"head_dim": 512} for i, kind in enumerate(kinds) if kind == "full"}`, ``at`` tells what
    a loop's variables are at a position. Errors: :class:`Unsupported` for a table that is made in another
    way.
    """
    if isinstance(table, ast.Dict) and not table.keys:
        return {}
    if (
        not isinstance(table, ast.DictComp)
        or len(table.generators) != 1
        or not isinstance(table.value, ast.Dict)
    ):
        raise Unsupported("a config whose layers differ in a way that is not known")
    (loop,) = table.generators
    here = at(loop.target, loop.iter, position)
    if terms.text(terms.substitute(table.key, here)) != terms.text(position):
        raise Unsupported("layers that are not counted from 0")
    test = terms.both([terms.substitute(condition, here) for condition in loop.ifs])
    found: dict[str, tuple[ast.expr, ast.expr]] = {}
    for key, value in zip(table.value.keys, table.value.values, strict=True):
        if not isinstance(key, ast.Constant):
            raise Unsupported("a field of a layer whose name is not known")
        found[str(key.value)] = test, terms.substitute(value, here)
    return found
