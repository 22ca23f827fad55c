"""A closed form under assumptions: fields replaced by expressions of others, flags set either way."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any, TypeVar

import sympy

from archspec.errors import ArchspecError, FormulaError, Place, Source, SpecError, did_you_mean
from archspec.language.evaluator import Evaluator
from archspec.language.expression import EvaluationError, parse
from archspec.language.yaml_nodes import Scalar
from archspec.symbolic.assumptions import Assumptions
from archspec.symbolic.closed_form import ClosedForm
from archspec.symbolic.path_conditions import Number

AnyForm = TypeVar("AnyForm", bound=ClosedForm)


class _Names(Evaluator):
    """The right side of an assumption: an expression over the formula's fields."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values, self.path = values, Assumptions()

    def name(self, name: str, node: ast.Name) -> Any:
        if name not in self.values:
            self.fail(f"{name} is no field of this formula", node, did_you_mean(name, self.values))
        return self.path.field(name, self.values[name])

    def attribute(self, value: Any, name: str, node: ast.Attribute) -> Any:
        return self.fail("write a field of a sub-config on the left side only", node)


def assume(formula: AnyForm, assumptions: Iterable[str]) -> AnyForm:
    """The formula with fields replaced by expressions of others: `intermediate_size=4*hidden_size`.

    Errors: :class:`FormulaError` with line and column for an assumption that cannot be read, and for
    fields that do not exist.
    """
    result = formula
    known = {**dict.fromkeys(formula.unused, 1), **formula.symbols}
    for text in assumptions:
        left, equals, right = text.partition("=")
        left, stated = left.strip(), right.strip()
        place = Place(Source("--assume", text), 1, len(left) + 2, max(1, len(right)))
        if not equals or not stated:
            help_ = "write field=expression, e.g. intermediate_size=4*hidden_size"
            raise FormulaError(f"{text!r} is no assumption", help=help_)
        if left not in known:
            help_ = did_you_mean(left, known)
            raise FormulaError(f"{left} is no field of this formula", place._replace(column=1), help=help_)
        expr = _expression(Scalar(stated, place, False, stated), known)
        if not isinstance(expr, sympy.Expr) or sympy.Symbol(left) in expr.free_symbols:
            message = f"{left} cannot be replaced by {stated}"
            raise FormulaError(message, place, help="use other fields on the right")
        result = result.replaced({sympy.Symbol(left): expr}, f"{left} = {stated}")
    return result


def _expression(text: Scalar, known: Mapping[str, int | float]) -> Any:
    names = _Names({name: max(int(value), 1) for name, value in known.items() if name.isidentifier()})
    try:
        value = names.evaluate(parse(text))
    except EvaluationError as error:
        raise FormulaError(error.problem()) from None
    except SpecError as error:
        raise FormulaError(error.problems) from None
    return ClosedForm.plain(names.path.shown(value) if isinstance(value, Number) else value)


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
