"""Parts of a spec file as texts and expressions. All problems of the file are collected."""

from __future__ import annotations

from archspec.errors import Place, Problem, Source, SpecError
from archspec.language.expression import Expression, parse
from archspec.language.yaml_reader import Mapping, Node, Scalar, Sequence


class PartReader:
    """Reads the nodes of one file; text that was ``checked`` when it was compiled is not checked again."""

    def __init__(self, source: Source, checked: bool = False) -> None:
        self.source, self.checked = source, checked
        self.problems: list[Problem] = []

    def problem(self, message: str, place: Place, path: str, help_: str) -> None:
        self.problems.append(Problem(message, place, path, help_))

    def expression(self, node: Node, path: str, skip: int = 0, help_: str = "") -> Expression | None:
        """Return a scalar, without ``skip`` leading characters, as an expression; None after a problem."""
        if not isinstance(node, Scalar):
            self.problem("this must be an expression", node.place, path, help_ or "write it on one line")
            return None
        try:
            return parse(node, path, skip, self.checked)
        except SpecError as error:
            self.problems += error.problems
            return None

    def compose(self, text: str, place: Place, path: str) -> Expression | None:
        return self.expression(Scalar(text, place, False, text), path)

    def expressions(self, parent: Mapping, key: str, path: str = "") -> tuple[Expression, ...]:
        """Return the expressions under a key: one, or a list."""
        node = parent.items.get(key)
        items = node.items if isinstance(node, Sequence) else [] if node is None else [node]
        found = (
            self.expression(item, path + key, 0, "write one condition per line: - a % b == 0")
            for item in items
        )
        return tuple(one for one in found if one is not None)

    def named_expressions(self, mapping: Mapping, path: str) -> dict[str, Expression]:
        """Return lines of `name: expression`."""
        found = {key: self.expression(value, f"{path}.{key}") for key, value in mapping.items.items()}
        return {key: one for key, one in found.items() if one is not None}

    def shapes(self, mapping: Mapping, path: str) -> dict[str, Expression]:
        """Return lines of `name: batch, size, size` as lists of sizes."""
        texts = {key: (f"[{self.scalar(value)}]", value.place) for key, value in mapping.items.items()}
        found = {key: self.compose(*text, f"{path}.{key}") for key, text in texts.items()}
        return {key: one for key, one in found.items() if one is not None}

    def mapping(self, parent: Mapping, key: str, allowed: tuple[str, ...] = ()) -> Mapping:
        """Return the mapping under a key, an empty one if it is missing; its keys may be a closed set."""
        node = parent.items.get(key)
        if not isinstance(node, Mapping):
            if node is not None and not (isinstance(node, Scalar) and node.empty):
                self.problem(f"{key} must be a mapping", node.place, "", "write one `name: value` per line")
            return Mapping({}, {}, parent.place)
        for name in (name for name in node.items if allowed and name not in allowed):
            help_ = f"choose from: {', '.join(allowed)}"
            self.problem(f"{name} is not a key here", node.keys[name], "", help_)
        return node

    def texts(self, parent: Mapping, key: str) -> tuple[str, ...]:
        """Return the names under a key: a list, or words of one text."""
        node = parent.items.get(key)
        if isinstance(node, Sequence):
            return tuple(map(self.scalar, node.items))
        return tuple(self.text(parent, key).split())

    def text(self, parent: Mapping, key: str) -> str:
        """Return the text under a key, an empty one if it is missing."""
        return self.scalar(parent.items[key]) if key in parent.items else ""

    def scalar(self, node: Node) -> str:
        if isinstance(node, Scalar):
            return node.text
        self.problem("this must be a string", node.place, "", "write it on one line")
        return ""
