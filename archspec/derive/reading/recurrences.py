"""Reading, 6 of 19: what one turn of a loop leaves for the next, as a function of the loop's counter."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from archspec.derive.reading import terms
from archspec.derive.reading.attributes import Attributes
from archspec.derive.reading.values import (
    UNKNOWN,
    Sym,
    Unsupported,
)


class Carried(NamedTuple):
    """A value that one turn of a loop leaves for the next."""

    container: dict[Any, Any]
    key: Any
    mark: str
    start: Any
    after: Any


class Recurrences(Attributes):
    """Solves for values that are carried from turn to turn."""

    def last(self, target: ast.expr, iterable: ast.expr) -> dict[str, ast.expr]:
        """What a loop's variables are after it."""
        counted = self.index_of(target, iterable)
        if counted is None:
            try:
                return self.at(target, iterable, ast.UnaryOp(ast.USub(), ast.Constant(1)))
            except (AssertionError, ValueError):
                return {}
        _, start, turns = counted
        return self.at(target, iterable, terms.binary(ast.Sub, terms.binary(ast.Add, turns, start), terms.constant(1)))

    def uses_marks(self, writes: Any, chain: list[Carried]) -> bool:
        return bool(chain)

    def index_of(self, target: ast.expr, iterable: ast.expr) -> tuple[str, ast.expr, ast.expr] | None:
        """The loop's counter, where it starts and the number of turns."""
        assert isinstance(iterable, ast.expr)
        if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name):
            arguments = iterable.args
            if iterable.func.id == "range" and len(arguments) <= 2 and isinstance(target, ast.Name):
                start = arguments[0] if len(arguments) == 2 else terms.constant(0)
                return target.id, start, terms.binary(ast.Sub, arguments[-1], start)
            if iterable.func.id == "enumerate" and isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name):
                return target.elts[0].id, terms.constant(0), length(arguments[0])
        return None

    def solve(self, chain: list[Carried], target: ast.expr, iterable: ast.expr) -> dict[str, tuple[Any, Any]]:
        """Each carried value as a function of the loop's counter, and its value after the loop."""
        found = self.index_of(target, iterable)
        assert found is not None
        counter, start, turns = found
        index = terms.binary(ast.Sub, terms.name(counter), start)
        marks = {part.mark for part in chain}
        solved: dict[str, tuple[Any, Any]] = {}
        known: dict[str, ast.expr] = {}
        for _ in chain:
            for part in chain:
                if part.mark in solved:
                    continue
                step = terms.substitute(self.node(part.after), known)
                init = self.node(part.start)
                step = first_turn(step, part.mark, init, counter, start)
                inside = terms.names(step) & marks
                if not inside:
                    earlier = self.shifted(step, target, iterable, terms.binary(ast.Sub, terms.name(counter), terms.constant(1)))
                    last = self.shifted(
                        step, target, iterable, terms.binary(ast.Sub, terms.binary(ast.Add, turns, start), terms.constant(1))
                    )
                    here = terms.conditional(ast.Compare(terms.name(counter), [ast.Eq()], [start]), init, earlier)
                    end = terms.conditional(ast.Compare(turns, [ast.Gt()], [terms.constant(0)]), last, init)
                elif inside == {part.mark} and (series := self.series(step, part.mark, init, target, iterable, index, turns)):
                    here, end = series
                else:
                    continue
                known[part.mark] = here
                seen = getattr(part.start, "value", part.start)
                solved[part.mark] = (Sym(here, seen, self.types(part.start)), Sym(end, UNKNOWN, self.types(part.start)))
        if len(solved) < len(chain):
            raise Unsupported("a value that every turn changes")
        return solved

    def series(
        self, step: ast.expr, mark: str, init: ast.expr, target: ast.expr, iterable: ast.expr, index: ast.expr, turns: ast.expr
    ) -> tuple[ast.expr, ast.expr] | None:
        """x + k, x - k, x * k and x // k, repeated."""
        if not isinstance(step, ast.BinOp):
            return None
        own, by = step.left, step.right
        if not (isinstance(own, ast.Name) and own.id == mark) and isinstance(step.op, ast.Add | ast.Mult):
            own, by = by, own
        if not (isinstance(own, ast.Name) and own.id == mark) or mark in terms.names(by):
            return None
        op = type(step.op)
        if terms.names(by) & terms.names(target):
            if op not in (ast.Add, ast.Sub):
                return None

            def upto(end: ast.expr) -> ast.expr:
                inner = self.fresh("j")
                each = self.shifted(by, target, iterable, terms.name(inner))
                turns_ = ast.comprehension(terms.name(inner), terms.call("range", end), [], 0)
                return terms.binary(op, init, terms.call("sum", ast.ListComp(each, [turns_])))

            return upto(index), upto(turns)
        if op in (ast.Add, ast.Sub):
            return tuple(terms.binary(op, init, terms.binary(ast.Mult, by, n)) for n in (index, turns))  # type: ignore[return-value]
        if op in (ast.Mult, ast.FloorDiv):
            return tuple(terms.binary(op, init, terms.binary(ast.Pow, by, n)) for n in (index, turns))  # type: ignore[return-value]
        return None

    def shifted(self, node: ast.expr, target: ast.expr, iterable: ast.expr, position: ast.expr) -> ast.expr:
        """An expression of a loop's variables at another turn."""
        return terms.substitute(node, self.at(target, iterable, position))

    def at(self, target: ast.expr, iterable: ast.expr, position: ast.expr) -> dict[str, ast.expr]:
        if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name):
            if iterable.func.id == "range" and len(iterable.args) <= 2 and isinstance(target, ast.Name):
                return {target.id: position}
            if iterable.func.id == "enumerate" and isinstance(target, ast.Tuple):
                assert isinstance(target.elts[0], ast.Name)
                return {target.elts[0].id: position} | self.at(target.elts[1], iterable.args[0], position)
            if iterable.func.id == "zip" and isinstance(target, ast.Tuple):
                found: dict[str, ast.expr] = {}
                for part, inner in zip(target.elts, iterable.args, strict=True):
                    found |= self.at(part, inner, position)
                return found
        item: ast.expr = ast.Subscript(iterable, position, ast.Load())
        if isinstance(target, ast.Tuple):
            return {
                p.id: ast.Subscript(item, terms.constant(k), ast.Load())
                for k, p in enumerate(target.elts)
                if isinstance(p, ast.Name)
            }
        assert isinstance(target, ast.Name)
        return {target.id: item}


def first_turn(step: ast.expr, mark: str, init: ast.expr, counter: str, start: ast.expr) -> ast.expr:
    """`x if i > 0 else carried`: what is carried counts in the first turn only, where it is the value before the loop."""
    if not isinstance(step, ast.IfExp) or mark in terms.names(step.body) | terms.names(step.test):
        return step
    if terms.text(step.test) not in (f"{counter} > {terms.text(start)}", f"{counter} != {terms.text(start)}"):
        return step
    return ast.IfExp(step.test, step.body, terms.substitute(step.orelse, {mark: init}))


def length(iterable: ast.expr) -> ast.expr:
    """The number of turns of a loop."""
    if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name):
        if iterable.func.id == "range":
            arguments = iterable.args
            return terms.binary(ast.Sub, arguments[1], arguments[0]) if len(arguments) == 2 else arguments[0]
        if iterable.func.id == "enumerate":
            return length(iterable.args[0])
        if iterable.func.id == "zip":
            turns = {terms.text(each): each for each in map(length, iterable.args)}
            return next(iter(turns.values())) if len(turns) == 1 else terms.call("min", *turns.values())
    return terms.call("len", iterable)
