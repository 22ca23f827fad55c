"""Symbolic numbers: a value, and the expression that it came from.

A number behaves as the Python number that it is here. What an expression is, and what becomes of decisions,
is for its subclasses: in a formula an expression is SymPy's and tests are noted in words
(:class:`archspec.symbolic.values.Sym`); over a grid it is a polynomial, and every decision is a path
condition (:class:`archspec.symbolic.path_conditions.Swept`).
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from archspec.language.operations import BINARY

_OPERATORS = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "/": ast.Div,
    "//": ast.FloorDiv,
    "%": ast.Mod,
    "**": ast.Pow,
}
PYTHON: dict[str, Callable[[Any, Any], Any]] = {sign: BINARY[kind] for sign, kind in _OPERATORS.items()}
ROUNDING: dict[str, Callable[[float], int]] = {
    "trunc": int,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
}


class Number:
    """A value with its expression; only :meth:`fixed`, :meth:`compare`, :meth:`operate` look at the value."""

    __slots__ = ("expr", "value")

    expr: Any
    value: Any

    @classmethod
    def operate(cls, op: str, left: Any, right: Any) -> Any:
        """`left op right`, one of which is a number of this class."""
        raise NotImplementedError

    @classmethod
    def compare(cls, op: str, left: Any, right: Any) -> Any:
        """`left op right` for `==` or `<`, decided here."""
        raise NotImplementedError

    def fixed(self) -> Any:
        """The plain value; what follows holds for this one alone."""
        raise NotImplementedError

    def whole(self, rounding: str) -> Any:
        """The number rounded to an int in one of the ways of :data:`ROUNDING`."""
        return ROUNDING[rounding](self.fixed())

    def __add__(self, other: Any) -> Any:
        return self.operate("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return self.operate("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return self.operate("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.operate("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return self.operate("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self.operate("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self.operate("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.operate("/", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self.operate("//", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self.operate("//", other, self)

    def __mod__(self, other: Any) -> Any:
        return self.operate("%", self, other)

    def __rmod__(self, other: Any) -> Any:
        return self.operate("%", other, self)

    def __pow__(self, other: Any) -> Any:
        return self.operate("**", self, other)

    def __rpow__(self, other: Any) -> Any:
        return self.operate("**", other, self)

    def __neg__(self) -> Any:
        return self.operate("*", -1, self)

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
        return format(self.value, form)  # in messages alone: names are made with str()

    def __repr__(self) -> str:
        return f"{self.value} ({self.expr})"


def _negated(outcome: Any) -> Any:
    return NotImplemented if outcome is NotImplemented else not outcome


class SymRange(NamedTuple):
    """`range(start, stop, step)` with symbolic ends."""

    start: Any
    stop: Any
    step: Any = 1

    def plain(self) -> range:
        """The range here, of which a number that takes note of decisions takes note."""
        return range(*(end.fixed() if isinstance(end, Number) else end for end in self))
