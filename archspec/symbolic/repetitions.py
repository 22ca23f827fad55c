"""The rows of a formula, and how many layers have each: a closed form of a loop, or a symbol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import sympy

from archspec.errors import SpecError
from archspec.symbolic.assumptions import Assumptions
from archspec.symbolic.builder import SymbolicBuilder
from archspec.symbolic.counts import Loops, TensorPath, tensor_paths
from archspec.symbolic.loops import Guard, Loop
from archspec.symbolic.path_conditions import guards_of
from archspec.symbolic.validity.checks import TURNED, settle_loops
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, tensors


class SymbolicTensor(NamedTuple):
    """One tensor, or one that `repetition` layers have."""

    name: str
    shape: tuple[Any, ...]
    repetition: Any
    guard: str
    owner: str
    numel: Any  # of all of them together, without copies of other tensors
    active: Any  # for a token
    kind: str
    trainable: bool
    layer: str
    tied_to: str | None
    embedding: str


class Row(NamedTuple):
    """One tensor, with the iterations and guards on the way to it; sizes are SymPy expressions."""

    place: TensorPath
    tensor: Tensor
    shape: tuple[Any, ...]
    times: Any
    routed: tuple[Any, ...] | None
    guards: frozenset[Guard]

    def kind(self, guards: frozenset[Guard]) -> Any:
        tensor = self.tensor
        facts = (tensor.trainable, tensor.kind, tensor.layer, tensor.embedding, tensor.tied_to is None)
        return (self.place.template, self.shape, self.times, guards, facts, self.routed)


def symbolic_tensors(root: Node, builder: SymbolicBuilder) -> list[SymbolicTensor]:
    """Return the rows of a tree; a tensor that many layers have is one, with `{i}` in its name.

    Errors: :class:`Loops` for ties that name single iterations of a loop.
    """
    notes = builder.notes
    notes.finish()
    groups = _merge_rows(_rows(root, notes))
    kinds = Counter((row.place.template, row.guards) for row, *_ in groups)
    counter = Repetitions(notes)
    found = [counter.row(group, kinds[group[0].place.template, group[0].guards] == 1) for group in groups]
    guards = {(guard.loop, guard.text) for group in groups for guard in group[0].guards}
    settle_loops(notes, counter.counted, guards, counter.count_closed)
    return found


def _rows(root: Node, notes: Assumptions) -> list[Row]:
    try:
        found = {tensor.name: tensor for tensor in tensors(root)}
    except SpecError:
        raise Loops from None
    rows = []
    for place in tensor_paths(root):
        tensor, form = found[place.name], notes.sympy_form
        routed = tuple(map(form, place.routed)) if place.routed else None
        guards = (guard for guard in place.guards | guards_of(tensor.shape))
        decisive = frozenset(guard for guard in guards if guard.text in guard.loop.decisive)
        times = sympy.Mul(*map(form, place.times))
        rows.append(Row(place, tensor, tuple(map(form, tensor.shape)), times, routed, decisive))
    return rows


def _merge_rows(found: list[Row]) -> list[list[Row]]:
    """Group equal rows; rows on both sides of a guard lose that guard."""
    groups: dict[Any, list[Row]] = {}
    for row in found:
        groups.setdefault(row.kind(row.guards), []).append(row)
    while twins := next(_twins(groups), None):
        kind, twin, rest = twins
        both = [row._replace(guards=rest) for row in (*groups.pop(kind), *groups.pop(twin))]
        groups.setdefault(both[0].kind(rest), []).extend(both)
    return list(groups.values())


def _twins(groups: dict[Any, list[Row]]) -> Iterator[tuple[Any, Any, frozenset[Guard]]]:
    """Yield groups with the same rows for both outcomes of a guard, and the guards that both have."""
    for kind, (row, *_) in groups.items():
        for guard in row.guards:
            rest = row.guards - {guard}
            twin = row.kind(rest | {guard._replace(outcome=not guard.outcome)})
            if twin in groups and twin != kind:
                yield kind, twin, rest


class Repetitions:
    """Turns groups of equal rows into rows with a repetition."""

    def __init__(self, notes: Assumptions) -> None:
        self.notes = notes
        self.known: dict[Any, tuple[Any, Any] | None] = {}  # the counts of a test's iterations
        self.counted: set[tuple[Loop, str]] = set()  # tests whose iterations have a closed form

    def row(self, members: list[Row], alone: bool) -> SymbolicTensor:
        row = members[0]
        numel = row.times * sympy.Mul(*row.shape) if row.tensor.tied_to is None else sympy.Integer(0)
        turns = row.place.turns
        repetition, total = row.times, numel
        if turns and (len(turns) > 1 or turns[-1].loop.symbol in numel.free_symbols):
            repetition, total = sympy.Integer(len(members)), self._series(members, turns[-1].loop, numel)
        elif turns:
            count = self._count(row, turns[-1].loop, len(members), alone)
            repetition, total = row.times * count, count * numel
        active = total
        if row.routed is not None and self._value(row.routed[1]):
            chosen, experts = row.routed
            few = bool(self._value(chosen) <= self._value(experts))
            active = total * (chosen / experts if few else 1)
            if (chosen - experts).free_symbols:
                self.notes.note(f"{chosen} <= {experts}", few)
                self.notes.check("<=" if few else ">", chosen, experts)
        place, shape, guard = row.place, row.shape, _words(row.guards)
        facts = {name: getattr(row.tensor, name) for name in SymbolicTensor._fields[-5:]}
        return SymbolicTensor(place.template, shape, repetition, guard, place.owner, total, active, **facts)

    def _series(self, members: list[Row], loop: Loop, term: Any) -> Any:
        row = members[0]
        whole = len(row.place.turns) == 1 and not row.guards and len(members) == loop.length
        if whole and loop.stop.free_symbols:
            return sympy.summation(term, (loop.symbol, loop.first, loop.stop - 1)).doit()
        self._list(row, len(members))
        indices = (
            {turn.loop.symbol: turn.loop.start + turn.position for turn in row.place.turns} for row in members
        )
        return sympy.Add(*map(term.subs, indices))

    def _count(self, row: Row, loop: Loop, members: int, alone: bool) -> Any:
        """Return the number of iterations with the row: the loop's length, a closed form, or a new symbol."""
        if not row.guards and members == loop.length:
            return loop.length_expr
        if not row.guards or not alone or any(guard.loop is not loop for guard in row.guards):
            self._list(row, members)
            return sympy.Integer(members)
        guards = sorted(row.guards, key=str)
        for guard in guards:
            relation = loop.relation(guard.text)
            if (relation, loop) not in self.known:
                self.known[relation, loop] = None if relation is None else self.count_closed(relation, loop)
            closed = self.known[relation, loop]
            if closed is None or self._value(closed[not guard.outcome]) != members:
                continue
            loop.unrolled |= len(guards) > 1
            self.counted.add((loop, guard.text))
            for other in guards:
                if other is not guard:
                    self.notes.note(f"{other} for every {loop.variable} with {guard}")
            return closed[not guard.outcome]
        loop.unrolled = True
        after = [part for part in row.place.template.partition("}.")[2].split(".") if part.isidentifier()]
        names = ["L_" + "_".join(after[: depth + 1]) for depth in range(len(after))]
        words = f"number of {loop.variable} in range({loop.length_expr}) with {_words(row.guards)}"
        symbol = self.notes.define(names or ["L_some"], words, members, (loop, row.guards))
        return self.notes.sympy_form(symbol)

    def _value(self, expr: Any) -> Any:
        values = self.notes.values
        return expr.subs({one: values[one.name] for one in expr.free_symbols if one.name in values})

    def _list(self, row: Row, members: int) -> None:
        """Note that iterations were counted one by one, where their number may depend on the config."""
        loops = [turn.loop for turn in row.place.turns]
        for loop in loops:
            loop.unrolled = True
        self.notes.fix_turns(loops)
        if any(self._varies(guard) for guard in row.guards):
            over = ", ".join(dict.fromkeys(map(str, loops)))
            self.notes.note(f"{_words(row.guards)} for {members} values of {over}")

    def _varies(self, guard: Guard) -> bool:
        relation = guard.loop.relation(guard.text)
        if relation is None:
            return True
        return bool((relation[1].free_symbols | relation[2].free_symbols) - {guard.loop.symbol})

    def count_closed(self, relation: tuple[str, Any, Any], loop: Loop) -> tuple[Any, Any] | None:
        """Return how many indices of the loop meet a threshold or a modulus, and how many do not."""
        i, start, stop = loop.symbol, loop.first, loop.stop
        op, left, right = relation
        if i in right.free_symbols and i not in left.free_symbols:
            op, left, right = TURNED[op], right, left
        if i in right.free_symbols:
            left, right = left - right, sympy.Integer(0)
        if isinstance(left, sympy.Mod) and op in ("==", "!="):
            shift, period = left.args[0] - i, left.args[1]
            if i in shift.free_symbols or i in period.free_symbols:
                return None
            equal = self._count_modulus(shift, period, right, (start, stop))
            return _order(op == "==", equal, stop - start - equal)
        shift = sympy.expand(left - i)
        if i in shift.free_symbols:
            return None
        edge = right - shift
        if op in ("==", "!="):
            if (edge - start).free_symbols | (stop - edge).free_symbols:
                self.notes.note(f"{edge} < {stop}" if start == edge else f"{start} <= {edge} < {stop}")
                self.notes.check("<=", start, edge)
                self.notes.check("<", edge, stop)
            return _order(op == "==", sympy.Integer(1), stop - start - 1)
        edge = edge + 1 if op in (">", "<=") else edge
        if start == 0 and edge.is_nonnegative:
            below, above = _minimum(stop, edge), sympy.Max(0, stop - edge)
        else:
            below = sympy.Max(0, _minimum(stop, edge) - start)
            above = stop - start - below
        return _order(op in ("<", "<="), below, above)

    def _count_modulus(self, shift: Any, period: Any, rest: Any, ends: tuple[Any, Any]) -> Any:
        """Return #{i in [start, stop): (i + shift) mod period == rest} for 0 <= rest < period."""
        start, stop = ends
        offset = rest - shift
        if not (rest.is_Integer and period.is_Integer):
            self.notes.note(f"{rest} < {period}")
            self.notes.check("<", rest, period)
        self.notes.check("<=", 0, rest)
        if start == 0 and shift == 0:
            return sympy.ceiling((stop - rest) / period)
        return sympy.floor((stop - 1 - offset) / period) - sympy.floor((start - 1 - offset) / period)


def _order(holds: bool, first: Any, second: Any) -> tuple[Any, Any]:
    return (first, second) if holds else (second, first)


def _words(guards: Iterable[Guard]) -> str:
    return " and ".join(sorted(set(map(str, guards))))


def _minimum(stop: Any, edge: Any) -> Any:
    """Return min(stop, edge), or the one that is known to be smaller."""
    if (stop - edge).is_nonnegative:
        return edge
    return stop if (edge - stop).is_nonnegative else sympy.Min(stop, edge)
