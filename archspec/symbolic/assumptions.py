"""What a closed form relies on, in the words of its spec: conditions on sizes, tests of a layer's index."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterable
from typing import Any, NamedTuple

import sympy
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.str import StrPrinter

from archspec.language.values import here
from archspec.symbolic.decisions import Condition, Decision, Seen
from archspec.symbolic.fields import Fields, Relation
from archspec.symbolic.path_conditions import Number, Path, SymRange
from archspec.symbolic.polynomials import Poly, Real

# a name in a test that is no function's, nor within quotes: of a field, an argument
_NAME = re.compile(r"(?<![\w.'\"])(?!(?:and|or|not|in|if|else)\b)[A-Za-z_][\w.]*(?![\w.(])")


class Test(NamedTuple):
    """How a test came out in one turn of a loop, under some guards, and what it was decided on."""

    branch: frozenset[Guard]
    place: int
    holds: bool
    relation: Relation | None


class Loop:
    """A loop over layers: its index, a symbol that no other loop has, its ends, and its turns' tests."""

    def __init__(self, path: Assumptions, variable: str, ends: SymRange, length: int) -> None:
        self.path, self.variable, self.length = path, variable, length
        self.symbol = sympy.Dummy(variable, integer=True, nonnegative=True)
        self.first, self.stop = path.shown(ends.start), path.shown(ends.stop)
        self.start: int = here(ends.start)
        self.place = 0  # of the turn that is being built
        self.decisions: list[Decision] = []  # on the index, in this turn
        self.seen: list[Seen] = []
        self.tests: dict[str, set[Test]] = {}  # by their text
        self.decisive: set[str] = set()  # tests, once all are known
        self.chose: set[str] = set()  # tests that chose a text, by which anything may be looked up
        self.history: list[tuple[list[Decision], dict[Any, int]]] = []  # of each turn, with all indices
        self.unrolled = False  # its turns were counted one by one

    def __str__(self) -> str:
        ends = f"{self.first}, {self.stop}" if self.start else f"{self.stop}"
        return f"{self.variable} in range({ends})"

    @property
    def index(self) -> int:
        """The index of the turn that is being built."""
        return self.start + self.place

    @property
    def turns(self) -> Any:
        return self.stop - self.first

    @property
    def free(self) -> bool:
        """Whether the number of turns depends on the config."""
        return bool(self.turns.free_symbols)

    def again(self, seen: Seen) -> None:
        """Notes that this turn has all tests of an earlier one."""
        for tests in self.tests.values():
            tests |= {test._replace(place=self.place) for test in tests if test.place == seen.place}

    def outcomes(self, text: str) -> set[bool]:
        return {test.holds for test in self.tests[text]}

    def count(self, text: str) -> int:
        """In how many turns a test holds."""
        return len({test.place for test in self.tests[text] if test.holds})

    def relations(self, text: str) -> set[Relation]:
        """What a test was decided on, where that is numbers."""
        return {test.relation for test in self.tests[text] if test.relation is not None}

    def depends(self, text: str) -> bool:
        """Whether a test is decided on something else in one turn than in another, or came out otherwise
        there, but for tests of another loop's index.
        """
        if any(self.symbol in relation.axes for relation in self.relations(text)):
            return True
        turns: dict[tuple[Any, int], set[Any]] = {}
        for branch, place, *outcome in self.tests[text]:
            turns.setdefault((branch, place), set()).add(tuple(outcome))
        for outcomes in turns.values():
            outcomes -= {found for found in outcomes if found[1] is not None and found[1].indexed}
        first: dict[Any, set[Any]] = {}
        return any(first.setdefault(branch, found) != found for (branch, _), found in turns.items())

    def decides(self, text: str) -> bool:
        """Whether a test may tell the turns apart: it did so, or is one of the index."""
        if not self.depends(text):
            return False
        return len(self.outcomes(text)) == 2 or any(relation.indexed for relation in self.relations(text))

    def relation(self, text: str) -> tuple[str, Any, Any] | None:
        """The comparison that a test is, the same one in all turns, and its sides."""
        found = self.relations(text)
        given = {other for relation in found for other in relation.given}
        if len({relation[:2] for relation in found}) != 1 or given & self.decisive:
            return None
        op, sides, _ = found.pop()
        return (op, *map(self.path.fields.shown, sides)) if op else None


class _Words(StrPrinter):  # type: ignore[misc]  # SymPy has no types
    """SymPy's text, with remainders as a spec writes them."""

    def _print_Mod(self, expr: Any) -> str:
        return " % ".join(self.parenthesize(one, PRECEDENCE["Mul"], strict=True) for one in expr.args)


class Guard(NamedTuple):
    """A test of a loop's turns, by its source text, and how it came out."""

    text: str
    outcome: bool
    loop: Loop

    def __str__(self) -> str:
        return self.text if self.outcome else f"not ({self.text})"


class Assumptions(Path):
    """The path of a formula, which notes its decisions in words.

    ``values`` are the numbers that became symbols, ``pinned`` those that hold for one value alone,
    ``definitions`` those that are no field; ``guards`` are those under which the evaluation is now.
    """

    def __init__(self) -> None:
        self.fields = Fields()
        super().__init__(self.fields)
        self.noted: dict[str, dict[Any, bool]] = {}
        self.pinned: set[str] = set()
        self.values: dict[str, Any] = {}
        self.definitions: dict[str, tuple[str, Any]] = {}
        self.meant: dict[str, tuple[str, Any, Any]] = {}
        self.loops: list[Loop] = []
        self.open: list[Loop] = []
        self.guards: list[Guard] = []
        self.of_sizes: dict[tuple[str, Relation], tuple[bool, tuple[Loop, ...]]] = {}
        self.checks: dict[tuple[str, Any, Any], None] = {}  # comparisons of SymPy expressions that hold

    def field(self, name: str, value: Any) -> Number:
        self.values[name] = value
        return Number(self, self.fields.field(name, isinstance(value, int)), value)

    def compare(self, op: str, left: Poly | Real, right: Poly | Real, holds: bool) -> None:
        """A comparison of Python code is a condition without words, or tells turns apart."""
        if self.test_of(left) is not None or left is right:
            return  # what it is decided on is noted already
        axes = left.axes | right.axes
        if any(isinstance(axis, sympy.Dummy) for axis in axes):
            self.tell_apart(Condition(op, left, right, holds), axes)
        else:
            super().compare(op, left, right, holds)

    def check(self, op: str, left: Any, right: Any) -> None:
        """Notes a comparison of SymPy expressions that the formula relies on."""
        symbols = sympy.sympify(left).free_symbols | sympy.sympify(right).free_symbols
        if symbols and not any(isinstance(symbol, sympy.Dummy) for symbol in symbols):
            self.checks[op, left, right] = None

    def tell_apart(self, decision: Decision, axes: frozenset[Any]) -> None:
        """Notes a decision on the index of an open loop."""
        for loop in self.open:
            if loop.symbol in axes:
                loop.decisions.append(decision)

    def earlier(self, loop: Loop) -> Seen | None:
        """The turn of an open loop in which all was decided as it would be in this one."""
        known = ChainMap({other.symbol: other.index for other in self.open}, self.values)
        return next((seen for seen in loop.seen if seen.met(self.space, known)), None)

    def shown(self, value: Any) -> Any:
        """The SymPy expression of a number."""
        expr = self.expr_of(value)
        return sympy.nan if expr is None else self.fields.shown(expr)

    @property
    def words(self) -> dict[str, bool]:
        """Conditions by their text in the spec, or by their meaning if the text alone is ambiguous."""
        found: dict[str, bool] = {}
        for text, places in self.noted.items():
            alike = len(set(places.values())) == 1
            of_fields = all(name in self.values for name in _NAME.findall(text))
            for meaning, outcome in places.items():
                readable = of_fields or meaning is None or not meaning.compares
                found[text if alike and readable else self.said(text, meaning)] = outcome
        return found

    def said(self, text: str, relation: Relation | None) -> str:
        """A condition in words that no other place shares."""
        if relation is None:
            return text
        sides = [_Words().doprint(self.fields.shown(side)) for side in relation.sides]
        if relation.compares:
            return f"{sides[0]} {relation.op} {sides[1]}"
        return f"{text}, of {', '.join(sides)}"

    def note(self, text: str, outcome: bool = True, relation: Relation | None = None) -> None:
        """Notes a condition; the same text may mean other sizes in a module that is built twice."""
        self.noted.setdefault(text, {})[relation] = outcome

    def test(self, relation: Relation, outcome: bool) -> Number:
        """A bool that says what it was decided on."""
        return Number(self, self.fields.test(relation), outcome)

    def joined(self, tests: list[Number], others: list[str], outcome: bool) -> Number:
        """What `and` or `or` of tests of numbers and of other tests came to."""
        relations = list(map(self.relation, tests))
        relation = relations[0]._replace(given=(*relations[0].given, *others))
        if len(tests) > 1:
            relation = Relation("", tuple(side for found in relations for side in found.sides))
        return self.test(relation, outcome)

    def test_of(self, expr: Poly | Real) -> Relation | None:
        """The test whose outcome an expression is."""
        terms = expr.terms if isinstance(expr, Poly) else ()
        made = self.fields.atoms[terms[0][0][0][0]] if len(terms) == 1 and len(terms[0][0]) == 1 else None
        return made.args[0] if made is not None and made.op == "test" else None

    def relation(self, number: Number) -> Relation:
        """What it means that a number is not 0."""
        return self.test_of(number.expr) or Relation("!=", (number.expr, self.fields.constant(0)))

    def tested(self, text: str, outcome: bool, relation: Relation | None = None) -> frozenset[Guard]:
        """Notes how a test came out; the guards that it may be."""
        branch = frozenset(self.guards)
        for loop in self.open:
            loop.tests.setdefault(text, set()).add(Test(branch, loop.place, outcome, relation))
        if relation is not None and relation.axes and not relation.indexed:
            self.of_sizes[text, relation] = (outcome, tuple(self.open))
            if not self.open:
                self.note(text, outcome, relation)
        return frozenset(Guard(text, outcome, loop) for loop in self.open)

    def settle(self) -> None:
        """Notes what was decided within loops: tests of sizes, and those that every turn answers alike.

        The other branch of these is not in the formula.
        """
        for (text, relation), (outcome, loops) in self.of_sizes.items():
            if not any(text in loop.tests and loop.depends(text) for loop in loops):
                self.note(text, outcome, relation)
        for loop in self.loops:
            loop.decisive = set(filter(loop.decides, loop.tests))
            for text in sorted(loop.chose & loop.decisive):
                self.note(f"{loop.count(text)} of {loop} with {text}")
            for text in loop.tests:
                outcomes, relations = loop.outcomes(text), loop.relations(text)
                if not relations or len(outcomes) == 2 or not loop.depends(text):
                    continue
                if loop.free or any(relation.axes - {loop.symbol} for relation in relations):
                    self.note(f"{'every' if True in outcomes else 'no'} {loop} has {text}")

    def decisive(self, guards: Iterable[Guard]) -> frozenset[Guard]:
        """The guards that tell turns apart."""
        return frozenset(guard for guard in guards if guard.text in guard.loop.decisive)

    def pin(self, number: Number) -> None:
        super().pin(number)
        self.fix(number.expr)

    def fix(self, expr: Poly | Real) -> None:
        """Note that fields keep their values: what follows holds for no others."""
        symbols = self.fields.shown(expr).free_symbols
        for name in sorted(symbol.name for symbol in symbols if not isinstance(symbol, sympy.Dummy)):
            self.note(f"{name} == {self.values[name]}")
            self.pinned.add(name)

    def fix_turns(self, loops: Iterable[Loop]) -> None:
        """Notes that loops have as many turns as they have: what follows counts the turns one by one."""
        for loop in loops:
            if loop.free:
                self.note(f"{loop.turns} == {loop.length}")
                self.check("==", loop.turns, sympy.Integer(loop.length))
                self.pinned |= {symbol.name for symbol in loop.turns.free_symbols}

    def define(self, names: list[str], definition: str, value: Any, where: Any = None) -> Any:
        """A number of its own for what has no closed form here, under the first name that is free.

        ``where`` is what a definition speaks of; the same words may mean something else elsewhere.
        """
        meant = (definition, value, where)
        known = [name for name, other in self.meant.items() if other == meant]
        for name in [*known, *names, *(f"{names[0]}_{number}" for number in range(2, 1000))]:
            if self.meant.setdefault(name, meant) == meant:
                self.definitions[name] = (definition, value)
                return self.field(name, value)
        raise AssertionError("a formula has fewer than a thousand symbols of its own")
