"""A config's fields as numbers of a separate path, to learn what an expression of the spec depends on.

A formula takes some values as they are at the config: lists that a spec derives, the limits of positions.
Evaluating their expressions here notes the conditions under which they stay the same.
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
from archspec.symbolic.path_conditions import Number, Path
from archspec.symbolic.polynomials import TooLarge
from archspec.symbolic.swept import SweptDomain
from archspec.tree.node import Node
from archspec.tree.runnable import unrunnable

MAX_TERMS = 30_000  # of one expression
CANNOT = (ArchspecError, EvaluationError, TooLarge, Loops, TypeError, ValueError, AttributeError)


class Decided:
    """The path of such evaluations; ``values`` are the flags that they looked at, ``numbers`` the fields."""

    def __init__(self, fields: Any) -> None:
        self.path, self.fields = Path(fields), fields
        self.values: dict[str, Any] = {}
        self.numbers: dict[str, Any] = {}
        self.computed: set[str] = set()  # fields whose values are computed from others

    def follows(self, scope: Scope, name: str) -> None:
        """Notes a field that the config leaves to be computed from others."""
        field = scope.spec.fields.get(name)
        if field and name not in scope.raw and field.default and names(field.default.tree):
            self.computed.add(scope.origin.path + name)

    def lifted(self, path: str, value: Any) -> Any:
        """A value of a field: its numbers as numbers of the path, everything else noted as it is."""
        if isinstance(value, list) and all(type(item) in (int, float) for item in value):
            self.values[f"len({path})"] = len(value)
            return [self.lifted(f"{path}[{index}]", item) for index, item in enumerate(value)]
        if type(value) not in (int, float) or value < 0:
            self.values[path] = value
            return value
        self.numbers[path] = value
        return Number(self.path, self.fields.field(path, isinstance(value, int)), value)

    def rely(self, scope: Scope, expressions: Iterable[Expression]) -> None:
        """Notes what some expressions of a config depend on; all fields that they read where they are odd."""
        for expression in expressions:
            with self._side(scope) as side:
                side.truth(side.read(expression), expression.tree)

    def demands(self, scope: Scope) -> None:
        """Notes the conditions of a config, and that a list of layers that it gives names each of them."""
        self.rely(scope, scope.spec.require)
        for name in ALLOWED if scope.has("num_hidden_layers") else ():
            if isinstance(listed := scope.raw.get(name), list):
                path, length = f"len({scope.origin.path}{name})", len(listed)
                self.numbers[path] = length
                with self._side(scope) as side:
                    given = Number(self.path, self.fields.field(path, True), length)
                    _ = given == side.get("num_hidden_layers")

    def runs(self, scope: Scope, architecture: str, root: Node) -> None:
        """Notes the conditions under which transformers can run the model that it builds."""
        with self._side(scope) as side:
            _ = [*unrunnable(side, architecture, root)]

    @contextmanager
    def _side(self, scope: Scope) -> Iterator[Side]:
        side = Side(scope, self)
        try:
            with self.fields.allowance(MAX_TERMS):
                yield side
        except CANNOT:
            self.values |= side.asked_for


class Side(Scope):
    """A scope whose numbers are on the path of :class:`Decided`."""

    def __init__(self, scope: Scope, decided: Decided, asked_for: dict[str, Any] | None = None) -> None:
        self.__dict__.update(scope.__dict__)
        self.plain, self.decided, self.values, self._pending = scope, decided, {}, []
        self.domain = SweptDomain(unroll=True)
        self.asked_for: dict[str, Any] = {} if asked_for is None else asked_for  # of its sub-configs, too

    def get(self, name: str) -> Any:
        name = self.canonical(name)
        if name not in self.values:
            value = self.plain.get(name)
            self.decided.follows(self.plain, name)
            if not isinstance(value, SubConfig | Scope):
                self.asked_for[self.origin.path + name] = value
            if isinstance(value, SubConfig):
                self.values[name] = Side(value.scope, self.decided, self.asked_for)
            elif isinstance(value, Scope) or name in self.plain.overridden:
                self.values[name] = value
            elif name in self.spec.fixed:
                self.values[name] = self.read(self.spec.fixed[name])
            else:
                self.values[name] = self.decided.lifted(self.origin.path + name, value)
        return self.values[name]

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        if name != "given":
            return super().call(name, node, local)
        field = str(self.visit(node.args[0], local))
        own = self.plain.call(name, ast.Call(node.func, [ast.Constant(field)], []), {})
        self.decided.values[f"given({self.origin.path}{field})"] = own
        return own if own is not None or len(node.args) < 2 else self.visit(node.args[1], local)
