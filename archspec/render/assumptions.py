"""Assumptions about a closed form: fields replaced by expressions of others."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import sympy

from archspec.errors import FormulaError, Place, Source, SpecError, did_you_mean, option
from archspec.language.evaluator import Evaluator
from archspec.language.expression import EvaluationError, parse
from archspec.language.yaml_reader import Scalar
from archspec.symbolic.assumptions import Assumptions
from archspec.symbolic.fields import exact_number, without_assumptions
from archspec.symbolic.formal import Formal
from archspec.symbolic.path_conditions import Number


class _Prefix(str):
    """The beginning of a dotted name."""


class _FieldEvaluator(Evaluator):
    """Evaluates the right side of an assumption over the numbers of a config and its sub-configs."""

    def __init__(self, values: Mapping[str, int | float]) -> None:
        self.values, self.notes = values, Assumptions()
        self.domain = Formal(self.notes)

    def name(self, name: str, node: ast.Name) -> Any:
        return self.lookup(name, node)

    def attribute(self, value: Any, name: str, node: ast.Attribute) -> Any:
        if isinstance(value, _Prefix):
            return self.lookup(f"{value}.{name}", node)
        return self.fail(f"`{ast.unparse(node.value)}` is a number, without an attribute {name}", node)

    def lookup(self, name: str, node: ast.expr) -> Any:
        if name in self.values:
            return self.notes.field(name, self.values[name])
        if any(other.startswith(f"{name}.") for other in self.values):
            return _Prefix(name)
        items: list[Any] = []
        while (item := f"{name}[{len(items)}]") in self.values:
            items.append(self.notes.field(item, self.values[item]))
        message = f"{name} is not a numeric field of this config"
        help_ = did_you_mean(name, self.values) or f"choose from: {', '.join(self.values)}"
        return items or self.fail(message, node, help_)


def parse_assumptions(texts: Iterable[str], values: Mapping[str, int | float]) -> dict[str, Any]:
    """Return the expression that replaces each field, for texts like `intermediate_size=4*hidden_size`.

    ``values`` are the numbers allowed on the right, by name. Errors: :class:`FormulaError` with the column.

    >>> parse_assumptions(["intermediate_size = 4*hidden_size"], {"hidden_size": 64})
    {'intermediate_size': 4*hidden_size}
    """
    found: dict[str, Any] = {}
    for text in texts:
        left, equals, right = text.partition("=")
        left, stated = left.strip(), right.strip()
        column = len(text) - len(right.lstrip()) + 1
        place = Place(Source(option("assume"), text), 1, column, max(1, len(stated)))
        if not equals or not stated:
            help_ = "write field=expression, e.g. intermediate_size=4*hidden_size"
            raise FormulaError(f"invalid assumption {text!r}", help=help_)
        if left in found:
            start = place._replace(column=1)
            raise FormulaError(f"{left} is given twice", start, help="state each field once")
        if re.search("[^=<>!]=[^=]", right):
            raise FormulaError("an assumption has one =", place, help="write one assumption for each field")
        expr = _expression(Scalar(stated, place, False, stated), values)
        if not isinstance(expr, sympy.Expr):
            help_ = "write a number, or sums, products, quotients, min and max of other fields"
            raise FormulaError(f"{left} cannot be replaced by {stated}", place, help=help_)
        found[left] = expr
    return found


def _expression(text: Scalar, values: Mapping[str, int | float]) -> Any:
    """Return the expression of a text; None if it is not numeric, or holds only for the config's values."""
    evaluator = _FieldEvaluator(values)
    try:
        value = evaluator.evaluate(parse(text))
    except EvaluationError as error:
        raise FormulaError(error.problem()) from None
    except SpecError as error:
        raise FormulaError(error.problems) from None
    if evaluator.notes.words:
        return None
    if isinstance(value, Number):
        return without_assumptions(evaluator.notes.sympy_form(value))
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return without_assumptions(exact_number(value))
