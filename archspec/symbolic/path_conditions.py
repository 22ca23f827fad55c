"""Numbers that know their expression, and path conditions: where a count takes the same path as at one point.

A :class:`Number` has a polynomial beside its value. Arithmetic gives such numbers again. A comparison that
the bounds of the fields do not settle is noted as a :class:`Condition` of the :class:`Path`, and so is every
use of a plain value, e.g. as a dictionary's key: then the path is taken only where the value is that one. So
whatever is done with numbers, the result is the same expression wherever the conditions hold.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from archspec.language.values import here
from archspec.symbolic.decisions import Condition
from archspec.symbolic.polynomials import PYTHON, ROUNDING, Poly, Real, Space, TooLarge

MAX_BITS = 4_096  # of a number that is handled symbolically
NONE: frozenset[Any] = frozenset()
_NUMBERS = (int, float)


class Path:
    """The decisions of one run at one point of a grid."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.conditions: dict[Condition, None] = {}
        self.turns: list[tuple[Any, int]] = []  # of open loops: the stop, and the index, which is below it

    def number(self, expr: Poly | Real, value: Any, guards: frozenset[Any] = NONE) -> Any:
        """A number; a plain int where the expression is a constant."""
        if isinstance(expr, Poly):
            if expr.low == expr.high and not guards:
                return expr.low
            if max(abs(expr.low), abs(expr.high)).bit_length() > MAX_BITS:
                raise TooLarge("a number of too many digits")
        return Number(self, expr, value, guards)

    def record(self, condition: Condition) -> None:
        """Record a decision."""
        self.conditions[condition] = None

    def pin(self, number: Number) -> None:
        """Record that what follows holds for one value of a number only."""
        expr = self.expr_of(number.value)
        assert expr is not None  # bounds are finite
        self.compare("==", number.expr, expr, True)

    def divide(self, divisor: Poly | Real, value: Any) -> None:
        """Record whether a divisor is 0."""
        self.compare("==", divisor, self.space.constant(0), value == 0)

    def decide(self, op: str, left: Poly | Real, right: Real | None, holds: bool) -> None:
        """Notes a comparison, unless it comes out the same all over the grid."""
        low, high = (0, 0) if right is None else (right.low, right.high)
        if op == "<":
            settled = left.high < low or left.low >= high
        else:
            settled = left.low > high or left.high < low or left.low == left.high == low == high
        if not settled:
            self.record(Condition(op, left, right, holds))

    def compare(self, op: str, left: Poly | Real, right: Poly | Real, holds: bool) -> None:
        if isinstance(left, Poly) and isinstance(right, Poly):
            self.decide(op, self.space.add(left, right, -1), None, holds)
        else:
            self.decide(op, *self.space.reals(left, right), holds)

    def expr_of(self, value: Any) -> Poly | Real | None:
        """The expression of a number, whether swept or plain; None for what is no number, or no usual one."""
        kind = type(value)
        if kind is Number:
            return value.expr  # type: ignore[no-any-return]
        if kind is bool or kind is int:
            return self.space.constant(int(value))
        return self.space.literal(value) if kind is float and abs(value) < 1e300 else None


def _operator(op: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """`number op other` and `other op number`."""

    def left(self: Number, other: Any) -> Any:
        return self.operate(op, self, other)

    def right(self: Number, other: Any) -> Any:
        return self.operate(op, other, self)

    return left, right


def _of_value(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What Python makes of the plain value."""

    def method(self: Number) -> Any:
        return function(self.fixed())

    return method


def _rounded(way: str) -> Callable[[Any], Any]:
    def method(self: Number) -> Any:
        return self.whole(way)

    return method


class Number:
    """An int or a float on a path, which behaves as the Python number that it is here.

    ``guards`` are the tests of a layer's index that chose it, for a path that speaks of them.
    """

    __slots__ = ("expr", "guards", "path", "value")

    def __init__(self, path: Path, expr: Poly | Real, value: Any, guards: frozenset[Any] = NONE) -> None:
        self.path, self.expr, self.value, self.guards = path, expr, value, guards

    @staticmethod
    def operate(op: str, left: Any, right: Any) -> Any:
        """`left op right`, one of which is a number."""
        path = _path(left, right)
        dividend, divisor = path.expr_of(left), path.expr_of(right)
        first, second = here(left), here(right)
        if dividend is not None and divisor is not None:
            if op in ("/", "//", "%"):
                path.divide(divisor, second)
                if second == 0:
                    return PYTHON[op](first, second)  # raises
            try:  # what fails is done on plain numbers, where it fails again if it has to
                expr = path.space.operation(op, dividend, divisor)
                return path.number(expr, PYTHON[op](first, second), guards_of((left, right)))
            except (TooLarge, ArithmeticError):
                pass
        elif not all(isinstance(side, Number | list | tuple | str | int | float) for side in (left, right)):
            return NotImplemented
        return PYTHON[op](fixed(left), fixed(right))

    @staticmethod
    def compare(op: str, left: Any, right: Any) -> Any:
        """`left op right` for `==` or `<`, decided here."""
        path = _path(left, right)
        one, other = path.expr_of(left), path.expr_of(right)
        first, second = here(left), here(right)
        if not (isinstance(first, _NUMBERS) and isinstance(second, _NUMBERS)):
            return NotImplemented
        holds = first < second if op == "<" else first == second
        try:
            if one is None or other is None:
                raise TooLarge("no usual number")
            path.compare(op, one, other, holds)
        except TooLarge:
            fixed(left), fixed(right)
        return holds

    @property
    def decided(self) -> Any:
        """The number that torch's layers take decisions on: this one, so that the path records them."""
        return self

    def fixed(self) -> Any:
        """The plain value; what follows holds for this one alone."""
        self.path.pin(self)
        return self.value

    def whole(self, rounding: str) -> Any:
        """The number rounded to an int in one of the ways of :data:`ROUNDING`."""
        if isinstance(self.expr, Poly):
            return self
        try:
            rounded = self.path.space.whole(rounding, self.expr)
        except TooLarge:
            return ROUNDING[rounding](self.fixed())
        return self.path.number(rounded, ROUNDING[rounding](self.value), self.guards)

    def real(self) -> Any:
        """The number as a float."""
        if isinstance(self.expr, Real):
            return self
        try:
            return Number(self.path, self.path.space.real(self.expr), float(self.value), self.guards)
        except TooLarge:
            return float(self.fixed())

    __add__, __radd__ = _operator("+")
    __sub__, __rsub__ = _operator("-")
    __mul__, __rmul__ = _operator("*")
    __truediv__, __rtruediv__ = _operator("/")
    __floordiv__, __rfloordiv__ = _operator("//")
    __mod__, __rmod__ = _operator("%")
    __pow__, __rpow__ = _operator("**")

    def __neg__(self) -> Any:
        return 0 - self if isinstance(self.expr, Poly) else -1.0 * self

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __eq__(self, other: object) -> Any:
        return self.compare("==", self, other)

    def __ne__(self, other: object) -> Any:
        return _negated(self.compare("==", self, other))

    def __lt__(self, other: Any) -> Any:
        return self.compare("<", self, other)

    def __gt__(self, other: Any) -> Any:
        return self.compare("<", other, self)

    def __ge__(self, other: Any) -> Any:
        return _negated(self.compare("<", self, other))

    def __le__(self, other: Any) -> Any:
        return _negated(self.compare("<", other, self))

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __round__(self, digits: Any = None) -> Any:
        return self.whole("round") if digits is None else round(self.fixed(), digits)

    __trunc__, __floor__, __ceil__ = _rounded("trunc"), _rounded("floor"), _rounded("ceil")
    __int__, __float__ = _of_value(int), _of_value(float)
    __index__ = _of_value(operator.index)
    __hash__ = _of_value(hash)
    __str__ = _of_value(str)

    def __format__(self, form: str) -> str:
        return format(self.value, form)  # in messages alone: names are made with str()

    def __repr__(self) -> str:
        return repr(self.value)  # messages show the value, not the polynomial


def _negated(outcome: Any) -> Any:
    return NotImplemented if outcome is NotImplemented else not outcome


def fixed(value: Any) -> Any:
    """The plain value of a number, on which its path rests from now on; everything else as it is."""
    return value.fixed() if isinstance(value, Number) else value


def numbers_in(value: Any) -> list[Number]:
    """The numbers in a list, or in lists of it."""
    if isinstance(value, Number):
        return [value]
    return [n for item in value for n in numbers_in(item)] if isinstance(value, list | tuple) else []


def bare(value: Any) -> Any:
    """A number, or a list or a mapping of some, as it is here."""
    if isinstance(value, dict):
        return {key: bare(item) for key, item in value.items()}
    return [bare(item) for item in value] if isinstance(value, list | tuple) else here(value)


def guards_of(values: Any) -> frozenset[Any]:
    """The guards that any of some numbers came through."""
    found = NONE
    for value in values:
        if type(value) is Number and value.guards:
            found |= value.guards
    return found


def _path(left: Any, right: Any) -> Path:
    path: Path = left.path if isinstance(left, Number) else right.path
    return path


class SymRange(NamedTuple):
    """`range(start, stop, step)` with symbolic ends."""

    start: Any
    stop: Any
    step: Any = 1

    def plain(self) -> range:
        """The range here, of which a number takes note."""
        return range(*(end.fixed() if isinstance(end, Number) else end for end in self))
