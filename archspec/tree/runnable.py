"""Configs that transformers builds and cannot run, by the conditions of formulas/runs.json.

A constructor accepts many configs whose forward pass fails, such as 17 query heads over 8 key-value heads.
`python -m tools.runs` finds the conditions of each model type by running its forward pass.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterator
from functools import cache

from archspec.configs.notes import parts_of
from archspec.configs.scope import Scope
from archspec.errors import Place, Problem, Source
from archspec.language.expression import Expression, names, parse
from archspec.language.operations import FUNCTIONS
from archspec.language.values import here
from archspec.language.yaml_nodes import Scalar
from archspec.reports import shortened
from archspec.specs.library import folder
from archspec.specs.records import Spec
from archspec.tree.node import Node
from archspec.typing_light import Any

RUNS = "runs.json"  # model type, or class -> the conditions that a config meets if its forward pass runs


def unrunnable(scope: Scope, architecture: str, root: Node | None = None) -> Iterator[Problem]:
    """Why a forward pass of a config fails, for its sub-configs too; nothing if no condition is violated.

    With the tree of the model, conditions on numbers of experts hold if it has no routed experts.
    """
    for condition in (*_conditions(scope.spec.model_type), *_conditions(architecture)):
        if not _holds(scope, condition) and not (_of_experts(condition) and root and not _routes(root)):
            yield _problem(scope, condition)
    for part in parts_of(scope).values():
        yield from unrunnable(part, "", root)


def read_by_conditions(spec: Spec) -> set[str]:
    """The names of the fields that a model type's conditions of running read."""
    conditions = (one for name in (spec.model_type, *spec.architectures) for one in _conditions(name))
    return {name for condition in conditions for name in _fields(condition)}


def warnings(scope: Scope, architecture: str, root: Node) -> Iterator[str]:
    """The same as sentences."""
    return (problem.message for problem in unrunnable(scope, architecture, root))


def _problem(scope: Scope, condition: Expression) -> Problem:
    read = _fields(condition)
    found = ", ".join(f"{scope.origin.path}{name} = {_shown(here(scope.get(name)))}" for name in read)
    message = f"transformers builds this model but cannot run it: `{condition.text}` does not hold"
    changed = " or ".join(scope.origin.path + name for name in read)
    return Problem(f"{message} ({found})", help=f"change {changed}")


def _shown(value: Any) -> str:
    return shortened(value) if isinstance(value, list) else json.dumps(value, default=str)


def _holds(scope: Scope, condition: Expression) -> bool:
    """Return True also where the condition does not apply.

    It does not if a size is not positive, or if a field is None that it does not compare with None.
    """
    for name in _fields(condition):
        value: Any = scope.get(name) if scope.has(name) else None
        size = here(value)
        if (type(size) is int and not value > 0) or (size is None and "None" not in condition.text):
            return True
    return scope.truth(scope.read(condition), condition.tree)


def _fields(condition: Expression) -> list[str]:
    loops = (node for node in ast.walk(condition.tree) if isinstance(node, ast.comprehension))
    bound = {name for loop in loops for name in names(loop.target)}
    return sorted(names(condition.tree) - FUNCTIONS.keys() - {"given"} - bound)


def _of_experts(condition: Expression) -> bool:
    return "None" not in condition.text and any("expert" in name for name in _fields(condition))


def _routes(node: Node) -> bool:
    """Return True if a module has routed experts."""
    return node.routed is not None or any(map(_routes, node.children.values()))


@cache
def _conditions(name: str) -> list[Expression]:
    texts = _rules().get(name, ())
    return [parse(Scalar(text, Place(Source(RUNS, text), 1, 1), False, text)) for text in texts]


@cache
def _rules() -> dict[str, list[str]]:
    with open(os.path.join(folder(), RUNS), encoding="utf-8") as file:
        found: dict[str, list[str]] = json.load(file)
    return found
