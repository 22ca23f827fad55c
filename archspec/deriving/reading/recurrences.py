"""Reading, 6 of 19: what one turn of a loop leaves for the next, as a function of the loop's counter."""

from __future__ import annotations

import ast
import operator
from typing import Any, NamedTuple

from archspec.deriving.reading import terms
from archspec.deriving.reading.attributes import Attributes
from archspec.deriving.reading.series import added, divided, first_turn
from archspec.deriving.reading.values import (
    MISSING,
    UNKNOWN,
    ListValue,
    Sym,
    Unsupported,
)


class Step(NamedTuple):
    """A number that one turn of a loop leaves for the next: what it is before the loop, and after a turn."""

    mark: str
    start: Any
    after: Any


class Carried:
    """A variable that a loop sets: a number, or a tuple or list of some, each with a mark that stands for it
    in a turn."""

    def __init__(self, container: dict[Any, Any], key: Any, start: Any) -> None:
        self.container, self.key, self.start = container, key, start
        self.marks: list[str] = []

    def marked(self, mark: str, types: Any) -> list[Any]:
        items = numbers(self.start)
        self.marks = [f"{mark}.{place}" for place in range(len(items))]
        return [
            Sym(terms.name(m), getattr(old, "value", old), types(old))
            for m, old in zip(self.marks, items, strict=True)
        ]

    def with_items(self, items: list[Any]) -> tuple[dict[Any, Any], Any, Any]:
        """What is to be written where the numbers are others."""
        kind = type(self.start)
        value = tuple(items) if kind is tuple else ListValue(items) if kind is ListValue else items[0]
        return self.container, self.key, value

    def steps(self, writes: dict[Any, Any]) -> list[Step]:
        """What a turn makes of each number. Errors: :class:`Unsupported` where their number changes."""
        after = numbers(writes.get((id(self.container), self.key), (None, None, self.start))[2])
        if len(after) != len(self.marks):
            raise Unsupported("a list that is changed in a loop")
        return [Step(*step) for step in zip(self.marks, numbers(self.start), after, strict=True)]


def numbers(value: Any) -> list[Any]:
    """The items of a tuple or of a list of known length; anything else alone."""
    if type(value) is tuple:
        return list(value)
    return value.items() if isinstance(value, ListValue) and value.plain else [value]


def rebound(
    writes: dict[Any, Any], first: dict[Any, Any], local: dict[str, Any], own: set[str]
) -> list[Carried]:
    """The variables that stood before a loop, and that a turn sets to other numbers."""
    found = []
    for key, (container, name, left) in writes.items():
        old = first.get(key, MISSING)
        if name == "parts" or old is MISSING or (container is local and name in own):
            continue
        before, after = numbers(old), numbers(left)
        if type(old) is tuple or isinstance(old, ListValue):
            same = (
                type(old) is not type(left)
                or len(before) != len(after)
                or all(map(operator.is_, before, after))
            )
        else:
            same = False
        if (
            before
            and not same
            and all(isinstance(item, Sym) or type(item) in (int, float) for item in before)
        ):
            found.append(Carried(container, name, old))
    return found


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
        return self.at(
            target, iterable, terms.binary(ast.Sub, terms.binary(ast.Add, turns, start), terms.constant(1))
        )

    def is_last(self, test: ast.expr, target: ast.expr, iterable: ast.expr) -> bool:
        """Whether a condition holds in the last turn of a loop and in no other."""
        counted = self.index_of(target, iterable)
        if counted is None or not isinstance(test, ast.Compare) or len(test.ops) > 1:
            return False
        counter, start, turns = counted
        end = terms.binary(ast.Add, turns, start)
        following = terms.binary(ast.Add, terms.name(counter), terms.constant(1))
        pairs = [(following, end), (terms.name(counter), terms.binary(ast.Sub, end, terms.constant(1)))]
        texts = {(terms.text(left), terms.text(right)) for left, right in pairs}
        return (
            isinstance(test.ops[0], ast.Eq | ast.GtE)
            and (terms.text(test.left), terms.text(test.comparators[0])) in texts
        )

    def counted_loop(self, target: ast.expr, iterable: ast.expr) -> tuple[ast.expr, ast.expr]:
        """The loop with a counter."""
        if self.index_of(target, iterable) is not None:
            return target, iterable
        return ast.Tuple([terms.name(self.fresh("i")), target], ast.Store()), terms.call(
            "enumerate", iterable
        )

    def index_of(self, target: ast.expr, iterable: ast.expr) -> tuple[str, ast.expr, ast.expr] | None:
        """The loop's counter, where it starts and the number of turns."""
        assert isinstance(iterable, ast.expr)
        if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name):
            arguments = iterable.args
            if iterable.func.id == "range" and len(arguments) <= 2 and isinstance(target, ast.Name):
                start = arguments[0] if len(arguments) == 2 else terms.constant(0)
                return target.id, start, terms.binary(ast.Sub, arguments[-1], start)
            if (
                iterable.func.id == "enumerate"
                and isinstance(target, ast.Tuple)
                and isinstance(target.elts[0], ast.Name)
            ):
                return target.elts[0].id, terms.constant(0), length(arguments[0])
        return None

    def solve(self, chain: list[Step], target: ast.expr, iterable: ast.expr) -> dict[str, tuple[Any, Any]]:
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
                try:
                    step, init = terms.substitute(self.node(part.after), known), self.node(part.start)
                except Unsupported:
                    continue
                step = first_turn(step, part.mark, init, counter, start)
                inside = terms.names(step) & marks
                if not inside:
                    earlier = self.shifted(
                        step, target, iterable, terms.binary(ast.Sub, terms.name(counter), terms.constant(1))
                    )
                    last = self.shifted(
                        step,
                        target,
                        iterable,
                        terms.binary(ast.Sub, terms.binary(ast.Add, turns, start), terms.constant(1)),
                    )
                    here = terms.conditional(
                        ast.Compare(terms.name(counter), [ast.Eq()], [start]), init, earlier
                    )
                    end = terms.conditional(ast.Compare(turns, [ast.Gt()], [terms.constant(0)]), last, init)
                elif inside == {part.mark} and (
                    series := self.series(step, part.mark, init, target, iterable, index, turns)
                ):
                    here, end = series
                else:
                    continue
                known[part.mark] = here
                seen = getattr(part.start, "value", part.start)
                solved[part.mark] = (
                    Sym(here, seen, self.types(part.start)),
                    Sym(end, UNKNOWN, self.types(part.start)),
                )
        unknown = Sym(None, UNKNOWN)  # it does not matter where no tensor depends on it
        return {part.mark: solved.get(part.mark, (unknown, unknown)) for part in chain}

    def series(
        self,
        step: ast.expr,
        mark: str,
        init: ast.expr,
        target: ast.expr,
        iterable: ast.expr,
        index: ast.expr,
        turns: ast.expr,
    ) -> tuple[ast.expr, ast.expr] | None:
        """x + k, x - k, x * k, x // k and (x + a) // k + b, repeated; for each item of a list too."""
        if isinstance(step, ast.ListComp):
            return self.item_series(step, mark, init, target, iterable, index, turns)
        if isinstance(step, ast.IfExp) and (same := added(step, mark)) is not None:
            step = same
        if not isinstance(step, ast.BinOp):
            return None
        sums = terms.names(step) & terms.names(target) or isinstance(step.left, ast.Name)
        if not sums and (after := divided(step, mark, self.fresh("j"))) is not None:
            return after(init, index), after(init, turns)
        own, by = step.left, step.right
        if not (isinstance(own, ast.Name) and own.id == mark) and isinstance(step.op, ast.Add | ast.Mult):
            own, by = by, own
        if not (isinstance(own, ast.Name) and own.id == mark) or mark in terms.names(by):
            return None
        op = type(step.op)
        if terms.names(by) & terms.names(target):
            if op not in (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv):
                return None
            together = "sum" if op in (ast.Add, ast.Sub) else "prod"

            def upto(end: ast.expr) -> ast.expr:
                inner = self.fresh("j")
                each = self.shifted(by, target, iterable, terms.name(inner))
                turns_ = ast.comprehension(terms.name(inner), terms.call("range", end), [], 0)
                return terms.binary(op, init, terms.call(together, ast.ListComp(each, [turns_])))

            return upto(index), upto(turns)
        if op in (ast.Add, ast.Sub):
            return tuple(terms.binary(op, init, terms.binary(ast.Mult, by, n)) for n in (index, turns))  # type: ignore[return-value]
        if op in (ast.Mult, ast.FloorDiv):
            return tuple(terms.binary(op, init, terms.binary(ast.Pow, by, n)) for n in (index, turns))  # type: ignore[return-value]
        return None

    def item_series(
        self,
        step: ast.ListComp,
        mark: str,
        init: ast.expr,
        target: ast.expr,
        iterable: ast.expr,
        index: ast.expr,
        turns: ast.expr,
    ) -> tuple[ast.expr, ast.expr] | None:
        """`[x // k for x, k in zip(carried, ks)]`, repeated: a first turn leaves the list as long as the
        shortest."""
        loop = step.generators[0]
        names = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
        zipped = isinstance(loop.iter, ast.Call) and terms.text(loop.iter.func) == "zip"
        lists = loop.iter.args if isinstance(loop.iter, ast.Call) and zipped else [loop.iter]
        places = [place for place, part in enumerate(lists) if isinstance(part, ast.Name) and part.id == mark]
        if len(step.generators) > 1 or loop.ifs or len(places) != 1 or len(names) != len(lists):
            return None
        item = names[places[0]]
        if not isinstance(item, ast.Name) or terms.names(loop.iter) & terms.names(target):
            return None
        found = self.series(step.elt, item.id, item, target, iterable, index, turns)
        if found is None or terms.names(step.elt) & terms.names(target):
            return None
        over = terms.substitute(loop.iter, {mark: init})
        here, end = (ast.ListComp(each, [ast.comprehension(loop.target, over, [], 0)]) for each in found)
        return (
            terms.conditional(terms.compare(index, ast.Eq, terms.constant(0)), init, here),
            terms.conditional(terms.compare(turns, ast.LtE, terms.constant(0)), init, end),
        )

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


def turn(target: ast.expr, iterable: ast.expr, index: int) -> dict[str, ast.expr] | None:
    """What the names of a loop's target are in one turn, counted from the end if it is negative; None for
    other targets."""
    function = (
        iterable.func.id if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) else ""
    )
    arguments = iterable.args if isinstance(iterable, ast.Call) else []
    number = (
        terms.constant(index)
        if index >= 0
        else terms.binary(ast.Add, length(iterable), terms.constant(index))
    )
    if isinstance(target, ast.Name) and function not in ("enumerate", "zip"):
        if function == "range":
            first = arguments[0] if len(arguments) == 2 else terms.constant(0)
            return {target.id: terms.binary(ast.Add, first, number)} if len(arguments) < 3 else None
        return {target.id: terms.subscript(iterable, terms.constant(index))}
    if (
        not isinstance(target, ast.Tuple)
        or function not in ("enumerate", "zip")
        or (function == "zip" and index < 0)
    ):
        return None
    pairs = (
        list(zip(target.elts, arguments, strict=True))
        if function == "zip"
        else [(target.elts[1], arguments[0])]
    )
    found = (
        {target.elts[0].id: number}
        if function == "enumerate" and isinstance(target.elts[0], ast.Name)
        else {}
    )
    for one, listed in pairs:
        inner = turn(one, listed, index)
        if inner is None:
            return None
        found |= inner
    return found
