"""Numbers, texts and lists of a config that know where they came from, and what was asked of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from archspec.language.values import here
from archspec.symbolic.path_conditions import Number
from archspec.symbolic.polynomials import PYTHON, ROUNDING

Path = tuple[Any, ...]  # of a field, through sub-configs; then positions in lists, or LENGTH
LENGTH = "#"
_FAR = 2**53  # a limit that no config comes near says nothing of a path


class Term:
    """A field by its path, a constant, or an operator and its terms; ``fields`` are all that it reads."""

    def __init__(self, value: Any, operator: str, arguments: tuple[Any, ...]) -> None:
        self.value, self.operator, self.arguments = value, operator, arguments
        parts = [part.fields for part in arguments if isinstance(part, Term)]
        self.fields: frozenset[Path] = frozenset(arguments if operator == "field" else ()).union(*parts)


class Condition(NamedTuple):
    """A comparison of two numbers, `==` or `<`, and how it came out."""

    operator: str
    left: Term
    right: Term
    outcome: bool

    @property
    def fields(self) -> frozenset[Path]:
        """The fields that decide it."""
        return self.left.fields | self.right.fields

    def turned(self) -> Condition:
        """The same with the other outcome."""
        return self._replace(outcome=not self.outcome)


class Read(NamedTuple):
    """That the field or item at a path was looked at; with the text that it was compared with."""

    path: Path
    text: str = ""


class Trace:
    """What was asked of the numbers and texts of one run, in order."""

    def __init__(self) -> None:
        self.notes: list[Condition | Read] = []
        self.terms: dict[Any, Term] = {}

    def term(self, value: Any, operator: str, *arguments: Any) -> Term:
        """One and the same object for the same term, so that conditions can be compared."""
        key = (type(value), operator, arguments)
        if key not in self.terms:
            self.terms[key] = Term(value, operator, arguments)
        return self.terms[key]

    def of(self, side: Any) -> Term:
        return side.term if isinstance(side, Traced) else self.term(side, "constant", side)

    def number(self, value: Any, operator: str, *arguments: Any) -> Any:
        return Traced(self, self.term(value, operator, *arguments))

    def lifted(self, path: Path, value: Any) -> Any:
        """A field's value as one that is traced; flags and nulls stay what they are."""
        if type(value) in (int, float):
            return self.number(value, "field", path)
        if type(value) is str:
            return Text(value).at(tuple(part for part in path if type(part) is str), self)
        if type(value) is list:
            items = Items(self.lifted((*path, index), item) for index, item in enumerate(value))
            items.length = self.number(len(value), "field", (*path, LENGTH))
            return items
        return value


class Traced(Number):
    """A number with its term; it is what it is here, and notes what it is compared with."""

    __slots__ = ("term", "trace")

    def __init__(self, trace: Trace, term: Term) -> None:
        self.trace, self.term, self.value = trace, term, term.value

    @property
    def decided(self) -> Any:
        return self

    def fixed(self) -> Any:
        return self.value

    def __neg__(self) -> Any:
        return 0 - self

    def __repr__(self) -> str:
        return repr(self.value)

    def whole(self, rounding: str) -> Any:
        value = ROUNDING[rounding](self.value)
        if isinstance(self.value, int):
            return self
        if rounding == "round" or (rounding == "trunc" and value < 0):
            return value
        return self.trace.number(value, "ceil" if rounding == "ceil" else "floor", self.term)

    @staticmethod
    def operate(op: str, left: Any, right: Any) -> Any:
        if not _are_numbers(left, right):
            return NotImplemented
        value, trace = PYTHON[op](here(left), here(right)), _trace_of(left, right)
        inexact = isinstance(value, float) and op in ("//", "%", "**")
        power = op == "**" and not (type(right) is int and 0 <= right <= 3)
        return value if inexact or power else trace.number(value, op, trace.of(left), trace.of(right))

    @staticmethod
    def compare(op: str, left: Any, right: Any) -> Any:
        if not _are_numbers(left, right):
            return NotImplemented
        trace, (first, second) = _trace_of(left, right), (here(left), here(right))
        outcome = first == second if op == "==" else first < second
        if abs(first) < _FAR and abs(second) < _FAR:
            trace.notes.append(Condition(op, trace.of(left), trace.of(right), outcome))
        return outcome


def _are_numbers(left: Any, right: Any) -> bool:
    return isinstance(here(left), int | float) and isinstance(here(right), int | float)


def _trace_of(left: Any, right: Any) -> Trace:
    found: Trace = (left if isinstance(left, Traced) else right).trace
    return found


class Text(str):
    """A field's text, or a list's; where it is compared, it is looked at."""

    path: Path
    trace: Trace

    def at(self, path: Path, trace: Trace) -> Text:
        self.path, self.trace = path, trace
        return self

    def __eq__(self, other: object) -> bool:
        self.trace.notes.append(Read(self.path, str(other)))
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class Items(list[Any]):
    """A field's list; its length is a number that is traced too."""

    length: Any


def plain(value: Any) -> Any:
    """The value itself, of a type that remembers nothing."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, str) else here(value)
