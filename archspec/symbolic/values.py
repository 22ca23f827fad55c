"""Numbers that carry a SymPy expression beside their value, and the loops and guards they came through."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import sympy

from archspec.symbolic.numbers import PYTHON, Number, SymRange


class Loop:
    """A loop over layers: its index, a symbol that no other loop has, and, for a `range`, its ends."""

    def __init__(self, variable: str, start: Any, stop: Any, length: int) -> None:
        self.variable = variable
        self.symbol = sympy.Dummy(variable, integer=True, nonnegative=True)
        self.start, self.stop, self.length = start, stop, length
        self.index = 0  # in the turn that is being built

    def __str__(self) -> str:
        ends = (
            f"{expr_of(self.start)}, {expr_of(self.stop)}"
            if value_of(self.start)
            else f"{expr_of(self.stop)}"
        )
        return f"{self.variable} in range({ends})"

    @property
    def free(self) -> bool:
        """Whether the number of turns depends on the config."""
        return bool((expr_of(self.stop) - expr_of(self.start)).free_symbols)


class Relation(NamedTuple):
    """A comparison whose sides are expressions of the loop's index."""

    op: str
    left: sympy.Expr
    right: sympy.Expr


class Guard(NamedTuple):
    """A condition on a loop's index, by its source text, and how it came out."""

    text: str
    outcome: bool
    loop: Loop


class Turn(NamedTuple):
    """Which turn of which loop built a module; a module that all turns share stands for `times`."""

    loop: Loop | None
    position: int
    times: Any


class Sym(Number):
    """A number of a formula: with a SymPy expression, and the loops and guards that it depends on.

    Decisions are taken on its value; :mod:`archspec.symbolic.assumptions` notes them, in the words of the
    spec.
    """

    __slots__ = ("guards", "loops", "relation")

    def __init__(
        self,
        value: Any,
        expr: Any,
        loops: frozenset[Loop] = frozenset(),
        guards: frozenset[Guard] = frozenset(),
        relation: Relation | None = None,
    ) -> None:
        self.value, self.expr, self.loops, self.guards, self.relation = value, expr, loops, guards, relation

    @property
    def decided(self) -> Any:
        """What the layers of torch decide on."""
        return self.value

    def __bool__(self) -> bool:
        return bool(self.value)

    def __str__(self) -> str:
        return repr(self)

    @classmethod
    def operate(cls, op: str, left: Any, right: Any) -> Any:
        value = PYTHON[op](value_of(left), value_of(right))
        if isinstance(value, list | tuple):
            return value
        text = any(isinstance(value_of(side), str) for side in (left, right))
        expr = None if text else SYMBOLIC[op](expr_of(left), expr_of(right))
        sides = [side for side in (left, right) if isinstance(side, Sym)]
        return Sym(value, expr, loops_of(sides), guards_of(sides))

    @classmethod
    def compare(cls, op: str, left: Any, right: Any) -> Any:
        left, right = value_of(left), value_of(right)
        return left == right if op == "==" else left < right

    def fixed(self) -> Any:
        return self.value


def value_of(value: Any) -> Any:
    return value.value if isinstance(value, Sym) else value


def expr_of(value: Any) -> Any:
    """The SymPy expression of a number; a float is the decimal number that it is written as."""
    if isinstance(value, Sym):
        return value.expr if value.expr is not None else expr_of(value.value)
    if isinstance(value, float) and math.isfinite(value):
        return sympy.Rational(repr(value))
    return sympy.Integer(int(value)) if isinstance(value, int) else sympy.nan


class NthPrime(sympy.Function):  # type: ignore[misc]
    """The n-th prime after a number."""

    @classmethod
    def eval(cls, after: Any, n: Any) -> Any:
        return sympy.nextprime(int(after), int(n)) if after.is_Integer and n.is_Integer else None


SYMBOLIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
    "//": lambda left, right: sympy.floor(left / right),
    "%": sympy.Mod,
}
STRUCTURAL = {
    *("list", "tuple", "zip", "enumerate", "reversed", "sorted", "set"),
    *("len", "is_list", "is_int", "any", "all"),
}
ANALYTIC: dict[str, Callable[..., Any]] = {
    "int": lambda x: sympy.floor(x),
    "floor": sympy.floor,
    "ceil": sympy.ceiling,
    "min": sympy.Min,
    "max": sympy.Max,
    "sum": lambda *parts: sympy.Add(*parts),
    "prod": lambda *parts: sympy.Mul(*parts),
    "nth_prime": NthPrime,
    "abs": sympy.Abs,
    "float": lambda x: x,
    "sqrt": sympy.sqrt,
    "log2": lambda x: sympy.log(x, 2),
}


def length_of(ends: SymRange) -> Any:
    size = len(ends.plain())
    if value_of(ends.step) != 1 or size == 0:
        return size
    return ends.stop - ends.start if value_of(ends.start) != 0 or isinstance(ends.start, Sym) else ends.stop


def at_turn(expr: Any, loops: Iterable[Loop]) -> Any:
    """An expression in the turns of its loops that are being built."""
    return expr.subs({loop.symbol: loop.index for loop in loops})


def bare(value: Any) -> Any:
    """The plain Python value of anything that holds symbolic numbers."""
    if isinstance(value, SymRange):
        return value.plain()
    return [bare(item) for item in value] if isinstance(value, list | tuple) else value_of(value)


def syms_in(value: Any) -> list[Sym]:
    if isinstance(value, Sym):
        return [value]
    return [found for item in value for found in syms_in(item)] if isinstance(value, list | tuple) else []


def loops_of(found: Iterable[Sym]) -> frozenset[Loop]:
    """The loops that any of some numbers depends on."""
    return frozenset(loop for part in found for loop in part.loops)


def guards_of(found: Iterable[Sym]) -> frozenset[Guard]:
    """The guards that any of some numbers came through."""
    return frozenset(guard for part in found for guard in part.guards)
