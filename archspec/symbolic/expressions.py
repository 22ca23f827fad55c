"""Expressions over fields and the indices of loops, and the conditions that decide a run."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from archspec.language.operations import BINARY

Monomial = tuple[tuple[int, int], ...]  # (number of an atom, power), by number
VARIABLES = ("axis", "field", "index")  # operations without operands
_OPERATORS = ("+", "-", "*", "/", "//", "%", "**")  # in the order of BINARY
PYTHON: dict[str, Callable[[Any, Any], Any]] = dict(zip(_OPERATORS, BINARY.values(), strict=True))
Rounding = Callable[[float], int]
ROUNDING: dict[str, Rounding] = {"trunc": int, "floor": math.floor, "ceil": math.ceil, "round": round}
CALLS: dict[str, Callable[..., Any]] = {**ROUNDING, "int": float, "min": min, "max": max}
_EVALUATED: dict[str, Callable[..., Any]] = {**PYTHON, **CALLS}
_PLAIN = (bool, int, float, str)


class TooLarge(Exception):
    """An expression is too large to handle symbolically."""


@dataclass(eq=False, slots=True)
class Poly:
    """An integer polynomial: monomials with coefficients, bounds, and the axes (fields, indices)."""

    number: int
    terms: tuple[tuple[Monomial, int], ...]
    low: int
    high: int
    axes: frozenset[Any]

    @property
    def constant(self) -> int | None:
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None


@dataclass(eq=False, slots=True)
class Operation:
    """An operation on expressions, with bounds of the result and the axes that it depends on."""

    number: int
    op: str
    args: tuple[Any, ...]
    low: Any
    high: Any
    axes: frozenset[Any]


class Atom(Operation):
    """A field, or an integer operation that is not a polynomial, such as `a // b` or `int(0.5 * a)`."""

    __slots__ = ()


class Real(Operation):
    """A double-precision expression: the operations of Python's floats, in the same order."""

    __slots__ = ()


class Condition(NamedTuple):
    """``left op 0`` for integers, ``left op right`` for floats, and the outcome in the run."""

    op: str  # == or <
    left: Any
    right: Any
    holds: bool

    @property
    def axes(self) -> frozenset[Any]:
        return frozenset(self.left.axes if self.right is None else self.left.axes | self.right.axes)

    def negate(self) -> Condition:
        return self._replace(holds=not self.holds)

    def is_met(self, atoms: Sequence[Atom], known: Mapping[Any, Any]) -> bool:
        """Return True if the comparison has the same outcome at other values of the axes."""
        left = value_at(atoms, self.left, known)
        right = 0 if self.right is None else value_at(atoms, self.right, known)
        return bool(left < right if self.op == "<" else left == right) == self.holds


class Lookup(NamedTuple):
    """The item of a list at an index."""

    items: Any
    place: Poly
    found: Any

    def is_met(self, atoms: Sequence[Atom], known: Mapping[Any, Any]) -> bool:
        """Return True if the index leads to the same item at other values of the axes."""
        item = self.items[value_at(atoms, self.place, known)]
        if type(item) in _PLAIN and type(item) is type(self.found):
            return bool(item == self.found)
        return item is self.found


def value_at(atoms: Sequence[Atom], expr: Poly | Operation, known: Mapping[Any, Any]) -> Any:
    """Return the value of an expression at values of the axes. Errors: KeyError for one without a value."""
    if isinstance(expr, Poly):
        return sum(
            coefficient * math.prod(value_at(atoms, atoms[n], known) ** power for n, power in monomial)
            for monomial, coefficient in expr.terms
        )
    if expr.op in VARIABLES:
        return known[expr.args[0]]
    if expr.op == "float":
        return expr.args[0]
    if expr.op == "below":
        return bisect_left(expr.args[1], value_at(atoms, expr.args[0], known))
    return _EVALUATED[expr.op](*(value_at(atoms, arg, known) for arg in expr.args))
