"""Values of a config that know what they were computed from; an int is still an int, a list a list.

What they are compared with is noted in a :class:`Trace`, as path conditions that can be turned round.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

Path = tuple[Any, ...]  # of a field, through sub-configs; then positions in lists, or LENGTH
LENGTH = "#"
_FAR = 2**53  # a limit that no config comes near says nothing of a path


class Term:
    """An operator and what it is applied to, or a field by its path; ``fields`` are all that it reads."""

    def __init__(self, operator: str, arguments: tuple[Any, ...], value: float) -> None:
        self.operator, self.arguments, self.value = operator, arguments, value
        parts = [part.fields for part in arguments if isinstance(part, Term)]
        self.fields: frozenset[Path] = frozenset(arguments if operator == "field" else ()).union(*parts)


class Condition(NamedTuple):
    """A comparison of two numbers and how it came out; or, `read`, that the field at a path was looked at.

    A text that it was compared with is to the right.
    """

    operator: str
    left: Any
    right: Any = None
    outcome: bool = True

    @property
    def fields(self) -> frozenset[Path]:
        """The fields that decide it."""
        sides = [side.fields for side in (self.left, self.right) if isinstance(side, Term)]
        return frozenset[Path]().union(*sides)

    def turned(self) -> Condition:
        """The same with the other outcome."""
        return self._replace(outcome=not self.outcome)


class Trace:
    """The path conditions of a run, each once and in order, with the fields that decide them.

    ``notes`` are they and the reads, as they came.
    """

    def __init__(self) -> None:
        self.path: dict[Condition, frozenset[Path]] = {}
        self.notes: list[Condition] = []
        self.terms: dict[Path, Term] = {}

    def note(self, operator: str, left: Any, right: Any, outcome: bool) -> bool:
        """Notes how a comparison came out, and gives that."""
        if not any(isinstance(side, int | float) and abs(side) > _FAR for side in (left, right)):
            condition = Condition(operator, left, right, outcome)
            if condition not in self.path:
                self.path[condition] = condition.fields
            self.notes.append(condition)
        return outcome

    def number(self, value: Any, operator: str, *arguments: Any) -> Any:
        """A number with the term that it was computed by; the same term is one object, to be compared."""
        kind = Int if type(value) is int else Float if type(value) is float else None
        if kind is None:
            return value
        parts = tuple(part.term if isinstance(part, Number) else part for part in arguments)
        key = (operator, *((type(part), part) for part in parts))
        number = kind(value)
        number.term, number.trace = self.terms.setdefault(key, Term(operator, parts, value)), self
        return number

    def lifted(self, path: Path, value: Any) -> Any:
        """A field's value as one that is traced; flags and nulls stay what they are."""
        if type(value) in (int, float):
            return self.number(value, "field", path)
        if type(value) is str:
            text = Text(value)
            text.path, text.trace = tuple(part for part in path if type(part) is str), self
            return text
        if type(value) is list:
            items = Items(self.lifted((*path, index), item) for index, item in enumerate(value))
            items.length = self.number(len(value), "field", (*path, LENGTH))
            return items
        return value


def _arithmetic(name: str, function: Callable[[Any, Any], Any], swapped: bool = False) -> Any:
    def apply(self: Any, other: Any) -> Any:
        if not isinstance(other, int | float):
            return NotImplemented
        left, right = (other, self) if swapped else (self, other)
        value = function(plain(left), plain(right))
        inexact = isinstance(value, float) and name in ("//", "%", "**")
        power = name == "**" and not (type(right) is int and 0 <= right <= 3)
        return value if inexact or power else self.trace.number(value, name, left, right)

    return apply


def _comparison(name: str, function: Callable[[Any, Any], bool]) -> Any:
    def apply(self: Any, other: Any) -> Any:
        outcome = function(plain(self), plain(other))
        known = isinstance(other, int | float)
        return self.trace.note(name, self.term, getattr(other, "term", other), outcome) if known else outcome

    return apply


class Number:
    """A number with the term that it was computed by."""

    term: Term
    trace: Trace

    __add__, __radd__ = _arithmetic("+", operator.add), _arithmetic("+", operator.add, True)
    __sub__, __rsub__ = _arithmetic("-", operator.sub), _arithmetic("-", operator.sub, True)
    __mul__, __rmul__ = _arithmetic("*", operator.mul), _arithmetic("*", operator.mul, True)
    __mod__, __rmod__ = _arithmetic("%", operator.mod), _arithmetic("%", operator.mod, True)
    __pow__, __rpow__ = _arithmetic("**", operator.pow), _arithmetic("**", operator.pow, True)
    __truediv__, __rtruediv__ = _arithmetic("/", operator.truediv), _arithmetic("/", operator.truediv, True)
    __floordiv__ = _arithmetic("//", operator.floordiv)
    __rfloordiv__ = _arithmetic("//", operator.floordiv, True)
    __eq__, __ne__ = _comparison("==", operator.eq), _comparison("!=", operator.ne)
    __lt__, __le__ = _comparison("<", operator.lt), _comparison("<=", operator.le)
    __gt__, __ge__ = _comparison(">", operator.gt), _comparison(">=", operator.ge)

    def __hash__(self) -> int:
        return hash(plain(self))

    def __bool__(self) -> bool:
        return self.trace.note("!=", self.term, 0, plain(self) != 0)

    def __neg__(self) -> Any:
        return self.trace.number(-plain(self), "-", 0, self)

    def __floor__(self) -> Any:
        return self.trace.number(math.floor(plain(self)), "floor", self)

    def __ceil__(self) -> Any:
        return self.trace.number(math.ceil(plain(self)), "ceil", self)


class Int(Number, int):
    """A whole number that is traced."""


class Float(Number, float):
    """A number that is not whole, and traced."""


class Text(str):
    """A field's text, or a list's; where it is compared, the field is looked at."""

    path: Path
    trace: Trace

    def __eq__(self, other: object) -> bool:
        self.trace.notes.append(Condition("read", self.path, plain(other)))
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class Items(list[Any]):
    """A field's list; its length is a number that is traced too."""

    length: Any


def plain(value: Any) -> Any:
    """The value itself, of a type that remembers nothing."""
    if isinstance(value, Int):
        return int.__index__(value)
    if isinstance(value, Float):
        return float.__float__(value)
    if isinstance(value, Text):
        return str.__str__(value)
    return [plain(item) for item in value] if isinstance(value, list) else value
