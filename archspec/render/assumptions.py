"""A closed form under assumptions: fields replaced by expressions of others, flags set either way."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any, TypeVar

import sympy

from archspec.errors import ArchspecError, FormulaError, Place, Source, SpecError, did_you_mean
from archspec.language.evaluator import Evaluator
from archspec.language.expression import EvaluationError, parse
from archspec.language.yaml_reader import Scalar
from archspec.symbolic.assumptions import Assumptions
from archspec.symbolic.closed_form import ClosedForm
from archspec.symbolic.formal import Formal
from archspec.symbolic.path_conditions import Number
from archspec.symbolic.validity.checks import exactly

AnyForm = TypeVar("AnyForm", bound=ClosedForm)


class _Part(str):
    """The beginning of a dotted name."""


class _Names(Evaluator):
    """The right side of an assumption: an expression over the numbers of a config and of its parts."""

    def __init__(self, values: Mapping[str, int | float]) -> None:
        self.values, self.path = values, Assumptions()
        self.domain = Formal(self.path)

    def name(self, name: str, node: ast.Name) -> Any:
        return self.known(name, node)

    def attribute(self, value: Any, name: str, node: ast.Attribute) -> Any:
        if isinstance(value, _Part):
            return self.known(f"{value}.{name}", node)
        return self.fail(f"`{ast.unparse(node.value)}` is a number and has no {name}", node)

    def known(self, name: str, node: ast.expr) -> Any:
        if name in self.values:
            return self.path.field(name, self.values[name])
        if any(other.startswith(f"{name}.") for other in self.values):
            return _Part(name)
        items: list[Any] = []
        while (item := f"{name}[{len(items)}]") in self.values:
            items.append(self.path.field(item, self.values[item]))
        return items or self.fail(
            f"{name} is no number of this config", node, did_you_mean(name, self.values)
        )


def assumed(texts: Iterable[str], values: Mapping[str, int | float]) -> dict[str, Any]:
    """Field -> the expression of others that replaces it, of texts as `intermediate_size=4*hidden_size`.

    ``values`` are the numbers that may stand on the right, by name. Errors: :class:`FormulaError` with line
    and column for an assumption that cannot be read.

    >>> assumed(["intermediate_size = 4*hidden_size"], {"hidden_size": 64})
    {'intermediate_size': 4*hidden_size}
    """
    found: dict[str, Any] = {}
    for text in texts:
        left, equals, right = text.partition("=")
        left, stated = left.strip(), right.strip()
        column = len(text) - len(right.lstrip()) + 1
        place = Place(Source("--assume", text), 1, column, max(1, len(stated)))
        if not equals or not stated:
            help_ = "write field=expression, e.g. intermediate_size=4*hidden_size"
            raise FormulaError(f"{text!r} is no assumption", help=help_)
        if left in found:
            raise FormulaError(f"{left} is given twice", place._replace(column=1))
        expr = _expression(Scalar(stated, place, False, stated), values)
        if not isinstance(expr, sympy.Expr):
            help_ = "write a number, or sums, products, quotients, min and max of other fields"
            raise FormulaError(f"{left} cannot be replaced by {stated}", place, help=help_)
        found[left] = expr
    return found


def _expression(text: Scalar, values: Mapping[str, int | float]) -> Any:
    names = _Names(values)
    try:
        value = names.evaluate(parse(text))
    except EvaluationError as error:
        raise FormulaError(error.problem()) from None
    except SpecError as error:
        raise FormulaError(error.problems) from None
    if names.path.words:  # it would hold at the config's values alone
        return None
    is_number = isinstance(value, Number) or (isinstance(value, int) and not isinstance(value, bool))
    if not is_number and not (isinstance(value, float) and math.isfinite(value)):
        return None
    return ClosedForm.plain(names.path.shown(value) if isinstance(value, Number) else exactly(value))


def piecewise(
    formula: AnyForm, rebuild: Callable[[dict[str, bool]], AnyForm], limit: int = 5
) -> list[tuple[dict[str, bool], AnyForm]]:
    """The formula for every combination of the yes/no flags that change it.

    ``rebuild`` gives the formula of the same architecture with some flags set. Errors:
    :class:`FormulaError` when more than ``limit`` flags matter.
    """
    matter = []
    for name in [n for n, value in formula.flags.items() if isinstance(value, bool)]:
        try:
            if rebuild({name: not formula.flags[name]}).expr != formula.expr:
                matter.append(name)
        except FormulaError:
            raise
        except ArchspecError:
            continue  # a flag that the architecture refuses is no case of its own
    if len(matter) > limit:
        what = f"{len(matter)} flags change this formula"
        raise FormulaError(f"{what}: {', '.join(matter)}; set some with --set")
    combinations = product((False, True), repeat=len(matter))  # the first flag changes fastest
    cases = [dict(zip(matter, reversed(values), strict=True)) for values in combinations]
    return [(flags, rebuild(flags)) for flags in cases]


def texts_of(fields: Mapping[str, Any]) -> list[str]:
    """Assumptions as they are typed."""
    return [f"{name}={value}" for name, value in fields.items()]
