"""Where a config's values came from, so that a message points at the line that gave them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from archspec.errors import Place, Problem, Source

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


class Origin:
    """Where a config came from, for messages: the file's name, its text, the path within it.

    ``overrides`` are the fields that were set from outside, by dotted path, as they were written; ``opened`` the
    sub-configs that only they brought in.
    """

    def __init__(
        self,
        name: str = "config",
        text: str = "",
        path: str = "",
        overrides: Mapping[str, str] | None = None,
        opened: Collection[str] = (),
    ) -> None:
        self.name, self.text, self.path, self.overrides, self.opened = (
            name,
            text,
            path,
            overrides or {},
            opened,
        )

    def child(self, key: str) -> Origin:
        return Origin(self.name, self.text, f"{self.path}{key}.", self.overrides, self.opened)

    def overridden(self, field: str) -> bool:
        """Whether the field itself was set from outside."""
        return self.path + field in self.overrides

    def brought(self, field: str) -> bool:
        """Whether a sub-config is there only because a field inside it was set from outside."""
        return self.path + field in self.opened

    def problem(self, field: str, message: str, help_: str = "") -> Problem:
        """A problem with a field: at its line in the file, or at the nearest part around it that is there."""
        path = self.path + field
        if path in self.overrides:
            place = Place(Source("override", self.overrides[path]), 1, 1, len(path))
            return Problem(f"{path}: {message}", place, help=help_)
        if not self.text:
            return Problem(f"{self.name}: {path}: {message}", help=help_)
        parts = path.split(".")
        found = next((at for end in range(len(parts), 0, -1) if (at := locate(self.text, parts[:end]))), None)
        return Problem(
            f"{path}: {message}", place_of(Source(self.name, self.text), *(found or (0, 1))), help=help_
        )


def place_of(source: Source, offset: int, width: int = 1) -> Place:
    """The line and the column of an offset, lines counted as the message's own source line is."""
    lines = source.text[: offset + 1].splitlines() or [""]
    return Place(source, len(lines), max(1, len(lines[-1])), width)


def keys(text: str) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Every key of a JSON text: its path, list positions included, its offset and its length.

    >>> [(".".join(path), offset) for path, offset, _ in keys('{"a": {"b": [{"c": 1}, {"c": 2}]}}')]
    [('a', 1), ('a.b', 7), ('a.b.0.c', 14), ('a.b.1.c', 24)]
    """
    path: list[str] = []
    last: re.Match[str] | None = None
    for token in _TOKEN.finditer(text):
        what = token.group()
        if what in ("{", "["):
            path.append("0")
        elif what in ("}", "]"):
            del path[-1:]
        elif what == "," and path and path[-1].isdecimal():
            path[-1] = str(int(path[-1]) + 1)
        elif what == ":" and path and last and last.group().startswith('"'):
            path[-1] = _unquoted(last.group())
            yield tuple(path), last.start(), len(last.group())
        last = token


def locate(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """The offset and the length of the key at a path of a JSON text, None where there is none."""
    wanted = tuple(path)
    return next(((offset, width) for found, offset, width in keys(text) if found == wanted), None)


def repeated(text: str) -> tuple[str, int, int] | None:
    """The first key that an object of a JSON text has twice: its name, offset and length."""
    seen: set[tuple[str, ...]] = set()
    for path, offset, width in keys(text):
        if path in seen:
            return path[-1], offset, width
        seen.add(path)
    return None


def nesting(text: str, limit: int) -> int:
    """The offset at which a JSON text is nested deeper than ``limit`` levels; 0 where it is not."""
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token.group(), 0)
        if depth > limit:
            return token.start()
    return 0


def _unquoted(text: str) -> str:
    import json

    try:
        return str(json.loads(text))
    except ValueError:
        return text
