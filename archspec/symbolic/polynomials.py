"""Integer polynomials over fields, with bounds: the expressions of a formula, and of a grid in 64 bits.

A count is a polynomial in the fields and in atoms. A :class:`Space` interns everything, so that equal
subexpressions are one object. Bounds hold for the whole grid; in a formula, whose fields can have any size,
they only show signs.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from archspec.errors import FormulaError
from archspec.symbolic.expressions import (
    PYTHON,
    ROUNDING,
    VARIABLES,
    Atom,
    Monomial,
    Operation,
    Poly,
    Real,
    TooLarge,
)

MAX_TERMS = 500  # of a polynomial over a grid
MAX_SUM = 250  # terms of a polynomial in a formula; the longest of a model has 4
MAX_WORK = 300_000  # terms of a formula, all together; the largest model needs 10,000
MAX_EXPONENT = 64  # SymPy expands a constant power
LARGEST = 2**64  # the upper bound of a field in a formula
EXACT_FLOAT = 2**53  # integers up to this one are floats without rounding
_WHOLE = {"+": "add", "-": "subtract", "*": "multiply", "**": "power", "//": "floor_divide", "%": "modulo"}


class Space:
    """The expressions over the axes of a grid or, with a ``limit`` of terms, over the fields of a formula."""

    def __init__(self, bounds: Sequence[tuple[int, int]] = (), limit: float | None = None) -> None:
        self.atoms: list[Atom] = []
        self.limit, self.count = limit, 0
        self.rounded: dict[tuple[str, Real], None] = {}  # floats of a formula that are rounded to integers
        self.forms: dict[tuple[type, int], Any] = {}  # SymPy expressions
        self._interned: dict[Any, Any] = {}
        self._results: dict[tuple[str, int, int], Poly | Real] = {}
        self._work: float = 0
        for axis, (low, high) in enumerate(bounds):
            self.atom("axis", (axis,), low, high)

    def spend(self, terms: int) -> None:
        """Count the terms of a formula. Errors: :class:`FormulaError` for too many."""
        self._work += terms
        if self.limit is not None and self._work > self.limit:
            message = f"the closed form takes more than {self.limit:,} terms to work out"
            raise FormulaError(message, help="use archspec count, which needs no closed form")

    @contextmanager
    def allow_terms(self, terms: int) -> Iterator[None]:
        """Allow so many terms, which do not count for the formula."""
        assert self.limit is not None
        before, self._work = self._work, self.limit - terms
        try:
            yield
        finally:
            self._work = before

    def axis(self, number: int) -> Poly:
        return self.make_poly({((number, 1),): 1})

    def constant(self, value: int) -> Poly:
        return self.make_poly({(): value})

    def field(self, name: Any, whole: bool, low: int = 0) -> Poly | Real:
        if whole:
            return self.atom("field", (name,), low, LARGEST)
        return self.make_real("field", (name,), float(low), float(LARGEST))

    def literal(self, value: float) -> Real:
        return self.make_real("float", (value, math.copysign(1.0, value)), value, value)

    def make_poly(self, terms: dict[Monomial, int]) -> Poly:
        """Raise :class:`TooLarge`, or :class:`FormulaError` for a sum that is too long to print."""
        key = tuple(sorted((monomial, c) for monomial, c in terms.items() if c))
        if (found := self._interned.get(key)) is not None:
            return found  # type: ignore[no-any-return]
        if self.limit is None and len(key) > MAX_TERMS:
            raise TooLarge(f"a polynomial of more than {MAX_TERMS:,} terms")
        if self.limit is not None and len(key) > MAX_SUM:
            message = f"the closed form has a sum of more than {MAX_SUM:,} terms"
            raise FormulaError(message, help="use archspec count, which needs no closed form")
        low = high = 0
        axes: set[int] = set()
        for monomial, coefficient in key:
            ends = [coefficient * end for end in self._monomial_bounds(monomial)]
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

    def magnitude(self, poly: Poly) -> int:
        """Return a bound of every number in the evaluation of a polynomial by Horner's scheme."""
        total = 0
        for monomial, coefficient in poly.terms:
            size = abs(coefficient)
            for number, power in monomial:
                atom = self.atoms[number]
                size *= max(1, abs(atom.low), abs(atom.high)) ** power
            total += size
        return total

    def operation(self, op: str, left: Poly | Real, right: Poly | Real) -> Poly | Real:
        key = (op, left.number, right.number)
        if key not in self._results:
            whole = isinstance(left, Poly) and isinstance(right, Poly) and op in _WHOLE
            if whole and (op != "**" or right.low >= 0):
                self._results[key] = getattr(self, _WHOLE[op])(left, right)
            else:
                self._results[key] = self.operate(op, *self.to_reals(left, right))
        return self._results[key]

    def add(self, a: Poly, b: Poly, sign: int = 1) -> Poly:
        terms = dict(a.terms)
        for monomial, coefficient in b.terms:
            terms[monomial] = terms.get(monomial, 0) + sign * coefficient
        return self.make_poly(terms)

    def subtract(self, a: Poly, b: Poly) -> Poly:
        return self.add(a, b, -1)

    def multiply(self, a: Poly, b: Poly) -> Poly:
        if len(a.terms) * len(b.terms) > MAX_TERMS * 10:
            raise TooLarge(f"a product of more than {MAX_TERMS * 10:,} terms")
        self.spend(len(a.terms) * len(b.terms))
        terms: dict[Monomial, int] = {}
        for one, c in a.terms:
            for other, k in b.terms:
                monomial = _merge(one, other)
                terms[monomial] = terms.get(monomial, 0) + c * k
        return self.make_poly(terms)

    def power(self, a: Poly, b: Poly) -> Poly:
        exponent, result = b.constant, self.constant(1)
        if exponent is not None and 0 <= exponent <= 8:
            for _ in range(exponent):
                result = self.multiply(result, a)
            return result
        large = exponent is not None and (exponent > MAX_EXPONENT or len(a.terms) > 1)
        if self.limit is None or large:
            raise TooLarge("a power with a large exponent")
        return self.atom("**", (a, b), 0 if a.low >= 0 else -LARGEST, LARGEST)

    def quotient(self, a: Poly, b: Poly) -> Poly | None:
        """Return a / b if it is a polynomial."""
        divisor, by = max(b.terms, key=_leading_powers)
        found, rest = self.constant(0), a
        while rest.terms:
            monomial, coefficient = max(rest.terms, key=_leading_powers)
            powers = dict(monomial)
            for atom, power in divisor:
                powers[atom] = powers.get(atom, 0) - power
            if coefficient % by or any(power < 0 for power in powers.values()):
                return None
            term = self.make_poly({tuple((atom, p) for atom, p in powers.items() if p): coefficient // by})
            found, rest = self.add(found, term), self.subtract(rest, self.multiply(term, b))
        return found

    def floor_divide(self, a: Poly, b: Poly) -> Poly:
        if (exact := self.quotient(a, b)) is not None:
            return exact
        inner = ({1} if b.low <= 0 < b.high else set()) | ({-1} if b.low < 0 <= b.high else set())
        ends = [x // y for x in (a.low, a.high) for y in {b.low, b.high, *inner} - {0} or {1}]
        return self.atom("//", (a, b), min(ends), max(ends))

    def modulo(self, a: Poly, b: Poly) -> Poly:
        if self.quotient(a, b) is not None:
            return self.constant(0)
        low, high = min(0, b.low + 1), max(0, b.high - 1)
        if a.low >= 0 and b.low > 0:
            high = min(high, a.high)
        return self.atom("%", (a, b), low, high)

    def extreme(self, name: str, args: Sequence[Poly]) -> Poly:
        """Return `min` or `max`, without arguments that cannot be it by their bounds."""
        is_min, pick = name == "min", min if name == "min" else max
        low, high = pick(arg.low for arg in args), pick(arg.high for arg in args)
        first = pick(args, key=lambda arg: arg.high if is_min else arg.low)
        possible = (arg for arg in dict.fromkeys(args) if (arg.low < high if is_min else arg.high > low))
        others = [arg for arg in possible if arg is not first]
        return self.atom(name, (first, *others), low, high) if others else first

    def count_below(self, places: Sequence[int], poly: Poly) -> Poly:
        """Return how many of some ascending numbers are below a polynomial."""
        ends = bisect_left(places, poly.low), bisect_left(places, poly.high)
        return self.atom("below", (poly, tuple(places)), *ends)

    def atom(self, op: str, args: tuple[Any, ...], low: int, high: int) -> Poly:
        key = (op, *(arg.number if isinstance(arg, Poly | Operation) else arg for arg in args))
        if key not in self._interned:
            self._interned[key] = Atom(len(self.atoms), op, args, low, high, _axes(op, args))
            self.atoms.append(self._interned[key])
            self.spend(_weight(args))
        return self.make_poly({((self._interned[key].number, 1),): 1})

    def make_real(self, op: str, args: tuple[Any, ...], low: float, high: float) -> Real:
        key = ("real", op, *(arg.number if isinstance(arg, Poly | Operation) else arg for arg in args))
        if key not in self._interned:
            self.count += 1
            self._interned[key] = Real(self.count, op, args, low, high, _axes(op, args))
            self.spend(_weight(args))
        return self._interned[key]  # type: ignore[no-any-return]

    def round_to_int(self, op: str, real: Real) -> Poly:
        if self.limit is not None:
            self.rounded[op, real] = None
            return self.atom(op, (real,), 0 if real.low >= 0 else -LARGEST, LARGEST)
        if not (abs(real.low) < 2.0**62 and abs(real.high) < 2.0**62):
            raise TooLarge("a float beyond 64 bits")
        function = ROUNDING[op]
        return self.atom(op, (real,), function(real.low), function(real.high))

    def to_real(self, poly: Poly) -> Real:
        if self.limit is None and max(abs(poly.low), abs(poly.high)) > EXACT_FLOAT:
            raise TooLarge("an integer that no float represents exactly")
        return self.make_real("int", (poly,), float(poly.low), float(poly.high))

    def to_reals(self, left: Poly | Real, right: Poly | Real) -> tuple[Real, Real]:
        first, second = (side if isinstance(side, Real) else self.to_real(side) for side in (left, right))
        return first, second

    def operate(self, op: str, a: Real, b: Real) -> Real:
        """Return `a op b`. Rounding is monotone, so the operation on the ends bounds the result."""
        if self.limit is not None:
            signed = op == "-" or a.low < 0 or b.low < 0
            return self.make_real(op, (a, b), -float(LARGEST) if signed else 0.0, float(LARGEST))
        if op not in "+-*/":
            raise TooLarge(f"{op} of floats")
        if op == "/" and b.low <= 0 <= b.high:
            raise TooLarge("a divisor that can be 0 somewhere on the grid")
        ends = [PYTHON[op](x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        if not all(map(math.isfinite, ends)):
            raise TooLarge("a float that is not finite")
        return self.make_real(op, (a, b), min(ends), max(ends))


def _axes(op: str, args: tuple[Any, ...]) -> frozenset[Any]:
    if op in VARIABLES:
        return frozenset(args)
    return frozenset[Any]().union(*(arg.axes for arg in args if isinstance(arg, Poly | Operation)))


def _weight(args: tuple[Any, ...]) -> int:
    """Return the number of terms of a sum that take SymPy as long as an operation on these arguments."""
    return 200 * (1 + sum(len(arg.terms) for arg in args if isinstance(arg, Poly)))


def _merge(one: Monomial, other: Monomial) -> Monomial:
    if not one or not other:
        return one or other
    powers = dict(one)
    for atom, power in other:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items()))


def _leading_powers(term: tuple[Monomial, int]) -> tuple[tuple[int, int], ...]:
    return tuple((-atom, power) for atom, power in term[0])
