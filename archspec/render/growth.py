"""The growth of a closed form: its fastest-growing terms, and its derivatives."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import reduce
from typing import Any, NamedTuple

import sympy

from archspec.render.arrangements import Part, find_symbol
from archspec.render.notation import ROLES, field_of, roles
from archspec.render.terms import add, factor_terms, multiply
from archspec.symbolic.closed_form import ClosedForm

LARGER = 10  # how many times larger a faster term must be for the config, unless growing fields are named
Powers = frozenset[tuple[Any, Any]]  # (symbol, power) of the growing symbols with a power other than 0
Rate = frozenset[Powers]  # the powers of the terms of a sum that no other term outgrows
CONSTANT: Powers = frozenset()


class Rates:
    """Growth rates of expressions in some symbols, each of which may grow at any speed."""

    def __init__(self, growing: Iterable[Any]) -> None:
        self.growing = frozenset(growing)

    def rate_of(self, expr: Any) -> Rate:
        """Return the rate of an expression; roundings are ignored, a sum over layers is a product."""
        if not expr.free_symbols & self.growing or isinstance(expr, sympy.log):
            return frozenset({CONSTANT})
        if expr.is_Symbol:
            return frozenset({frozenset({(expr, sympy.Integer(1))})})
        if expr.is_Mul:
            return reduce(_product, map(self.rate_of, expr.args))
        if expr.is_Pow and expr.exp.is_number:
            scaled = [{symbol: power * expr.exp for symbol, power in one} for one in self.rate_of(expr.base)]
            return _fastest(map(_powers, scaled))
        if isinstance(expr, sympy.Min | sympy.Mod):  # a remainder is below either side
            rates = [*map(self.rate_of, expr.args)]
            for one in rates:
                if all(one == other or self.outgrows(other, one) for other in rates):
                    return one
            return rates[0]
        if isinstance(expr, sympy.Sum):
            term, (index, first, last) = expr.args
            return _product(self.rate_of(term.subs(index, last)), self.rate_of(last - first + 1))
        parts = [part[0] for part in expr.args] if isinstance(expr, sympy.Piecewise) else expr.args
        return _fastest(powers for part in parts for powers in self.rate_of(part))

    def outgrows(self, one: Rate, other: Rate) -> bool:
        """Return True if, for each term of the second, the first has one with higher powers."""
        return all(any(_outgrows(high, low) for high in one) for low in other)


def _powers(found: dict[Any, Any]) -> Powers:
    return frozenset((symbol, power) for symbol, power in found.items() if power != 0)


def _outgrows(one: Powers, other: Powers) -> bool:
    high, low = dict(one), dict(other)
    return one != other and all(high.get(symbol, 0) >= low.get(symbol, 0) for symbol in {*high, *low})


def _fastest(found: Iterable[Powers]) -> Rate:
    powers = frozenset(found)
    return frozenset(one for one in powers if not any(_outgrows(other, one) for other in powers))


def _product(one: Rate, other: Rate) -> Rate:
    pairs = ((dict(left), dict(right)) for left in one for right in other)
    sums = (
        {each: left.get(each, 0) + right.get(each, 0) for each in {*left, *right}} for left, right in pairs
    )
    return _fastest(map(_powers, sums))


class LeadingTerms(NamedTuple):
    """The terms of a closed form that no other term outgrows, and the dropped ones; they add up to the whole.

    ``growing`` names the growing symbols, ``kept`` are the rates of the leading terms.
    """

    expr: Any
    dropped: Any
    growing: tuple[str, ...]
    kept: frozenset[Rate]
    rates: Rates

    def leading_part(self, part: Part) -> Part:
        """Return the leading terms of a part of the formula, written like that part."""
        expr = sympy.Add(*filter(self._is_leading, sympy.Add.make_args(sympy.expand(part.expr))))
        terms = [left for term in part.terms for left in self._leading_terms(term)]
        same = terms and sympy.expand(sympy.Add(*terms) - expr) == 0
        return Part.make(part.label, expr, terms if same else factor_terms(expr))

    def _is_leading(self, term: Any) -> bool:
        return self.rates.rate_of(term) in self.kept

    def _leading_terms(self, term: Any, times: Any = sympy.S.One) -> list[Any]:
        """Return the leading terms of a term, and within its brackets, when multiplied by another factor."""
        if term.is_Add:
            return [left for part in term.args for left in self._leading_terms(part, times)]
        sums = [factor for factor in term.args if factor.is_Add] if term.is_Mul else []
        if not sums:
            return [term] if self._is_leading(times * term) else []
        outside = [factor for factor in term.args if factor is not sums[-1]]
        left = self._leading_terms(sums[-1], times * sympy.Mul(*outside))
        return [multiply([*outside, add(left)])] if left else []


def leading_terms(formula: ClosedForm, fields: Iterable[str] = ()) -> LeadingTerms:
    """Return the terms that dominate as fields grow, however fast each of them grows.

    A term is outgrown by another with at least its power in every growing field and a higher one in some:
    13·L·d by 12·L·d², but not V·d, unless the vocabulary is constant. With ``fields``, all outgrown terms are
    dropped. Without, the fields of :func:`grows` grow, and a term is dropped only if the faster one is
    :data:`LARGER` times as large for the config: a backbone without a symbol is a large constant.
    """
    named = [find_symbol(formula, name) for name in fields]
    pattern = re.compile(rf"\b({'|'.join(re.escape(symbol.name) for symbol in named)})\b")
    defined = {name for name, text in formula.definitions.items() if pattern.search(text)}
    growing = {*named, *map(sympy.Symbol, defined)}  # L_mlp grows with the number of layers
    if not named:
        growing = {symbol for symbol in formula.expr.free_symbols if grows(formula, symbol.name)}
    rates = Rates(growing)
    groups: dict[Rate, list[Any]] = {}
    for term in sympy.Add.make_args(sympy.expand(formula.expr)):
        groups.setdefault(rates.rate_of(term), []).append(term)
    sizes = {rate: abs(formula.number(sympy.Add(*terms))) for rate, terms in groups.items()}

    def is_outgrown(rate: Rate) -> bool:
        faster = (other for other in groups if rates.outgrows(other, rate))
        return any(named or sizes[other] >= LARGER * sizes[rate] for other in faster)

    kept = frozenset(rate for rate in groups if not is_outgrown(rate))
    expr = sympy.Add(*(term for rate in groups if rate in kept for term in groups[rate]))
    dropped = sympy.Add(*(term for rate in groups if rate not in kept for term in groups[rate]))
    return LeadingTerms(expr, dropped, tuple(sorted(symbol.name for symbol in growing)), kept, rates)


def grows(formula: ClosedForm, name: str) -> bool:
    """Return True if a symbol grows with the model, by its role, or is a length of a forward pass."""
    if name in formula.definitions or (formula.call and name in formula.call.lengths()):
        return True
    field = field_of(name)
    if field.endswith("in_channels") and "[" in name:  # the widths of the stages of a backbone
        return True
    role = roles().get(field, "other size")
    return ROLES[role] and role != "call"


def slopes(formula: ClosedForm) -> dict[str, float | None]:
    """Return the partial derivative in each symbol, without roundings; None if SymPy cannot derive."""
    smooth = formula.expr.replace(sympy.floor, lambda x: x).replace(sympy.ceiling, lambda x: x)
    derivatives = {name: sympy.diff(smooth, sympy.Symbol(name)) for name in formula.symbols}
    return {
        name: None if found.has(sympy.Derivative, sympy.Subs) else float(formula.number(found))
        for name, found in derivatives.items()
    }
