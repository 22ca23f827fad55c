"""The tensors of a symbolic tree as rows: names with `{i}`, shapes, ties, the turns and guards on the way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from archspec.symbolic.values import Guard, Sym, Turn, expr_of
from archspec.tree.node import Node, Routed
from archspec.tree.tensors import modules, output_embeddings


class Row:
    """One tensor of the tree, with the turns and guards on the way to it."""

    def __init__(
        self, names: tuple[str, str], path: Path, shape: tuple[Any, ...], kind: str, trainable: bool
    ) -> None:
        self.name, self.template = names
        self.path, self.shape, self.kind, self.trainable = path, shape, kind, trainable
        self.exprs = tuple(expr_of(size) for size in shape)
        guards = path.guards | {guard for size in shape if isinstance(size, Sym) for guard in size.guards}
        self.guards = frozenset(guards)
        self.tied_to: str | None = None
        self.copies: Any = 0
        self.embedding = ""

    def key(self, guards: frozenset[Guard] | None = None) -> Any:
        """What makes two rows turns of the same tensor."""
        path = self.path
        routed = tuple(map(expr_of, path.routed)) if path.routed else None
        facts = (self.trainable, self.kind, path.layer, self.embedding, self.tied_to is None)
        held = self.guards if guards is None else guards
        return (self.template, self.exprs, expr_of(path.times), held, facts, routed)


class Path(NamedTuple):
    name: str = ""
    template: str = ""
    turns: tuple[Turn, ...] = ()
    guards: frozenset[Guard] = frozenset()
    times: Any = 1
    frozen: bool = False
    routed: Routed | None = None
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


def walk(node: Node, path: Path) -> Iterator[Row]:
    owner = node.cls if node.module is not None else path.owner
    path = path._replace(
        frozen=path.frozen or node.frozen,
        routed=node.routed or path.routed,
        guards=path.guards | node.guards,
        layer=node.layer,
        owner=owner,
    )
    for name, shape, kind, trainable in node.tensors:
        names = (_joined(path.name, name), _joined(path.template, name))
        yield Row(names, path, shape, kind, trainable and not path.frozen)
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
            yield from walk(child, inner)


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
                row.copies = row.path.times
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
    marked = {row.name: "table" for row in rows if row.path.layer == "Embedding"}
    marked |= {f"{path}.weight": "output" for path in output_embeddings(root) if f"{path}.weight" in by_name}
    outputs_last = sorted(marked.items(), key=lambda pair: pair[1] == "output")  # what is both is an output
    for name, part in outputs_last:
        row: Row | None = by_name[name]
        while row is not None:
            row.embedding = part
            row = by_name.get(row.tied_to) if row.tied_to is not None else None
