"""Integer polynomials over the swept fields, with the bounds that keep 64-bit arithmetic honest.

A count is a polynomial in the swept fields and in *atoms*: what a polynomial cannot say, such as `a // b`, `a
% b` or `int(0.5 * a)`. Everything is interned in a :class:`Space`, so that equal subexpressions are one
object, and carries an interval that holds for the whole grid.
"""

from __future__ import annotations

import ast
import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

from archspec.language.operations import BINARY

Monomial = tuple[tuple[int, int], ...]  # (number of an atom, power), by number
MAX_TERMS = 500
PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": BINARY[ast.Add],
    "-": BINARY[ast.Sub],
    "*": BINARY[ast.Mult],
    "/": BINARY[ast.Div],
    "//": BINARY[ast.FloorDiv],
    "%": BINARY[ast.Mod],
    "**": BINARY[ast.Pow],
}
ROUNDING: dict[str, Callable[[float], int]] = {
    "trunc": int,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
}
VARIABLES = ("axis", "field", "index")  # operations without operands
_WHOLE = {"+": "add", "-": "subtract", "*": "multiply", "**": "power", "//": "floordiv", "%": "modulo"}
EXACT_FLOAT = 2**53  # up to here an int is a float without rounding


class TooLarge(Exception):
    """An expression that outgrows what is worth handling symbolically."""


class Poly:
    """An integer polynomial: monomial -> coefficient, with bounds and the axes (fields, indices) it has."""

    __slots__ = ("axes", "high", "low", "number", "terms")

    def __init__(
        self, number: int, terms: tuple[tuple[Monomial, int], ...], low: int, high: int, axes: frozenset[Any]
    ) -> None:
        self.number, self.terms, self.low, self.high, self.axes = number, terms, low, high, axes

    @property
    def constant(self) -> int | None:
        """The value of a polynomial that is a mere number."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None


class Operation:
    """An operation on expressions, with bounds of what it gives and the axes that it depends on."""

    __slots__ = ("args", "axes", "high", "low", "number", "op")

    def __init__(
        self, number: int, op: str, args: tuple[Any, ...], low: Any, high: Any, axes: frozenset[Any]
    ) -> None:
        self.number, self.op, self.args, self.low, self.high, self.axes = number, op, args, low, high, axes


class Atom(Operation):
    """A swept field (`axis`), or a whole number that is no polynomial of others."""

    __slots__ = ()


class Real(Operation):
    """A double-precision expression: the operations of Python's own floats, in the same order."""

    __slots__ = ()


class Space:
    """Where expressions live: one grid's axes, and every atom and polynomial made over them."""

    def __init__(self, bounds: Sequence[tuple[int, int]]) -> None:
        self.atoms: list[Atom] = []
        self._interned: dict[Any, Any] = {}
        self._results: dict[tuple[str, int, int], Poly | Real] = {}
        self.count = 0
        for axis, (low, high) in enumerate(bounds):
            self._atom("axis", (axis,), low, high)

    def spend(self, terms: int) -> None:
        """Meters the terms that are made. A grid has no limit: it falls back on plain counts."""

    def axis(self, number: int) -> Poly:
        return self.poly({((number, 1),): 1})

    def constant(self, value: int) -> Poly:
        return self.poly({(): value})

    def poly(self, terms: dict[Monomial, int]) -> Poly:
        key = tuple(sorted((monomial, c) for monomial, c in terms.items() if c))
        if (found := self._interned.get(key)) is not None:
            return found  # type: ignore[no-any-return]
        if len(key) > MAX_TERMS:
            raise TooLarge(f"a polynomial of more than {MAX_TERMS:,} terms")
        low = high = 0
        axes: set[int] = set()
        for monomial, coefficient in key:
            one = self._monomial_bounds(monomial)
            ends = (coefficient * one[0], coefficient * one[1])
            low, high = low + min(ends), high + max(ends)
            for atom, _ in monomial:
                axes |= self.atoms[atom].axes
        self.count += 1
        made = self._interned[key] = Poly(self.count, key, low, high, frozenset(axes))
        return made

    def _monomial_bounds(self, monomial: Monomial) -> tuple[int, int]:
        low = high = 1
        for number, power in monomial:
            atom = self.atoms[number]
            ends = [atom.low**power, atom.high**power]
            if power % 2 == 0 and atom.low < 0 < atom.high:
                ends.append(0)
            corners = [a * b for a in (low, high) for b in (min(ends), max(ends))]
            low, high = min(corners), max(corners)
        return low, high

    def magnitude(self, poly: Poly, bounds: Callable[[Atom], int] | None = None) -> int:
        """A bound of every number that Horner's scheme meets on the way to the polynomial's value."""
        total = 0
        for monomial, coefficient in poly.terms:
            size = abs(coefficient)
            for number, power in monomial:
                atom = self.atoms[number]
                size *= max(1, bounds(atom) if bounds else max(abs(atom.low), abs(atom.high))) ** power
            total += size
        return total

    def add(self, a: Poly, b: Poly, sign: int = 1) -> Poly:
        terms = dict(a.terms)
        for monomial, coefficient in b.terms:
            terms[monomial] = terms.get(monomial, 0) + sign * coefficient
        return self.poly(terms)

    def subtract(self, a: Poly, b: Poly) -> Poly:
        return self.add(a, b, -1)

    def operation(self, op: str, left: Poly | Real, right: Poly | Real) -> Poly | Real:
        """`left op right`, which is made once; a divisor is nowhere 0 where the result is used.

        Errors: :class:`TooLarge` where there is no expression of it.
        """
        key = (op, left.number, right.number)
        if key not in self._results:
            whole = isinstance(left, Poly) and isinstance(right, Poly) and op in _WHOLE
            if whole and (op != "**" or right.low >= 0):
                self._results[key] = getattr(self, _WHOLE[op])(left, right)
            else:
                self._results[key] = self.operate(op, *self.reals(left, right))
        return self._results[key]

    def power(self, a: Poly, b: Poly) -> Poly:
        """a ** b for a b that is a small number."""
        exponent, result = b.constant, self.constant(1)
        if exponent is None or not 0 <= exponent <= 8:
            raise TooLarge("a power that is no small number")
        for _ in range(exponent):
            result = self.multiply(result, a)
        return result

    def multiply(self, a: Poly, b: Poly) -> Poly:
        if len(a.terms) * len(b.terms) > MAX_TERMS * 10:
            raise TooLarge(f"a product of more than {MAX_TERMS * 10:,} terms")
        self.spend(len(a.terms) * len(b.terms))
        terms: dict[Monomial, int] = {}
        for one, c in a.terms:
            for other, k in b.terms:
                monomial = _merged(one, other)
                terms[monomial] = terms.get(monomial, 0) + c * k
        return self.poly(terms)

    def quotient(self, a: Poly, b: Poly) -> Poly | None:
        """a / b where that is a polynomial."""
        divisor, by = max(b.terms, key=_leading)
        found, rest = self.constant(0), a
        while rest.terms:
            monomial, coefficient = max(rest.terms, key=_leading)
            powers = dict(monomial)
            for atom, power in divisor:
                powers[atom] = powers.get(atom, 0) - power
            if coefficient % by or any(power < 0 for power in powers.values()):
                return None
            term = self.poly({tuple((atom, p) for atom, p in powers.items() if p): coefficient // by})
            found, rest = self.add(found, term), self.subtract(rest, self.multiply(term, b))
        return found

    def floordiv(self, a: Poly, b: Poly) -> Poly:
        """a // b, for a b that is nowhere 0."""
        if (exact := self.quotient(a, b)) is not None:
            return exact
        inner = ({1} if b.low <= 0 < b.high else set()) | ({-1} if b.low < 0 <= b.high else set())
        ends = [x // y for x in (a.low, a.high) for y in {b.low, b.high, *inner} - {0} or {1}]
        return self._atom("//", (a, b), min(ends), max(ends))

    def modulo(self, a: Poly, b: Poly) -> Poly:
        """a % b with Python's sign, for a b that is nowhere 0."""
        if self.quotient(a, b) is not None:
            return self.constant(0)
        low, high = min(0, b.low + 1), max(0, b.high - 1)
        if a.low >= 0 and b.low > 0:
            high = min(high, a.high)
        return self._atom("%", (a, b), low, high)

    def extreme(self, name: str, args: Sequence[Poly]) -> Poly:
        """`min` or `max` of some polynomials; what another one's bounds keep from being it is left out."""
        if name == "min":
            first = min(args, key=lambda arg: arg.high)
            others = [arg for arg in dict.fromkeys(args) if arg is not first and arg.low < first.high]
            ends = min(arg.low for arg in args), first.high
        else:
            first = max(args, key=lambda arg: arg.low)
            others = [arg for arg in dict.fromkeys(args) if arg is not first and arg.high > first.low]
            ends = first.low, max(arg.high for arg in args)
        return self._atom(name, (first, *others), *ends) if others else first

    def below(self, places: Sequence[int], poly: Poly) -> Poly:
        """How many of some numbers, in ascending order, are below a polynomial's value."""
        return self._atom(
            "below", (poly, tuple(places)), bisect_left(places, poly.low), bisect_left(places, poly.high)
        )

    def _atom(self, op: str, args: tuple[Any, ...], low: int, high: int) -> Poly:
        key = (op, *(arg.number if isinstance(arg, Poly | Operation) else arg for arg in args))
        if key not in self._interned:
            self._interned[key] = Atom(len(self.atoms), op, args, low, high, _axes(op, args))
            self.atoms.append(self._interned[key])
        return self.poly({((self._interned[key].number, 1),): 1})

    def whole(self, op: str, real: Real) -> Poly:
        """A real made an integer by `trunc`, `floor`, `ceil` or `round`, as Python does it."""
        if not (abs(real.low) < 2.0**62 and abs(real.high) < 2.0**62):
            raise TooLarge("a float beyond 64 bits")
        function = ROUNDING[op]
        return self._atom(op, (real,), function(real.low), function(real.high))

    def real(self, poly: Poly) -> Real:
        if max(abs(poly.low), abs(poly.high)) > EXACT_FLOAT:
            raise TooLarge("an integer that no float holds exactly")
        return self._real("int", (poly,), float(poly.low), float(poly.high))

    def reals(self, left: Poly | Real, right: Poly | Real) -> tuple[Real, Real]:
        first, second = (side if isinstance(side, Real) else self.real(side) for side in (left, right))
        return first, second

    def literal(self, value: float) -> Real:
        return self._real("float", (value, math.copysign(1.0, value)), value, value)

    def operate(self, op: str, a: Real, b: Real) -> Real:
        """`+ - * /` of two reals. Rounding is monotone, so the operation on the ends bounds the result."""
        if op not in "+-*/":
            raise TooLarge(f"{op} of floats")
        if op == "/" and b.low <= 0 <= b.high:
            raise TooLarge("a quotient whose divisor can be 0 somewhere")
        ends = [PYTHON[op](x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        if not all(map(math.isfinite, ends)):
            raise TooLarge("a float that is not finite")
        return self._real(op, (a, b), min(ends), max(ends))

    def _real(self, op: str, args: tuple[Any, ...], low: float, high: float) -> Real:
        key = ("real", op, *(arg.number if isinstance(arg, Poly | Operation) else arg for arg in args))
        if key not in self._interned:
            self.count += 1
            self._interned[key] = Real(self.count, op, args, low, high, _axes(op, args))
        return self._interned[key]  # type: ignore[no-any-return]


def _axes(op: str, args: tuple[Any, ...]) -> frozenset[Any]:
    if op in VARIABLES:
        return frozenset(args)
    return frozenset[Any]().union(*(arg.axes for arg in args if isinstance(arg, Poly | Operation)))


def _merged(one: Monomial, other: Monomial) -> Monomial:
    if not one or not other:
        return one or other
    powers = dict(one)
    for atom, power in other:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items()))


def _leading(term: tuple[Monomial, int]) -> tuple[tuple[int, int], ...]:
    """What orders terms by their powers, those of the first atoms first."""
    return tuple((-atom, power) for atom, power in term[0])
