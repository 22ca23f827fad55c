"""What a closed form relies on: tests of sizes noted as conditions, tests of a layer's index as guards."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

import sympy

from archspec.configs.scope import Scope
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
from archspec.tree.builder import Builder

_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_FLIPPED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class Decisions(Builder):
    """A builder that notes how its tests came out: `conditions` on sizes, `guards` on layers.

    ``values`` are the fields that became symbols, ``pinned`` those that hold for one number alone, ``definitions`` the
    symbols of a formula's own.
    """

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.noted: dict[str, dict[Any, bool]] = {}
        self.pinned: set[str] = set()
        self.values: dict[str, Any] = {}
        self.definitions: dict[str, tuple[str, Any]] = {}
        self.relations: dict[tuple[str, Loop], Relation | None] = {}
        self.outcomes: dict[tuple[str, Loop], set[bool]] = {}
        self.guards: list[Guard] = []

    @property
    def conditions(self) -> dict[str, bool]:
        """What holds, by its text in the spec; where that came out differently in two places, by what it means there."""
        found: dict[str, bool] = {}
        for text, places in self.noted.items():
            outcomes = set(places.values())
            apart = ((_meant(text, meaning), outcome) for meaning, outcome in places.items())
            found |= {text: outcomes.pop()} if len(outcomes) == 1 else dict(apart)
        return found

    def note(self, text: str, outcome: bool = True, meaning: Relation | tuple[Any, ...] = ()) -> None:
        """Notes a condition; the same text may mean other sizes in a module that is built twice.

        ``meaning`` is the comparison, or the expressions that it was decided on; its words are made where they are needed.
        """
        self.noted.setdefault(text, {})[meaning] = outcome

    def guard(self, value: Any, node: ast.expr) -> frozenset[Guard]:
        """The guards that a decision on this value stands for; notes a decision on sizes alone."""
        where = self.frames[-1].where
        text = ast.unparse(where[node.id].tree if isinstance(node, ast.Name) and node.id in where else node)
        if not isinstance(value, Sym):
            return frozenset()
        if not value.loops:
            whole = isinstance(node, ast.BoolOp) and isinstance(
                node.op, ast.And
            )  # its parts were noted one by one
            if not whole and (value.relation is not None or not isinstance(value.value, bool)):
                self.note(text, bool(value.value), _meaning(value))
            return value.guards
        guards = value.guards
        for loop in value.loops:
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

    def truth(self, value: Any, node: ast.expr) -> bool:
        self.guard(value, node)
        return bool(value_of(value))

    def negation(self, value: Any, node: ast.expr) -> Any:
        if not isinstance(value, Sym):
            return not value
        relation = value.relation or (
            Relation("!=", expr_of(value), sympy.Integer(0)) if value.expr is not None else None
        )
        return Sym(
            not value.value,
            None,
            value.loops,
            value.guards,
            relation and relation._replace(op=_FLIPPED[relation.op]),
        )

    def visit_BoolOp(self, node: ast.BoolOp, local: Locals) -> Any:
        """Python's value, with the loops of every part that was looked at."""
        seen: list[Sym] = []
        value: Any = None
        for part in node.values:
            value = self.visit(part, local)
            if isinstance(value, Sym):
                seen.append(value)
                if not value.loops and (
                    not isinstance(node.op, ast.Or) or (not value and not isinstance(value.value, bool))
                ):
                    self.guard(value, part)  # of `a or b` a zero: `b` is in the formula then
            if bool(value_of(value)) != isinstance(node.op, ast.And):
                break
        loose = [part for part in seen if part.loops]
        if not loose:
            return value
        relation = (
            loose[0].relation if len(loose) == 1 and isinstance(value, Sym) and value is loose[0] else None
        )
        loops = loops_of(loose)
        guards = guards_of(loose)
        return Sym(value_of(value), getattr(value, "expr", None), loops, guards, relation)

    def visit_Compare(self, node: ast.Compare, local: Locals) -> Any:
        """`a < b < c` is `a < b and b < c`: each part is a condition."""
        if len(node.ops) == 1:
            return super().visit_Compare(node, local)
        sides = [node.left, *node.comparators]
        parts = [
            ast.Compare(left, [op], [right])
            for left, op, right in zip(sides, node.ops, sides[1:], strict=False)
        ]
        return self.visit(ast.BoolOp(ast.And(), [ast.copy_location(part, node) for part in parts]), local)

    def compare(self, op: ast.cmpop, left: Any, right: Any, node: ast.Compare) -> Any:
        decided = super().compare(op, bare(left), bare(right), node)
        found = syms_in([left, right])
        if (
            not found
            or isinstance(op, ast.Is | ast.IsNot)
            or (isinstance(op, ast.In | ast.NotIn) and not right)
        ):
            return decided
        loops = loops_of(found)
        guards = guards_of(found)
        relation = None
        numeric = all(
            isinstance(value_of(side), int | float) and getattr(side, "expr", 0) is not None
            for side in (left, right)
        )
        if numeric and type(op) in _SIGNS:
            relation = Relation(_SIGNS[type(op)], expr_of(left), expr_of(right))
        elif not loops:
            self.rests_on(found, node, decided)
        return Sym(decided, None, loops, guards, relation)

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
                    value = (
                        self.values[symbol.name]
                        if symbol.name in self.values
                        else self.definitions[symbol.name][1]
                    )
                    self.note(f"{symbol} == {value}")
                    self.pinned.add(symbol.name)

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

    def quantified(self, decided: Any, found: list[Sym], node: ast.Call) -> Any:
        """`any` or `all` of some tests."""
        loops = loops_of(found)
        if not loops:
            self.rests_on(found, node, decided)
            return decided
        return Sym(decided, None, loops, guards_of(found))


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
