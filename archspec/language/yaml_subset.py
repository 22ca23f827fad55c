"""The part of YAML that almost every spec keeps to, read without importing PyYAML.

PyYAML would add 12 ms to the 32 of a cold `archspec count` of GPT-2. This reader knows block mappings, block
lists of values, flow collections of scalars and of such in their turn, and scalars, plain or quoted, over any
number of lines.
Of all else it says nothing: it gives None, and :mod:`archspec.language.yaml_reader` asks PyYAML, which also
finds the words for what is wrong. What it does give is, node for node and place for place, what PyYAML gives;
a test of random texts holds it to that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from archspec.errors import Place, Source
from archspec.language.yaml_nodes import MAX_DEPTH, Mapping, Node, Scalar, Sequence

_PLAIN_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_(=.$<~/\\^+;")
_DEEPER = {"[": 1, "{": 1, "]": -1, "}": -1}
_MAX_LINE = 1_000  # a longer key is an error in YAML

Line = tuple[int, int, str]  # its number, where its text starts, and its text without blanks around it


class _Beyond(Exception):
    """Something that this reader leaves to PyYAML."""


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
    """Reads blocks: the lines of a mapping or a list stand at one indent, what belongs to them further in."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.flat = source.text.replace("\n", " ")
        self.rows = source.text.split("\n")
        self.starts = [0]  # of the rows, and of one after them
        self.lines: list[Line] = []  # but for blank ones and comments
        self.at = 0
        for number, row in enumerate(self.rows, 1):
            self.starts.append(self.starts[-1] + len(row) + 1)
            told = row.partition(" #")[0]
            within_quotes = told.count('"') % 2 or told.count("'") % 2
            text = row.strip(" ") if within_quotes else told.strip(" ")
            if text and text[0] != "#":
                self.lines.append((number, row.index(text), text))
                _require(len(row) <= _MAX_LINE)

    def next(self) -> Line:
        return self.lines[self.at] if self.at < len(self.lines) else (0, -1, "")

    def place(self, begin: int, end: int) -> Place:
        """Where a part of the text stands."""
        number = bisect_right(self.starts, begin)
        width = end - begin if end < self.starts[number] else 1
        return Place(self.source, number, begin - self.starts[number - 1] + 1, width)

    def document(self) -> Node:
        _, indent, text = self.next()
        _require(indent == 0 and not _is_item(text))
        node = self.mapping(0, 1)
        _require(self.at == len(self.lines))
        return node

    def mapping(self, indent: int, depth: int) -> Mapping:
        _require(depth < MAX_DEPTH - 1)  # a flow collection in it, and one in that, are two levels more
        node = Mapping({}, {}, Place(self.source, self.next()[0], indent + 1))
        while (line := self.next())[1] == indent:
            number, _, text = line
            width = _colon(text)
            _require(width > 0 and text[width : width + 2] in (":", ": "))
            key = _key(text[:width])
            _require(key not in node.items)
            node.keys[key] = Place(self.source, number, indent + 1, width)
            self.at += 1
            if text[width + 1 :]:
                node.items[key] = self.value(line, width + 1, indent)
            else:
                node.items[key] = self.below(Place(self.source, number, indent + width + 2), indent, depth)
        _require(line[1] < indent)
        return node

    def below(self, end: Place, indent: int, depth: int) -> Node:
        """What belongs to a key whose line ends after it."""
        _, further, text = line = self.next()
        if further <= indent:
            _require(further < indent or not _is_item(text))  # YAML allows a list at its key's own indent
            return Scalar("", end, False, "")
        if _is_item(text):
            return self.sequence(further)
        if _colon(text) >= 0:
            return self.mapping(further, depth + 1)
        self.at += 1
        return self.value(line, 0, indent)

    def sequence(self, indent: int) -> Sequence:
        node = Sequence([], Place(self.source, self.next()[0], indent + 1))
        while (line := self.next())[1] == indent:
            rest = line[2][2:].lstrip(" ")
            _require(_is_item(line[2]) and rest != "" and not _is_item(rest) and _colon(rest) < 0)
            self.at += 1
            node.items.append(self.value(line, 2, indent))
        _require(line[1] < indent)
        return node

    def value(self, line: Line, start: int, indent: int) -> Node:
        """A value that starts on a line, and goes on in the next ones, further in; no comment parts them."""
        number, column, text = line
        begin = self.starts[number - 1] + column + len(text) - len(text[start:].lstrip(" "))
        while self.next()[1] > indent:
            _require(self.next()[0] == number + 1 and " #" not in self.rows[number - 1])
            number, column, text = self.next()
            self.at += 1
        end = self.starts[number - 1] + column + len(text)
        return self.flow(begin, end) if self.flat[begin] in "[{" else self.scalar(begin, end)

    def flow(self, begin: int, end: int, within: bool = False) -> Node:
        """A list or a mapping in brackets."""
        closing = self.flat[end - 1]
        _require(self.flat[begin] + closing in ("[]", "{}") and " #" not in self.flat[begin:end])
        place = self.place(begin, begin + 1)
        spans = list(_items(self.flat, begin + 1, end))
        if closing == "]":
            return Sequence([self.flow_value(*span, within) for span in spans], place)
        node = Mapping({}, {}, place)
        for start, stop in spans:
            colon = self.flat.find(": ", start, stop)
            _require(colon > 0)
            key = self.flow_scalar(start, colon)
            _require(not key.quoted and key.text not in node.items and self.flat[colon - 1] != " ")
            _require("\n" not in key.raw)
            node.keys[key.text] = key.place
            node.items[key.text] = self.flow_value(colon + 2, stop, within)
        return node

    def flow_value(self, begin: int, end: int, within: bool) -> Node:
        """A scalar, or a collection in the outermost one."""
        begin, end = self.stripped(begin, end)
        if within or self.flat[begin] not in "[{":
            return self.flow_scalar(begin, end)
        return self.flow(begin, end, within=True)

    def stripped(self, begin: int, end: int) -> tuple[int, int]:
        text = self.flat[begin:end]
        begin, end = end - len(text.lstrip(" ")), begin + len(text.rstrip(" "))
        _require(begin < end)
        return begin, end

    def flow_scalar(self, begin: int, end: int) -> Scalar:
        node = self.scalar(*self.stripped(begin, end))
        _require(node.quoted or not any(mark in node.text for mark in "[]{},?:"))
        return node

    def scalar(self, begin: int, end: int) -> Scalar:
        raw, place = self.source.text[begin:end], self.place(begin, end)
        text = " ".join(row.strip(" ") for row in raw.split("\n"))
        if text[0] in "\"'":
            inner = text[1:-1]
            _require(len(text) > 1 and text[-1] == text[0] and text[0] not in inner)
            _require(text[0] == "'" or "\\" not in inner)
            return Scalar(inner, place, True, inner)
        _require_plain(text)
        return Scalar(text, place, False, raw)


def _items(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Where each item of a flow collection begins and ends; commas within quotes or brackets part nothing."""
    quote, before, depth = "", ",", 0
    for at in range(begin, end):
        mark = text[at]
        if quote:
            quote = "" if mark == quote else quote
        elif mark in "\"'" and before in ",:[{":
            quote = mark
        elif (mark == "," and depth == 0) or (at == end - 1 and text[begin:at].strip(" ")):
            yield begin, at
            begin = at + 1
        depth += _DEEPER.get(mark, 0) if not quote else 0
        before = mark if mark != " " else before
    _require(not quote and depth == -1)  # the end is that of the whole


def _require(condition: bool) -> None:
    if not condition:
        raise _Beyond


def _require_plain(text: str) -> None:
    """Holds a text to what a plain scalar surely is."""
    _require(text[0] in _PLAIN_START or (text[0] == "-" and text[1:2].isalnum()))
    _require(": " not in text and " #" not in text and text[-1] != ":" and not text.startswith("..."))


def _is_item(text: str) -> bool:
    return text[:2] == "- " or text == "-"


def _colon(text: str) -> int:
    """Where the colon after a line's key stands; below zero for a line without a key."""
    if text[0] in "\"'":
        end = text.find(text[0], 1) + 1
        return end if text[end : end + 1] == ":" else -1
    found = text.find(": ")
    return found if found >= 0 or text[-1] != ":" else len(text) - 1


def _key(text: str) -> str:
    """A key as it stands before its colon, without its quotes."""
    if text[0] in "\"'":
        _require("\\" not in text)
        return text[1:-1]
    _require_plain(text)
    _require(text[-1] != " ")
    return text
