"""Numbers with expressions, and the conditions under which a count takes the same path.

A :class:`Number` has a value and an expression; arithmetic gives such numbers again. A comparison that the
bounds do not decide is recorded as a :class:`Condition` of the :class:`Path`, and so is every use of a plain
value, for instance as a key. So the result is the same expression wherever the conditions hold.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from archspec.language.domain import Exact, Walk
from archspec.language.values import value_of
from archspec.symbolic.expressions import PYTHON, ROUNDING, Condition, Poly, Real, TooLarge
from archspec.symbolic.polynomials import Space

MAX_BITS = 4_096  # of a number that is handled symbolically
NONE: frozenset[Any] = frozenset()


class Path:
    """The decisions of one run: ``record`` receives conditions, ``pin`` numbers whose plain value is used."""

    def __init__(self, space: Space) -> None:
        self.space, self.divides = space, True
        self.conditions: dict[Condition, None] = {}
        self.record: Callable[[Condition], None] = self.add_condition
        self.pin: Callable[[Number], None] = self.fix
        self.turns: list[tuple[Any, int]] = []  # of open loops: the stop, and the index, which is below it

    def add_condition(self, condition: Condition) -> None:
        self.conditions[condition] = None

    def number(self, expr: Poly | Real, value: Any, guards: frozenset[Any] = NONE) -> Any:
        """Return a number; a plain int if the expression is constant."""
        if isinstance(expr, Poly):
            if expr.low == expr.high and not guards:
                return expr.low
            if max(abs(expr.low), abs(expr.high)).bit_length() > MAX_BITS:
                raise TooLarge("a number with too many digits")
        return Number(self, expr, value, guards)

    def fix(self, number: Number) -> None:
        """Record that what follows holds only for this value of a number."""
        expr = self.expr_of(number.value)
        assert expr is not None  # bounds are finite
        self.compare("==", number.expr, expr, True)

    def compare(self, op: str, left: Poly | Real, right: Poly | Real, holds: bool) -> None:
        """Record a comparison, unless it has the same outcome within all bounds."""
        if (condition := self.condition(op, left, right, holds)) is not None:
            self.record(condition)

    def condition(self, op: str, left: Poly | Real, right: Poly | Real, holds: bool) -> Condition | None:
        """Return a comparison as a condition; None if the bounds decide it."""
        other: Real | None = None
        if isinstance(left, Poly) and isinstance(right, Poly):
            left = self.space.subtract(left, right)
        else:
            left, other = self.space.to_reals(left, right)
        low, high = (0, 0) if other is None else (other.low, other.high)
        if left is other:
            return None
        if op == "<":
            decided = left.high < low or left.low >= high
        else:
            decided = left.low > high or left.high < low or left.low == left.high == low == high
        return None if decided else Condition(op, left, other, holds)

    def expr_of(self, value: Any) -> Poly | Real | None:
        """Return the expression of a number, symbolic or plain; None for other values and infinite floats."""
        kind = type(value)
        if kind is Number:
            return value.expr  # type: ignore[no-any-return]
        if kind is bool or kind is int:
            return self.space.constant(int(value))
        return self.space.literal(value) if kind is float and abs(value) < 1e300 else None


def _operators(op: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    return (
        lambda self, other: self.operate(op, self, other),
        lambda self, other: self.operate(op, other, self),
    )


def _comparison(op: str, turned: bool = False, negated: bool = False) -> Callable[[Any, Any], Any]:
    def compare(self: Number, other: Any) -> Any:
        left, right = (other, self) if turned else (self, other)
        outcome = self.compare(op, left, right)
        return outcome if outcome is NotImplemented else outcome != negated

    return compare


def _of_value(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda self: function(self.fix())


def _round_method(way: str) -> Callable[[Any], Any]:
    return lambda self: self.round_to_int(way)


class Number:
    """An int or a float on a path, which behaves like Python's; its ``guards`` are tests of an index."""

    __slots__ = ("expr", "guards", "path", "value")

    def __init__(self, path: Path, expr: Poly | Real, value: Any, guards: frozenset[Any] = NONE) -> None:
        self.path, self.expr, self.value, self.guards = path, expr, value, guards

    __add__, __radd__ = _operators("+")
    __sub__, __rsub__ = _operators("-")
    __mul__, __rmul__ = _operators("*")
    __truediv__, __rtruediv__ = _operators("/")
    __floordiv__, __rfloordiv__ = _operators("//")
    __mod__, __rmod__ = _operators("%")
    __pow__, __rpow__ = _operators("**")
    __eq__, __ne__ = _comparison("=="), _comparison("==", negated=True)
    __lt__, __ge__ = _comparison("<"), _comparison("<", negated=True)
    __gt__, __le__ = _comparison("<", turned=True), _comparison("<", turned=True, negated=True)
    __trunc__, __floor__, __ceil__ = _round_method("trunc"), _round_method("floor"), _round_method("ceil")
    __int__, __float__, __index__ = _of_value(int), _of_value(float), _of_value(operator.index)
    __hash__, __str__ = _of_value(hash), _of_value(str)

    def __neg__(self) -> Any:
        return 0 - self if isinstance(self.expr, Poly) else -1.0 * self

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __round__(self, digits: Any = None) -> Any:
        return self.round_to_int("round") if digits is None else round(self.fix(), digits)

    def __format__(self, form: str) -> str:
        return format(self.value, form)  # only in messages: names are made with str()

    def __repr__(self) -> str:
        return repr(self.value)  # messages show the value

    def operate(self, op: str, left: Any, right: Any) -> Any:
        path, first, second = self.path, value_of(left), value_of(right)
        dividend, divisor = path.expr_of(left), path.expr_of(right)
        if dividend is not None and divisor is not None:
            if op in ("/", "//", "%"):
                if path.divides:
                    path.compare("==", divisor, path.space.constant(0), second == 0)
                if second == 0:
                    return PYTHON[op](first, second)  # raises
            try:  # an operation that fails is done on plain numbers, and fails there again if it must
                expr = path.space.operation(op, dividend, divisor)
                return path.number(expr, PYTHON[op](first, second), guards_of((left, right)))
            except (TooLarge, ArithmeticError):
                pass
        elif not all(isinstance(side, Number | list | tuple | str | int | float) for side in (left, right)):
            return NotImplemented
        return PYTHON[op](fix_value(left), fix_value(right))

    def compare(self, op: str, left: Any, right: Any) -> Any:
        """Return the outcome of `==` or `<`, and record it."""
        first, second = value_of(left), value_of(right)
        if not (isinstance(first, int | float) and isinstance(second, int | float)):
            return NotImplemented
        holds = first < second if op == "<" else first == second
        try:
            one, other = self.path.expr_of(left), self.path.expr_of(right)
            if one is None or other is None:
                raise TooLarge("an infinite float")
            self.path.compare(op, one, other, holds)
        except TooLarge:
            fix_value(left), fix_value(right)
        return holds

    @property
    def cache_key(self) -> Any:
        return "swept", self.expr.number

    @property
    def decision_value(self) -> Any:
        """The number that torch's layers decide on: this one, so that the path records the decisions."""
        return self

    def fix(self) -> Any:
        """Return the plain value; what follows holds only for it."""
        self.path.pin(self)
        return self.value

    def round_to_int(self, rounding: str) -> Any:
        """Return the number rounded to an int in one of the ways of :data:`ROUNDING`."""
        if isinstance(self.expr, Poly):
            return self
        try:
            rounded = self.path.space.round_to_int(rounding, self.expr)
        except TooLarge:
            return ROUNDING[rounding](self.fix())
        return self.path.number(rounded, ROUNDING[rounding](self.value), self.guards)

    def to_real(self) -> Any:
        if isinstance(self.expr, Real):
            return self
        try:
            return Number(self.path, self.path.space.to_real(self.expr), float(self.value), self.guards)
        except TooLarge:
            return float(self.fix())


def fix_value(value: Any) -> Any:
    """Return the plain value of a number, and record its use; any other value unchanged."""
    return value.fix() if isinstance(value, Number) else value


def numbers_in(value: Any) -> list[Number]:
    """Return the symbolic numbers in a value."""
    if isinstance(value, Number):
        return [value]
    return [n for item in value for n in numbers_in(item)] if isinstance(value, list | tuple) else []


def concrete_values(value: Any) -> Any:
    """Return the plain value of a number, a list or a mapping, for types and messages."""
    if isinstance(value, dict):
        return {key: concrete_values(item) for key, item in value.items()}
    return [concrete_values(item) for item in value] if isinstance(value, list | tuple) else value_of(value)


def guards_of(values: Any) -> frozenset[Any]:
    """Return the guards of all symbolic numbers in some values."""
    return NONE.union(*(value.guards for value in values if type(value) is Number))


def symbolic_function(name: str, arguments: list[Any]) -> Any:
    """Return a function of numbers as an expression; None if it is not one of those that have one here."""
    first: Any = arguments[0] if arguments else None
    if len(arguments) == 1 and isinstance(first, Number):
        if name in ("int", "float"):
            return first.round_to_int("trunc") if name == "int" else first.to_real()
        return isinstance(first.value, int) if name == "is_int" else None
    if name not in ("min", "max"):
        return None
    listed = first if len(arguments) == 1 and isinstance(first, list) else arguments
    values, found = list(map(value_of, listed)), numbers_in(listed)
    if not found or not all(type(value) is int for value in values):
        return None
    path, value = found[0].path, min(values) if name == "min" else max(values)
    exprs = [expr for part in listed if isinstance(expr := path.expr_of(part), Poly)]
    return path.number(path.space.extreme(name, exprs), value)


class NumberDomain(Exact):
    """A domain of Python's numbers and :class:`Number`."""

    def function(self, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        if name == "range":
            arguments = list(map(fix_value, arguments))
        number = symbolic_function(name, arguments)
        return super().function(name, arguments, node, at) if number is None else number


class SymRange(NamedTuple):
    """`range(start, stop)` with symbolic ends."""

    start: Any
    stop: Any

    def fix(self) -> range:
        return range(fix_value(self.start), fix_value(self.stop))

    @property
    def length(self) -> Any:
        return self.stop - self.start if self.stop > self.start else 0
