"""The record of one run of a config through a spec: comparisons and reads in order, tests, fields."""

from __future__ import annotations

import ast
from math import inf
from typing import Any, NamedTuple

from archspec.language.expression import Expression
from archspec.specs.records import Field, Spec
from archspec.symbolic.expressions import Condition, Poly
from archspec.symbolic.path_conditions import Number, Path
from archspec.symbolic.polynomials import LARGEST, Space

Config = dict[str, Any]
FieldPath = tuple[Any, ...]  # of a field, through sub-configs; then positions in lists, or LENGTH
LENGTH = "#"
_FAR = 2**53  # no config comes near such a limit


class Read(NamedTuple):
    """A read of the field or item at a path, and the text that it is compared with, if any."""

    path: FieldPath
    text: str = ""


class Text(str):
    """A text of a config; a comparison is recorded as a read."""

    path: FieldPath
    notes: list[Condition | Read]

    @property
    def value(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        self.notes.append(Read(self.path, str(other)))
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class Items(list[Any]):
    """A list of a config; its length is a number with a path, too."""

    length: Any


class Fork(NamedTuple):
    """A test with two outcomes: a node of a spec, in each call that passes arguments that it reads."""

    node: Any
    call: ast.AST | None = None


class Met(NamedTuple):
    """A test in a run, in a module's definition or in that of a config."""

    test: Fork
    outcome: bool
    notes: tuple[Condition | Read, ...]  # that decided it
    before: int  # the number of notes before it
    spec: Spec
    module: str = ""


class Known(NamedTuple):
    """A field that was read: its value, if the config gives it, and its declaration, if any."""

    value: Any
    given: bool
    field: Field | None


class Run:
    """One config's run: its path, each test once for each outcome, the fields, and the refusal.

    Conditions are listed in order, with reads; the use of a plain value is not a condition. Runs share a
    ``space`` if their conditions are compared.
    """

    def __init__(self, raw: Config, ignored: Expression | None = None, space: Space | None = None) -> None:
        self.raw, self.ignored, self.space = raw, ignored, space or Space(limit=inf)
        self.path = Path(self.space)
        self.path.record, self.path.pin, self.path.divides = self.record, lambda number: None, False
        self.notes: list[Condition | Read] = []
        self.values: dict[FieldPath, Any] = {}
        self.met: dict[tuple[Fork, bool], Met] = {}
        self.demanded: dict[ast.expr, Expression] = {}
        self.fields: dict[FieldPath, Known] = {}
        self.refusal: Met | None = None

    def record(self, condition: Condition) -> None:
        constants = [side for side in (condition.left, condition.right) if isinstance(side, Poly)]
        if all(abs(dict(side.terms).get((), 0)) < _FAR for side in constants):
            self.notes.append(condition)

    def conditions(self, before: int | None = None) -> list[Condition]:
        """Return the distinct comparisons of the run, or those among its first notes."""
        return [one for one in dict.fromkeys(self.notes[:before]) if isinstance(one, Condition)]

    def lift(self, path: FieldPath, value: Any) -> Any:
        """Return a field's value with its path; flags and nulls stay plain."""
        if type(value) in (int, float):
            self.values[path] = value
            return Number(self.path, self.space.field(path, type(value) is int, -LARGEST), value)
        if type(value) is str:
            text = Text(value)
            text.path, text.notes = tuple(part for part in path if type(part) is str), self.notes
            return text
        if type(value) is list:
            items = Items(self.lift((*path, index), item) for index, item in enumerate(value))
            items.length = self.lift((*path, LENGTH), len(value))
            return items
        return value
