"""What a closed form relies on: tests of sizes noted as conditions, tests of a layer's index as guards."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

import sympy

from archspec.language.domain import Exact, Walk
from archspec.language.expression import Locals
from archspec.symbolic.values import (
    Guard,
    Loop,
    Relation,
    Sym,
    bare,
    expr_of,
    guards_of,
    loops_of,
    syms_in,
    value_of,
)

_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_FLIPPED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class Assumptions(Exact):
    """A domain that notes how tests came out: `conditions` on sizes, guards on layers.

    ``values`` are the fields that became symbols, ``pinned`` those that hold for one number alone,
    ``definitions`` the symbols of a formula's own; ``guards`` are those under which the evaluation is now.
    """

    def __init__(self) -> None:
        self.noted: dict[str, dict[Any, bool]] = {}
        self.pinned: set[str] = set()
        self.values: dict[str, Any] = {}
        self.definitions: dict[str, tuple[str, Any]] = {}
        self.relations: dict[tuple[str, Loop], Relation | None] = {}
        self.outcomes: dict[tuple[str, Loop], set[bool]] = {}
        self.guards: list[Guard] = []
        self.meant: dict[str, tuple[str, Any, Loop | None]] = {}

    @property
    def conditions(self) -> dict[str, bool]:
        """What holds, by its text in the spec; where that came out both ways, by what it means there."""
        found: dict[str, bool] = {}
        for text, places in self.noted.items():
            outcomes = set(places.values())
            apart = ((_meant(text, meaning), outcome) for meaning, outcome in places.items())
            found |= {text: outcomes.pop()} if len(outcomes) == 1 else dict(apart)
        return found

    def note(self, text: str, outcome: bool = True, meaning: Relation | tuple[Any, ...] = ()) -> None:
        """Notes a condition; the same text may mean other sizes in a module that is built twice.

        ``meaning`` is the comparison, or the expressions that it was decided on; its words are made where
        they are needed.
        """
        self.noted.setdefault(text, {})[meaning] = outcome

    def guard(self, value: Any, node: ast.expr, at: Walk) -> frozenset[Guard]:
        """The guards that a decision on this value stands for; notes a decision on sizes alone."""
        if not isinstance(value, Sym):
            return frozenset()
        text = ast.unparse(at.meaning(node))
        if not value.loops:
            noted = isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And)  # its parts, one by one
            if not noted and (value.relation is not None or not isinstance(value.value, bool)):
                self.note(text, bool(value.value), _meaning(value))
            return value.guards
        guards = value.guards
        for loop in sorted(value.loops, key=str):
            key = (text, loop)
            relation = value.relation if len(value.loops) == 1 else None
            if self.relations.setdefault(key, relation) != relation:
                self.relations[key] = None
            self.outcomes.setdefault(key, set()).add(bool(value.value))
            guards |= {Guard(text, bool(value.value), loop)}
        return guards

    def one_sided(self) -> None:
        """Notes the tests that came out the same in every turn: the other branch is not in the formula."""
        for (text, loop), outcomes in self.outcomes.items():
            relation = self.relations.get((text, loop))
            free = relation is None or (relation.left.free_symbols | relation.right.free_symbols) - {
                loop.symbol
            }
            if len(outcomes) == 1 and (loop.free or free):
                self.note(f"{'every' if True in outcomes else 'no'} {loop} has {text}")

    def truth(self, value: Any, node: ast.expr, at: Walk) -> bool:
        self.guard(value, node, at)
        return bool(value_of(value))

    def negation(self, value: Any, node: ast.expr, at: Walk) -> Any:
        if not isinstance(value, Sym):
            return not value
        relation = value.relation
        if relation is None and value.expr is not None:
            relation = Relation("!=", expr_of(value), sympy.Integer(0))
        flipped = relation and relation._replace(op=_FLIPPED[relation.op])
        return Sym(not value.value, None, value.loops, value.guards, flipped)

    def junction(self, every: bool, parts: Iterator[tuple[Any, ast.expr]], at: Walk) -> Any:
        """Python's value, with the loops of every part that was looked at."""
        loose: list[Sym] = []
        value: Any = None
        for value, node in parts:
            if isinstance(value, Sym) and value.loops:
                loose.append(value)
            elif every or _zero(value):  # of `a or b` a zero: `b` is in the formula then
                self.guard(value, node, at)
            if bool(value_of(value)) != every:
                break
        if not loose:
            return value
        alone = len(loose) == 1 and value is loose[0]
        relation = value.relation if alone else None
        expr = value.expr if isinstance(value, Sym) else None
        return Sym(value_of(value), expr, loops_of(loose), guards_of(loose), relation)

    def chain(self, parts: Iterator[tuple[Any, ast.Compare]], at: Walk) -> Any:
        """`a < b < c` is `a < b and b < c`: each part is a condition."""
        return self.junction(True, parts, at)

    def choice(self, test: Any, node: ast.IfExp, local: Locals, at: Walk) -> Any:
        """A branch is evaluated under the guards of the test."""
        new = self.guard(test, node.test, at)
        depth = len(self.guards)
        self.guards += sorted(new - set(self.guards), key=lambda guard: guard.text)
        try:
            value = at.visit(node.body if value_of(test) else node.orelse, local)
        finally:
            del self.guards[depth:]
        if not new or not isinstance(value, int | float | str | Sym):
            return value
        loops = frozenset(guard.loop for guard in new)
        if not isinstance(value, Sym):
            value = Sym(value, None if isinstance(value, str) else expr_of(value))
        varies = value.loops | loops if isinstance(value.value, str | bool) else value.loops
        return Sym(value.value, value.expr, varies, value.guards | new)

    def compare(self, op: ast.cmpop, left: Any, right: Any, node: ast.Compare, at: Walk) -> Any:
        decided = super().compare(op, bare(left), bare(right), node, at)
        found = syms_in([left, right])
        nothing = isinstance(op, ast.In | ast.NotIn) and not right
        if not found or nothing or isinstance(op, ast.Is | ast.IsNot):
            return decided
        loops = loops_of(found)
        relation = None
        if type(op) in _SIGNS and _is_number(left) and _is_number(right):
            relation = Relation(_SIGNS[type(op)], expr_of(left), expr_of(right))
        elif not loops:
            self.rests_on(found, node, decided)
        return Sym(decided, None, loops, guards_of(found), relation)

    def rests_on(self, found: list[Sym], node: ast.expr, outcome: Any) -> None:
        """Notes what was decided on numbers in a way that is no comparison of two sizes."""
        if any(part.relation is not None or not isinstance(part.value, bool | str) for part in found):
            if isinstance(outcome, bool):
                self.note(ast.unparse(node), outcome, tuple(part.expr for part in found))
            else:
                self.pin(found)

    def pin(self, found: Iterable[Any]) -> None:
        """Notes that numbers are as they are: what follows holds for no others."""
        for part in found:
            if isinstance(part, Sym) and part.expr is not None:
                for symbol in sorted(part.expr.free_symbols - {loop.symbol for loop in part.loops}, key=str):
                    name = symbol.name
                    value = self.values[name] if name in self.values else self.definitions[name][1]
                    self.note(f"{name} == {value}")
                    self.pinned.add(name)

    def pin_loops(self, loops: Iterable[Loop]) -> None:
        """Notes that loops have as many turns as they have: what follows counts the turns one by one."""
        for loop in loops:
            if loop.free:
                turns = expr_of(loop.stop) - expr_of(loop.start)
                self.note(f"{turns} == {loop.length}")
                self.pinned |= {symbol.name for symbol in turns.free_symbols}

    def index(self, value: Any) -> Any:
        self.pin([value])
        return value_of(value)

    def define(self, names: list[str], definition: str, value: Any, where: Loop | None = None) -> Any:
        """A symbol of its own for what has no closed form here, under the first name that is free.

        ``where`` is the loop that a definition speaks of; the same words may mean something else in another.
        """
        meant = (definition, value, where)
        known = [name for name, other in self.meant.items() if other == meant]
        for name in [*known, *names, *(f"{names[0]}_{number}" for number in range(2, 1000))]:
            if self.meant.setdefault(name, meant) == meant:
                self.definitions[name] = (definition, value)
                return sympy.Symbol(name, integer=True, nonnegative=True)
        raise AssertionError("a formula has fewer than a thousand symbols of its own")

    def quantified(self, decided: Any, found: list[Sym], node: ast.Call) -> Any:
        """`any` or `all` of some tests."""
        loops = loops_of(found)
        if not loops:
            self.rests_on(found, node, decided)
            return decided
        return Sym(decided, None, loops, guards_of(found))


def _zero(value: Any) -> bool:
    """Whether a value is a number, and 0."""
    return isinstance(value, Sym) and not value and not isinstance(value.value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value_of(value), int | float) and getattr(value, "expr", 0) is not None


def _meaning(value: Sym) -> Relation | tuple[Any, ...]:
    """What was decided, in the config's own fields."""
    if value.relation is None and value.expr is None:
        return ()
    return value.relation or Relation("!=", value.expr, sympy.Integer(0))


def _meant(text: str, meaning: Relation | tuple[Any, ...]) -> str:
    """A condition in words that no other place shares."""
    if isinstance(meaning, Relation):
        return f"{meaning.left} {meaning.op} {meaning.right}"
    return f"{text}, of {', '.join(map(str, meaning))}" if meaning else text
