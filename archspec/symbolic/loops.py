"""Loops over layers in a formula: their iterations, and the tests that distinguish them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import sympy

from archspec.language.expression import condition_text
from archspec.language.values import value_of
from archspec.symbolic.expressions import Condition, Lookup
from archspec.symbolic.fields import Relation, has_index, sympy_form
from archspec.symbolic.path_conditions import Number, SymRange
from archspec.symbolic.polynomials import Space


class Derived(list[Any]):
    """Flags or texts of layers that a spec derives; they may be others at other sizes."""


class LayerText(str):
    """A text of a :class:`Derived` list, with the index that it was found by."""

    index: Any


class Test(NamedTuple):
    """The outcome of a test under some guards, and the comparison that decided it, if any."""

    text: str
    branch: frozenset[Guard]
    holds: bool
    relation: Relation | None


Decision = Condition | Lookup | Test


class Iteration(NamedTuple):
    """The decisions on the index in an iteration, the indices of all loops, a value that others can share."""

    decisions: list[Decision]
    places: dict[Any, int]
    value: list[Any]  # of at most one item


class Loop:
    """A loop over layers: its ends, a symbol for its index, and its iterations."""

    def __init__(self, space: Space, variable: str, ends: SymRange, length: int) -> None:
        self.space, self.variable, self.length = space, variable, length
        self.symbol = sympy.Dummy(variable, integer=True, nonnegative=True)
        exprs = (end.expr if isinstance(end, Number) else sympy.Integer(end) for end in ends)
        self.first, self.stop = (sympy_form(space, expr) for expr in exprs)
        self.start: int = value_of(ends.start)
        self.length_expr = self.stop - self.first
        self.has_free_length = bool(self.length_expr.free_symbols)
        self.history: list[Iteration] = []
        self.decisive: set[str] = set()  # the texts of tests that distinguish iterations
        self.chose: set[str] = set()  # of tests that chose a text, by which anything may be looked up
        self.unrolled = False  # the iterations were counted one by one

    def __str__(self) -> str:
        ends = f"{self.first}, {self.stop}" if self.start else f"{self.stop}"
        return f"{self.variable} in range({ends})"

    @property
    def index(self) -> int:
        return self.start + len(self.history) - 1

    @cached_property
    def tests(self) -> dict[str, set[tuple[int, Test]]]:
        """The tests of all iterations by their texts, once the loop is evaluated."""
        found: dict[str, set[tuple[int, Test]]] = {}
        for place, turn in enumerate(self.history):
            for one in turn.decisions:
                if isinstance(one, Test):
                    found.setdefault(one.text, set()).add((place, one))
        return found

    def outcomes(self, text: str) -> set[bool]:
        return {test.holds for _, test in self.tests[text]}

    def relations(self, text: str) -> set[Relation]:
        return {test.relation for _, test in self.tests[text] if test.relation is not None}

    def depends(self, text: str) -> bool:
        """Return True if a test, not one of another loop's index, has another reason in some iterations."""
        if any(self.symbol in relation.axes for relation in self.relations(text)):
            return True
        turns: dict[tuple[Any, int], set[Any]] = {}
        for place, test in self.tests[text]:
            outcomes = turns.setdefault((test.branch, place), set())
            if test.relation is None or not has_index(test.relation.axes):
                outcomes.add((test.holds, test.relation))
        first: dict[Any, set[Any]] = {}
        return any(first.setdefault(branch, found) != found for (branch, _), found in turns.items())

    def decides(self, text: str) -> bool:
        """Return True if a test may distinguish iterations: it did so, or it is one of the index."""
        if not self.depends(text):
            return False
        return len(self.outcomes(text)) == 2 or any(has_index(one.axes) for one in self.relations(text))

    def relation(self, text: str) -> tuple[str, Any, Any] | None:
        """Return the comparison and its sides, if a test is the same one in all iterations."""
        found = self.relations(text)
        given = {other for relation in found for other in relation.given}
        if len({relation[:2] for relation in found}) != 1 or given & self.decisive:
            return None
        op, (*sides,), _ = found.pop()
        return (op, sympy_form(self.space, sides[0]), sympy_form(self.space, sides[1])) if op else None


# over local names of formulas/contractions.yaml
_IS_FULL = ("whole or allocation == 'pages'", "cached is None")


class Guard(NamedTuple):
    """A test of a loop's iterations, by its source text, and its outcome."""

    text: str
    outcome: bool
    loop: Loop

    def __str__(self) -> str:
        if self.text in _IS_FULL:
            return "a full-length cache" if self.outcome else "a sliding-window cache"
        return condition_text(self.text, self.outcome)
