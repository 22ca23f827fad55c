"""Under the reading of modules: constructors that only calculate, told by what they call; their modules hold
no tensor."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
from collections.abc import Iterator
from typing import Any

from archspec.deriving.reading.functions import source_of

_REACHING = frozenset(
    ["setattr", "getattr", "exec", "eval", "__import__", "vars", "map", "globals", "locals"]
)


def attributes_set(cls: type) -> set[str] | None:
    """What the constructors of a module's class set on it; None if they call what may make a tensor.

    A constructor that refuses something is none of them: what it refuses would be lost.
    """
    from torch import nn

    found: set[str] = set()
    for base in cls.__mro__[: cls.__mro__.index(nn.Module)]:
        function = vars(base).get("__init__")
        if base.__module__.startswith("torch.") or (
            function is not None and not inspect.isfunction(function)
        ):
            return None
        if function is None:
            continue
        for node in _run(source_of(inspect.unwrap(function).__code__)):
            if isinstance(node, ast.Raise | ast.Assert):
                return None
            if isinstance(node, ast.Call) and not _calculates(node.func, function.__globals__):
                return None
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
    return found


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """The code of a function, without that of functions within it."""
    for inner in ast.iter_child_nodes(node):
        yield inner
        if not isinstance(inner, ast.FunctionDef | ast.Lambda):
            yield from _run(inner)


def _calculates(function: ast.expr, names: dict[str, Any]) -> bool:
    """Whether a call is of a builtin, of `math`, or of the constructor above."""
    if isinstance(function, ast.Name):
        return function.id not in names and function.id not in _REACHING and hasattr(builtins, function.id)
    if not isinstance(function, ast.Attribute):
        return False
    if isinstance(function.value, ast.Name):
        return names.get(function.value.id) is math
    return (
        function.attr == "__init__"
        and isinstance(function.value, ast.Call)
        and ast.unparse(function.value) == "super()"
    )
