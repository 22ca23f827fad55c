"""The domain of a formula's numbers: tests are noted in words, the turns of a loop keep their index."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from archspec.language.domain import SEQUENCES, Comprehension, Exact, Walk
from archspec.language.expression import SEEN, Locals
from archspec.language.operations import BINARY
from archspec.language.operations import FUNCTIONS as PLAIN
from archspec.language.values import here
from archspec.symbolic.assumptions import Assumptions, Guard, Loop
from archspec.symbolic.counts import Turn, repeated
from archspec.symbolic.decisions import Condition, Derived, LayerText, Lookup, Seen
from archspec.symbolic.fields import FUNCTIONS, Relation
from archspec.symbolic.path_conditions import Number, SymRange, bare, fixed, guards_of, numbers_in
from archspec.symbolic.polynomials import Poly
from archspec.symbolic.swept import SweptDomain, length_of
from archspec.tree.node import Node

_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


class Formal(SweptDomain):
    """Numbers are on the path of a formula; ``opaque_floats``: int() of a float is a new symbol."""

    def __init__(self, path: Assumptions, opaque_floats: bool = False, unroll: bool = False) -> None:
        super().__init__(unroll)
        self.path, self.opaque_floats = path, opaque_floats

    def truth(self, value: Any, node: ast.expr, at: Walk) -> bool:
        self.tested(value, node, at)
        return bool(value)

    def tested(self, value: Any, node: ast.expr, at: Walk) -> frozenset[Guard]:
        """Notes how a test came out; the guards that it may be."""
        if isinstance(value, Number):
            return self.path.tested(text_of(at.meaning(node)), bool(value), self.path.relation(value))
        if not self.path.open:
            return frozenset()
        text, holds = _positive(node, at)
        return self.path.tested(text, bool(value) == holds)

    def junction(self, every: bool, parts: Iterator[tuple[Any, ast.expr]], at: Walk) -> Any:
        """Python's value; that a number is not 0 in `a or b` is no condition: it is the value."""
        value: Any = None
        tests: list[Number] = []
        others: list[str] = []
        for value, node in parts:
            if every or isinstance(here(value), bool) or not value:
                self.truth(value, node, at)
            if isinstance(value, Number) and isinstance(value.value, bool):
                tests.append(value)
            else:
                others.append(_positive(node, at)[0])
            if bool(value) != every:
                break
        if not tests or not isinstance(here(value), bool):
            return value
        return self.path.joined(tests, others, bool(value))

    def chain(self, parts: Iterator[tuple[Any, ast.Compare]], at: Walk) -> Any:
        """`a < b < c` is `a < b and b < c`."""
        return self.junction(True, parts, at)

    def choice(self, test: Any, node: ast.IfExp, local: Locals, at: Walk) -> Any:
        """A branch is evaluated under the guards of the test."""
        new = self.tested(test, node.test, at)
        depth = len(self.path.guards)
        self.path.guards += new
        try:
            value = at.visit(node.body if test else node.orelse, local)
        finally:
            del self.path.guards[depth:]
        if isinstance(value, str):
            for guard in new:
                guard.loop.chose.add(guard.text)
        expr = None if isinstance(value, bool) else self.path.expr_of(value)
        return Number(self.path, expr, here(value), new | guards_of([value])) if new and expr else value

    def compare(self, op: ast.cmpop, left: Any, right: Any, node: ast.Compare, at: Walk) -> Any:
        outcome = super().compare(op, left, right, node, at)
        if isinstance(left, LayerText):
            return self.path.test(Relation("", (left.index,)), bool(outcome))
        found = numbers_in([left, right])
        nothing = isinstance(op, ast.In | ast.NotIn) and not right
        if not found or nothing or isinstance(op, ast.Is | ast.IsNot):
            return outcome
        one, other = self.path.expr_of(left), self.path.expr_of(right)
        if type(op) in _SIGNS and one is not None and other is not None:
            relation = Relation(_SIGNS[type(op)], (one, other))
        else:
            relation = Relation("", tuple(number.expr for number in found))
        if relation.indexed:
            return self.path.test(relation, bool(outcome))
        self.path.tested(text_of(at.meaning(node)), bool(outcome), relation)
        return outcome

    def item(self, value: Any, index: Any, node: ast.Subscript, at: Walk) -> Any:
        """A flag or a text that is derived is one of the index: its list may be another elsewhere."""
        if isinstance(value, list) and isinstance(index, Number) and isinstance(index.expr, Poly):
            self.path.fix(index.expr)
            if not any(loop.symbol in index.expr.axes for loop in self.path.open):
                self.path.compare("==", index.expr, self.path.space.constant(here(index)), True)
            found = super().item(value, here(index), node, at)
            self.path.tell_apart(Lookup(value, index.expr, found), index.expr.axes)
        else:
            found = super().item(value, index, node, at)
        if not isinstance(value, Derived) or not isinstance(index, Number):
            return found
        if isinstance(found, bool):
            return self.path.test(Relation("", (index.expr,)), found)
        if isinstance(found, str):
            found = LayerText(found)
            found.index = index.expr
        return found

    def apart(self, value: Any) -> None:
        """Modules that stand for several are in lists like any other."""

    def apply(self, function: Callable[..., Any], arguments: list[Any], node: ast.expr, at: Walk) -> Any:
        if function is BINARY[ast.Mult] and any(isinstance(part, SEQUENCES) for part in arguments):
            arguments = [fixed(part) for part in arguments]  # a list that is repeated so often
        return super().apply(function, arguments, node, at)

    def method(self, value: Any, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        if not isinstance(value, dict):
            arguments = [fixed(argument) for argument in arguments]
        return super().method(value, name, arguments, node, at)

    def function(self, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        found = numbers_in(arguments)
        if name in ("sorted", "set"):
            for number in found:
                number.fixed()
        if name == "range" and found and len(arguments) < 3:
            at.guarded(range, map(here, arguments), node)
            return SymRange(*arguments) if len(arguments) == 2 else SymRange(0, arguments[0])
        if name in ("sum", "prod"):
            return Exact.function(self, name, arguments, node, at)
        if not found or name not in (*FUNCTIONS, "int", "round", "log"):
            return super().function(name, arguments, node, at)
        flat = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], list) else arguments
        exprs = tuple(expr for part in flat if (expr := self.path.expr_of(part)) is not None)
        value = at.guarded(PLAIN[name], [bare(argument) for argument in arguments], node)
        if name == "int":
            if isinstance(exprs[0], Poly):
                return flat[0]
            if exprs[0].low < 0:  # it rounds towards zero
                self.path.compare("<", exprs[0], self.path.space.literal(0.0), bool(here(flat[0]) < 0))
                self.path.note(f"{ast.unparse(node.args[0])} >= 0", bool(here(flat[0]) >= 0))
            if here(flat[0]) >= 0 and not self.opaque_floats:
                return Number(self.path, self.path.space.whole("trunc", exprs[0]), value, guards_of(found))
        elif name in FUNCTIONS and len(exprs) == len(flat):
            return Number(self.path, self.path.fields.function(name, exprs), value, guards_of(found))
        places = {loop.symbol: loop.index for loop in self.path.open}
        inputs = [self.path.fields.at(expr, places) for expr in exprs]
        for expr, there in zip(exprs, inputs, strict=True):
            self.path.compare("==", expr, there, True)
        meaning = f"{name}({', '.join(str(self.path.fields.shown(there)) for there in inputs)})"
        for there, part in zip(
            inputs, (part for part in flat if self.path.expr_of(part) is not None), strict=True
        ):
            if (value_here := self.path.expr_of(here(part))) is not None:
                self.path.compare("==", there, value_here, True)
        made = self.path.define([meaning], meaning, value)
        return Number(self.path, made.expr, value, guards_of(found))

    def listed(self, node: Comprehension, local: Locals, at: Walk) -> Any:
        first = node.generators[0]
        if len(node.generators) > 1 or first.ifs:
            return super(SweptDomain, self).listed(node, local, at)
        source = at.visit(first.iter, local)
        if isinstance(source, SymRange):
            for end in numbers_in(source):
                same = Condition("==", end.expr, self.path.space.constant(end.value), True)
                self.path.tell_apart(same, end.expr.axes)
            plain: Any = range(here(source.start), here(source.stop))
        else:
            plain = source
        items = self.iterate(plain, first.iter, at)
        items = items if isinstance(items, range) and items.step == 1 else list(items)
        own = (items.start, items.stop) if isinstance(items, range) else (0, len(items))
        ends = source if isinstance(source, SymRange) else SymRange(*own)
        variable = first.target.id if isinstance(first.target, ast.Name) else "i"
        loop = Loop(self.path, variable, ends, len(items))
        if not items and loop.free:
            self.path.note(f"{loop.stop} <= {loop.first}")  # what it repeats is not in the formula
            self.path.check("<=", loop.stop, loop.first)
        if at.has_equal_turns(node) and not self.unroll:
            at.spend(len(items) // 8, node)
            return self.shared(at.visit(node.elt, local), loop, ends) if items else []
        self.path.loops.append(loop)
        self.path.open.append(loop)
        try:
            return [
                self.ended(self.turn(item, items, loop, node, local, at), loop, ast.unparse(first.target))
                for loop.place, item in enumerate(items)
            ]
        finally:
            self.path.open.pop()

    def turn(self, item: Any, items: Any, loop: Loop, node: Comprehension, local: Locals, at: Walk) -> Any:
        """What one turn of a loop gives: what an earlier one gave, where all is decided as it was there."""
        places = {other.symbol: other.index for other in self.path.open}
        if (seen := self.path.earlier(loop)) is not None:
            loop.again(seen)
            loop.history.append((seen.decisions, places))
            return seen.value
        loop.decisions, loops = [], len(self.path.loops)
        loop.history.append((loop.decisions, places))
        index = self.path.fields.index(loop.symbol)
        if isinstance(items, range):
            item = Number(self.path, index, item)
        else:
            self.path.tell_apart(Lookup(items, index, item), index.axes)  # its loop starts at 0
        inner = dict(local)
        at.bind(node.generators[0].target, item, inner)
        value = at.visit(node.elt, inner)
        indexed = any(loop.symbol in number.expr.axes for number in numbers_in(value))
        if not indexed and loops == len(self.path.loops):  # loops within it have turns of their own
            loop.seen.append(Seen(loop.place, loop.decisions, value))
        return value

    def ended(self, value: Any, loop: Loop, variable: str) -> Any:
        """What one turn of a loop gave, outside of the loop."""
        if isinstance(value, Node):
            return repeated(value, Turn(variable, loop, loop.place, 1))
        if _counted(value):
            self.path.fix_turns([loop])
        return self.settled(value, loop)

    def settled(self, value: Any, loop: Loop) -> Any:
        """A value without the index of a loop, which is a number there."""
        if isinstance(value, list):
            return [self.settled(item, loop) for item in value]
        if not isinstance(value, Number):
            return value
        turn = {loop.symbol: loop.index}
        if isinstance(value.value, bool):
            return self.path.test(self.path.relation(value).at(self.path.fields, turn), value.value)
        guards = frozenset(guard for guard in value.guards if guard.loop is not loop)
        return self.path.number(self.path.fields.at(value.expr, turn), value.value, guards)

    def shared(self, value: Any, loop: Loop, ends: SymRange) -> list[Any]:
        """The turns of a loop that are all the same: of modules, one that stands for all."""
        if isinstance(value, Node):
            return [repeated(value, Turn(loop.variable, None, loop.length, length_of(ends)))]
        if _counted(value):
            self.path.fix_turns([loop])
        return [value] * loop.length

    def mapped(self, node: ast.DictComp, local: Locals, at: Walk) -> dict[Any, Any]:
        """Named turns; where all build the same module, one that stands for all of them."""
        first = node.generators[0]
        same = ast.copy_location(ast.GeneratorExp(node.value, node.generators), node)
        if (
            self.unroll
            or not at.has_equal_turns(same)
            or not (found := self.listed(same, local, at))
            or not isinstance(found[0], Node)
        ):
            return super().mapped(node, local, at)
        inner = dict(local)
        source = at.visit(first.iter, local)
        items = source if not isinstance(source, SymRange) else [here(source.start)]
        at.bind(first.target, next(iter(items)), inner)
        return {at.key(node.key, inner): found[0]}


@lru_cache(maxsize=SEEN)
def text_of(node: ast.expr) -> str:
    """A test as its spec says it."""
    return ast.unparse(node)


def _positive(node: ast.expr, at: Walk) -> tuple[str, bool]:
    """A test without its `not`, and whether it holds where the test does."""
    holds, node = True, at.meaning(node)
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        holds, node = not holds, at.meaning(node.operand)
    return text_of(node), holds


def _counted(value: Any) -> bool:
    """Whether a turn gives modules or numbers, which are counted one by one where it gives several."""
    if isinstance(value, list):
        return any(map(_counted, value))
    return isinstance(value, Node | Number)
