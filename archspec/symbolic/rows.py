"""The tensors of a symbolic tree as rows: names with `{i}`, shapes, ties, the turns and guards on the way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import sympy

from archspec.specs.torch_layers import Leaf
from archspec.symbolic.assumptions import Assumptions, Guard, Turn
from archspec.symbolic.path_conditions import guards_of
from archspec.tree.node import Node
from archspec.tree.tensors import modules, output_embeddings


class Row:
    """One tensor of the tree, with the turns and guards on the way to it."""

    def __init__(self, names: tuple[str, str], place: Standing, leaf: Leaf, trace: Assumptions) -> None:
        self.name, self.template = names
        self.place, self.shape, self.kind = place, leaf.shape, leaf.kind
        self.trainable = leaf.trainable and not place.frozen
        self.exprs = tuple(map(trace.shown, leaf.shape))
        self.guards = trace.decisive(place.guards | guards_of(leaf.shape))
        self.tied_to: str | None = None
        self.copies: Any = 0
        self.embedding = ""

    def key(self, guards: frozenset[Guard] | None = None) -> Any:
        """What makes two rows turns of the same tensor."""
        place = self.place
        facts = (self.trainable, self.kind, place.layer, self.embedding, self.tied_to is None)
        held = self.guards if guards is None else guards
        return (self.template, self.exprs, place.times, held, facts, place.routed)


class Standing(NamedTuple):
    """Where a tensor stands: turns and guards on the way, and what it has from the modules around it."""

    name: str = ""
    template: str = ""
    turns: tuple[Turn, ...] = ()
    guards: frozenset[Guard] = frozenset()
    times: Any = sympy.Integer(1)
    frozen: bool = False
    routed: tuple[Any, Any] | None = None  # of so many experts so many, as expressions
    layer: str = ""
    owner: str = ""


def merged(rows: list[Row]) -> dict[Any, list[Row]]:
    """Rows by what they are; those that stand whether a guard holds or not lose that guard."""
    groups: dict[Any, list[Row]] = {}
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


def walk(node: Node, place: Standing, trace: Assumptions) -> Iterator[Row]:
    owner = node.cls if node.module is not None else place.owner
    place = place._replace(
        frozen=place.frozen or node.frozen,
        routed=tuple(map(trace.shown, node.routed)) if node.routed else place.routed,
        guards=place.guards | node.guards,
        layer=node.layer,
        owner=owner,
    )
    for leaf in node.tensors:
        yield Row((_joined(place.name, leaf.name), _joined(place.template, leaf.name)), place, leaf, trace)
    for own in (True, False):
        for name, child in node.children.items():
            if (child.cls in ("Parameter", "Buffer")) != own:
                continue
            inner = place._replace(name=_joined(place.name, name), template=_joined(place.template, name))
            if child.turn is not None:
                variable, turn = child.turn
                if turn.loop is None:
                    inner = inner._replace(times=inner.times * trace.shown(turn.times))
                else:
                    template = _joined(place.template, f"{{{variable}}}")
                    inner = inner._replace(template=template, turns=(*place.turns, turn))
            yield from walk(child, inner, trace)


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if name and prefix else name or prefix


def tie_rows(root: Node, rows: list[Row]) -> None:
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
                row.copies = row.place.times
                if holder is not None and row.exprs != holder.exprs:
                    row.shape, row.exprs = holder.shape, holder.exprs
            if hit:
                continue
            for row, pattern in patterns:
                if pattern.match(target) or re.match(
                    _pattern(row.name)[: _cut(row.name, target)] + "$", target
                ):
                    row.copies = row.copies + 1


def _pattern(name: str) -> str:
    return "".join(
        r"\d+" if part.startswith("{") else re.escape(part) for part in re.split(r"(\{[^}]*\})", name)
    )


def _cut(name: str, target: str) -> int:
    """The length of a row's pattern that covers as many path parts as the target has."""
    parts = re.split(r"\.(?![^{]*\})", name)[: target.count(".") + 1]
    return len(_pattern(".".join(parts)))


def mark_embeddings(root: Node, rows: list[Row]) -> None:
    """Marks the tensors of the embedding split; copies are what the tensor is that holds their values."""
    by_name = {row.name: row for row in rows}
    marked = {row.name: "table" for row in rows if row.place.layer == "Embedding"}
    marked |= {f"{path}.weight": "output" for path in output_embeddings(root) if f"{path}.weight" in by_name}
    outputs_last = sorted(marked.items(), key=lambda pair: pair[1] == "output")  # what is both is an output
    for name, part in outputs_last:
        row: Row | None = by_name[name]
        while row is not None:
            row.embedding = part
            row = by_name.get(row.tied_to) if row.tied_to is not None else None
