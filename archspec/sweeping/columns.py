"""The expressions that a sweep evaluates at its configs: columns, conditions and ties."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from archspec.configs.scope import Scope
from archspec.errors import Place, Source, SweepError, did_you_mean, option
from archspec.language.evaluator import Evaluator
from archspec.language.expression import EvaluationError, Expression, Locals, names, parse
from archspec.language.yaml_reader import Scalar
from archspec.tables.quantities import COST_COLUMNS, COSTS, QUANTITIES


def expression(text: str, name: str) -> Expression:
    """Parse an expression that a user typed. Errors: :class:`SpecError`, with a caret."""
    if not text.strip():
        raise SweepError(f"{name}: the expression is empty", help="write an expression, e.g. 4*hidden_size")
    return parse(Scalar(text, Place(Source(name, text), 1, 1), False, text), "")


class Columns(Evaluator):
    """Evaluates columns and conditions, whose names are quantities and fields of the config."""

    def __init__(self, scope: Scope, quantities: Mapping[str, Any]) -> None:
        self.scope, self.quantities, self.domain = scope, quantities, scope.domain

    def read(self, wanted: Expression) -> Any:
        """Return the value of an expression. Errors: :class:`SweepError`, with a caret."""
        try:
            return self.evaluate(wanted)
        except EvaluationError as error:
            raise SweepError(error.problem()) from None

    def name(self, name: str, node: ast.Name) -> Any:
        if name in self.quantities:
            return self.quantities[name]
        if self.scope.has(name):
            return self.scope.name(name, node)
        if name in self.scope.raw:
            return self.scope.raw[name]  # no count depends on it
        quantities = [*QUANTITIES, "bytes", *COST_COLUMNS]
        help_ = f"choose from: {', '.join(quantities)}, or a config field"
        if name in COSTS:
            self.fail(f"{name} is not available here", node, help_)
        known = [*quantities, *self.scope.spec.fields, *self.scope.spec.attribute_map]
        message = f"{name} is neither a quantity nor a config field"
        self.fail(message, node, did_you_mean(name, known) or help_)

    def attribute(self, value: Any, name: str, node: ast.Attribute) -> Any:
        if not isinstance(value, Scope):
            return super().attribute(value, name, node)
        if not value.has(name):
            missing = f"{value.spec.model_type} has no field {name}"
            self.fail(missing, node, did_you_mean(name, value.spec.fields))
        return value.name(name, ast.Name(name))

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        return self.scope.call(name, node, local) if name == "given" else super().call(name, node, local)


def order_ties(ties: Mapping[str, Expression], scope: Scope) -> dict[str, Expression]:
    """Return ties such that each one comes after those of the fields that it reads.

    Errors: :class:`SweepError` for fields that depend on each other.
    """
    left, ordered = {scope.canonical(name): name for name in ties}, dict[str, Expression]()
    while left:
        reads = {one: {*_fields_read(ties[name], scope)} & left.keys() - {one} for one, name in left.items()}
        ready = next((one for one, others in reads.items() if not others), None)
        if ready is None:
            message = f"{option('tie')}: {' and '.join(left.values())} depend on each other"
            raise SweepError(message, help="remove one of these ties")
        name = left.pop(ready)
        ordered[name] = ties[name]
    return ordered


def _fields_read(tie: Expression, scope: Scope) -> Iterator[str]:
    """Yield the fields that an expression reads, and those that their computed defaults read."""
    yield from (ast.unparse(node) for node in ast.walk(tie.tree) if isinstance(node, ast.Attribute))
    seen, left = set[str](), [scope.canonical(name) for name in names(tie.tree)]
    while left:
        if (name := left.pop()) in seen:
            continue
        seen.add(name)
        yield name
        field = scope.spec.fields.get(name)
        if field is not None and field.default is not None:
            left += names(field.default.tree)
