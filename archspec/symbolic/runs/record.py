"""The record of one run: a path that lists its comparisons and reads in order, the tests, the fields."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from archspec.language.expression import Expression
from archspec.specs.records import Field, Spec
from archspec.symbolic.decisions import Condition
from archspec.symbolic.fields import LARGEST, Fields
from archspec.symbolic.path_conditions import Number, Path
from archspec.symbolic.polynomials import Poly, Real

Config = dict[str, Any]
FieldPath = tuple[Any, ...]  # of a field, through sub-configs; then positions in lists, or LENGTH
LENGTH = "#"
_FAR = 2**53  # no config comes near such a limit


class Read(NamedTuple):
    """The field or item at a path was read, and compared with a text if there is one."""

    path: FieldPath
    text: str = ""


def unlimited() -> Fields:
    """Expressions without a limit on their number; runs that are compared share one."""
    return Fields(limit=float("inf"))


class Trail(Path):
    """A path that lists conditions and reads in order; taking a plain value adds no condition."""

    def __init__(self, fields: Fields | None = None) -> None:
        self.fields = fields or unlimited()
        super().__init__(self.fields)
        self.notes: list[Condition | Read] = []
        self.values: dict[FieldPath, Any] = {}

    def record(self, condition: Condition) -> None:
        constants = [side for side in (condition.left, condition.right) if isinstance(side, Poly)]
        if all(abs(dict(side.terms).get((), 0)) < _FAR for side in constants):
            self.notes.append(condition)

    def pin(self, number: Number) -> None:
        pass

    def divide(self, divisor: Poly | Real, value: Any) -> None:
        pass

    def lift(self, path: FieldPath, value: Any) -> Any:
        """A field's value with its path; flags and nulls stay plain."""
        if type(value) in (int, float):
            self.values[path] = value
            return Number(self, self.fields.field(path, type(value) is int, -LARGEST), value)
        if type(value) is str:
            text = Text(value)
            text.path, text.trail = tuple(part for part in path if type(part) is str), self
            return text
        if type(value) is list:
            items = Items(self.lift((*path, index), item) for index, item in enumerate(value))
            items.length = self.lift((*path, LENGTH), len(value))
            return items
        return value


class Text(str):
    """A field's text, or one in a field's list; a comparison is recorded as a read."""

    path: FieldPath
    trail: Trail

    @property
    def value(self) -> str:
        """The plain text."""
        return str(self)

    def __eq__(self, other: object) -> bool:
        self.trail.notes.append(Read(self.path, str(other)))
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class Items(list[Any]):
    """A field's list; its length is a number with a path, too."""

    length: Any


class Fork(NamedTuple):
    """A test with two outcomes: a node of a spec, in each call that passes arguments that it reads."""

    node: Any
    call: ast.AST | None = None


class Met(NamedTuple):
    """A test as a run met it: its outcome, the notes that decided it, and the number of notes before it.

    ``spec`` and ``module`` say which definition has the test.
    """

    test: Fork
    outcome: bool
    notes: tuple[Condition | Read, ...]
    before: int
    spec: Spec
    module: str = ""


class Known(NamedTuple):
    """A field that was read: its value, whether the config gives it, and its declaration, if any."""

    value: Any
    given: bool
    field: Field | None


class Run:
    """One config's run: each test once for each outcome, the fields, and what refused the config."""

    def __init__(self, raw: Config, ignored: Expression | None = None, fields: Fields | None = None) -> None:
        self.raw, self.ignored = raw, ignored
        self.trail = Trail(fields)
        self.met: dict[tuple[Fork, bool], Met] = {}
        self.demanded: dict[ast.expr, Expression] = {}
        self.fields: dict[FieldPath, Known] = {}
        self.refusal: Met | None = None

    def path(self, before: int | None = None) -> list[Condition]:
        """The distinct comparisons of the run, or those of its first notes."""
        return [one for one in dict.fromkeys(self.trail.notes[:before]) if isinstance(one, Condition)]
