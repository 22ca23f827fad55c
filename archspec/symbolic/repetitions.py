"""How many layers have a tensor: the length of a loop, a threshold or modulus in closed form, or a symbol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import sympy

from archspec.symbolic.assumptions import Assumptions, Guard, Loop
from archspec.symbolic.builder import SymbolicBuilder
from archspec.symbolic.counts import Turn
from archspec.symbolic.rows import Row, merged, rows
from archspec.symbolic.validity.checks import settle_loops
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
    groups = merged(list(rows(root, trace)))
    alone: dict[tuple[str, frozenset[Guard]], int] = {}
    for row, *_ in groups:
        alone[row.place.template, row.guards] = alone.get((row.place.template, row.guards), 0) + 1
    counter = Counter(trace)
    found = [
        counter.group(members, alone[members[0].place.template, members[0].guards] == 1) for members in groups
    ]
    guards = {(guard.loop, guard.text) for members in groups for guard in members[0].guards}
    settle_loops(trace, counter.counted, guards, counter.closed)
    return found


class Counter:
    """Turns groups of equal rows into rows with a repetition."""

    def __init__(self, trace: Assumptions) -> None:
        self.trace = trace
        self.known: dict[Any, tuple[Any, Any] | None] = {}  # the counts of a test's turns
        self.counted: set[tuple[Loop, str]] = set()  # tests whose turns have a closed form

    def group(self, members: list[Row], alone: bool) -> SymbolicTensor:
        row = members[0]
        numel = sympy.Mul(*row.shape) if row.tensor.tied_to is None else sympy.Integer(0)
        turns = row.place.turns
        if not turns:
            return self.tensor(row, row.times, numel * row.times)
        loop = turns[-1].loop
        if len(turns) > 1 or loop.symbol in (numel * row.times).free_symbols:
            return self.tensor(
                row, sympy.Integer(len(members)), self.series(members, loop, numel * row.times)
            )
        repetition = row.times * self.count(row, loop, len(members), alone)
        return self.tensor(row, repetition, numel * repetition)

    def tensor(self, row: Row, repetition: Any, total: Any) -> SymbolicTensor:
        active = total
        if row.routed is not None and self.here(row.routed[1]):
            chosen, experts = row.routed
            few = bool(self.here(chosen) <= self.here(experts))
            active = total * (chosen / experts if few else 1)
            if (chosen - experts).free_symbols:
                self.trace.note(f"{chosen} <= {experts}", few)
                self.trace.check("<=" if few else ">", chosen, experts)
        return SymbolicTensor(
            row.place.template,
            row.shape,
            repetition,
            _said(row.guards),
            row.tensor.kind,
            row.tensor.trainable,
            row.tensor.layer,
            row.place.owner,
            row.tensor.tied_to,
            total,
            active,
            row.tensor.embedding,
        )

    def series(self, members: list[Row], loop: Loop, term: Any) -> Any:
        """The sum over the turns of a term that depends on the index."""
        row = members[0]
        whole = len(row.place.turns) == 1 and not row.guards and len(members) == loop.length
        if whole and loop.stop.free_symbols:
            return sympy.summation(term, (loop.symbol, loop.first, loop.stop - 1)).doit()
        self.listed(row, len(members))
        return sympy.Add(*(term.subs(dict(map(_index, row.place.turns))) for row in members))

    def count(self, row: Row, loop: Loop, members: int, alone: bool) -> Any:
        """How many turns have the row: the loop's length, a closed form, or a symbol of its own."""
        if not row.guards and members == loop.length:
            return loop.turns
        if not row.guards or not alone or any(guard.loop is not loop for guard in row.guards):
            self.listed(row, members)
            return sympy.Integer(members)
        guards = sorted(row.guards, key=str)
        for guard in guards:
            relation = loop.relation(guard.text)
            if (relation, loop) not in self.known:
                self.known[relation, loop] = None if relation is None else self.closed(relation, loop)
            closed = self.known[relation, loop]
            if closed is None:
                continue
            found = closed[0] if guard.outcome else closed[1]
            if self.here(found) == members:
                loop.unrolled |= len(guards) > 1
                self.counted.add((loop, guard.text))
                for other in guards:
                    if other is not guard:
                        self.trace.note(f"every {loop.variable} with {guard} has {other}")
                return found
        loop.unrolled = True
        after = [part for part in row.place.template.partition("}.")[2].split(".") if part.isidentifier()]
        names = ["L_" + "_".join(after[: depth + 1]) for depth in range(len(after))]
        words = f"number of {loop.variable} in range({loop.turns}) with {_said(row.guards)}"
        return self.trace.shown(self.trace.define(names or ["L_some"], words, members, (loop, row.guards)))

    def here(self, expr: Any) -> Any:
        """The number that an expression is at the config."""
        values = self.trace.values
        return expr.subs(
            {symbol: values[symbol.name] for symbol in expr.free_symbols if symbol.name in values}
        )

    def listed(self, row: Row, members: int) -> None:
        """Notes that turns were counted one by one, where their number may depend on the config."""
        loops = [turn.loop for turn in row.place.turns]
        for loop in loops:
            loop.unrolled = True
        self.trace.fix_turns(loops)
        if any(self.varies(guard) for guard in row.guards):
            over = ", ".join(dict.fromkeys(map(str, loops)))
            self.trace.note(f"{members} of {over} with {_said(row.guards)}")

    def varies(self, guard: Guard) -> bool:
        """Whether a test depends on more than the loop's index."""
        relation = guard.loop.relation(guard.text)
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
                self.trace.check("<=", start, edge)
                self.trace.check("<", edge, stop)
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
            self.trace.check("<", rest, period)
        self.trace.check("<=", 0, rest)
        if start == 0 and shift == 0:
            return sympy.ceiling((stop - rest) / period)
        return sympy.floor((stop - 1 - offset) / period) - sympy.floor((start - 1 - offset) / period)


def _index(turn: Turn) -> tuple[Any, int]:
    """The index of a loop, and what it is in a turn."""
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
