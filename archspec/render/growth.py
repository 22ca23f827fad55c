"""How a closed form grows: its terms of highest order, and how it answers to each field."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import sympy

from archspec.render.arrangements import symbol_of
from archspec.symbolic.closed_form import ClosedForm

# Counts of things that do not grow when a model is widened or deepened.
_FIXED = re.compile(
    r"vocab|position|type_vocab|num_labels|heads?$|experts?|_head$|buckets|kernel|channels|image|patch|window"
    r"|expand|groups?$|per_tok"
)


class Leading(NamedTuple):
    """The terms of highest order, and what was dropped at the config's values."""

    expr: Any
    dropped: Any
    dropped_value: int
    dropped_share: float


def leading(formula: ClosedForm, symbols: Iterable[str] = ()) -> Leading:
    """The terms of the highest degree in width and depth (or in the given symbols).

    The vocabulary, positions, heads, experts and other counts that stay when a model grows have
    degree zero. ``dropped_share`` is of the exact total at the config.
    """
    chosen = {symbol_of(formula, name) for name in symbols}
    if not chosen:
        chosen = {s for s in formula.expr.free_symbols if not _FIXED.search(s.name.rpartition(".")[2])}
    degrees = {term: _degree(term, chosen) for term in sympy.Add.make_args(sympy.expand(formula.expr))}
    top = max(degrees.values())
    kept = sympy.Add(*(term for term, degree in degrees.items() if degree == top))
    dropped = sympy.Add(*(term for term, degree in degrees.items() if degree != top))
    value = formula.number(dropped)
    return Leading(kept, dropped, int(value), float(value) / max(1, formula.evaluate()))


def _degree(expr: Any, symbols: set[Any]) -> Any:
    """The degree when all the symbols grow alike; a rounding counts as what it rounds."""
    if not expr.free_symbols & symbols:
        return sympy.Integer(0)
    if expr.is_Symbol:
        return sympy.Integer(1)
    if expr.is_Pow:
        return _degree(expr.base, symbols) * expr.exp
    degrees = [_degree(arg, symbols) for arg in expr.args]
    if expr.is_Mul or isinstance(expr, sympy.Sum):  # a sum over layers has as many terms as there are layers
        return sum(degrees)
    return min(degrees) if isinstance(expr, sympy.Min | sympy.Mod) else max(degrees)


def _smooth(expr: Any) -> Any:
    """An expression without its roundings."""
    return expr.replace(sympy.floor, lambda x: x).replace(sympy.ceiling, lambda x: x)


class Sensitivity(NamedTuple):
    """How a quantity answers to one field at a config.

    ``derivative`` is the partial derivative, ``step`` the exact change for one more (None where that is no
    count), ``elasticity`` the percent that one percent more adds.
    """

    field: str
    value: int | float
    derivative: float
    step: int | None
    elasticity: float


def sensitivity(formula: ClosedForm) -> list[Sensitivity]:
    """Every field that enters, the most elastic first; derivatives ignore rounding."""
    found = []
    base = formula.evaluate()
    smooth = _smooth(formula.expr)
    for name, value in formula.symbols.items():
        symbol = sympy.Symbol(name)
        slope = float(formula.number(sympy.diff(smooth, symbol)))
        change = sympy.sympify(formula.number(formula.expr.subs(symbol, symbol + 1)) - base)
        step = int(change) if change.is_Integer else None
        found.append(Sensitivity(name, value, slope, step, slope * float(value) / base if base else 0.0))
    return sorted(found, key=lambda row: -abs(row.elasticity))
