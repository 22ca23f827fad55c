"""The part of YAML that almost every spec keeps to, read without importing PyYAML.

With PyYAML a cold `archspec count` of GPT-2 takes 58 ms in place of 46. This reader knows block mappings, and
block lists, flow collections and lines of scalars, plain or quoted. Of all else it says nothing: it gives
None, and :mod:`archspec.language.yaml_reader` asks PyYAML, which also finds the words for what is wrong. What
it does give is, node for node and place for place, what PyYAML gives; a test of random texts holds it to
that.
"""

from __future__ import annotations

from archspec.errors import Place, Source
from archspec.language.yaml_nodes import MAX_DEPTH, Mapping, Node, Scalar, Sequence

_PLAIN_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_(=.$<~/\\^+;")
_MAX_LINE = 1_000  # a longer key is an error in YAML


class _Beyond(Exception):
    """Something that this reader leaves to PyYAML."""


class _Line:
    """A line with something on it: its number, where its text starts, its text without blanks around it."""

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
        return _Reader(source).document()
    except _Beyond:
        return None


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines: list[_Line] = []  # but for blank ones and comments
        self.at = 0
        offset = 0
        for number, line in enumerate(source.text.split("\n"), 1):
            text = line.strip(" ")
            if len(line) > _MAX_LINE and text[:1] not in ("", "#"):
                raise _Beyond
            if text and text[0] != "#":
                indent = _skipped(line, 0)
                self.lines.append(_Line(number, indent, text, offset + indent))
            offset += len(line) + 1

    def deeper(self, indent: int) -> _Line | None:
        """The next line, where it stands further in."""
        line = self.lines[self.at] if self.at < len(self.lines) else None
        return line if line is not None and line.indent > indent else None

    def aligned(self, indent: int) -> _Line | None:
        """The next line, where it stands at an indent."""
        line = self.lines[self.at] if self.at < len(self.lines) else None
        return line if line is not None and line.indent == indent else None

    def continuing(self, last: _Line, indent: int) -> _Line:
        """Takes the next line, which must follow the last one at once, further in."""
        line = self.deeper(indent)
        if line is None or line.number != last.number + 1:
            raise _Beyond
        self.at += 1
        return line

    def ends(self, indent: int) -> None:
        """Nothing may go on below a value that has ended."""
        if self.deeper(indent):
            raise _Beyond

    def place(self, line: _Line, start: int, width: int = 1) -> Place:
        return Place(self.source, line.number, line.indent + start + 1, width)

    def document(self) -> Node:
        if not self.lines or self.lines[0].indent or _is_item(self.lines[0].text):
            raise _Beyond
        node = self.mapping(0, 1)
        if self.at < len(self.lines):
            raise _Beyond
        return node

    def mapping(self, indent: int, depth: int) -> Mapping:
        """A block mapping whose keys stand at an indent."""
        node = Mapping({}, {}, self.place(self.lines[self.at], 0))
        while line := self.aligned(indent):
            key, width, rest = _key(line.text)
            if key in node.items:
                raise _Beyond
            node.keys[key] = self.place(line, 0, width)
            node.items[key] = self.value(line, rest, indent, depth)
        self.ends(indent)
        return node

    def value(self, line: _Line, after: int, indent: int, depth: int) -> Node:
        """What follows a key: on its line from ``after`` on, or below it, further in."""
        text, start = line.text, _skipped(line.text, after)
        self.at += 1
        if start < len(text) and not (text[start] == "#" and start > after):
            return self.inline(line, start, indent)
        below = self.deeper(indent)
        if below is None:
            beside = self.aligned(indent)
            if beside and _is_item(beside.text):
                raise _Beyond  # YAML allows a list at its key's own indent
            return Scalar("", self.place(line, after), False, "")
        if not _is_item(below.text) and not _has_key(below.text):
            self.at += 1
            return self.inline(below, 0, indent)
        if depth == MAX_DEPTH:
            raise _Beyond
        return self.sequence(below.indent) if _is_item(below.text) else self.mapping(below.indent, depth + 1)

    def sequence(self, indent: int) -> Sequence:
        """A block list of scalars and flow collections."""
        node = Sequence([], self.place(self.lines[self.at], 0))
        while line := self.aligned(indent):
            start = _skipped(line.text, 2)
            rest = line.text[start:]
            if not _is_item(line.text) or not rest or _is_item(rest) or _has_key(rest):
                raise _Beyond
            self.at += 1
            node.items.append(self.inline(line, start, indent))
        self.ends(indent)
        return node

    def inline(self, line: _Line, start: int, indent: int) -> Node:
        """A scalar or a flow collection that starts on a line; it may go on below, further in."""
        text = line.text[start:]
        if text[0] in "[{":
            node: Node = self.flow(line, start, indent)
        elif text[0] in "\"'":
            node = self.quoted(line, start, indent)
        else:
            node = self.plain_scalar(line, start, indent)
        self.ends(indent)
        return node

    def plain_scalar(self, line: _Line, start: int, indent: int) -> Scalar:
        text, ended = _uncommented(line.text[start:])
        _check_plain(text)
        last, parts = line, [text]
        while not ended and self.deeper(indent):
            last = self.continuing(last, indent)
            further, ended = _uncommented(last.text)
            _check_continuation(further)
            parts.append(further)
        if last is line:
            return Scalar(text, self.place(line, start, len(text)), False, text)
        raw = self.source.text[line.offset + start : last.offset + len(parts[-1])]
        return Scalar(" ".join(parts), self.place(line, start), False, raw)

    def quoted(self, line: _Line, start: int, indent: int) -> Scalar:
        """A quoted text; its further lines are joined by a blank."""
        quote, last, parts = line.text[start], line, [line.text[start + 1 :]]
        while quote not in parts[-1]:
            last = self.continuing(last, indent)
            parts.append(last.text)
        text = _unquoted(quote + " ".join(parts))
        width = len(line.text) - start if last is line else 1
        return Scalar(text, self.place(line, start, width), True, text)

    def flow(self, line: _Line, start: int, indent: int) -> Node:
        """`[a, b]` or `{a: b, c: d}` of scalars; a line may end after a comma."""
        spans = [(0, line, start)]  # where in the text each line begins, and where on that line
        text = line.text[start:]
        closing = {"[": "]", "{": "}"}[text[0]]
        while text[-1] == ",":
            more = self.continuing(spans[-1][1], indent)
            spans.append((len(text), more, 0))
            text += more.text
        if text[-1] != closing or " #" in text:
            raise _Beyond
        place = self.place(line, start)
        sequence, mapping = Sequence([], place), Mapping({}, {}, place)
        position = 1
        for part in _parts(text[1:-1]):
            begin = position + _skipped(part, 0)
            position += len(part) + 1
            at, on, column = next(span for span in reversed(spans) if span[0] <= begin)
            bare = part.strip(" ")
            if any(begin < edge < begin + len(bare) for edge, _, _ in spans):
                raise _Beyond
            if closing == "]":
                sequence.items.append(self.flow_scalar(on, column + begin - at, bare))
            else:
                self.flow_pair(mapping, on, column + begin - at, bare)
        return sequence if closing == "]" else mapping

    def flow_pair(self, mapping: Mapping, line: _Line, column: int, text: str) -> None:
        key, colon, value = text.partition(": ")
        if not colon or key != key.strip(" ") or key in mapping.items or key[:1] in ("", '"', "'"):
            raise _Beyond
        self.flow_scalar(line, column, key)
        mapping.keys[key] = self.place(line, column, len(key))
        inside = len(key) + 2 + _skipped(value, 0)
        mapping.items[key] = self.flow_scalar(line, column + inside, value.strip(" "))

    def flow_scalar(self, line: _Line, column: int, text: str) -> Scalar:
        if not text:
            raise _Beyond
        if text[0] in "\"'":
            inner = _unquoted(text)
            return Scalar(inner, self.place(line, column, len(text)), True, inner)
        _check_plain(text)
        if any(mark in text for mark in "[]{},?:"):
            raise _Beyond
        return Scalar(text, self.place(line, column, len(text)), False, text)


def _unquoted(text: str) -> str:
    """What stands between quotes; nothing in it is escaped."""
    quote, inner = text[0], text[1:-1]
    if len(text) < 2 or text[-1] != quote or quote in inner or (quote == '"' and "\\" in inner):
        raise _Beyond
    return inner


def _skipped(text: str, start: int) -> int:
    """Where a text goes on after blanks."""
    return len(text) - len(text[start:].lstrip(" "))


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


def _check_plain(text: str) -> None:
    """Holds a text to what a plain scalar surely is."""
    first = text[0]
    if first not in _PLAIN_START and not (first == "-" and len(text) > 1 and text[1].isalnum()):
        raise _Beyond
    _check_continuation(text)


def _check_continuation(text: str) -> None:
    """Holds a further line of a plain scalar to what it may be: no key."""
    if ": " in text or " #" in text or text[-1] == ":" or text[:3] in ("---", "..."):
        raise _Beyond


def _uncommented(text: str) -> tuple[str, bool]:
    """A line without the comment at its end, and whether there was one: no plain scalar goes on after it."""
    found = text.find(" #")
    return (text, False) if found < 0 else (text[:found].rstrip(" "), True)


def _is_item(text: str) -> bool:
    return text[:2] == "- " or text == "-"


def _has_key(text: str) -> bool:
    if text[0] in "\"'":
        return text[text.find(text[0], 1) + 1 :][:1] == ":"
    return ": " in text or text[-1] == ":"


def _key(text: str) -> tuple[str, int, int]:
    """A line's key, its width, and where its value starts."""
    quoted = text[0] in "\"'"
    end = text.find(text[0], 1) + 1 if quoted else text.find(": ")
    end = end if end >= 0 else len(text) - 1
    key = text[1 : end - 1] if quoted else text[:end]
    if text[end : end + 2] not in (":", ": ") or (quoted and "\\" in key):
        raise _Beyond
    if not quoted:
        if not key or key[-1] == " ":
            raise _Beyond
        _check_plain(key)
    return key, end, end + 1
