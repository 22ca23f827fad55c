"""Values at the edge of what a spec's conditions allow: none at all, zero, an item too many, a text that nothing names."""

from __future__ import annotations

import ast
from typing import Any

from archspec.expression import names
from archspec.sampling import EDGES, Sampler
from archspec.scope import SubConfig


class Edges:
    """Draws them for a sampler's spec; ``zeros`` are the fields of which a condition wants something above zero."""

    def __init__(self, sampler: Sampler, zeros: set[str]) -> None:
        self.sampler, self.zeros = sampler, zeros

    def value(self, name: str, raw: dict[str, Any]) -> Any:
        """A value for one field that may be at the edge of what is valid; ... to leave it out."""
        field = self.sampler.spec.fields.get(name)
        if field is None or name == "num_labels":
            return self.sampler.random.choice((1, 2, 3, 7))
        value = self.sampler.default(field, raw)
        chance = self.sampler.random.random()
        if chance < 0.1:
            return ...
        if isinstance(value, SubConfig):
            return self.sampler.sub_config(field, value)
        if chance < 0.2 and value is not None:
            return value
        if chance < 0.6 and isinstance(value, int) and not isinstance(value, bool):
            return self.number(name)
        known = raw[name] if isinstance(raw.get(name), list) else value
        if chance < 0.5 and isinstance(known, list):
            if known and self.sampler.random.random() < 0.4:
                return self.one_at_edge(name, known)
            return [*known, *known[-1:]] if self.sampler.random.random() < 0.5 else known[:-1]
        if chance < 0.3 and isinstance(value, str):
            return f"{value}-{value}"
        return self.sampler.draw(field, value, raw)

    def number(self, name: str) -> int:
        """A small one; half of them 0 where a condition wants more than that."""
        return 0 if name in self.zeros and self.sampler.random.random() < 0.5 else self.sampler.random.choice(EDGES)

    def one_at_edge(self, name: str, known: list[Any]) -> list[Any]:
        """A list with one number at an edge, or with one text that may be none of those known."""
        items, place = list(known), self.sampler.random.randrange(len(known))
        if type(items[place]) is int:
            items[place] = self.number(name)
        elif isinstance(items[place], str):
            items[place] = self.sampler.random.choice((*self.sampler.others.get(name, ()), f"{items[place]}-{items[place]}"))
        return items


def above_zero(tree: ast.expr) -> set[str]:
    """The names that a condition wants above zero."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Gt) and ast.unparse(node.comparators[0]) == "0":
            found |= names(node.left)
    return found
