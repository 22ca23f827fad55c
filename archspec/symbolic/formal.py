"""The domain of a formula's numbers: what loops, functions and lists come to over SymPy expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import sympy

from archspec.language.domain import Comprehension, Walk, alike
from archspec.language.expression import Locals
from archspec.language.operations import BINARY, FUNCTIONS
from archspec.symbolic.assumptions import Assumptions
from archspec.symbolic.numbers import SymRange
from archspec.symbolic.values import (
    ANALYTIC,
    STRUCTURAL,
    Loop,
    Relation,
    Sym,
    Turn,
    at_turn,
    bare,
    expr_of,
    guards_of,
    length_of,
    loops_of,
    syms_in,
    value_of,
)
from archspec.tree.node import Node

Turns = tuple[Turn, ...]


class Formal(Assumptions):
    """Numbers are :class:`Sym`, also a loop's index; ``opaque_floats``: int() of a float is a new symbol."""

    def __init__(self, opaque_floats: bool = False) -> None:
        super().__init__()
        self.opaque_floats = opaque_floats

    def apply(self, function: Callable[..., Any], arguments: list[Any], node: ast.expr, at: Walk) -> Any:
        if function is BINARY[ast.Mult] and any(isinstance(part, list | tuple | str) for part in arguments):
            self.pin(arguments)  # a list that is repeated so often
        return function(*arguments)

    def method(self, value: Any, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        found = super().method(value, name, arguments, node, at)
        used = syms_in([value, *arguments])
        loops = loops_of(used)
        self.pin(used)
        return self.dependent(found, loops) if loops else found

    def item(self, value: Any, index: Any, node: ast.Subscript, at: Walk) -> Any:
        if not isinstance(value, dict):
            self.pin([index])
        found = super().item(value, bare(index) if isinstance(index, Sym) else index, node, at)
        return self.dependent(found, index.loops) if isinstance(index, Sym) and index.loops else found

    def dependent(self, value: Any, loops: frozenset[Loop]) -> Any:
        """A value that differs from turn to turn."""
        if isinstance(value, Sym):
            return Sym(value.value, value.expr, value.loops | loops, value.guards, value.relation)
        if isinstance(value, str | bool):
            return Sym(value, None, loops)
        if isinstance(value, int | float):
            return Sym(value, expr_of(value), loops)
        if isinstance(value, list | tuple):
            return [self.dependent(item, loops) for item in value]
        return value

    def iterate(self, value: Any, node: ast.expr, at: Walk) -> Iterable[Any]:
        return value.plain() if isinstance(value, SymRange) else super().iterate(value, node, at)

    def listed(self, node: Comprehension, local: Locals, at: Walk) -> list[Any]:
        if alike(node):
            return self.repeated(node, local, at)
        found = []
        for inner, turns in self.iterations(node.generators, local, at):
            value = at.visit(node.elt, inner)
            if isinstance(value, Node) and len(turns) == 1:
                value = value.copy()
                value.turn = (ast.unparse(node.generators[0].target), turns[0])
            else:
                value = self.settled(value, turns)
            found.append(value)
        return found

    def repeated(self, node: Comprehension, local: Locals, at: Walk) -> list[Any]:
        """The turns of a loop that are all the same: of modules, one that stands for all."""
        ends = at.visit(node.generators[0].iter, local)
        count = len(list(self.iterate(ends, node.generators[0].iter, at)))
        at.spend(count // 8, node)
        if not count:
            self.empty(ends)
            return []
        value = at.visit(node.elt, local)
        if not isinstance(value, Node):
            if isinstance(ends, SymRange) and _counted(value):
                self.pin_loops([Loop("", ends.start, ends.stop, count)])
            return [value] * count
        variable = node.generators[0].target
        name = variable.id if isinstance(variable, ast.Name) else "i"
        copy = value.copy()
        copy.turn = (name, Turn(None, count, length_of(ends) if isinstance(ends, SymRange) else count))
        return [copy]

    def iterations(
        self, generators: list[ast.comprehension], local: Locals, at: Walk, outer: Turns = ()
    ) -> Iterator[tuple[Locals, Turns]]:
        """The local names of each turn of nested loops, with the turns."""
        first, rest = generators[0], generators[1:]
        source = at.visit(first.iter, local)
        items = list(self.iterate(source, first.iter, at))
        variable = first.target.id if isinstance(first.target, ast.Name) else "i"
        ends = source if isinstance(source, SymRange) else SymRange(0, len(items))
        loop = Loop(variable, ends.start, ends.stop, len(items))
        if not items:
            self.empty(ends)
        named = value_of(ends.step) == 1 and not rest and not outer  # nested loops leave no index behind
        kept = 0
        for position, item in enumerate(items):
            loop.index = value_of(ends.start) + position
            if isinstance(source, SymRange | range):
                value: Any = Sym(item, loop.symbol if named else sympy.Integer(item), frozenset({loop}))
            else:
                value = self.dependent(item, frozenset({loop}))
            inner = dict(local)
            at.bind(first.target, value, inner)
            turns = (*outer, Turn(loop, position, 1))
            if all(bool(value_of(at.visit(test, inner))) for test in first.ifs):
                kept += 1
                yield from self.iterations(rest, inner, at, turns) if rest else [(inner, turns)]
        if first.ifs:
            self.note(f"{kept} {loop} with {' and '.join(map(ast.unparse, first.ifs))}")

    def empty(self, ends: Any) -> None:
        """Notes a loop without turns: what it repeats is not in the formula."""
        if isinstance(ends, SymRange) and (expr_of(ends.stop) - expr_of(ends.start)).free_symbols:
            self.note(f"{expr_of(ends.stop)} <= {expr_of(ends.start)}")

    def mapped(self, node: ast.DictComp, local: Locals, at: Walk) -> dict[Any, Any]:
        """Named turns; where all build the same module, one that stands for all of them."""
        first = node.generators[0]
        same = alike(ast.GeneratorExp(node.value, node.generators))
        found = {}
        for inner, turns in self.iterations(node.generators, local, at):
            value = at.visit(node.value, inner)
            if isinstance(value, Node) and same:
                source, loop = at.visit(first.iter, local), turns[0].loop
                assert loop is not None  # turns of a loop have one
                times = length_of(source) if isinstance(source, SymRange) else loop.length
                value = value.copy()
                value.turn = (ast.unparse(first.target), Turn(None, loop.length, times))
                return {at.key(node.key, inner): value}
            found[at.key(node.key, inner)] = self.settled(value, turns)
        return found

    def settled(self, value: Any, turns: Turns) -> Any:
        """What one turn of a loop gave, outside of the loop: its index is a number there."""
        if isinstance(value, list):
            return [self.settled(item, turns) for item in value]
        loops = {
            turn.loop: value_of(turn.loop.start) + turn.position for turn in turns if turn.loop is not None
        }
        if isinstance(value, Node) or (isinstance(value, Sym) and value.expr is not None):
            self.pin_loops(loops)
        if not isinstance(value, Sym):
            return value
        here = {loop.symbol: index for loop, index in loops.items()}
        expr = None if value.expr is None else value.expr.subs(here)
        guards = frozenset(guard for guard in value.guards if guard.loop not in loops)
        relation = value.relation and Relation(
            value.relation.op, *(side.subs(here) for side in value.relation[1:])
        )
        return Sym(value.value, expr, value.loops - loops.keys(), guards, relation)

    def function(self, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        if name == "range":
            ends = [0, *arguments, 1] if len(arguments) == 1 else [*arguments, 1][:3]
            at.guarded(range, [value_of(end) for end in ends], node)
            return SymRange(*ends)
        found = syms_in(arguments)
        if name in ("is_int", "is_list"):
            return super().function(name, [bare(argument) for argument in arguments], node, at)
        if name == "len" and isinstance(arguments[0], SymRange):
            return length_of(arguments[0])
        if name in STRUCTURAL or not found:
            unwrapped = [a.plain() if isinstance(a, SymRange) else a for a in arguments]
            decided = super().function(name, unwrapped, node, at)
            if name in ("sorted", "set"):
                self.pin(found)
            return self.quantified(decided, found, node) if name in ("any", "all") else decided
        flat = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], list) else arguments
        value = at.guarded(FUNCTIONS[name], [bare(a) for a in arguments], node)
        loops = loops_of(found)
        guards = guards_of(found)
        if name not in ANALYTIC and isinstance(value, str | bool):
            if not loops:
                self.rests_on(found, node, value)
            return Sym(value, None, loops, guards)
        if name == "int" and not expr_of(flat[0]).is_nonnegative and not loops:
            self.note(
                f"{ast.unparse(node.args[0])} >= 0", bool(value_of(flat[0]) >= 0)
            )  # it rounds towards zero
        negative = name == "int" and value_of(flat[0]) < 0
        opaque = name == "int" and isinstance(value_of(flat[0]), float) and self.opaque_floats
        if name not in ANALYTIC or negative or opaque:
            inputs = [at_turn(expr_of(part), loops) for part in flat]
            meaning = f"{name}({', '.join(map(str, inputs))})"
            return Sym(value, self.define([meaning], meaning, value), loops, guards)
        return Sym(value, ANALYTIC[name](*[expr_of(part) for part in flat]), loops, guards)


def _counted(value: Any) -> bool:
    """Whether a turn gives modules or numbers, which are counted one by one where it gives several."""
    if isinstance(value, list):
        return any(map(_counted, value))
    return isinstance(value, Node) or (isinstance(value, Sym) and value.expr is not None)
