"""Evaluates conditions of a config over its fields as numbers of a separate path.

A formula takes some values as they are for the config: lists that a spec derives, the limits of positions.
Evaluating their expressions here records the conditions under which they stay the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError
from archspec.language.expression import EvaluationError, Expression, Locals, names
from archspec.specs.exported import ALLOWED
from archspec.symbolic.counts import Loops
from archspec.symbolic.expressions import TooLarge
from archspec.symbolic.path_conditions import Number, Path
from archspec.symbolic.polynomials import Space
from archspec.symbolic.swept import SweptDomain
from archspec.tree.node import Node
from archspec.tree.runnable import run_problems

MAX_TERMS = 30_000  # of one expression
CANNOT = (ArchspecError, EvaluationError, TooLarge, Loops, TypeError, ValueError, AttributeError)


class ConfigConditions:
    """The path of these evaluations, the ``values`` of flags that they read, the ``numbers`` of fields."""

    def __init__(self, space: Space) -> None:
        self.space, self.path = space, Path(space)
        self.values: dict[str, Any] = {}
        self.numbers: dict[str, Any] = {}
        self.computed: set[str] = set()  # fields whose values are computed from others

    def add_computed(self, scope: Scope, name: str) -> None:
        """Record a field that the config leaves to be computed from others."""
        field = scope.spec.fields.get(name)
        if field and name not in scope.raw and field.default and names(field.default.tree):
            self.computed.add(scope.origin.path + name)

    def number(self, path: str, value: int | float) -> Number:
        self.numbers[path] = value
        return Number(self.path, self.space.field(path, isinstance(value, int)), value)

    def lift(self, path: str, value: Any) -> Any:
        """Return a field's value with its numbers on the path; record any other value."""
        if isinstance(value, list) and all(type(item) in (int, float) for item in value):
            self.values[f"len({path})"] = len(value)
            return [self.lift(f"{path}[{index}]", item) for index, item in enumerate(value)]
        if type(value) in (int, float) and value >= 0:
            return self.number(path, value)
        self.values[path] = value
        return value

    def add_dependencies(self, scope: Scope, expressions: Iterable[Expression]) -> None:
        """Record what some expressions of a config depend on; all fields that they read if that fails."""
        for expression in expressions:
            with self._side(scope) as side:
                side.is_true(side.read(expression), expression.tree)

    def add_demands(self, scope: Scope) -> None:
        """Record the conditions of a config, and that a list of layers names each of them."""
        self.add_dependencies(scope, scope.spec.require)
        for name in ALLOWED if scope.has("num_hidden_layers") else ():
            if isinstance(listed := scope.raw.get(name), list):
                given = self.number(f"len({scope.origin.path}{name})", len(listed))
                with self._side(scope) as side:
                    _ = given == side.get("num_hidden_layers")

    def add_runs(self, scope: Scope, architecture: str, root: Node) -> None:
        with self._side(scope) as side:
            _ = [*run_problems(side, architecture, root)]

    @contextmanager
    def _side(self, scope: Scope) -> Iterator[Side]:
        side = Side(scope, self)
        try:
            with self.space.allow_terms(MAX_TERMS):
                yield side
        except CANNOT:
            self.values |= side.asked_for


class Side(Scope):
    """A scope whose numbers are on the path of :class:`ConfigConditions`."""

    def __init__(
        self, scope: Scope, conditions: ConfigConditions, asked_for: dict[str, Any] | None = None
    ) -> None:
        self.__dict__.update(scope.__dict__)
        self.plain, self.conditions, self.values, self._pending = scope, conditions, {}, []
        self.domain = SweptDomain(unroll=True)
        self.asked_for: dict[str, Any] = {} if asked_for is None else asked_for  # also of sub-configs

    def get(self, name: str) -> Any:
        name = self.canonical(name)
        if name not in self.values:
            self.values[name] = self._lift(name, self.plain.get(name))
        return self.values[name]

    def _lift(self, name: str, value: Any) -> Any:
        self.conditions.add_computed(self.plain, name)
        if isinstance(value, SubConfig):
            return Side(value.scope, self.conditions, self.asked_for)
        if isinstance(value, Scope):
            return value
        self.asked_for[self.origin.path + name] = value
        if name in self.plain.overridden:
            return value
        if name in self.spec.fixed:
            return self.read(self.spec.fixed[name])
        return self.conditions.lift(self.origin.path + name, value)

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        if name != "given":
            return super().call(name, node, local)
        field = str(self.visit(node.args[0], local))
        own = self.plain.call(name, ast.Call(node.func, [ast.Constant(field)], []), {})
        self.conditions.values[f"given({self.origin.path}{field})"] = own
        return own if own is not None or len(node.args) < 2 else self.visit(node.args[1], local)
