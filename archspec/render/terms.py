"""The terms of a closed form: repetitions times their content, common factors taken: L·(4·d² + …) + V·d.

A common factor is taken if that makes the sum shorter. Length is the number of written signs: symbols,
numbers and exponents. A bracket around single symbols of one order is free; around other terms of one
order it counts as one sign, around terms of several orders as three: 4·d² + 9·d stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from math import gcd, lcm
from typing import Any, NamedTuple

import sympy

from archspec.render.order import leading_places, order, product, sort_terms
from archspec.symbolic.closed_form import ClosedForm
from archspec.symbolic.fields import without_assumptions
from archspec.symbolic.repetitions import SymbolicTensor
from archspec.tables.quantities import FORMULAS

_MOST_PAIRED = 40  # terms up to which each pair is searched for common factors


class Monomial(NamedTuple):
    """A number times powers."""

    number: Any
    powers: dict[Any, int]

    @property
    def length(self) -> int:
        signs = sum(_size(base) + (power > 1) for base, power in self.powers.items())
        return signs + (abs(self.number) != 1 or not self.powers)

    @property
    def factors(self) -> list[Any]:
        powers = [base**power for base, power in self.powers.items()]
        return powers if self.number == 1 and powers else [self.number, *powers]

    def has(self, powers: dict[Any, int]) -> bool:
        return all(self.powers.get(base, 0) >= power for base, power in powers.items())

    def divide(self, other: Monomial) -> Monomial:
        left = {base: power - other.powers.get(base, 0) for base, power in self.powers.items()}
        return Monomial(self.number / other.number, {base: power for base, power in left.items() if power})


class Factoring(NamedTuple):
    """Some terms of a sum, by index, their common factor, and the number of signs that taking it saves."""

    common: Monomial
    members: tuple[int, ...]
    saved: int


def arrange_terms(formula: ClosedForm, tensors: Iterable[SymbolicTensor] | None = None) -> list[Any]:
    """Return the terms of a formula, or of some of its tensors, in order and factored."""
    groups: dict[Any, list[Any]] = {}  # repetition -> its content
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
        once = without_assumptions(sympy.expand(sympy.Add(*inner)))
        once = sympy.expand(once.xreplace(formula.replacements))
        times = without_assumptions(repetition).xreplace(formula.replacements)
        if once != 0:
            parts = factor_terms(once)
            terms += parts if times == 1 else [multiply([times, add(parts)])]
    return sort_terms(terms) or [sympy.Integer(0)]


def factor_terms(expr: Any) -> list[Any]:
    """Return the terms of an expanded sum in order, with common factors taken if that is shorter.

    >>> d, e, h, k = sympy.symbols("hidden_size head_dim num_attention_heads num_key_value_heads")
    >>> factor_terms(2 * d * e * h + 2 * d * e * k + d)
    [2*head_dim*hidden_size*(num_attention_heads + num_key_value_heads), hidden_size]
    """
    return _factor([_make_monomial(term) for term in sympy.Add.make_args(expr)])


def multiply(factors: Sequence[Any]) -> Any:
    """Return a product as written: SymPy would multiply a number into a sum."""
    flat = [part for factor in factors for part in (factor.args if factor.is_Mul else (factor,))]
    return sympy.Mul(*flat, evaluate=False) if len(flat) > 1 else flat[0]


def add(terms: Sequence[Any]) -> Any:
    """Return a sum as written."""
    return sympy.Add(*terms, evaluate=False) if len(terms) > 1 else terms[0]


def _factor(terms: list[Monomial]) -> list[Any]:
    found = []
    while (best := _best_factoring(terms)) is not None:
        inner = _factor([terms[index].divide(best.common) for index in best.members])
        found.append(multiply([*best.common.factors, add(inner)]))
        terms = [term for index, term in enumerate(terms) if index not in best.members]
    return sort_terms([*found, *(multiply(term.factors) for term in terms)])


def _best_factoring(terms: list[Monomial]) -> Factoring | None:
    """Return the factor of all terms if it has several signs; otherwise the factoring that saves most.

    Ties go to the factoring of more terms, then to the factor that comes first in a product.
    """
    orders = [order(multiply(term.factors)) for term in terms]
    if len(terms) > 1:
        whole = _make_factoring(terms, orders, tuple(range(len(terms))))
        if whole.common.powers and whole.common.length > 1 and whole.saved >= 0:
            return whole
    candidates: set[tuple[int, ...]] = set()
    for powers in _shared_powers(terms):
        members = tuple(index for index, term in enumerate(terms) if term.has(powers))
        candidates.add(members)
        for one in {orders[index] for index in members}:
            candidates.add(tuple(index for index in members if orders[index] == one))
    found = (_make_factoring(terms, orders, members) for members in candidates if len(members) > 1)

    def preference(one: Factoring) -> tuple[Any, ...]:
        return -one.saved, -len(one.members), leading_places(multiply(one.common.factors)), one.members

    return min((one for one in found if one.saved > 0), key=preference, default=None)


def _shared_powers(terms: list[Monomial]) -> Iterable[dict[Any, int]]:
    """Return the common powers of each pair of terms; of many terms, each base."""
    if len(terms) > _MOST_PAIRED:
        return [{base: 1} for base in dict.fromkeys(base for term in terms for base in term.powers)]
    pairs = map(_common_powers, combinations(terms, 2))
    return {frozenset(powers.items()): powers for powers in pairs if powers}.values()


def _make_factoring(terms: list[Monomial], orders: list[Any], members: tuple[int, ...]) -> Factoring:
    chosen = [terms[index] for index in members]
    numbers = [term.number for term in chosen]
    content = sympy.Rational(gcd(*(int(n.p) for n in numbers)), lcm(*(int(n.q) for n in numbers)))
    sign = -1 if all(number < 0 for number in numbers) else 1
    common = Monomial(content * sign, _common_powers(chosen))
    inner = [term.divide(common) for term in chosen]
    mixed = len({orders[index] for index in members}) > 1
    bare = all(term.length == 1 and term.powers for term in inner)
    bracket = 3 if mixed else 0 if bare else 1
    written = common.length + bracket + sum(term.length for term in inner)
    return Factoring(common, members, sum(term.length for term in chosen) - written)


def _common_powers(terms: Iterable[Monomial]) -> dict[Any, int]:
    first, *others = (term.powers for term in terms)
    least = {base: min([power, *(other.get(base, 0) for other in others)]) for base, power in first.items()}
    return {base: power for base, power in least.items() if power}


def _make_monomial(term: Any) -> Monomial:
    number, rest = term.as_coeff_Mul()
    powers: dict[Any, int] = {}
    for factor in sympy.Mul.make_args(rest) if rest != 1 else ():
        base, power = factor.as_base_exp()
        whole = power.is_Integer and power > 0
        powers[base if whole else factor] = int(power) if whole else 1
    return Monomial(number, powers)


@lru_cache(maxsize=4096)
def _size(expr: Any) -> int:
    if not expr.args:
        return 1
    if expr.is_Add:
        mixed = len({order(term) for term in expr.args}) > 1
        bare = all(term.is_Symbol for term in expr.args)
        return sum(map(_size, expr.args)) + (3 if mixed else 0 if bare else 1)
    if expr.is_Pow:
        return _size(expr.base) + 1
    if expr.is_Mul:
        _, over, under = product(expr)
        return sum(map(_size, [*over, *under]))
    return 1 + sum(map(_size, expr.args))
