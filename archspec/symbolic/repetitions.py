"""How many layers have a tensor: the length of a loop, a threshold or modulus in closed form, or a symbol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import sympy

from archspec.symbolic.assumptions import Assumptions, Guard, Loop, Turn
from archspec.symbolic.builder import SymbolicBuilder
from archspec.symbolic.rows import Row, Standing, mark_embeddings, merged, tie_rows, walk
from archspec.tree.node import Node


class SymbolicTensor(NamedTuple):
    """One tensor, or one that `repetition` layers have.

    ``numel`` is the number of elements of all of them together that are no copy of another tensor;
    ``active`` that of those which work on a token.
    """

    name: str
    shape: tuple[Any, ...]
    repetition: Any
    guard: str
    kind: str
    trainable: bool
    layer: str
    owner: str
    tied_to: str | None
    numel: Any
    active: Any
    embedding: str


def symbolic_tensors(root: Node, builder: SymbolicBuilder) -> list[SymbolicTensor]:
    """The rows of a tree that a symbolic builder built.

    A tensor that many layers have is one row: its name with `{i}` in it, its shape, how often it stands, and
    the guard under which it does.
    """
    trace = builder.path
    trace.settle()
    rows = list(walk(root, Standing(), trace))
    tie_rows(root, rows)
    mark_embeddings(root, rows)
    groups = merged(rows)
    alone: dict[tuple[str, frozenset[Guard]], int] = {}
    for members in groups.values():
        place = (members[0].template, members[0].guards)
        alone[place] = alone.get(place, 0) + 1
    counter = Counter(trace)
    return [
        tensor
        for members in groups.values()
        for tensor in counter.group(members, alone[members[0].template, members[0].guards] == 1)
    ]


class Counter:
    """Turns groups of equal rows into rows with a repetition."""

    def __init__(self, trace: Assumptions) -> None:
        self.trace = trace

    def group(self, members: list[Row], alone: bool) -> Iterator[SymbolicTensor]:
        row = members[0]
        numel = sympy.Mul(*row.exprs)
        each = row.place.times - row.copies if row.tied_to is None else sympy.Integer(0)
        guard = _said(row.guards)
        turns = row.place.turns
        if not turns:
            yield self.tensor(row, row.place.times, numel * each, guard)
            return
        loop = turns[-1].loop
        assert loop is not None  # only iterated turns are listed
        indexed = loop.symbol in numel.free_symbols | each.free_symbols
        if len(turns) > 1 or indexed:
            total = self.series(members, loop, numel * each, guard)
            yield self.tensor(row, sympy.Integer(len(members)), total, guard)
            return
        count = self.count(row, loop, len(members), alone)
        yield self.tensor(row, row.place.times * count, numel * each * count, guard)

    def tensor(self, row: Row, repetition: Any, total: Any, guard: str) -> SymbolicTensor:
        active = total
        if row.place.routed is not None:
            chosen, experts = row.place.routed
            if self.here(experts):
                few = bool(self.here(chosen) <= self.here(experts))
                active = total * (chosen / experts if few else 1)
                if (chosen - experts).free_symbols:
                    self.trace.note(f"{chosen} <= {experts}", few)
        return SymbolicTensor(
            row.template,
            row.exprs,
            repetition,
            guard,
            row.kind,
            row.trainable,
            row.place.layer,
            row.place.owner,
            row.tied_to,
            total,
            active,
            row.embedding,
        )

    def series(self, members: list[Row], loop: Loop, term: Any, guard: str) -> Any:
        """The sum over the turns of a term that depends on the index."""
        whole = len(members[0].place.turns) == 1 and not guard and len(members) == loop.length
        if whole and loop.stop.free_symbols:
            return sympy.summation(term, (loop.symbol, loop.first, loop.stop - 1)).doit()
        self.listed(members[0], len(members))
        return sympy.Add(*(term.subs(dict(map(_index, row.place.turns))) for row in members))

    def count(self, row: Row, loop: Loop, members: int, alone: bool) -> Any:
        """How many turns have the row: the loop's length, a closed form, or a symbol of its own."""
        length = loop.turns
        if not row.guards and members == loop.length:
            return length
        if not row.guards or not alone or any(guard.loop is not loop for guard in row.guards):
            self.listed(row, members)
            return sympy.Integer(members)
        guards = sorted(row.guards, key=str)
        for guard in guards:
            relation = self.relation(guard)
            if relation is None or (closed := self.closed(relation, loop)) is None:
                continue
            found = closed[0] if guard.outcome else closed[1]
            if self.here(found) == members:
                for other in guards:
                    if other is not guard:
                        self.trace.note(f"every {loop.variable} with {guard} has {other}")
                return found
        text = _said(row.guards)
        over = f"{loop.variable} in range({length})"
        after = [part for part in row.template.partition("}.")[2].split(".") if part.isidentifier()]
        names = ["L_" + "_".join(after[: depth + 1]) for depth in range(len(after))]
        words = f"number of {over} with {text}"
        return self.trace.shown(self.trace.define(names or ["L_some"], words, members, (loop, row.guards)))

    def relation(self, guard: Guard) -> tuple[str, Any, Any] | None:
        """The comparison that a guard is, where it is one."""
        relation = guard.loop.relation(guard.text)
        if relation is None:
            return None
        left, right = map(self.trace.fields.shown, relation.sides)
        return relation.op, left, right

    def here(self, expr: Any) -> Any:
        """The number that an expression is at the config."""
        values = self.trace.values
        return expr.subs(
            {symbol: values[symbol.name] for symbol in expr.free_symbols if symbol.name in values}
        )

    def listed(self, row: Row, members: int) -> None:
        """Notes that turns were counted one by one, where their number may depend on the config."""
        loops = [turn.loop for turn in row.place.turns if turn.loop is not None]
        self.trace.fix_turns(loops)
        if any(self.varies(guard) for guard in row.guards):
            over = ", ".join(dict.fromkeys(map(str, loops)))
            self.trace.note(f"{members} of {over} with {_said(row.guards)}")

    def varies(self, guard: Guard) -> bool:
        """Whether a test depends on more than the loop's index."""
        relation = self.relation(guard)
        if relation is None:
            return True
        return bool((relation[1].free_symbols | relation[2].free_symbols) - {guard.loop.symbol})

    def closed(self, relation: tuple[str, Any, Any], loop: Loop) -> tuple[Any, Any] | None:
        """How many indices of the loop fulfil a threshold or a modulus, and how many do not."""
        i, start, stop = loop.symbol, loop.first, loop.stop
        op, left, right = relation
        if i in right.free_symbols and i not in left.free_symbols:
            left, right = right, left
            op = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op)
        if i in right.free_symbols:
            left, right = left - right, sympy.Integer(0)
        if isinstance(left, sympy.Mod) and op in ("==", "!="):
            shift = left.args[0] - i
            if i in shift.free_symbols or i in left.args[1].free_symbols:
                return None
            equal = self.modulus(shift, left.args[1], right, (start, stop))
            return (equal, stop - start - equal) if op == "==" else (stop - start - equal, equal)
        shift = sympy.expand(left - i)
        if i in shift.free_symbols:
            return None
        edge = right - shift
        if op in ("==", "!="):
            free = (edge - start).free_symbols | (stop - edge).free_symbols
            if free:
                self.trace.note(f"{edge} < {stop}" if start == edge else f"{start} <= {edge} < {stop}")
            one, others = sympy.Integer(1), stop - start - 1
            return (one, others) if op == "==" else (others, one)
        edge = edge + 1 if op in (">", "<=") else edge
        if start == 0 and edge.is_nonnegative:
            below, above = _least(stop, edge), sympy.Max(0, stop - edge)
        else:
            below = sympy.Max(0, _least(stop, edge) - start)
            above = stop - start - below
        return (below, above) if op in ("<", "<=") else (above, below)

    def modulus(self, shift: Any, period: Any, rest: Any, ends: tuple[Any, Any]) -> Any:
        """#{i in [start, stop): (i + shift) mod period == rest} for 0 <= rest < period."""
        start, stop = ends
        offset = rest - shift
        if not (rest.is_Integer and period.is_Integer):
            self.trace.note(f"{rest} < {period}")
        if start == 0 and shift == 0:
            return sympy.ceiling((stop - rest) / period)
        return sympy.floor((stop - 1 - offset) / period) - sympy.floor((start - 1 - offset) / period)


def _index(turn: Turn) -> tuple[Any, int]:
    """The index of a loop, and what it is in a turn."""
    assert turn.loop is not None  # only iterated turns are listed
    return turn.loop.symbol, turn.loop.start + turn.position


def _said(guards: Iterable[Guard]) -> str:
    return " and ".join(sorted(set(map(str, guards))))


def _least(stop: Any, edge: Any) -> Any:
    """min(stop, edge), left alone where one is plainly the smaller."""
    return (
        edge
        if (stop - edge).is_nonnegative
        else stop
        if (edge - stop).is_nonnegative
        else sympy.Min(stop, edge)
    )
