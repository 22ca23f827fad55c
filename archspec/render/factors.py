"""A sum with what its terms share in front, where that is shorter: 2·d·d_h·(h + h_kv).

Length is the number of signs that are written: symbols, numbers and exponents. A bracket around bare symbols
of one order costs nothing; around other terms of one order it counts as one sign, around terms of several
orders as three, so that 4·d² + 9·d stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import combinations
from math import gcd, lcm
from typing import Any, NamedTuple

import sympy

from archspec.render.order import lead, order, ordered, product

_PAIRS = 40  # of more terms than that, not each pair is looked at


class Monomial(NamedTuple):
    """A number times powers."""

    number: Any
    powers: dict[Any, int]

    @property
    def length(self) -> int:
        signs = sum(_size(base) + (power > 1) for base, power in self.powers.items())
        return signs + (abs(self.number) != 1 or not self.powers)

    def over(self, other: Monomial) -> Monomial:
        left = {base: power - other.powers.get(base, 0) for base, power in self.powers.items()}
        powers = {base: power for base, power in left.items() if power}
        return Monomial(self.number / other.number, powers)

    @property
    def factors(self) -> list[Any]:
        powers = [base**power for base, power in self.powers.items()]
        return powers if self.number == 1 and powers else [self.number, *powers]

    @property
    def expr(self) -> Any:
        return multiplied(self.factors)


class Factoring(NamedTuple):
    """Some of the terms of a sum with what they share in front."""

    common: Monomial
    members: tuple[int, ...]
    saved: int


def shortest(expr: Any) -> list[Any]:
    """The terms of an expanded sum, in order, with common factors taken where that is shorter.

    >>> d, e, h, k = sympy.symbols("hidden_size head_dim num_attention_heads num_key_value_heads")
    >>> shortest(2 * d * e * h + 2 * d * e * k + d)
    [2*head_dim*hidden_size*(num_attention_heads + num_key_value_heads), hidden_size]
    """
    return _taken([_monomial(term) for term in sympy.Add.make_args(expr)])


def multiplied(factors: list[Any]) -> Any:
    """A product as it stands: SymPy would multiply a number into a sum."""
    flat = [part for factor in factors for part in (factor.args if factor.is_Mul else (factor,))]
    return sympy.Mul(*flat, evaluate=False) if len(flat) > 1 else flat[0]


def added(terms: list[Any]) -> Any:
    """A sum as it stands."""
    return sympy.Add(*terms, evaluate=False) if len(terms) > 1 else terms[0]


def _taken(terms: list[Monomial]) -> list[Any]:
    found = []
    while (best := _best(terms)) is not None:
        inner = _taken([terms[index].over(best.common) for index in best.members])
        found.append(multiplied([*best.common.factors, added(inner)]))
        terms = [term for index, term in enumerate(terms) if index not in best.members]
    return ordered([*found, *(term.expr for term in terms)])


def _best(terms: list[Monomial]) -> Factoring | None:
    """What all terms share, where it is more than one sign; else the factoring that saves most.

    Of equals the one of the most terms, then the one whose factor comes first in a product.
    """
    orders = [order(term.expr) for term in terms]
    if len(terms) > 1:
        whole = _factoring(terms, orders, tuple(range(len(terms))))
        if whole.common.powers and whole.common.length > 1 and whole.saved >= 0:
            return whole
    candidates: set[tuple[int, ...]] = set()
    for powers in _shared(terms):
        members = [index for index, term in enumerate(terms) if _divides(powers, term)]
        candidates.add(tuple(members))
        candidates |= {
            tuple(index for index in members if orders[index] == one)
            for one in {orders[index] for index in members}
        }
    found = (_factoring(terms, orders, members) for members in candidates if len(members) > 1)
    return min((one for one in found if one.saved > 0), key=_preference, default=None)


def _preference(found: Factoring) -> tuple[Any, ...]:
    return -found.saved, -len(found.members), lead(multiplied(found.common.factors)), found.members


def _shared(terms: list[Monomial]) -> Iterable[dict[Any, int]]:
    """What some terms may share: of each two, or one base at a time."""
    if len(terms) > _PAIRS:
        return [{base: 1} for base in dict.fromkeys(base for term in terms for base in term.powers)]
    pairs = (_common(pair) for pair in combinations(terms, 2))
    return {frozenset(powers.items()): powers for powers in pairs if powers}.values()


def _factoring(terms: list[Monomial], orders: list[Any], members: tuple[int, ...]) -> Factoring:
    chosen = [terms[index] for index in members]
    common = Monomial(_content([term.number for term in chosen]), _common(chosen))
    inner = [term.over(common) for term in chosen]
    mixed = len({orders[index] for index in members}) > 1
    written = common.length + _bracket(mixed, inner) + sum(term.length for term in inner)
    return Factoring(common, members, sum(term.length for term in chosen) - written)


def _bracket(mixed: bool, inner: list[Monomial]) -> int:
    if mixed:
        return 3
    bare = all(term.length == 1 and term.powers for term in inner)
    return 0 if bare else 1


def _common(terms: Iterable[Monomial]) -> dict[Any, int]:
    first, *others = (term.powers for term in terms)
    least = {base: min([power, *(other.get(base, 0) for other in others)]) for base, power in first.items()}
    return {base: power for base, power in least.items() if power}


def _divides(powers: dict[Any, int], term: Monomial) -> bool:
    return all(term.powers.get(base, 0) >= power for base, power in powers.items())


def _content(numbers: list[Any]) -> Any:
    """The greatest number of which all are multiples, negative where all are."""
    over, under = gcd(*(int(number.p) for number in numbers)), lcm(*(int(number.q) for number in numbers))
    return sympy.Rational(over, under) * (-1 if all(number < 0 for number in numbers) else 1)


def _monomial(term: Any) -> Monomial:
    number, rest = term.as_coeff_Mul()
    powers: dict[Any, int] = {}
    for factor in sympy.Mul.make_args(rest) if rest != 1 else ():
        base, power = factor.as_base_exp()
        whole = power.is_Integer and power > 0
        powers[base if whole else factor] = int(power) if whole else 1
    return Monomial(number, powers)


@lru_cache(maxsize=4096)
def _size(expr: Any) -> int:
    """The signs of an expression."""
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
