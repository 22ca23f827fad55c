"""Under the writing: what a module's expressions say twice, as local names of a `where:`."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from archspec.language.operations import FUNCTIONS

MIN_LENGTH = 40  # of an expression that gets a name, with the names of others in it


class Said(NamedTuple):
    """An expression as it is said anywhere in a module: its parts by number, the loop variables that it
    needs."""

    node: ast.AST
    parts: dict[str, Any]  # field -> a plain value, or the number or numbers of expressions
    length: int
    loops: frozenset[str]
    value: bool  # whether it may stand in `where:`: no module is made in it


class Naming:
    """Expressions by what they say: each one once, with how often others hold it."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.said: list[Said] = []
        self.held: Counter[int] = Counter()
        self.hints: dict[int, str] = {}
        self.seen: dict[int, int] = {}  # by identity: what is shared in memory is gone through once
        self.kept: list[ast.AST] = []

    def add(self, node: ast.AST) -> int:
        """The number of an expression; the same for all that say the same."""
        if id(node) in self.seen and self.said[self.seen[id(node)]].value:
            return self.seen[id(node)]
        parts: dict[str, Any] = {}
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                parts[field] = (self.add(value),) if not isinstance(value, ast.expr_context) else None
            elif isinstance(value, list):
                parts[field] = [self.add(item) for item in value if isinstance(item, ast.AST)]
            else:
                parts[field] = value
        key = (
            type(node),
            tuple((f, type(v), tuple(v) if isinstance(v, list) else v) for f, v in parts.items()),
        )
        inner = list(numbers(parts))
        known = key in self.numbers
        if not known:
            self.numbers[key] = len(self.said)
            self.said.append(self.made(node, parts, [self.said[number] for number in inner]))
        number = self.numbers[key]
        if not known or not self.said[number].value:  # a module that is made twice is said twice
            self.held.update(inner)
        if hint := getattr(node, "hint", ""):
            self.hints.setdefault(number, hint)
        self.seen[id(node)] = number
        self.kept.append(node)
        return number

    def made(self, node: ast.AST, parts: dict[str, Any], inner: list[Said]) -> Said:
        loops = frozenset[str]().union(*(part.loops for part in inner))
        value = all(part.value for part in inner)
        length = sum(part.length for part in inner) + 2
        if isinstance(node, ast.Name):
            loops = frozenset([node.id]) if node.id.startswith("$") and "." in node.id else loops
            length = len(node.id)
        elif isinstance(node, ast.Constant):
            length = len(repr(node.value))
        elif isinstance(node, ast.Call):
            value = value and isinstance(node.func, ast.Name) and node.func.id in {*FUNCTIONS, "given"}
        elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp):
            bound = {
                n.id for loop in node.generators for n in ast.walk(loop.target) if isinstance(n, ast.Name)
            }
            loops -= bound
        return Said(node, parts, length, loops, value)

    def twice(self) -> list[int]:
        """The expressions that get a name, those within others first."""
        kinds = ast.BinOp | ast.IfExp | ast.Call | ast.ListComp | ast.BoolOp | ast.Subscript
        chosen: list[int] = []
        lengths: list[int] = []
        for number, part in enumerate(self.said):
            inner = list(numbers(part.parts))
            length = sum(lengths[other] for other in inner) + 2 if inner else part.length
            may = part.value and not part.loops and isinstance(part.node, kinds)
            if may and self.held[number] > 1 and length >= MIN_LENGTH:
                chosen.append(number)
                length = len(self.hints.get(number, "value"))
            lengths.append(length)
        return chosen

    def rebuilt(self, number: int, names: dict[int, str], whole: bool = False) -> Any:
        """An expression with the named ones by their names, itself too unless it is to be said whole."""
        if number in names and not whole:
            return ast.Name(names[number], ast.Load())
        part = self.said[number]
        fields: dict[str, Any] = {}
        for field, value in part.parts.items():
            if isinstance(value, tuple):
                fields[field] = self.rebuilt(value[0], names)
            elif isinstance(value, list):
                fields[field] = [self.rebuilt(item, names) for item in value]
            else:
                fields[field] = getattr(part.node, field)
        made = type(part.node)(**fields)
        return made


def numbers(parts: dict[str, Any]) -> Iterator[int]:
    for value in parts.values():
        if isinstance(value, tuple | list):
            yield from value


def named(expressions: list[ast.expr]) -> tuple[list[ast.expr], dict[str, tuple[str, ast.expr]]]:
    """Expressions in terms of local names, and what those stand for: mark -> the code's own name for it,
    expression."""
    naming = Naming()
    roots = [naming.add(node) for node in expressions]
    naming.held.update(roots)
    chosen = naming.twice()
    names = {number: f"$where{place}" for place, number in enumerate(chosen)}
    where = {names[n]: (naming.hints.get(n, "value"), naming.rebuilt(n, names, whole=True)) for n in chosen}
    return [naming.rebuilt(root, names) for root in roots], where
