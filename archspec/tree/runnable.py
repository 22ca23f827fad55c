"""Configs that transformers builds and cannot run, such as 17 query heads over 8 key-value heads.

They break a condition in a spec's `runnable:`, which `python -m tools.runs` compares with forward passes.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

from archspec.configs.scope import Scope
from archspec.errors import Problem
from archspec.language.expression import Expression, names
from archspec.language.operations import FUNCTIONS
from archspec.language.values import value_of
from archspec.reports import short_list
from archspec.specs.records import Spec
from archspec.tree.node import Node
from archspec.typing_light import Any


def run_problems(scope: Scope, architecture: str, root: Node | None = None) -> Iterator[Problem]:
    """Yield why a forward pass of a config fails, for its sub-configs too.

    With the tree of the model, conditions on numbers of experts apply only to routed experts.
    """
    for name, condition in scope.spec.runnable:
        if name in ("", architecture) and not _holds(scope, condition):
            about_experts = "None" not in condition.text and any("expert" in f for f in _fields(condition))
            if root is None or not about_experts or _routes(root):
                yield _problem(scope, condition)
    for part in scope.parts().values():
        yield from run_problems(part, "", root)


def read_by_conditions(spec: Spec) -> set[str]:
    """Return the names of the fields that a model type's conditions of running read."""
    return {name for _, condition in spec.runnable for name in _fields(condition)}


def _problem(scope: Scope, condition: Expression) -> Problem:
    values = {scope.origin.path + name: value_of(scope.get(name)) for name in _fields(condition)}
    texts = [
        f"{name} = {short_list(value) if isinstance(value, list) else json.dumps(value, default=str)}"
        for name, value in values.items()
    ]
    message = f"transformers builds this model but cannot run it: `{condition.text}` does not hold"
    return Problem(f"{message} ({', '.join(texts)})", help=f"change {' or '.join(values)}")


def _holds(scope: Scope, condition: Expression) -> bool:
    """Return True also if a size is not positive, or a field is None that is not compared with None."""
    for name in _fields(condition):
        value: Any = scope.get(name) if scope.has(name) else None
        size = value_of(value)
        if (type(size) is int and not value > 0) or (size is None and "None" not in condition.text):
            return True
    return scope.is_true(scope.read(condition), condition.tree)


def _fields(condition: Expression) -> list[str]:
    loops = (node for node in ast.walk(condition.tree) if isinstance(node, ast.comprehension))
    bound = {name for loop in loops for name in names(loop.target)}
    return sorted(names(condition.tree) - FUNCTIONS.keys() - {"given"} - bound)


def _routes(node: Node) -> bool:
    return node.routed is not None or any(map(_routes, node.children.values()))
