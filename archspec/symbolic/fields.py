"""The expressions of a formula: over named fields, in any operation, and in SymPy's form."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import sympy

from archspec.symbolic.expressions import PYTHON, ROUNDING, Operation, Poly, Real
from archspec.symbolic.polynomials import LARGEST, Space


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
_FORMS: dict[str, Callable[..., Any]] = {
    **FUNCTIONS,
    **PYTHON,
    "//": lambda left, right: sympy.floor(left / right),
    "%": sympy.Mod,
    "trunc": sympy.floor,
    "floor": sympy.floor,
    "ceil": sympy.ceiling,
    "int": lambda whole: whole,
    "float": lambda value, sign: exact_number(value),
    "index": lambda symbol: symbol,
    "test": lambda relation, *sides: _one_or_zero(relation.op, sides),
}


def exact_number(value: int | float) -> Any:
    """Return a number in SymPy: of a float, the decimal number that it is written as."""
    return sympy.Rational(repr(value)) if isinstance(value, float) else sympy.Integer(value)


def _one_or_zero(op: str, sides: tuple[Any, ...]) -> Any:
    if not op:
        return sympy.Function("test")(*sides)
    return sympy.Piecewise((1, sympy.Rel(*sides, op)), (0, True))


class Relation(NamedTuple):
    """The reason of a test: a comparison of two sides, or, without `op`, numbers in any other way."""

    op: str
    sides: tuple[Poly | Real, ...]
    given: tuple[str, ...] = ()  # the texts of other tests that `and` or `or` joins with it

    @property
    def is_comparison(self) -> bool:
        return bool(self.op) and not self.given

    @property
    def axes(self) -> frozenset[Any]:
        """The fields and indices that decide it; none if its sides are identical."""
        if self.op and self.sides[0] is self.sides[1]:
            return frozenset()
        return frozenset[Any]().union(*(side.axes for side in self.sides))


def has_index(axes: frozenset[Any]) -> bool:
    """Return True if the index of a loop is among the axes."""
    return any(isinstance(axis, sympy.Dummy) for axis in axes)


def function(space: Space, name: str, args: tuple[Poly | Real, ...]) -> Poly | Real:
    """Return one of :data:`FUNCTIONS`; of integers, an integer if it always is one."""
    whole = all(isinstance(arg, Poly) for arg in args)
    if name in ("min", "max") and whole:
        return space.extreme(name, [arg for arg in args if isinstance(arg, Poly)])
    signed = name == "log2" or (name != "abs" and any(arg.low < 0 for arg in args))
    low = -LARGEST if signed else 0
    if name not in ("sqrt", "log2") and whole:
        return space.atom(name, args, low, LARGEST)
    return space.make_real(name, args, float(low), float(LARGEST))


def in_turn(space: Space, expr: Any, places: Mapping[Any, int]) -> Any:
    """Return an expression in one iteration of loops, with numbers in place of their indices."""
    if isinstance(expr, Poly):
        total = space.constant(0)
        for monomial, coefficient in expr.terms:
            term = space.constant(coefficient)
            for number, power in monomial:
                factor = in_turn(space, space.atoms[number], places)
                for _ in range(power):
                    term = space.multiply(term, factor)
            total = space.add(total, term)
        return total
    if not isinstance(expr, Operation):
        return expr
    if expr.op == "index" and expr.args[0] in places:
        return space.constant(places[expr.args[0]])
    args = tuple(in_turn(space, arg, places) for arg in expr.args)
    if isinstance(expr, Real):
        return space.make_real(expr.op, args, expr.low, expr.high)
    if expr.op in ("//", "%", "**"):
        return space.operation(expr.op, *args)
    if expr.op in ROUNDING:
        space.rounded[expr.op, args[0]] = None
    return space.atom(expr.op, args, expr.low, expr.high)


def sympy_form(space: Space, expr: Any) -> Any:
    """Return a SymPy expression over nonnegative symbols with the names of the fields."""
    if not isinstance(expr, Poly | Operation):
        return expr
    key = (type(expr), expr.number)
    if key not in space.forms:
        space.forms[key] = _new_form(space, expr)
    return space.forms[key]


def _new_form(space: Space, expr: Poly | Operation) -> Any:
    if isinstance(expr, Poly):
        powers = ((c, *(sympy_form(space, space.atoms[n]) ** p for n, p in term)) for term, c in expr.terms)
        return sympy.Add(*(sympy.Mul(*factors) for factors in powers))
    if expr.op == "field":
        whole = {} if isinstance(expr, Real) else {"integer": True}
        return sympy.Symbol(expr.args[0], nonnegative=True, **whole)
    return _FORMS[expr.op](*(sympy_form(space, arg) for arg in expr.args))


def without_assumptions(expr: Any) -> Any:
    """Return an expression over symbols without assumptions, as a user writes them.

    A maximum is rebuilt as it is: SymPy would compare all its arguments again.
    """
    expr = sympy.sympify(expr)
    symbols = {symbol: sympy.Symbol(symbol.name) for symbol in expr.free_symbols}
    for extreme in sorted(expr.atoms(sympy.Max, sympy.Min), key=lambda one: len(one.free_symbols)):
        args = (arg.xreplace(symbols) for arg in extreme.args)
        symbols[extreme] = extreme.func(*args, evaluate=False)
    return expr.xreplace(symbols)


def with_ceilings(expr: Any, whole: Collection[str]) -> Any:
    """Return an expression with roundings in their usual form.

    It has ⌈n/q⌉ for ⌊(n - 1)/q⌋ + 1, and ⌊n/(p·q)⌋ for ⌊⌊n/p⌋/q⌋. ``whole`` are the names of integers.

    >>> n, q = sympy.symbols("n q")
    >>> with_ceilings(sympy.floor((n - 1) / q) + 1, {"n", "q"})
    ceiling(n/q)
    """
    expr = sympy.sympify(expr)
    if not expr.has(sympy.floor):
        return expr
    found = expr.replace(sympy.floor, lambda argument: _rounding(argument, whole))
    return found if found == expr else sympy.expand(found)


def _rounding(argument: Any, whole: Collection[str]) -> Any:
    over, under = sympy.fraction(sympy.together(argument))
    if under == 1 or not (under.is_Symbol or under.is_Integer) or not _is_whole(over + under, whole):
        return sympy.floor(argument)
    rest, constant = over.as_independent(*over.free_symbols, as_Add=True)[::-1]
    if over.could_extract_minus_sign() and constant == 0:
        return -_round_once(sympy.ceiling, -over, under)
    if under.is_Integer:
        last = constant % under
        is_ceiling, offset = last == under - 1, (constant - last) / under
    else:
        is_ceiling, offset = constant == -1, -1
    if is_ceiling:
        return _round_once(sympy.ceiling, rest, under) + offset
    return _round_once(sympy.floor, over, under)


def _round_once(rounding: Any, over: Any, under: Any) -> Any:
    """Return a quotient rounded; one that is rounded the same way twice is rounded once."""
    if isinstance(over, rounding):
        inner, divisor = sympy.fraction(sympy.together(over.args[0]))
        return rounding(inner / (divisor * under))
    return rounding(over / under)


def _is_whole(expr: Any, whole: Collection[str]) -> bool:
    """Return True for a polynomial in integers with integer coefficients."""
    names = {symbol.name for symbol in expr.free_symbols}
    if not names <= {*whole}:
        return False
    rounded = expr.replace(
        lambda part: isinstance(part, sympy.floor | sympy.ceiling), lambda _: sympy.Symbol("n")
    )
    return bool(rounded.is_polynomial()) and all(one.is_Integer for one in rounded.atoms(sympy.Number))
