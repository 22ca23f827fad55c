"""The terms of a closed form in the model's order, those of one repetition together: V·d + L·(4·d² + …)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy

from archspec.quantities import QUANTITIES
from archspec.symbolic.closed_form import ClosedForm
from archspec.symbolic.repetitions import SymbolicTensor


def arranged(formula: ClosedForm, tensors: Iterable[SymbolicTensor] | None = None) -> list[Any]:
    """The terms in the model's order: what stands once, then each repetition times what it repeats.

    ``tensors`` are those to add up, where not all of the formula's.
    """
    groups: dict[Any, Any] = {}  # repetition -> what it repeats
    for tensor in formula.tensors if tensors is None else tensors:
        part = sympy.expand(QUANTITIES[formula.quantity].term(tensor) * formula.scale)
        repetition = sympy.sympify(tensor.repetition)
        once = sympy.cancel(part / repetition) if repetition.free_symbols else part
        if not repetition.free_symbols or once.as_numer_denom()[1].free_symbols:
            repetition, once = sympy.Integer(1), part
        groups[repetition] = groups.get(repetition, 0) + once
    terms = []
    for repetition, inner in groups.items():
        once = sympy.expand(formula.plain(sympy.expand(inner)).xreplace(formula.replacements))
        times = formula.plain(repetition).xreplace(formula.replacements)
        parts = ordered(once) if once != 0 else []
        if times == 1 or not parts:
            terms += parts
        else:
            terms.append(sympy.Mul(times, once, evaluate=False) if len(parts) > 1 else times * once)
    return terms or [sympy.Integer(0)]


def ordered(expr: Any) -> list[Any]:
    """The terms of a sum, the highest degree first, those with a minus last."""
    symbols = sorted(expr.free_symbols, key=lambda symbol: symbol.name)

    def place(term: Any) -> tuple[Any, ...]:
        degree = sum(sympy.degree(term, symbol) if term.is_polynomial(symbol) else 1 for symbol in symbols)
        return term.could_extract_minus_sign(), -degree, sympy.default_sort_key(term)

    return sorted(dict.fromkeys(sympy.Add.make_args(expr)), key=place)


def renamed(terms: Iterable[Any], names: dict[str, str]) -> list[Any]:
    """Terms with symbols of other names."""
    table = {sympy.Symbol(old): sympy.Symbol(new) for old, new in names.items()}
    return [term.xreplace(table) for term in terms]


def joined(texts: Iterable[str]) -> str:
    """Printed terms as a sum."""
    return " + ".join(texts).replace("+ -", "- ")
