"""The conditions of a closed form, in the words of its spec: on sizes, and on a layer's index."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import chain, count
from typing import Any

import sympy
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.str import StrPrinter

from archspec.language.values import value_of
from archspec.symbolic.expressions import Condition, Poly, Real
from archspec.symbolic.fields import Relation, exact_number, has_index, in_turn, sympy_form
from archspec.symbolic.loops import Decision, Guard, Iteration, Loop, Test
from archspec.symbolic.path_conditions import Number, Path
from archspec.symbolic.polynomials import MAX_WORK, Space

# a name in a test, but not of a function and not in quotes: of a field or an argument
_NAME = re.compile(r"(?<![\w.'\"])(?!(?:and|or|not|in|if|else)\b)[A-Za-z_][\w.]*(?![\w.(])")
_LONGEST = 40  # characters of a function whose symbol has its text


class _Words(StrPrinter):  # type: ignore[misc]  # SymPy is untyped
    """SymPy's text, with remainders as a spec writes them."""

    def _print_Mod(self, expr: Any) -> str:
        return " % ".join(self.parenthesize(one, PRECEDENCE["Mul"], strict=True) for one in expr.args)


class Assumptions:
    """The decisions of a formula: those on its path, and their words.

    ``values`` are the numbers that became symbols, ``pinned`` those that keep their values, ``definitions``
    those that are not fields (text, value, place); ``guards`` are those of the evaluation in progress.
    """

    def __init__(self) -> None:
        self.space = Space(limit=MAX_WORK)
        self.path = Path(self.space)
        self.path.record, self.path.pin = self._record, self._fix
        self.noted: dict[str, dict[Any, bool]] = {}
        self.pinned: set[str] = set()
        self.values: dict[str, Any] = {}
        self.definitions: dict[str, tuple[str, Any, Any]] = {}
        self.loops: list[Loop] = []
        self.open: list[Loop] = []
        self.guards: list[Guard] = []
        self.of_sizes: dict[tuple[str, Relation], tuple[bool, tuple[Loop, ...]]] = {}
        self.checks: dict[tuple[str, Any, Any], None] = {}  # comparisons of SymPy expressions that hold

    def field(self, name: str, value: Any) -> Number:
        self.values[name] = value
        return Number(self.path, self.space.field(name, isinstance(value, int)), value)

    def sympy_form(self, value: Any) -> Any:
        expr = self.path.expr_of(value)
        return sympy.nan if expr is None else sympy_form(self.space, expr)

    def _record(self, condition: Condition) -> None:
        if self.test_of(condition.left) is not None:
            return  # what decides the test is recorded
        if has_index(condition.axes):
            self.add_decision(condition, condition.axes)
        else:
            self.path.add_condition(condition)

    def check(self, op: str, left: Any, right: Any) -> None:
        """Record a comparison of SymPy expressions that the formula relies on."""
        symbols = sympy.sympify(left).free_symbols | sympy.sympify(right).free_symbols
        if symbols and not has_index(symbols):
            self.checks[op, left, right] = None

    def add_decision(self, decision: Decision, axes: frozenset[Any]) -> None:
        for loop in self.open:
            if loop.symbol in axes:
                loop.history[-1].decisions.append(decision)

    def find_earlier(self, loop: Loop) -> Iteration | None:
        """Return an iteration in which everything was decided as it would be in the next one."""
        places = {other.symbol: other.index for other in self.open} | {loop.symbol: loop.index + 1}
        known = ChainMap(places, self.values)
        for turn in loop.history:
            decisions = (one for one in turn.decisions if not isinstance(one, Test))
            with suppress(LookupError, ArithmeticError):
                if turn.value and all(one.is_met(self.space.atoms, known) for one in decisions):
                    return turn
        return None

    @property
    def words(self) -> dict[str, bool]:
        """The conditions by their text in the spec, or by their meaning if the text is ambiguous."""
        found: dict[str, bool] = {}
        for text, places in self.noted.items():
            same = len(set(places.values())) == 1
            of_fields = all(name in self.values for name in _NAME.findall(text))
            for meaning, outcome in places.items():
                readable = meaning is None or (same and (of_fields or not meaning.is_comparison))
                found[text if readable else self._meaning(text, meaning)] = outcome
        return found

    def _meaning(self, text: str, relation: Relation) -> str:
        sides = [_Words().doprint(sympy_form(self.space, side)) for side in relation.sides]
        if relation.is_comparison:
            return f"{sides[0]} {relation.op} {sides[1]}"
        return f"{text}, of {', '.join(sides)}"

    def note(self, text: str, outcome: bool = True, relation: Relation | None = None) -> None:
        """Note a condition; the same text may mean other sizes in a module that is built twice."""
        self.noted.setdefault(text, {})[relation] = outcome

    def test(self, relation: Relation, outcome: bool) -> Number:
        return Number(self.path, self.space.atom("test", (relation, *relation.sides), 0, 1), outcome)

    def join_tests(self, tests: list[Number], others: list[str], outcome: bool) -> Number:
        """Return the result of `and` or `or`, of tests of numbers and of other tests."""
        relations = list(map(self.relation, tests))
        relation = relations[0]._replace(given=(*relations[0].given, *others))
        if len(tests) > 1:
            relation = Relation("", tuple(side for found in relations for side in found.sides))
        return self.test(relation, outcome)

    def test_of(self, expr: Poly | Real) -> Relation | None:
        terms = expr.terms if isinstance(expr, Poly) else ()
        made = self.space.atoms[terms[0][0][0][0]] if len(terms) == 1 and len(terms[0][0]) == 1 else None
        return made.args[0] if made is not None and made.op == "test" else None

    def relation(self, number: Number) -> Relation:
        """Return what it means that a number is not 0."""
        return self.test_of(number.expr) or Relation("!=", (number.expr, self.space.constant(0)))

    def in_turn(self, relation: Relation, places: Mapping[Any, int]) -> Relation:
        sides = tuple(in_turn(self.space, side, places) for side in relation.sides)
        return Relation(relation.op if relation.is_comparison else "", sides)

    def record_test(self, text: str, outcome: bool, relation: Relation | None = None) -> frozenset[Guard]:
        """Record the outcome of a test; return the guards that it may be."""
        for loop in self.open:
            loop.history[-1].decisions.append(Test(text, frozenset(self.guards), outcome, relation))
        if relation is not None and relation.axes and not has_index(relation.axes):
            self.of_sizes[text, relation] = (outcome, tuple(self.open))
            if not self.open:
                self.note(text, outcome, relation)
        return frozenset(Guard(text, outcome, loop) for loop in self.open)

    def finish(self) -> None:
        """Note what was decided in loops: tests of sizes, and those with one outcome in all iterations."""
        for (text, relation), (outcome, loops) in self.of_sizes.items():
            if not any(text in loop.tests and loop.depends(text) for loop in loops):
                self.note(text, outcome, relation)
        for loop in self.loops:
            loop.decisive = set(filter(loop.decides, loop.tests))
            for text in sorted(loop.chose & loop.decisive):
                count = len({place for place, test in loop.tests[text] if test.holds})
                self.note(f"{Guard(text, True, loop)} for {count} values of {loop}")
            for text in loop.tests:
                outcomes, relations = loop.outcomes(text), loop.relations(text)
                if not relations or len(outcomes) == 2 or not loop.depends(text):
                    continue
                if loop.has_free_length or any(relation.axes - {loop.symbol} for relation in relations):
                    self.note(f"{Guard(text, True in outcomes, loop)} for every {loop}")

    def _fix(self, number: Number) -> None:
        self.path.fix(number)
        self.fix(number.expr)

    def fix(self, expr: Poly | Real) -> None:
        """Note that fields keep their values."""
        for name in sorted(axis for axis in expr.axes if isinstance(axis, str)):
            self.note(f"{name} == {self.values[name]}")
            self.pinned.add(name)

    def fix_turns(self, loops: Iterable[Loop]) -> None:
        """Note that loops keep their numbers of iterations."""
        for loop in loops:
            if loop.has_free_length:
                self.note(f"{loop.length_expr} == {loop.length}")
                self.check("==", loop.length_expr, exact_number(loop.length))
                self.pinned |= {symbol.name for symbol in loop.length_expr.free_symbols}

    def new_symbol(self, name: str, arguments: list[tuple[Any, Poly | Real]], value: Any) -> Any:
        """Return a new number for a function of numbers, which keep their values."""
        places = {loop.symbol: loop.index for loop in self.open}
        forms = []
        for part, expr in arguments:
            there = in_turn(self.space, expr, places)
            self.path.compare("==", expr, there, True)
            if (constant := self.path.expr_of(value_of(part))) is not None:
                self.path.compare("==", there, constant, True)
            forms.append(str(sympy_form(self.space, there)))
        meaning = f"{name}({', '.join(forms)})"
        return self.define([meaning if len(meaning) <= _LONGEST else name], meaning, value)

    def define(self, names: list[str], definition: str, value: Any, where: Any = None) -> Any:
        """Return a new number, under the first free name; ``where`` distinguishes the same definitions."""
        meant = (definition, value, where)
        known = [name for name, other in self.definitions.items() if other == meant]
        others = (f"{names[0]}_{number}" for number in count(2))
        name = next(one for one in chain(known, names, others) if self.definitions.get(one, meant) == meant)
        self.definitions[name] = meant
        return self.field(name, value)
