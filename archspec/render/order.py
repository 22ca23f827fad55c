"""The order of terms and factors in every format: terms of highest order first, factors as in notation.yaml.

The order of a term is its degree in the fields that make a model large; fields with `order: 0` do not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import sympy

from archspec.render.notation import field_of, symbol_places


class Place(NamedTuple):
    """The rank of a symbol among the factors of a product, and its contribution to the order of a term."""

    rank: int
    name: str
    order: int


_END = Place(10**6, "", 0)


class Product(NamedTuple):
    """A term as it is written: its sign, its numerator and its denominator."""

    negative: bool
    over: list[Any]
    under: list[Any]


@lru_cache(maxsize=4096)
def place_of(name: str) -> Place:
    """Return the place of a symbol; numbers of layers are placed like the depth, unknown symbols last."""
    known = symbol_places()
    field = "num_hidden_layers" if name.startswith("L_") else field_of(name)
    rank, order = known.get(field, (len(known), 1))
    return Place(rank, name, order)


def product(expr: Any) -> Product:
    """Return the factors of a term in order: a number, symbols and functions, sums."""
    number, over, under = sympy.Integer(1), [], []
    waiting = [expr]
    while waiting:
        factor = waiting.pop()
        if factor.is_Mul:
            waiting += factor.args
        elif factor.is_Rational:
            number *= factor
        elif factor.is_Pow and factor.exp.could_extract_minus_sign():
            under.append(factor.base ** (-factor.exp))
        else:
            over.append(factor)
    size = abs(number)
    whole = [sympy.Integer(size.p)] if size.p != 1 or not over else []
    divisor = [sympy.Integer(size.q)] if size.q != 1 else []
    return Product(bool(number < 0), whole + sorted(over, key=_factor), divisor + sorted(under, key=_factor))


def sort_terms(terms: Iterable[Any]) -> list[Any]:
    """Sort terms by order, the highest first, then by symbols; the first term is positive if any is.

    >>> d, h, V = sympy.symbols("hidden_size num_attention_heads vocab_size")
    >>> sort_terms([d, h * d, V * d, d**2])
    [hidden_size*vocab_size, hidden_size**2, hidden_size*num_attention_heads, hidden_size]
    """

    def key(term: Any) -> tuple[Any, ...]:
        return -order(term), product(term).negative, leading_places(term), sympy.default_sort_key(term)

    found = sorted(terms, key=key)
    first = next((term for term in found if not product(term).negative), None)
    if first is not None and product(found[0]).negative:
        found.remove(first)
        found.insert(0, first)
    return found


def sort_arguments(function: Any) -> list[Any]:
    """Return the arguments of a symmetric function such as max(), numbers first."""
    return sorted(function.args, key=lambda part: (bool(part.free_symbols), *_factor(part)))


@lru_cache(maxsize=4096)
def order(expr: Any) -> Any:
    """Return the degree of an expression in the fields that make a model large."""
    if expr.is_Symbol:
        return place_of(expr.name).order
    if not expr.free_symbols:
        return 0
    if expr.is_Pow:
        return order(expr.base) * expr.exp if expr.exp.is_Rational else order(expr.base)
    if expr.is_Mul:
        return sum(map(order, expr.args))
    if isinstance(expr, sympy.Sum):  # over layers: the number of terms grows, too
        return order(expr.args[0]) + 1
    return max(0, *map(order, expr.args))


def leading_places(term: Any) -> list[Place]:
    """Return the places of the symbols in a term's first monomial; the end mark puts longer ones first."""
    return [*sorted(_leading_places(term)), _END]


def _leading_places(term: Any) -> list[Place]:
    found: list[Place] = []
    for factor in product(term).over:
        if factor.is_Add:
            found += _leading_places(sort_terms(factor.args)[0])
        elif factor.is_Pow and factor.exp.is_Integer:
            found += [_factor(factor.base)[1]] * int(factor.exp)
        elif factor.free_symbols:
            found.append(_factor(factor)[1])
    return found


def _factor(factor: Any) -> tuple[Any, ...]:
    """Return the sort key of a factor: sums last, a function at the place of its first symbol."""
    first = min((place_of(symbol.name) for symbol in factor.free_symbols), default=_END)
    return factor.is_Add, first, sympy.default_sort_key(factor)
