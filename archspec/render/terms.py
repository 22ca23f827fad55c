"""The terms of a closed form, what a repetition has together: L·(4·d² + …) + V·d."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sympy

from archspec.render.factors import multiplied, shortest
from archspec.render.notation import Glyph
from archspec.render.order import ordered
from archspec.symbolic.closed_form import ClosedForm
from archspec.symbolic.repetitions import SymbolicTensor
from archspec.tables.quantities import FORMULAS

THIN_SPACE, DOT = "\N{THIN SPACE}", "\N{DOT OPERATOR}"
_NO_GLYPH = Glyph("", "", "")


def arranged(formula: ClosedForm, tensors: Iterable[SymbolicTensor] | None = None) -> list[Any]:
    """The terms in order, each repetition times what it repeats, common factors taken.

    ``tensors`` are those to add up, where not all of the formula's.
    """
    groups: dict[Any, list[Any]] = {}  # repetition -> what it repeats
    for tensor in formula.tensors if tensors is None else tensors:
        part = sympy.expand(FORMULAS[formula.quantity].term(tensor) * formula.scale)
        repetition = sympy.sympify(tensor.repetition)
        once = part
        if repetition.free_symbols:
            simplify = sympy.expand if repetition.is_Symbol else sympy.cancel
            once = simplify(part / repetition)
        if not repetition.free_symbols or once.as_numer_denom()[1].free_symbols:
            repetition, once = sympy.Integer(1), part
        groups.setdefault(repetition, []).append(once)
    terms = []
    for repetition, inner in groups.items():
        once = formula.plain(sympy.expand(sympy.Add(*inner)))
        once = sympy.expand(once.xreplace(formula.replacements))
        times = formula.plain(repetition).xreplace(formula.replacements)
        parts = shortest(once) if once != 0 else []
        terms += parts if times == 1 else [multiplied([times, sum_]) for sum_ in _together(parts)]
    return ordered(terms) or [sympy.Integer(0)]


def _together(parts: list[Any]) -> list[Any]:
    return [sympy.Add(*parts, evaluate=False)] if len(parts) > 1 else parts


def joined(texts: Iterable[str]) -> str:
    """Printed terms as a sum."""
    return " + ".join(texts).replace("+ -", "- ")


def between(before: Any, after: Any, symbols: Mapping[str, Glyph]) -> str:
    """What makes two factors two: nothing at a bracket, a thin space, or a dot next to a name."""
    if before.is_Number:
        return DOT if after.is_Number or (after.is_Pow and after.base.is_Number) else ""
    if _named(before, symbols) or _named(after, symbols):
        return DOT
    return "" if before.is_Add or after.is_Add else THIN_SPACE


def _named(factor: Any, symbols: Mapping[str, Glyph]) -> bool:
    base = factor.base if factor.is_Pow else factor
    return bool(base.is_Symbol and symbols.get(base.name, _NO_GLYPH).named)
