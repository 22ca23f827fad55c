"""The second interpreter: numbers that carry a SymPy expression beside their value.

:class:`SymbolicBuilder` runs the same builder as the exact count. A config's ints and floats become
symbols named after their fields; bools, texts, nulls and list lengths stay what they are and are
recorded as flags. Conditions on sizes are decided by the value and recorded as assumptions; conditions
on a layer's index become guards, which :mod:`archspec.quantities` turns into layer counts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

import sympy

from archspec.configs.scope import Scope, SubConfig
from archspec.language.expression import FUNCTIONS, Expression, Locals, names
from archspec.language.operations import BINARY
from archspec.specs.torch_layers import deciding
from archspec.symbolic.path_conditions import Decisions
from archspec.symbolic.values import (
    ANALYTIC,
    STRUCTURAL,
    Loop,
    Relation,
    Sym,
    SymRange,
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
from archspec.tree.builder import Frame, Node


class SymbolicBuilder(Decisions):
    """A builder whose sizes are :class:`Sym`; `flags` and `conditions` collect what it relied on."""

    def __init__(self, scope: Scope, opaque_floats: bool = False) -> None:
        super().__init__(scope)
        self.opaque_floats = opaque_floats
        self.flags: dict[str, Any] = {}
        self.meant: dict[str, tuple[str, Any, Loop | None]] = {}
        self.symbols: dict[tuple[int, str], Any] = {}

    def memo_key(self, module: Any, scope: Scope, arguments: Locals) -> Any:
        return None  # a guard may hold in one place and not in another

    def read(self, scope: Scope, name: str) -> Any:
        name = scope.canonical(name)
        key = (id(scope.values), name)
        if key not in self.symbols:
            self.symbols[key] = (self.lifted(scope, name), scope.values)
        return self.symbols[key][0]

    def lifted(self, scope: Scope, name: str) -> Any:
        value = scope.get(name)
        path = scope.origin.path + name
        if isinstance(value, SubConfig):
            return value.scope
        if name in scope.overridden or isinstance(
            value, Scope
        ):  # given at a call: its own expression, no field's
            return value
        if name in scope.spec.fixed:
            return self.fixed_field(scope, name, value)
        return self.symbol(path, value)

    def fixed_field(self, scope: Scope, name: str, value: Any) -> Any:
        """A derived field is what it is derived from; no symbol of its own."""
        if isinstance(value, list) and all(isinstance(item, bool | str | None) for item in value):
            return self.symbol("", value)
        self.frames.append(Frame(scope, {}, {}))
        try:
            found = self.evaluate(scope.spec.fixed[name], {})
        finally:
            self.frames.pop()
        return found if bare(found) == value else self.symbol("", value)

    def symbol(self, path: str, value: Any) -> Any:
        if isinstance(value, bool) or value is None or isinstance(value, str):
            if path:
                self.flags[path] = value
            return value
        if isinstance(value, list):
            if path:
                numeric = all(isinstance(item, int) and not isinstance(item, bool) for item in value)
                self.flags[f"len({path})" if numeric else path] = len(value) if numeric else value
            return (
                [self.symbol(f"{path}[{index}]" if path else "", item) for index, item in enumerate(value)]
                if path
                else value
            )
        if not isinstance(value, int | float) or not path:
            return value
        self.values[path] = value
        if isinstance(value, float):
            return Sym(value, sympy.Symbol(path, nonnegative=True))
        return Sym(value, sympy.Symbol(path, integer=True, nonnegative=True))

    def tied_here(self, scope: Scope) -> bool:
        tied = super().tied_here(scope)
        if scope.has("tie_word_embeddings"):
            self.read(scope, "tie_word_embeddings")
        return tied

    def leaf(self, name: str, arguments: list[Any], keywords: Locals, node: ast.Call) -> Node:
        built = super().leaf(name, arguments, keywords, node)
        self.pin(deciding(name, arguments, keywords))
        loose = [value for value in [*arguments, *keywords.values()] if isinstance(value, Sym)]
        guards = frozenset(
            guard for value in loose if isinstance(value.value, bool) for guard in self.guard(value, node)
        )
        built.guards = frozenset(self.guards) | guards
        return built

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        """`given(field)`: whether the config has the field is an assumption, its number a symbol."""
        value = super().call(name, node, local)
        if name != "given":
            return value
        path = self.frames[-1].scope.origin.path + str(self.visit(node.args[0], local))
        if not isinstance(value, int | float) or isinstance(value, bool):
            self.flags[f"given({path})"] = value
            return value
        self.note(f"given({path}) is None", False)
        return self.symbol(path, value)

    def visit_IfExp(self, node: ast.IfExp, local: Locals) -> Any:
        test = self.visit(node.test, local)
        new = self.guard(test, node.test)
        depth = len(self.guards)
        self.guards += sorted(new - set(self.guards), key=lambda guard: guard.text)
        try:
            value = self.visit(node.body if value_of(test) else node.orelse, local)
        finally:
            del self.guards[depth:]
        if new and isinstance(value, int | float | str | Sym):
            base = (
                value
                if isinstance(value, Sym)
                else Sym(value, None if isinstance(value, str) else expr_of(value))
            )
            loops = base.loops | {guard.loop for guard in new}
            return Sym(
                base.value,
                base.expr,
                loops if isinstance(base.value, str | bool) else base.loops,
                base.guards | new,
            )
        return value

    def guarded(self, function: Any, arguments: Iterable[Any], node: ast.expr) -> Any:
        arguments = list(arguments)
        if function is BINARY[ast.Mult] and any(
            isinstance(argument, list | tuple | str) for argument in arguments
        ):
            self.pin(arguments)  # a list that is repeated so often
        return super().guarded(function, arguments, node)

    def method(self, value: Any, name: str, node: ast.Call, local: Locals) -> Any:
        found = super().method(value, name, node, local)
        if isinstance(value, Node | Scope):
            return found
        used = syms_in([value, *(self.visit(argument, local) for argument in node.args)])
        loops = loops_of(used)
        self.pin(used)
        return self.dependent(found, loops) if loops else found

    def item(self, value: Any, index: Any, node: ast.Subscript) -> Any:
        if not isinstance(value, dict):
            self.pin([index])
        found = super().item(value, bare(index) if isinstance(index, Sym) else index, node)
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

    def iterate(self, value: Any, node: ast.expr) -> Iterable[Any]:
        return value.plain() if isinstance(value, SymRange) else super().iterate(value, node)

    def repeated(
        self, node: ast.ListComp | ast.GeneratorExp, items: Iterable[Any], local: Locals
    ) -> list[Any]:
        ends = self.visit(node.generators[0].iter, local)
        found = super().repeated(node, items, local)
        if not found and isinstance(ends, SymRange):
            self.empty(ends)
        if not found or not isinstance(found[0], Node):
            if found and isinstance(ends, SymRange) and _counted(found[0]):
                self.pin_loops([Loop("", ends.start, ends.stop, len(found))])
            return found
        count = length_of(ends) if isinstance(ends, SymRange) else len(found)
        copy = found[0].copy()
        variable = node.generators[0].target
        name = variable.id if isinstance(variable, ast.Name) else "i"
        copy.turn = (name, Turn(None, len(found), count))
        return [copy]

    def turns(self, generators: list[ast.comprehension], local: Locals) -> Any:
        first, rest = generators[0], generators[1:]
        source = self.visit(first.iter, local)
        items = list(self.iterate(source, first.iter))
        variable = first.target.id if isinstance(first.target, ast.Name) else "i"
        ends = source if isinstance(source, SymRange) else SymRange(0, len(items), 1)
        loop = Loop(variable, ends.start, ends.stop, len(items))
        if not items:
            self.empty(ends)
        kept = 0
        for position, item in enumerate(items):
            loop.index = value_of(ends.start) + position
            if isinstance(source, SymRange | range):
                value: Any = Sym(item, loop.symbol, frozenset({loop}))
                if (
                    value_of(ends.step) != 1 or rest or local.get(_TURNS)
                ):  # nested loops leave no index behind
                    value = Sym(item, sympy.Integer(item), frozenset({loop}))
            else:
                value = self.dependent(item, frozenset({loop}))
            inner = dict(local)
            self.bind(first.target, value, inner)
            inner[_TURN] = Turn(loop, position, 1)
            inner[_TURNS] = (*local.get(_TURNS, ()), inner[_TURN])
            if all(bool(value_of(self.visit(test, inner))) for test in first.ifs):
                kept += 1
                yield from self.turns(rest, inner) if rest else [inner]
        if first.ifs:
            self.note(f"{kept} {loop} with {' and '.join(map(ast.unparse, first.ifs))}")

    def empty(self, ends: SymRange) -> None:
        """Notes a loop without turns: what it repeats is not in the formula."""
        if (expr_of(ends.stop) - expr_of(ends.start)).free_symbols:
            self.note(f"{expr_of(ends.stop)} <= {expr_of(ends.start)}")

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp, local: Locals) -> list[Any]:
        first = node.generators[0]
        if len(node.generators) == 1 and not first.ifs and not names(first.target) & names(node.elt):
            return self.repeated(node, self.iterate(self.visit(first.iter, local), first.iter), local)
        found = []
        for inner in self.turns(
            node.generators, {name: value for name, value in local.items() if name != _TURNS}
        ):
            value = self.visit(node.elt, inner)
            if isinstance(value, Node) and len(node.generators) == 1:
                value = value.copy()
                value.turn = (ast.unparse(first.target), inner[_TURN])
            else:
                value = self.settled(value, inner[_TURNS])
            found.append(value)
        return found

    def visit_DictComp(self, node: ast.DictComp, local: Locals) -> dict[Any, Any]:
        """Named turns; where all build the same module, one that stands for all of them."""
        first = node.generators[0]
        inside = {name: value for name, value in local.items() if name != _TURNS}
        same = len(node.generators) == 1 and not first.ifs and not names(first.target) & names(node.value)
        found = {}
        for inner in self.turns(node.generators, inside):
            value = self.visit(node.value, inner)
            if isinstance(value, Node) and same:
                source, turn = self.visit(first.iter, local), inner[_TURN]
                times = length_of(source) if isinstance(source, SymRange) else turn.loop.length
                value = value.copy()
                value.turn = (ast.unparse(first.target), Turn(None, turn.loop.length, times))
                return {self.key(node.key, inner): value}
            found[self.key(node.key, inner)] = self.settled(value, inner[_TURNS])
        return found

    def settled(self, value: Any, turns: tuple[Turn, ...]) -> Any:
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

    def function(self, name: str, arguments: list[Any], node: ast.Call) -> Any:
        if name == "range":
            ends = [0, *arguments, 1] if len(arguments) == 1 else [*arguments, 1][:3]
            self.guarded(range, [value_of(end) for end in ends], node)
            return SymRange(*ends)
        found = syms_in(arguments)
        if name in ("is_int", "is_list"):
            return super().function(name, [bare(argument) for argument in arguments], node)
        if name == "len" and isinstance(arguments[0], SymRange):
            return length_of(arguments[0])
        if name in STRUCTURAL or not found:
            unwrapped = [a.plain() if isinstance(a, SymRange) else a for a in arguments]
            decided = super().function(name, unwrapped, node)
            if name in ("sorted", "set"):
                self.pin(found)
            return self.quantified(decided, found, node) if name in ("any", "all") else decided
        flat = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], list) else arguments
        value = self.guarded(FUNCTIONS[name], [bare(a) for a in arguments], node)
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

    def container(self, cls: str, items: dict[Any, Any], node: ast.AST, expression: Expression) -> Node:
        """Names the turns of a loop: `{i}` where all turns share one module."""
        children: dict[str, Node] = {}
        position = 0
        for name, item in items.items():
            child = self.as_node(item, node, expression)
            if child is None:
                position += 1
                continue
            label = str(position if isinstance(name, int) or str(name).isdigit() else name)
            if child.turn is not None and child.turn[1].loop is None:
                offset = f"+{position}" if position else ""
                label = f"{{{child.turn[0]}{offset}}}"
                position += child.turn[1].position - 1
            position += 1
            children[label] = child
        return Node(cls, children=children)


_TURNS = " turns"
_TURN = " turn"  # no name of an expression can be this


def _counted(value: Any) -> bool:
    """Whether a turn gives modules or numbers, which are counted one by one where it gives several."""
    if isinstance(value, list):
        return any(map(_counted, value))
    return isinstance(value, Node) or (isinstance(value, Sym) and value.expr is not None)
