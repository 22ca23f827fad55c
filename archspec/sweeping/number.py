"""Numbers that stand for a swept field's value and remember every decision that is taken on them.

A :class:`Number` passes for an `int` (or a `float`) to `isinstance`, but is none: whatever takes its plain value goes
through a method here, so that nothing is decided on it unseen. Arithmetic gives numbers again. A comparison that the
bounds of the grid do not settle is noted as a :class:`Condition` of the :class:`Trace`, and so is the use of a value
as a plain int, e.g. as a dictionary's key: then the trace holds only where the value is that one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from archspec.sweeping.algebra import ROUNDING, Poly, Real, Space, TooLarge


class Condition(NamedTuple):
    """``left op 0`` for integers, ``left op right`` for floats, and how it comes out where the trace holds."""

    op: str  # == or <
    left: Any
    right: Any
    holds: bool


class Trace:
    """One run of the exact count at one point of the grid, and the conditions under which it runs the same elsewhere."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.conditions: dict[Condition, None] = {}
        self.turns: list[
            tuple[Any, int]
        ] = []  # of loops that are open: (its stop, the index), which is below the stop

    def number(self, node: Poly | Real, at: Any) -> Any:
        """A number; a plain int where the node is a constant."""
        if isinstance(node, Poly) and node.low == node.high:
            return node.low
        return Number(self, node, at)

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
        real = self.space.real
        return (left if isinstance(left, Real) else real(left)), (
            right if isinstance(right, Real) else real(right)
        )

    def lifted(self, value: Any) -> Poly | Real | None:
        """The node of a number, whether traced or plain; None for what is no number, or no usual one."""
        kind = type(value)
        if kind is Number:
            return value.node  # type: ignore[no-any-return]
        if kind is bool or kind is int:
            return self.space.constant(int(value))
        return self.space.literal(value) if kind is float and abs(value) < 1e300 else None

    def calculate(self, op: str, left: Poly | Real, right: Poly | Real) -> Poly | Real | None:
        """The node of an operation; None for one that is not handled symbolically."""
        space = self.space
        if isinstance(left, Poly) and isinstance(right, Poly):
            if op == "**":
                return space.power(left, right)
            if op != "/":
                integer = {
                    "+": space.add,
                    "-": space.subtract,
                    "*": space.multiply,
                    "//": space.floordiv,
                    "%": space.modulo,
                }
                return integer[op](left, right)
        return space.operate(op, *self.reals(left, right)) if op in "+-*/" else None


def plain(value: Any) -> Any:
    """The plain value of a number, to which its trace holds from now on; everything else as it is."""
    return value.fixed() if type(value) is Number else value


def traced(value: Any) -> bool:
    """Whether a value is a number of a trace, which `isinstance` does not tell."""
    return type(value) is Number


_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


class Number:
    """An integer or a float of a :class:`Trace`; see the module."""

    __slots__ = ("at", "node", "trace")

    def __init__(self, trace: Trace, node: Poly | Real, at: Any) -> None:
        self.trace, self.node, self.at = trace, node, at

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance(number, int) holds, so that the checks of a config take it
        return int if type(self.node) is Poly else float

    def fixed(self) -> Any:
        """The plain value; from now on the trace holds only where the value is this one."""
        value = self.trace.lifted(self.at)
        assert value is not None  # bounds are finite
        self.trace.compare("==", self.node, value, True)
        return self.at

    def whole(self, op: str) -> Any:
        """Rounded to an int by `trunc`, `floor`, `ceil` or `round`."""
        if isinstance(self.node, Poly):
            return self
        try:
            return self.trace.number(self.trace.space.whole(op, self.node), ROUNDING[op](self.at))
        except TooLarge:
            return ROUNDING[op](self.fixed())

    def real(self) -> Any:
        if isinstance(self.node, Real):
            return self
        try:
            return Number(self.trace, self.trace.space.real(self.node), float(self.at))
        except TooLarge:
            return float(self.fixed())

    def _binary(self, op: str, other: Any, flipped: bool = False) -> Any:
        node = self.trace.lifted(other)
        at = other.at if type(other) is Number else other
        left, right = (at, self.at) if flipped else (self.at, at)
        if node is not None:
            nodes = (node, self.node) if flipped else (self.node, node)
            if op in ("/", "//", "%"):
                zero = self.trace.space.constant(0)
                self.trace.compare("==", nodes[1], zero, right == 0)
                if right == 0:
                    return _PYTHON[op](left, right)  # raises
            try:
                if (built := self.trace.calculate(op, *nodes)) is not None:
                    return self.trace.number(built, _PYTHON[op](left, right))
            except (TooLarge, ArithmeticError):  # done on plain numbers, where it fails again if it has to
                pass
        elif not isinstance(other, list | tuple | str | float):
            return NotImplemented
        own, others = self.fixed(), plain(other)
        return _PYTHON[op](others, own) if flipped else _PYTHON[op](own, others)

    def _compared(self, op: str, other: Any, flipped: bool, negated: bool) -> Any:
        node = self.trace.lifted(other)
        at = other.at if type(other) is Number else other
        if node is None and not isinstance(other, float):
            return NotImplemented
        left, right = (at, self.at) if flipped else (self.at, at)
        holds = left < right if op == "<" else left == right
        try:
            if node is None:
                raise TooLarge
            self.trace.compare(op, *((node, self.node) if flipped else (self.node, node)), holds)
        except TooLarge:
            self.fixed(), plain(other)
        return holds != negated

    def __eq__(self, other: object) -> Any:
        return self._compared("==", other, False, False)

    def __ne__(self, other: object) -> Any:
        return self._compared("==", other, False, True)

    def __lt__(self, other: Any) -> Any:
        return self._compared("<", other, False, False)

    def __gt__(self, other: Any) -> Any:
        return self._compared("<", other, True, False)

    def __ge__(self, other: Any) -> Any:
        return self._compared("<", other, False, True)

    def __le__(self, other: Any) -> Any:
        return self._compared("<", other, True, True)

    def __add__(self, other: Any) -> Any:
        return self._binary("+", other)

    def __radd__(self, other: Any) -> Any:
        return self._binary("+", other, True)

    def __sub__(self, other: Any) -> Any:
        return self._binary("-", other)

    def __rsub__(self, other: Any) -> Any:
        return self._binary("-", other, True)

    def __mul__(self, other: Any) -> Any:
        return self._binary("*", other)

    def __rmul__(self, other: Any) -> Any:
        return self._binary("*", other, True)

    def __truediv__(self, other: Any) -> Any:
        return self._binary("/", other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary("/", other, True)

    def __floordiv__(self, other: Any) -> Any:
        return self._binary("//", other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._binary("//", other, True)

    def __mod__(self, other: Any) -> Any:
        return self._binary("%", other)

    def __rmod__(self, other: Any) -> Any:
        return self._binary("%", other, True)

    def __pow__(self, other: Any) -> Any:
        return self._binary("**", other)

    def __rpow__(self, other: Any) -> Any:
        return self._binary("**", other, True)

    def __neg__(self) -> Any:
        return 0 - self if isinstance(self.node, Poly) else -1.0 * self

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __round__(self, digits: Any = None) -> Any:
        return self.whole("round") if digits is None else round(self.fixed(), plain(digits))

    def __trunc__(self) -> Any:
        return self.whole("trunc")

    def __floor__(self) -> Any:
        return self.whole("floor")

    def __ceil__(self) -> Any:
        return self.whole("ceil")

    def __int__(self) -> int:
        return int(self.fixed())

    def __index__(self) -> int:
        return operator.index(self.fixed())

    def __float__(self) -> float:
        return float(self.fixed())

    def __hash__(self) -> int:
        return hash(self.fixed())

    def __str__(self) -> str:
        return str(self.fixed())

    def __format__(self, form: str) -> str:
        return format(self.at, form)  # in messages alone: names are made with str()

    def __repr__(self) -> str:
        return f"<{self.at}>"

    def bit_length(self) -> int:
        """An upper bound for the whole grid: it is only asked whether a number is too large."""
        bound = int(max(abs(self.node.low), abs(self.node.high))).bit_length()
        return bound if bound <= 4_096 else int(self.fixed()).bit_length()
