"""Symbolic tensors of an architecture, and from them the closed forms of its quantities.

A tensor that many layers have is one row: its name with `{i}` in it, its shape, how often it stands,
and the guard under which it does. A guard on the layer's index becomes a count in closed form where
there is one (a modulus, a threshold), and a symbol with its definition where there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import sympy

from archspec.layers import concrete
from archspec.symbolic import Guard, Loop, Relation, Sym, SymbolicBuilder, Turn, expr_of
from archspec.tensors import modules
from archspec.tree import Node, Routed


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
    embedding: bool


class _Row:
    """One tensor of the tree, with the turns and guards on the way to it."""

    def __init__(self, names: tuple[str, str], path: _Path, shape: tuple[Any, ...], kind: str, trainable: bool) -> None:
        self.name, self.template = names
        self.path, self.shape, self.kind, self.trainable = path, shape, kind, trainable
        self.exprs = tuple(expr_of(size) for size in shape)
        guards = path.guards | {guard for size in shape if isinstance(size, Sym) for guard in size.guards}
        self.guards = frozenset(guards)
        self.tied_to: str | None = None
        self.copies: Any = 0
        self.embedding = path.layer == "Embedding"

    def key(self, guards: frozenset[Guard] | None = None) -> Any:
        """What makes two rows turns of the same tensor."""
        path = self.path
        routed = tuple(map(expr_of, path.routed)) if path.routed else None
        facts = (self.trainable, self.kind, path.layer, self.embedding, self.tied_to is None)
        held = self.guards if guards is None else guards
        return (self.template, self.exprs, expr_of(path.times), held, facts, routed)


class _Path(NamedTuple):
    name: str = ""
    template: str = ""
    turns: tuple[Turn, ...] = ()
    guards: frozenset[Guard] = frozenset()
    times: Any = 1
    frozen: bool = False
    routed: Routed | None = None
    layer: str = ""
    owner: str = ""


def symbolic_tensors(root: Node, builder: SymbolicBuilder) -> list[SymbolicTensor]:
    """The rows of a tree that a symbolic builder built."""
    rows = list(_walk(root, _Path()))
    _tie(root, rows)
    _mark_outputs(root, rows)
    groups = _merged(rows)
    alone: dict[tuple[str, frozenset[Guard]], int] = {}
    for members in groups.values():
        place = (members[0].template, members[0].guards)
        alone[place] = alone.get(place, 0) + 1
    counter = _Counter(builder)
    return [
        tensor
        for members in groups.values()
        for tensor in counter.group(members, alone[members[0].template, members[0].guards] == 1)
    ]


def _merged(rows: list[_Row]) -> dict[Any, list[_Row]]:
    """Rows by what they are; those that stand whether a guard holds or not lose that guard."""
    groups: dict[Any, list[_Row]] = {}
    for row in rows:
        groups.setdefault(row.key(), []).append(row)
    again = True
    while again:
        again = False
        for members in list(groups.values()):
            for guard in members[0].guards:
                rest = members[0].guards - {guard}
                twin = groups.get(members[0].key(rest | {guard._replace(outcome=not guard.outcome)}))
                if twin is None or twin is members:
                    continue
                for row in (*members, *twin):
                    groups.pop(row.key(), None)
                    row.guards = rest
                groups[members[0].key()] = [*groups.get(members[0].key(), []), *members, *twin]
                again = True
                break
            if again:
                break
    return groups


def _walk(node: Node, path: _Path) -> Iterator[_Row]:
    owner = node.cls if node.module is not None else path.owner
    path = path._replace(
        frozen=path.frozen or node.frozen,
        routed=node.routed or path.routed,
        guards=path.guards | node.guards,
        layer=node.cls,
        owner=owner,
    )
    for name, shape, kind, trainable in node.tensors:
        names = (_joined(path.name, name), _joined(path.template, name))
        yield _Row(names, path, shape, kind, trainable and not path.frozen)
    for own in (True, False):
        for name, child in node.children.items():
            if (child.cls in ("Parameter", "Buffer")) != own:
                continue
            inner = path._replace(name=_joined(path.name, name), template=_joined(path.template, name))
            if child.turn is not None:
                variable, turn = child.turn
                if turn.loop is None:
                    inner = inner._replace(times=inner.times * turn.times)
                else:
                    template = _joined(path.template, f"{{{variable}}}")
                    inner = inner._replace(template=template, turns=(*path.turns, turn))
            yield from _walk(child, inner)


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if name and prefix else name or prefix


def _tie(root: Node, rows: list[_Row]) -> None:
    """Marks the rows that are copies; a row that stands for many layers may be a copy in some."""
    by_name = {row.name: row for row in rows}
    patterns = [(row, re.compile(_pattern(row.name) + "$")) for row in rows if "{" in row.name]
    for prefix, node in modules(root):
        for target, source, _ in node.ties:
            target, source = _joined(prefix, target), _joined(prefix, source)
            hit = [row for row in rows if row.name == target or row.name.startswith(target + ".")]
            for row in hit:
                holder = by_name.get(source + row.name[len(target) :])
                row.tied_to = source + row.name[len(target) :]
                row.copies = row.path.times
                if holder is not None and row.exprs != holder.exprs:
                    row.shape, row.exprs = holder.shape, holder.exprs
            if hit:
                continue
            for row, pattern in patterns:
                if pattern.match(target) or re.match(_pattern(row.name)[: _cut(row.name, target)] + "$", target):
                    row.copies = row.copies + 1


def _pattern(name: str) -> str:
    return "".join(r"\d+" if part.startswith("{") else re.escape(part) for part in re.split(r"(\{[^}]*\})", name))


def _cut(name: str, target: str) -> int:
    """The length of a row's pattern that covers as many path parts as the target has."""
    parts = re.split(r"\.(?![^{]*\})", name)[: target.count(".") + 1]
    return len(_pattern(".".join(parts)))


def _mark_outputs(root: Node, rows: list[_Row]) -> None:
    by_name = {row.name: row for row in rows}
    for prefix, node in modules(root):
        for tie in node.module.ties if node.module else ():
            ends = [by_name.get(_joined(prefix, end)) for end in (tie.source, tie.target)]
            if all(row and len(row.shape) == 2 for row in ends) and any(row and row.path.layer == "Embedding" for row in ends):
                for row in ends:
                    if row is not None:
                        row.embedding = True


class _Counter:
    """Turns groups of equal rows into rows with a repetition."""

    def __init__(self, builder: SymbolicBuilder) -> None:
        self.builder = builder

    def group(self, members: list[_Row], alone: bool) -> Iterator[SymbolicTensor]:
        row = members[0]
        numel = sympy.Mul(*row.exprs)
        each = expr_of(row.path.times) - expr_of(row.copies) if row.tied_to is None else sympy.Integer(0)
        guard = " and ".join(sorted(map(_said, row.guards)))
        turns = row.path.turns
        if not turns:
            yield self.tensor(row, expr_of(row.path.times), numel * each, guard)
            return
        loop = turns[-1].loop
        assert loop is not None  # only iterated turns are listed
        indexed = loop.symbol in numel.free_symbols | each.free_symbols
        if len(turns) > 1 or indexed:
            total = self.series(members, loop, numel * each, guard)
            yield self.tensor(row, sympy.Integer(len(members)), total, guard)
            return
        count = self.count(row, loop, len(members), alone)
        yield self.tensor(row, expr_of(row.path.times) * count, numel * each * count, guard)

    def tensor(self, row: _Row, repetition: Any, total: Any, guard: str) -> SymbolicTensor:
        active = total
        if row.path.routed is not None:
            chosen, experts = map(expr_of, row.path.routed)
            if concrete(row.path.routed.experts):
                few = concrete(row.path.routed.chosen) <= concrete(row.path.routed.experts)
                active = total * (chosen / experts if few else 1)
        return SymbolicTensor(
            row.template,
            row.exprs,
            repetition,
            guard,
            row.kind,
            row.trainable,
            row.path.layer,
            row.path.owner,
            row.tied_to,
            total,
            active,
            row.embedding,
        )

    def series(self, members: list[_Row], loop: Loop, term: Any, guard: str) -> Any:
        """The sum over the turns of a term that depends on the index."""
        if len(members[0].path.turns) == 1 and not guard and len(members) == loop.length:
            start, stop = expr_of(loop.start), expr_of(loop.stop)
            if stop.free_symbols:
                return sympy.summation(term, (loop.symbol, start, stop - 1)).doit()
        parts = []
        for row in members:
            indices = {t.loop.symbol: concrete(t.loop.start) + t.position for t in row.path.turns if t.loop is not None}
            parts.append(term.subs(indices))
        return sympy.Add(*parts)

    def count(self, row: _Row, loop: Loop, members: int, alone: bool) -> Any:
        """How many turns have the row: the loop's length, a closed form, or a symbol of its own."""
        length = expr_of(loop.stop) - expr_of(loop.start)
        if not row.guards:
            return length if members == loop.length else sympy.Integer(members)
        if not alone or any(guard.loop is not loop for guard in row.guards):
            return sympy.Integer(members)
        guards = sorted(row.guards, key=lambda guard: guard.text)
        values = {sympy.Symbol(n, integer=True, nonnegative=True): v for n, v in self.builder.values.items()}
        for guard in guards:
            relation = self.builder.relations.get((guard.text, loop))
            if relation is None or (closed := self.closed(relation, loop)) is None:
                continue
            found = closed[0] if guard.outcome else closed[1]
            if found.subs(values) == members:
                for other in guards:
                    if other is not guard:
                        self.builder.conditions[f"every {loop.symbol} with {_said(guard)} has {_said(other)}"] = True
                return found
        text = " and ".join(map(_said, guards))
        over = f"{loop.symbol} in range({length})" if loop.stop is not None else str(loop.symbol)
        after = [part for part in row.template.partition("}.")[2].split(".") if part.isidentifier()]
        names = ["L_" + "_".join(after[: depth + 1]) for depth in range(len(after))]
        return self.builder.define(names or ["L_some"], f"number of {over} with {text}", members)

    def closed(self, relation: Relation, loop: Loop) -> tuple[Any, Any] | None:
        """How many indices of the loop fulfil a threshold or a modulus, and how many do not."""
        i, start, stop = loop.symbol, expr_of(loop.start), expr_of(loop.stop)
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
            self.builder.conditions[f"{edge} < {stop}" if start == edge else f"{start} <= {edge} < {stop}"] = True
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
            self.builder.conditions[f"{rest} < {period}"] = True
        if start == 0 and shift == 0:
            return sympy.ceiling((stop - rest) / period)
        return sympy.floor((stop - 1 - offset) / period) - sympy.floor((start - 1 - offset) / period)


def _said(guard: Guard) -> str:
    return guard.text if guard.outcome else f"not ({guard.text})"


def _least(stop: Any, edge: Any) -> Any:
    """min(stop, edge), left alone where one is plainly the smaller."""
    return edge if (stop - edge).is_nonnegative else stop if (edge - stop).is_nonnegative else sympy.Min(stop, edge)


QUANTITIES: dict[str, tuple[str, Callable[[SymbolicTensor], Any]]] = {
    "params": ("unique parameters", lambda t: t.numel if t.kind == "parameter" else 0),
    "trainable_params": ("parameters with requires_grad", lambda t: t.numel if t.kind == "parameter" and t.trainable else 0),
    "active_params": ("parameters that work on a token", lambda t: t.active if t.kind == "parameter" else 0),
    "embedding_params": (
        "embedding tables and output matrices",
        lambda t: t.numel if t.kind == "parameter" and t.embedding else 0,
    ),
    "non_embedding_params": ("all other parameters", lambda t: t.numel if t.kind == "parameter" and not t.embedding else 0),
    "buffers": ("elements of persistent buffers", lambda t: t.numel if t.kind == "buffer" else 0),
}


def total(tensors: list[SymbolicTensor], quantity: str) -> Any:
    """The closed form of one of :data:`QUANTITIES`, expanded."""
    return sympy.expand(sympy.Add(*(QUANTITIES[quantity][1](tensor) for tensor in tensors)))
