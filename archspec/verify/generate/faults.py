"""What of a condition does not hold for a config, and what would mend that."""

from __future__ import annotations

import ast
from collections.abc import Callable, Set
from typing import Any

from archspec.configs.scope import Scope
from archspec.errors import ArchspecError
from archspec.language.expression import EvaluationError, Expression
from archspec.specs.references import reads

Value = Callable[[ast.expr], Any]


def at_fault(tree: ast.expr, value: Value) -> Set[str]:
    """What the parts of a condition that do not hold read: of `a and b`, where only b is false, what b
    reads.
    """
    if not isinstance(tree, ast.BoolOp):
        return reads(tree)
    failing = [part for part in tree.values if isinstance(tree.op, ast.Or) or not holds(part, value)]
    return set[str]().union(*(at_fault(part, value) for part in failing))


def holds(tree: ast.expr, value: Value) -> bool:
    """Whether a condition holds; what has no value does not."""
    try:
        return bool(value(tree))
    except (EvaluationError, ArchspecError):
        return False


def equals(condition: Expression, scope: Scope, value: Value) -> dict[str, Any]:
    """What some fields would have to be for the equations of a condition: `a == b * c`, `a % b == 0`,
    `len(a) == b`.
    """
    found: dict[str, Any] = {}
    for node in (
        node
        for node in ast.walk(condition.tree)
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq)
    ):
        for side, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            try:
                if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mod):
                    found[ast.unparse(side.left)] = value(side.right)
                elif isinstance(side, ast.Call) and ast.unparse(side.func) == "len":
                    listed, length = value(side.args[0]), value(other)
                    name = ast.unparse(side.args[0])
                    repeated = [*listed, *[listed[-1]] * length][:length]
                    found[name] = [*range(length)] if name.endswith("indices") else repeated
                else:
                    found[ast.unparse(side)] = value(other)
            except (EvaluationError, ArchspecError, LookupError, TypeError):
                continue
    heads = {name: scope.canonical(name.partition(".")[0]) for name in found}
    fields = {
        name: head + name.removeprefix(name.partition(".")[0])
        for name, head in heads.items()
        if head in scope.spec.fields
    }
    return {scope.origin.path + field: found[name] for name, field in fields.items()}
