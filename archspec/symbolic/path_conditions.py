"""Path conditions: where on a grid a count takes the same path as at the point where it was run.

A :class:`Swept` number has a polynomial over the grid's axes beside its value. Arithmetic gives such numbers
again. A comparison that the bounds of the grid do not settle is noted as a :class:`Condition` of the
:class:`Path`, and so is every use of a plain value, e.g. as a dictionary's key: then the path is taken only
where the value is that one. So whatever is done with swept numbers, the result is the same expression
wherever the conditions hold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from archspec.symbolic.numbers import PYTHON, ROUNDING, Number
from archspec.symbolic.polynomials import Poly, Real, Space, TooLarge

MAX_BITS = 4_096  # of a number that is handled symbolically


class Condition(NamedTuple):
    """``left op 0`` for integers, ``left op right`` for floats, and how it comes out on the path."""

    op: str  # == or <
    left: Any
    right: Any
    holds: bool


class Path:
    """The decisions of one run at one point of a grid."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.conditions: dict[Condition, None] = {}
        self.turns: list[
            tuple[Any, int]
        ] = []  # of loops that are open: (its stop, the index), which is below it

    def number(self, expr: Poly | Real, value: Any) -> Any:
        """A number; a plain int where the expression is a constant."""
        if isinstance(expr, Poly):
            if expr.low == expr.high:
                return expr.low
            if max(abs(expr.low), abs(expr.high)).bit_length() > MAX_BITS:
                raise TooLarge("a number of too many digits")
        return Swept(self, expr, value)

    def decide(self, op: str, left: Poly | Real, right: Real | None, holds: bool) -> None:
        """Notes a comparison, unless it comes out the same all over the grid."""
        low, high = (0, 0) if right is None else (right.low, right.high)
        if op == "<":
            settled = left.high < low or left.low >= high
        else:
            settled = left.low > high or left.high < low or left.low == left.high == low == high
        if not settled:
            self.conditions[Condition(op, left, right, holds)] = None

    def compare(self, op: str, left: Poly | Real, right: Poly | Real, holds: bool) -> None:
        if isinstance(left, Poly) and isinstance(right, Poly):
            self.decide(op, self.space.add(left, right, -1), None, holds)
        else:
            self.decide(op, *self.reals(left, right), holds)

    def reals(self, left: Poly | Real, right: Poly | Real) -> tuple[Real, Real]:
        first, second = (side if isinstance(side, Real) else self.space.real(side) for side in (left, right))
        return first, second

    def expr_of(self, value: Any) -> Poly | Real | None:
        """The expression of a number, whether swept or plain; None for what is no number, or no usual one."""
        kind = type(value)
        if kind is Swept:
            return value.expr  # type: ignore[no-any-return]
        if kind is bool or kind is int:
            return self.space.constant(int(value))
        return self.space.literal(value) if kind is float and abs(value) < 1e300 else None

    def calculate(self, op: str, left: Poly | Real, right: Poly | Real) -> Poly | Real:
        """The expression of an operation. Errors: :class:`TooLarge` where there is none."""
        if isinstance(left, Poly) and isinstance(right, Poly) and op != "/":
            return self.space.whole_operation(op, left, right)
        if op not in "+-*/":
            raise TooLarge(f"{op} of floats")
        return self.space.operate(op, *self.reals(left, right))


class Swept(Number):
    """An integer or a float on a path."""

    __slots__ = ("path",)

    def __init__(self, path: Path, expr: Poly | Real, value: Any) -> None:
        self.path, self.expr, self.value = path, expr, value

    def fixed(self) -> Any:
        expr = self.path.expr_of(self.value)
        assert expr is not None  # bounds are finite
        self.path.compare("==", self.expr, expr, True)
        return self.value

    def whole(self, rounding: str) -> Any:
        if isinstance(self.expr, Poly):
            return self
        try:
            rounded = self.path.space.whole(rounding, self.expr)
        except TooLarge:
            return ROUNDING[rounding](self.fixed())
        return self.path.number(rounded, ROUNDING[rounding](self.value))

    def real(self) -> Any:
        """The number as a float."""
        if isinstance(self.expr, Real):
            return self
        try:
            return Swept(self.path, self.path.space.real(self.expr), float(self.value))
        except TooLarge:
            return float(self.fixed())

    def __neg__(self) -> Any:
        return 0 - self if isinstance(self.expr, Poly) else -1.0 * self

    @classmethod
    def operate(cls, op: str, left: Any, right: Any) -> Any:
        path = _path(left, right)
        dividend, divisor = path.expr_of(left), path.expr_of(right)
        first, second = _value(left), _value(right)
        if dividend is not None and divisor is not None:
            if op in ("/", "//", "%"):
                path.compare("==", divisor, path.space.constant(0), second == 0)
                if second == 0:
                    return PYTHON[op](first, second)  # raises
            try:  # what fails is done on plain numbers, where it fails again if it has to
                return path.number(path.calculate(op, dividend, divisor), PYTHON[op](first, second))
            except (TooLarge, ArithmeticError):
                pass
        elif not all(isinstance(side, Number | list | tuple | str | int | float) for side in (left, right)):
            return NotImplemented
        return PYTHON[op](fixed(left), fixed(right))

    @classmethod
    def compare(cls, op: str, left: Any, right: Any) -> Any:
        path = _path(left, right)
        one, other = path.expr_of(left), path.expr_of(right)
        first, second = _value(left), _value(right)
        if not all(isinstance(side, int | float) for side in (first, second)):
            return NotImplemented
        holds = first < second if op == "<" else first == second
        try:
            if one is None or other is None:
                raise TooLarge("no usual number")
            path.compare(op, one, other, holds)
        except TooLarge:
            fixed(left), fixed(right)
        return holds

    # a class that says what it is equal to has to say again how it is hashed
    __hash__ = Number.__hash__


def fixed(value: Any) -> Any:
    """The plain value of a number, on which its path rests from now on; everything else as it is."""
    return value.fixed() if isinstance(value, Number) else value


def _value(value: Any) -> Any:
    return value.value if isinstance(value, Number) else value


def _path(left: Any, right: Any) -> Path:
    path: Path = left.path if isinstance(left, Swept) else right.path
    return path
