"""The terms of a closed form in the model's order, those of one repetition together: V·d + L·(4·d² + …)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy

from archspec.quantities import FORMULAS
from archspec.symbolic.closed_form import ClosedForm
from archspec.symbolic.repetitions import SymbolicTensor


def arranged(formula: ClosedForm, tensors: Iterable[SymbolicTensor] | None = None) -> list[Any]:
    """The terms in the model's order: what stands once, then each repetition times what it repeats.

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
        parts = ordered(once) if once != 0 else []
        if times == 1 or not parts:
            terms += parts
        else:
            terms.append(sympy.Mul(times, once, evaluate=False) if len(parts) > 1 else times * once)
    return terms or [sympy.Integer(0)]


def ordered(expr: Any) -> list[Any]:
    """The terms of a sum, the highest degree first, those with a minus last."""

    def place(term: Any) -> tuple[Any, ...]:
        return term.could_extract_minus_sign(), -_degree(term), sympy.default_sort_key(term)

    return sorted(dict.fromkeys(sympy.Add.make_args(expr)), key=place)


def _degree(term: Any) -> int:
    """The degree in all symbols together; one that enters by more than powers counts as one."""
    powers = term.as_powers_dict()
    if all(base.is_Symbol or base.is_number for base in powers):  # a monomial, which SymPy need not expand
        symbols = ((base, power) for base, power in powers.items() if base.is_Symbol)
        return sum(int(power) if power.is_Integer and power > 0 else 1 for _, power in symbols)
    return sum(
        int(sympy.degree(term, symbol)) if term.is_polynomial(symbol) else 1 for symbol in term.free_symbols
    )


def renamed(terms: Iterable[Any], names: dict[str, str]) -> list[Any]:
    """Terms with symbols of other names."""
    table = {sympy.Symbol(old): sympy.Symbol(new) for old, new in names.items()}
    return [term.xreplace(table) for term in terms]


def joined(texts: Iterable[str]) -> str:
    """Printed terms as a sum."""
    return " + ".join(texts).replace("+ -", "- ")
