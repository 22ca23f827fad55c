"""What is decided on the way: conditions of a path, and whether another turn of a loop decides alike."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from math import prod
from typing import Any, NamedTuple

from archspec.symbolic.polynomials import PYTHON, ROUNDING, VARIABLES, Operation, Poly, Space

_CALCULATED: dict[str, Callable[..., Any]] = {**PYTHON, **ROUNDING, "int": float, "min": min, "max": max}
_PLAIN = (bool, int, float, str)


class Derived(list[Any]):
    """Flags or texts of layers that a spec derives: with other sizes they may be others."""


class LayerText(str):
    """A text of a :class:`Derived` list, with the index that it was found by."""

    index: Any


class Condition(NamedTuple):
    """``left op 0`` for integers, ``left op right`` for floats, and how it comes out on the path."""

    op: str  # == or <
    left: Any
    right: Any
    holds: bool

    @property
    def axes(self) -> frozenset[Any]:
        """The fields and indices that decide it."""
        return frozenset[Any]().union(*(side.axes for side in (self.left, self.right) if side is not None))

    def flipped(self) -> Condition:
        """The same comparison with the other outcome."""
        return self._replace(holds=not self.holds)

    def met(self, space: Space, known: Mapping[Any, Any]) -> bool:
        """Return True if the comparison comes out the same at other values of the axes."""
        left = value_at(space, self.left, known)
        right = 0 if self.right is None else value_at(space, self.right, known)
        return bool(left < right if self.op == "<" else left == right) == self.holds


class Lookup(NamedTuple):
    """An item of a list, by an index: it is the same wherever that finds the same."""

    items: Any
    place: Poly
    found: Any

    def met(self, space: Space, known: Mapping[Any, Any]) -> bool:
        item = self.items[value_at(space, self.place, known)]
        if type(item) in _PLAIN and type(item) is type(self.found):
            return bool(item == self.found)
        return item is self.found


Decision = Condition | Lookup


class Seen(NamedTuple):
    """A turn that was evaluated: what was decided on its index, and what it gave."""

    place: int
    decisions: list[Decision]
    value: Any

    def met(self, space: Space, known: Mapping[Any, Any]) -> bool:
        """Whether all is decided alike where the axes have some values; False where that is not known."""
        try:
            return all(decision.met(space, known) for decision in self.decisions)
        except (LookupError, ArithmeticError):
            return False


def value_at(space: Space, expr: Poly | Operation, known: Mapping[Any, Any]) -> Any:
    """What Python makes of an expression where its axes have some values.

    Errors: KeyError for an axis that is not known, or an operation that is not of numbers alone.
    """
    if isinstance(expr, Poly):
        return sum(
            coefficient * prod(value_at(space, space.atoms[n], known) ** power for n, power in monomial)
            for monomial, coefficient in expr.terms
        )
    if expr.op in VARIABLES:
        return known[expr.args[0]]
    if expr.op == "float":
        return expr.args[0]
    if expr.op == "below":
        return bisect_left(expr.args[1], value_at(space, expr.args[0], known))
    return _CALCULATED[expr.op](*(value_at(space, arg, known) for arg in expr.args))
