"""The domain of a formula's numbers: tests are noted in words, and loops keep their index as a symbol."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from archspec.language.domain import SEQUENCES, Comprehension, Walk
from archspec.language.expression import SEEN, Locals
from archspec.language.operations import BINARY, COMPARE
from archspec.language.operations import FUNCTIONS as PLAIN
from archspec.language.values import value_of
from archspec.symbolic.assumptions import Assumptions
from archspec.symbolic.counts import Turn, repeat
from archspec.symbolic.expressions import Lookup, Poly
from archspec.symbolic.fields import FUNCTIONS, Relation, function, has_index, in_turn
from archspec.symbolic.loops import Derived, Guard, Iteration, LayerText, Loop
from archspec.symbolic.path_conditions import (
    Number,
    NumberDomain,
    SymRange,
    concrete_values,
    fix_value,
    guards_of,
    numbers_in,
)
from archspec.symbolic.polynomials import LARGEST
from archspec.tree.node import Node

text_of = lru_cache(maxsize=SEEN)(ast.unparse)
_SIGNS = dict(zip(COMPARE, ("==", "!=", "<", "<=", ">", ">="), strict=False))


class Formal(NumberDomain):
    """Numbers of a formula. With ``opaque_floats``, int() of a float is a new symbol."""

    def __init__(self, notes: Assumptions, opaque_floats: bool = False, unroll: bool = False) -> None:
        self.notes, self.path, self.space = notes, notes.path, notes.space
        self.opaque_floats, self.unroll = opaque_floats, unroll

    def is_true(self, value: Any, node: ast.expr, at: Walk) -> bool:
        self.record_test(value, node, at)
        return bool(value)

    def record_test(self, value: Any, node: ast.expr, at: Walk) -> frozenset[Guard]:
        """Record the outcome of a test; return the guards that it may be."""
        if isinstance(value, Number):
            return self.notes.record_test(text_of(at.meaning(node)), bool(value), self.notes.relation(value))
        if not self.notes.open:
            return frozenset()
        text, holds = _strip_not(node, at)
        return self.notes.record_test(text, bool(value) == holds)

    def junction(self, every: bool, parts: Iterator[tuple[Any, ast.expr]], at: Walk) -> Any:
        """Return the value of `and` or `or`; that `a` in `a or b` is not 0 is not a condition."""
        value: Any = None
        tests: list[Number] = []
        others: list[str] = []
        for value, node in parts:
            if every or isinstance(value_of(value), bool) or not value:
                self.is_true(value, node, at)
            if isinstance(value, Number) and isinstance(value.value, bool):
                tests.append(value)
            else:
                others.append(_strip_not(node, at)[0])
            if bool(value) != every:
                break
        if not tests or not isinstance(value_of(value), bool):
            return value
        return self.notes.join_tests(tests, others, bool(value))

    def chain(self, parts: Iterator[tuple[Any, ast.Compare]], at: Walk) -> Any:
        return self.junction(True, parts, at)

    def choice(self, test: Any, node: ast.IfExp, local: Locals, at: Walk) -> Any:
        new = self.record_test(test, node.test, at)
        depth = len(self.notes.guards)
        self.notes.guards += new
        try:
            value = at.visit(node.body if test else node.orelse, local)
        finally:
            del self.notes.guards[depth:]
        if isinstance(value, str):
            for guard in new:
                guard.loop.chose.add(guard.text)
        expr = None if isinstance(value, bool) else self.path.expr_of(value)
        return Number(self.path, expr, value_of(value), new | guards_of([value])) if new and expr else value

    def compare(self, op: ast.cmpop, left: Any, right: Any, node: ast.Compare, at: Walk) -> Any:
        left, right = self.to_list(left), self.to_list(right)
        outcome = super().compare(op, left, right, node, at)
        if isinstance(left, LayerText):
            return self.notes.test(Relation("", (left.index,)), bool(outcome))
        found = numbers_in([left, right])
        nothing = isinstance(op, ast.In | ast.NotIn) and not right
        if not found or nothing or isinstance(op, ast.Is | ast.IsNot):
            return outcome
        one, other = self.path.expr_of(left), self.path.expr_of(right)
        if type(op) in _SIGNS and one is not None and other is not None:
            relation = Relation(_SIGNS[type(op)], (one, other))
        else:
            relation = Relation("", tuple(number.expr for number in found))
        if has_index(relation.axes):
            return self.notes.test(relation, bool(outcome))
        self.notes.record_test(text_of(at.meaning(node)), bool(outcome), relation)
        return outcome

    def item(self, value: Any, index: Any, node: ast.Subscript, at: Walk) -> Any:
        value = self.to_list(value)
        if isinstance(value, list) and isinstance(index, Number) and isinstance(index.expr, Poly):
            self.notes.fix(index.expr)
            if not any(loop.symbol in index.expr.axes for loop in self.notes.open):
                self.path.compare("==", index.expr, self.space.constant(value_of(index)), True)
            found = super().item(value, value_of(index), node, at)
            self.notes.add_decision(Lookup(value, index.expr, found), index.expr.axes)
        else:
            found = super().item(value, fix_value(index), node, at)
        if not isinstance(value, Derived) or not isinstance(index, Number):
            return found
        if isinstance(found, bool):
            return self.notes.test(Relation("", (index.expr,)), found)
        if isinstance(found, str):
            found = LayerText(found)
            found.index = index.expr
        return found

    def apply(self, function: Callable[..., Any], arguments: list[Any], node: ast.expr, at: Walk) -> Any:
        if function is BINARY[ast.Mult] and any(isinstance(part, SEQUENCES) for part in arguments):
            arguments = [fix_value(part) for part in arguments]  # the length of a list
        return super().apply(function, [self.to_list(part) for part in arguments], node, at)

    def method(self, value: Any, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        if not isinstance(value, dict):
            arguments = [fix_value(argument) for argument in arguments]
        return super().method(value, name, arguments, node, at)

    def to_list(self, value: Any) -> Any:
        return value.fix() if isinstance(value, SymRange) else value

    def function(self, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        found = numbers_in(arguments)
        if name in ("sorted", "set"):
            for number in found:
                number.fix()
        if name == "range" and found and len(arguments) < 3:
            at.apply_function(range, map(value_of, arguments), node)
            return SymRange(*arguments) if len(arguments) == 2 else SymRange(0, arguments[0])
        rows = arguments[0] if name in ("max", "min") and isinstance(arguments[0], list) else []
        if any(isinstance(row, list) for row in rows):  # compared item by item
            return super().function(name, arguments, node, at)
        if found and name in (*FUNCTIONS, "int", "round", "log"):
            return self._number(name, arguments, found, node, at)
        return super().function(name, arguments, node, at)

    def _number(self, name: str, arguments: list[Any], found: list[Number], node: ast.Call, at: Walk) -> Any:
        """Return a function of numbers: an expression, or a new symbol at the values of this run."""
        flat = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], list) else arguments
        pairs = [(part, expr) for part in flat if (expr := self.path.expr_of(part)) is not None]
        first, exprs = pairs[0][1], tuple(expr for _, expr in pairs)
        value = at.apply_function(PLAIN[name], [concrete_values(argument) for argument in arguments], node)
        if name == "int":
            if isinstance(first, Poly):
                return flat[0]
            positive = bool(value_of(flat[0]) >= 0)
            if first.low < 0:  # int() rounds towards zero
                self.path.compare("<", first, self.space.literal(0.0), not positive)
                self.notes.note(f"{ast.unparse(node.args[0])} >= 0", positive)
            if positive and not self.opaque_floats:
                return Number(self.path, self.space.round_to_int("trunc", first), value, guards_of(found))
        elif name in FUNCTIONS and len(pairs) == len(flat):
            return Number(self.path, function(self.space, name, exprs), value, guards_of(found))
        return Number(self.path, self.notes.new_symbol(name, pairs, value).expr, value, guards_of(found))

    def evaluate_list(self, node: Comprehension, local: Locals, at: Walk) -> Any:
        first = node.generators[0]
        if len(node.generators) > 1 or first.ifs:
            return super().evaluate_list(node, local, at)
        source = at.visit(first.iter, local)
        plain = range(*map(value_of, source)) if isinstance(source, SymRange) else source
        items = self.iterate(plain, first.iter, at)
        items = items if isinstance(items, range) and items.step == 1 else list(items)
        own = (items.start, items.stop) if isinstance(items, range) else (0, len(items))
        ends = source if isinstance(source, SymRange) else SymRange(*own)
        for end in numbers_in(ends):
            same = self.path.condition("==", end.expr, self.space.constant(end.value), True)
            if same is not None:
                self.notes.add_decision(same, end.expr.axes)
        variable = first.target.id if isinstance(first.target, ast.Name) else "i"
        loop = Loop(self.space, variable, ends, len(items))
        if not items and loop.has_free_length:
            self.notes.note(f"{loop.stop} <= {loop.first}")  # what it repeats is not in the formula
            self.notes.check("<=", loop.stop, loop.first)
        if at.has_equal_turns(node) and not self.unroll:
            at.spend(len(items) // 8, node)
            return self._share_iterations(at.visit(node.elt, local), loop, ends) if items else []
        self.notes.loops.append(loop)
        self.notes.open.append(loop)
        variable, values = ast.unparse(first.target), []
        try:
            for item in items:
                value = self._evaluate_turn(item, items, loop, node, local, at)
                values.append(self._leave_loop(value, loop, variable))
        finally:
            self.notes.open.pop()
        return values

    def _evaluate_turn(
        self, item: Any, items: Any, loop: Loop, node: Comprehension, local: Locals, at: Walk
    ) -> Any:
        """Evaluate an iteration, unless everything is decided as in an earlier one."""
        known = self.notes.find_earlier(loop)
        places = {other.symbol: other.index for other in self.notes.open}
        places[loop.symbol] += 1
        if known is not None:
            loop.history.append(Iteration(known.decisions, places, []))
            return known.value[0]
        turn = Iteration([], places, [])
        loop.history.append(turn)
        loops = len(self.notes.loops)
        index = self.space.atom("index", (loop.symbol,), 0, LARGEST)
        if isinstance(items, range):
            item = Number(self.path, index, item)
        else:
            self.notes.add_decision(Lookup(items, index, item), index.axes)  # its loop starts at 0
        inner = dict(local)
        at.bind(node.generators[0].target, item, inner)
        value = at.visit(node.elt, inner)
        indexed = any(loop.symbol in number.expr.axes for number in numbers_in(value))
        if not indexed and loops == len(self.notes.loops):  # inner loops list their iterations
            turn.value.append(value)
        return value

    def _leave_loop(self, value: Any, loop: Loop, variable: str) -> Any:
        if isinstance(value, Node):
            return repeat(value, Turn(variable, loop, loop.index - loop.start, 1))
        if _is_counted(value):
            self.notes.fix_turns([loop])
        return self._without_index(value, loop)

    def _without_index(self, value: Any, loop: Loop) -> Any:
        if isinstance(value, list):
            return [self._without_index(item, loop) for item in value]
        if not isinstance(value, Number):
            return value
        turn = {loop.symbol: loop.index}
        if isinstance(value.value, bool):
            return self.notes.test(self.notes.in_turn(self.notes.relation(value), turn), value.value)
        guards = frozenset(guard for guard in value.guards if guard.loop is not loop)
        return self.path.number(in_turn(self.space, value.expr, turn), value.value, guards)

    def _share_iterations(self, value: Any, loop: Loop, ends: SymRange) -> list[Any]:
        """Return identical iterations: of modules, one that counts for all."""
        if isinstance(value, Node):
            return [repeat(value, Turn(loop.variable, None, loop.length, ends.length))]
        if _is_counted(value):
            self.notes.fix_turns([loop])
        return [value] * loop.length

    def evaluate_dict(self, node: ast.DictComp, local: Locals, at: Walk) -> dict[Any, Any]:
        first = node.generators[0]
        same = ast.copy_location(ast.GeneratorExp(node.value, node.generators), node)
        found = self.evaluate_list(same, local, at) if not self.unroll and at.has_equal_turns(same) else []
        if not found or not isinstance(found[0], Node):
            return super().evaluate_dict(node, local, at)
        inner = dict(local)
        source = at.visit(first.iter, local)
        items = source if not isinstance(source, SymRange) else [value_of(source.start)]
        at.bind(first.target, next(iter(items)), inner)
        return {at.key(node.key, inner): found[0]}


def _strip_not(node: ast.expr, at: Walk) -> tuple[str, bool]:
    """Return the text of a test without its `not`s, and False if they negate it."""
    holds, node = True, at.meaning(node)
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        holds, node = not holds, at.meaning(node.operand)
    return text_of(node), holds


def _is_counted(value: Any) -> bool:
    """Return True for modules and numbers, which count one by one if an iteration gives several."""
    return any(map(_is_counted, value)) if isinstance(value, list) else isinstance(value, Node | Number)
