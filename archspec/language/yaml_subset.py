"""The plain part of YAML that almost every spec keeps to, read without importing PyYAML.

Importing PyYAML takes longer than counting a model. This reader knows block mappings, block lists of scalars,
flow collections of scalars, and scalars of one or more lines, plain or quoted. Of everything else it says
nothing: it gives None, and :mod:`archspec.language.yaml_reader` asks PyYAML, which also finds the words for
what is wrong. What it does give is, node for node and place for place, what PyYAML gives.
"""

from __future__ import annotations

from archspec.errors import Place, Source
from archspec.language.yaml_nodes import MAX_DEPTH, Mapping, Node, Scalar, Sequence

_PLAIN_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_(=.$<~/\\^+;")
_MAX_LINE = 1_000  # a longer key is an error in YAML


class _Beyond(Exception):
    """Something that this reader leaves to PyYAML."""


class _Line:
    """A line with something on it: its number, where its text starts, its text without blanks at both ends."""

    __slots__ = ("indent", "number", "offset", "text")

    def __init__(self, number: int, indent: int, text: str, offset: int) -> None:
        self.number, self.indent, self.text, self.offset = number, indent, text, offset


def read(source: Source) -> Node | None:
    """The one document of a plain YAML text; None where the text is not plain, or not right.

    >>> read(Source("a.yaml", "a: 1")).items["a"].text
    '1'
    >>> read(Source("a.yaml", "a: &x 1")) is None
    True
    """
    if not source.text.replace("\n", "").isprintable():  # tabs, other line breaks, byte order marks
        return None
    try:
        reader = _Reader(source)
        return reader.document()
    except _Beyond:
        return None


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines: list[_Line] = []
        self.gaps: set[int] = set()  # lines that are blank or comments: no scalar goes on across them
        offset = 0
        for number, line in enumerate(source.text.split("\n"), 1):
            text = line.strip(" ")
            if not text or text[0] == "#":
                self.gaps.add(number)
            elif len(line) > _MAX_LINE:
                raise _Beyond
            else:
                indent = len(line) - len(line.lstrip(" "))
                self.lines.append(_Line(number, indent, text, offset + indent))
            offset += len(line) + 1
        self.at = 0

    def document(self) -> Node:
        if not self.lines or self.lines[0].indent or _item(self.lines[0].text):
            raise _Beyond
        node = self.mapping(0, 1)
        if self.at < len(self.lines):
            raise _Beyond
        return node

    def place(self, number: int, column: int, width: int = 1) -> Place:
        return Place(self.source, number, column + 1, width)

    def mapping(self, indent: int, depth: int) -> Mapping:
        """A block mapping whose keys stand at an indent."""
        if depth > MAX_DEPTH:
            raise _Beyond
        first = self.lines[self.at]
        node = Mapping({}, {}, self.place(first.number, indent))
        while self.at < len(self.lines) and self.lines[self.at].indent == indent:
            line = self.lines[self.at]
            key, width, rest = _key(line.text)
            if key in node.items:
                raise _Beyond
            node.keys[key] = self.place(line.number, indent, width)
            node.items[key] = self.value(line, rest, indent, depth)
        if self.at < len(self.lines) and self.lines[self.at].indent > indent:
            raise _Beyond
        return node

    def value(self, line: _Line, start: int, indent: int, depth: int) -> Node:
        """What follows a key or a dash: on its line from `start` on, or below it, further in."""
        text, after = line.text, start
        while start < len(text) and text[start] == " ":
            start += 1
        self.at += 1
        if start < len(text) and not (text[start] == "#" and start > after):
            return self.inline(line, start, indent)
        if self.at == len(self.lines) or self.lines[self.at].indent <= indent:
            if (
                self.at < len(self.lines)
                and self.lines[self.at].indent == indent
                and _item(self.lines[self.at].text)
            ):
                raise _Beyond  # YAML allows a list at its key's own indent
            return Scalar("", self.place(line.number, line.indent + after), False, "")
        below = self.lines[self.at]
        if _item(below.text):
            return self.sequence(below.indent, depth + 1)
        if not _has_key(below.text):
            self.at += 1
            return self.inline(below, 0, indent)
        return self.mapping(below.indent, depth + 1)

    def sequence(self, indent: int, depth: int) -> Sequence:
        """A block list of scalars and flow collections."""
        if depth > MAX_DEPTH:
            raise _Beyond
        node = Sequence([], self.place(self.lines[self.at].number, indent))
        while self.at < len(self.lines) and self.lines[self.at].indent == indent:
            line = self.lines[self.at]
            start = 2
            while start < len(line.text) and line.text[start] == " ":
                start += 1
            if (
                not _item(line.text)
                or start >= len(line.text)
                or _item(line.text[start:])
                or _has_key(line.text[start:])
            ):
                raise _Beyond
            self.at += 1
            node.items.append(self.inline(line, start, indent))
        if self.at < len(self.lines) and self.lines[self.at].indent > indent:
            raise _Beyond
        return node

    def inline(self, line: _Line, start: int, indent: int) -> Node:
        """A scalar or a flow collection that starts on a line; a plain scalar may go on below, further in."""
        text = line.text[start:]
        if text[0] in "[{":
            node = self.flow(line, start, indent)
            self.ends(indent)
            return node
        if text[0] in "\"'":
            scalar = (
                self.quoted(line, start, text)
                if text[-1] == text[0] != text
                else self.quoted_on(line, start, indent)
            )
            self.ends(indent)
            return scalar
        text, ended = _uncommented(text)
        _plain(text)
        last, parts = line, [text]
        while not ended and self.at < len(self.lines) and self.lines[self.at].indent > indent:
            more = self.lines[self.at]
            if more.number != last.number + 1:
                raise _Beyond
            further, ended = _uncommented(more.text)
            _continued(further)
            parts.append(further)
            last = more
            self.at += 1
        self.ends(indent)
        if last is line:
            return Scalar(text, self.place(line.number, line.indent + start, len(text)), False, text)
        raw = self.source.text[line.offset + start : last.offset + len(parts[-1])]
        return Scalar(" ".join(parts), self.place(line.number, line.indent + start), False, raw)

    def ends(self, indent: int) -> None:
        """Nothing may go on below a value that has ended."""
        if self.at < len(self.lines) and self.lines[self.at].indent > indent:
            raise _Beyond

    def quoted(self, line: _Line, start: int, text: str) -> Scalar:
        inner = text[1:-1]
        if len(text) < 2 or text[-1] != text[0] or text[0] in inner or (text[0] == '"' and "\\" in inner):
            raise _Beyond
        return Scalar(inner, self.place(line.number, line.indent + start, len(text)), True, inner)

    def quoted_on(self, line: _Line, start: int, indent: int) -> Scalar:
        """A quoted text of more than one line: its lines are joined by a blank."""
        quote, last, parts = line.text[start], line, [line.text[start + 1 :]]
        while quote not in parts[-1]:
            if (
                self.at == len(self.lines)
                or self.lines[self.at].indent <= indent
                or self.lines[self.at].number != last.number + 1
            ):
                raise _Beyond
            last = self.lines[self.at]
            parts.append(last.text)
            self.at += 1
        text = " ".join(parts)[:-1]
        if quote in text or parts[-1][-1] != quote or (quote == '"' and "\\" in text):
            raise _Beyond
        return Scalar(text, self.place(line.number, line.indent + start), True, text)

    def flow(self, line: _Line, start: int, indent: int) -> Node:
        """`[a, b]` or `{a: b, c: d}` of scalars; a line may end after a comma."""
        spans = [(0, line, start)]  # where in the text each line begins, and where on that line
        text = line.text[start:]
        closing = {"[": "]", "{": "}"}[text[0]]
        while text[-1] == ",":
            if (
                self.at == len(self.lines)
                or self.lines[self.at].indent <= indent
                or self.lines[self.at].number != spans[-1][1].number + 1
            ):
                raise _Beyond
            spans.append((len(text), self.lines[self.at], 0))
            text += self.lines[self.at].text
            self.at += 1
        if text[-1] != closing or " #" in text:
            raise _Beyond
        place = self.place(line.number, line.indent + start)
        sequence, mapping = Sequence([], place), Mapping({}, {}, place)
        position = 1
        for part in _parts(text[1:-1]):
            begin = position + len(part) - len(part.lstrip(" "))
            position += len(part) + 1
            at, on, column = next(span for span in reversed(spans) if span[0] <= begin)
            column += begin - at
            bare = part.strip(" ")
            if any(begin < edge < begin + len(bare) for edge, _, _ in spans):
                raise _Beyond
            if closing == "]":
                sequence.items.append(self.flow_scalar(on, column, bare))
                continue
            key, colon, value = bare.partition(": ")
            if not colon or key != key.strip(" ") or key in mapping.items or key[:1] in ("", '"', "'"):
                raise _Beyond
            self.flow_scalar(on, column, key)
            mapping.keys[key] = self.place(on.number, on.indent + column, len(key))
            inside = len(key) + 2 + len(value) - len(value.lstrip(" "))
            mapping.items[key] = self.flow_scalar(on, column + inside, value.strip(" "))
        return sequence if closing == "]" else mapping

    def flow_scalar(self, line: _Line, column: int, text: str) -> Scalar:
        if not text:
            raise _Beyond
        if text[0] in "\"'":
            return self.quoted(line, column, text)
        _plain(text)
        if any(mark in text for mark in "[]{},?:"):
            raise _Beyond
        return Scalar(text, self.place(line.number, line.indent + column, len(text)), False, text)


def _parts(inside: str) -> list[str]:
    """The parts between the commas of a flow collection; commas in quotes do not part."""
    if not inside.strip(" "):
        return []
    if '"' not in inside and "'" not in inside:
        return inside.split(",")
    parts, start, quote = [], 0, ""
    for position, character in enumerate(inside):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and not inside[start:position].rpartition(": ")[2].strip(" "):
            quote = character
        elif character == ",":
            parts.append(inside[start:position])
            start = position + 1
    if quote:
        raise _Beyond
    return [*parts, inside[start:]]


def _plain(text: str) -> None:
    """Holds a text to what a plain scalar surely is."""
    first = text[0]
    if first not in _PLAIN_START and not (first == "-" and len(text) > 1 and text[1].isalnum()):
        raise _Beyond
    if text[:3] == "---" or text[:3] == "...":
        raise _Beyond
    _continued(text)


def _continued(text: str) -> None:
    """Holds a further line of a plain scalar to what it may be: no key."""
    if ": " in text or " #" in text or text[-1] == ":" or text[:3] in ("---", "..."):
        raise _Beyond


def _uncommented(text: str) -> tuple[str, bool]:
    """A line without the comment at its end, and whether there was one: a plain scalar does not go on after it."""
    found = text.find(" #")
    return (text, False) if found < 0 else (text[:found].rstrip(" "), True)


def _item(text: str) -> bool:
    return text[:2] == "- " or text == "-"


def _has_key(text: str) -> bool:
    if text[0] in "\"'":
        return text[text.find(text[0], 1) + 1 :][:1] == ":"
    return ": " in text or text[-1] == ":"


def _key(text: str) -> tuple[str, int, int]:
    """A line's key, its width, and where its value starts."""
    if text[0] in "\"'":
        end = text.find(text[0], 1)
        key = text[1:end]
        if (
            end < 0
            or text[end + 1 : end + 2] != ":"
            or text[end + 2 : end + 3] not in ("", " ")
            or "\\" in key
        ):
            raise _Beyond
        return key, end + 1, end + 2
    end = text.find(": ")
    if end < 0:
        if text[-1] != ":":
            raise _Beyond
        end = len(text) - 1
    key = text[:end]
    if not key or key[-1] == " ":
        raise _Beyond
    _plain(key)
    return key, end, end + 1
