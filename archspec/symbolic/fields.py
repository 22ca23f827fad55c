"""The expressions of a formula: over named fields, in any operation, and as SymPy shows them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import sympy

from archspec.errors import FormulaError
from archspec.symbolic.polynomials import ROUNDING, Monomial, Operation, Poly, Real, Space, TooLarge

LARGEST = 2**64  # bounds say the sign alone
MAX_EXPONENT = 64  # SymPy expands a constant power
MAX_SUM = 250  # terms of one polynomial; the longest of a model has 4
MAX_TERMS = 300_000  # all together; the largest model needs 10,000


class NthPrime(sympy.Function):  # type: ignore[misc]
    """The n-th prime after a number."""

    @classmethod
    def eval(cls, after: Any, n: Any) -> Any:
        return sympy.nextprime(int(after), int(n)) if after.is_Integer and n.is_Integer else None


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": sympy.Min,
    "max": sympy.Max,
    "abs": sympy.Abs,
    "nth_prime": NthPrime,
    "sqrt": sympy.sqrt,
    "log2": lambda x: sympy.log(x, 2),
}
_TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "==": sympy.Eq,
    "!=": sympy.Ne,
    "<": sympy.Lt,
    "<=": sympy.Le,
    ">": sympy.Gt,
    ">=": sympy.Ge,
}
_SHOWN: dict[str, Callable[..., Any]] = {
    **FUNCTIONS,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
    "//": lambda left, right: sympy.floor(left / right),
    "%": sympy.Mod,
    "trunc": sympy.floor,
    "floor": sympy.floor,
    "ceil": sympy.ceiling,
    "int": lambda whole: whole,
    "float": lambda value, sign: sympy.Rational(repr(value)),  # the decimal number that it is written as
    "index": lambda symbol: symbol,
    "test": lambda relation, *sides: _one_or_zero(relation.op, sides),
}


def _one_or_zero(op: str, sides: tuple[Any, ...]) -> Any:
    if not op:
        return sympy.Function("test")(*sides)
    return sympy.Piecewise((1, _TESTS[op](*sides)), (0, True))


class Relation(NamedTuple):
    """A test by what it is decided on: a comparison of two sides; without `op`, of numbers in another way.

    ``given`` are other tests, by their text, of which it was one with `and` or `or`.
    """

    op: str
    sides: tuple[Poly | Real, ...]
    given: tuple[str, ...] = ()

    @property
    def compares(self) -> bool:
        """Whether the comparison is all of the test."""
        return bool(self.op) and not self.given

    @property
    def axes(self) -> frozenset[Any]:
        """The fields and indices that it is decided on; none where its sides are the same."""
        if self.op and self.sides[0] is self.sides[1]:
            return frozenset()
        return frozenset[Any]().union(*(side.axes for side in self.sides))

    @property
    def indexed(self) -> bool:
        """Whether it is one of a loop's index."""
        return any(isinstance(axis, sympy.Dummy) for axis in self.axes)

    def at(self, fields: Fields, places: Mapping[Any, int]) -> Relation:
        """The test in one turn of loops, where it no longer is one of others."""
        op = self.op if self.compares else ""
        return Relation(op, tuple(fields.at(side, places) for side in self.sides))


def _weight(args: tuple[Any, ...]) -> int:
    """The terms of a sum that take SymPy as long as an operation on some arguments does."""
    return 200 * (1 + sum(len(arg.terms) for arg in args if isinstance(arg, Poly)))


class Fields(Space):
    """Expressions over fields by name; a loop's index is a symbol that no other loop has."""

    def __init__(self, limit: float = MAX_TERMS) -> None:
        super().__init__(())
        self.limit = limit
        self._shown: dict[tuple[type, int], Any] = {}
        self.rounded: dict[tuple[str, Real], None] = {}  # floats that become whole numbers, and how
        self._terms: float = 0

    def spend(self, terms: int) -> None:
        """Meters the terms that are made. Errors: :class:`FormulaError` for too many."""
        self._terms += terms
        if self._terms > self.limit:
            message = f"the closed form takes more than {self.limit:,} terms to work out"
            raise FormulaError(message, help="use archspec count, which needs no closed form")

    @contextmanager
    def allowance(self, terms: int) -> Iterator[None]:
        """Meters what is evaluated on the side by itself."""
        before, self._terms = self._terms, self.limit - terms
        try:
            yield
        finally:
            self._terms = before

    def _atom(self, op: str, args: tuple[Any, ...], low: int, high: int) -> Poly:
        before = len(self.atoms)
        made = super()._atom(op, args, low, high)
        if len(self.atoms) > before:
            self.spend(_weight(args))
        return made

    def _real(self, op: str, args: tuple[Any, ...], low: float, high: float) -> Real:
        before = self.count
        made = super()._real(op, args, low, high)
        if self.count > before:
            self.spend(_weight(args))
        return made

    def poly(self, terms: dict[Monomial, int]) -> Poly:
        """A polynomial. Errors: :class:`FormulaError` for one that is too long to show."""
        if len(terms) > MAX_SUM and sum(map(bool, terms.values())) > MAX_SUM:
            message = f"the closed form has a sum of more than {MAX_SUM:,} terms"
            raise FormulaError(message, help="use archspec count, which needs no closed form")
        return super().poly(terms)

    def field(self, name: Any, whole: bool, low: int = 0) -> Poly | Real:
        """A config field, by any hashable name."""
        if whole:
            return self._atom("field", (name,), low, LARGEST)
        return self._real("field", (name,), float(low), float(LARGEST))

    def index(self, symbol: Any) -> Poly:
        return self._atom("index", (symbol,), 0, LARGEST)

    def function(self, name: str, args: tuple[Poly | Real, ...]) -> Poly | Real:
        """One of :data:`FUNCTIONS`: a whole number where it gives one of whole numbers."""
        if name in ("min", "max") and all(isinstance(arg, Poly) for arg in args):
            return self.extreme(name, [arg for arg in args if isinstance(arg, Poly)])
        signed = name == "log2" or (name != "abs" and any(arg.low < 0 for arg in args))
        low = -LARGEST if signed else 0
        if name not in ("sqrt", "log2") and all(isinstance(arg, Poly) for arg in args):
            return self._atom(name, args, low, LARGEST)
        return self._real(name, args, float(low), float(LARGEST))

    def test(self, relation: Relation) -> Poly:
        """1 where a test holds, else 0."""
        return self._atom("test", (relation, *relation.sides), 0, 1)

    def real(self, poly: Poly) -> Real:
        return self._real("int", (poly,), float(poly.low), float(poly.high))

    def power(self, a: Poly, b: Poly) -> Poly:
        """a ** b. Errors: :class:`TooLarge` for a power whose expansion is too long to show."""
        exponent = b.constant
        if exponent is not None and exponent <= 8:
            return super().power(a, b)
        if exponent is not None and (exponent > MAX_EXPONENT or len(a.terms) > 1):
            raise TooLarge("an expansion of too many terms")
        return self._atom("**", (a, b), 0 if a.low >= 0 else -LARGEST, LARGEST)

    def operate(self, op: str, a: Real, b: Real) -> Real:
        signed = op == "-" or a.low < 0 or b.low < 0
        return self._real(op, (a, b), -float(LARGEST) if signed else 0.0, float(LARGEST))

    def whole(self, op: str, real: Real) -> Poly:
        self.rounded[op, real] = None
        return self._atom(op, (real,), 0 if real.low >= 0 else -LARGEST, LARGEST)

    def at(self, expr: Any, places: Mapping[Any, int]) -> Any:
        """An expression in one turn of loops, whose indices are numbers there."""
        if isinstance(expr, Poly):
            total = self.constant(0)
            for monomial, coefficient in expr.terms:
                term = self.constant(coefficient)
                for number, power in monomial:
                    factor = self.at(self.atoms[number], places)
                    for _ in range(power):
                        term = self.multiply(term, factor)
                total = self.add(total, term)
            return total
        if not isinstance(expr, Operation):
            return expr
        if expr.op == "index" and expr.args[0] in places:
            return self.constant(places[expr.args[0]])
        args = tuple(self.at(arg, places) for arg in expr.args)
        if isinstance(expr, Real):
            return self._real(expr.op, args, expr.low, expr.high)
        if expr.op in ("//", "%", "**"):
            return self.operation(expr.op, *args)
        if expr.op in ROUNDING:
            self.rounded[expr.op, args[0]] = None
        return self._atom(expr.op, args, expr.low, expr.high)

    def shown(self, expr: Poly | Operation) -> Any:
        """A SymPy expression, over nonnegative symbols of the fields' names."""
        key = (type(expr), expr.number)
        if key not in self._shown:
            self._shown[key] = self._sum(expr) if isinstance(expr, Poly) else self._operation(expr)
        return self._shown[key]

    def _sum(self, poly: Poly) -> Any:
        return sympy.Add(
            *(
                sympy.Mul(coefficient, *(self.shown(self.atoms[n]) ** power for n, power in monomial))
                for monomial, coefficient in poly.terms
            )
        )

    def _operation(self, made: Operation) -> Any:
        if made.op == "field":
            whole = {} if isinstance(made, Real) else {"integer": True}
            return sympy.Symbol(made.args[0], nonnegative=True, **whole)
        return _SHOWN[made.op](*(self.shown(a) if isinstance(a, Poly | Operation) else a for a in made.args))
