"""YAML text as nodes that know their place in the file; scalars stay text.

PyYAML reads a text into a compact tree of offsets, which is plain data. `formulas/specs.json` has the trees
of the shipped specs, so that a count does not import PyYAML. Nodes are made of a text and its tree.

Anchors, aliases, tags, duplicate keys and several documents are refused. YAML's own types (``on``, ``010``,
``12:30``) never apply, because the expression language alone decides what a scalar means.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, takewhile

from archspec.errors import ConfigError, Place, Source, SpecError
from archspec.typing_light import Any, NamedTuple, NoReturn

MAX_DEPTH = 32
MAX_SPEC_BYTES = 1_000_000
_ENDS = ("SequenceEndEvent", "MappingEndEvent")
_AROUND = ("StreamStartEvent", "StreamEndEvent", "DocumentStartEvent", "DocumentEndEvent")

# A scalar is [start, end], followed by its text and whether it is quoted unless the text is the slice itself;
# a sequence is [start, [tree, …]]; a mapping is [start, {key: [start, width, tree], …}].
Tree = list[Any]


class Scalar(NamedTuple):
    """A text; ``raw`` is the slice of the file, so that columns inside it are right."""

    text: str
    place: Place
    quoted: bool
    raw: str

    @property
    def empty(self) -> bool:
        return not self.quoted and not self.text


class Sequence(NamedTuple):
    """A YAML sequence."""

    items: list[Node]
    place: Place


class Mapping(NamedTuple):
    """A YAML mapping, with the places of its keys."""

    items: dict[str, Node]
    keys: dict[str, Place]
    place: Place


Node = Scalar | Sequence | Mapping


def text_of(path: str) -> str:
    """Return the text of a file, up to the length that :func:`parse` accepts.

    Errors: :class:`ArchspecError` for a file that cannot be read.
    """
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(MAX_SPEC_BYTES + 1).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        message = f"{path}: not UTF-8: {error.reason} at offset {error.start}"
        raise SpecError(message, help="save the file as UTF-8") from None
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        message = f"there is no file {path}" if is_missing else f"{path}: {error.strerror or error}"
        raise ConfigError(message, help="pass a spec file that can be read") from None


def parse(source: Source, tree: Tree | None = None) -> Node:
    """Return the one document of a YAML text; its compact tree is read from the text unless given.

    Errors: :class:`SpecError` at line and column for text that is not YAML, or YAML that specs do not use.
    """
    return _Nodes(source).node(compact_tree(source) if tree is None else tree)


def compact_tree(source: Source) -> Tree:
    """Return the compact tree of a YAML text. Errors: as of :func:`parse`."""
    if len(source.text) > MAX_SPEC_BYTES:
        message = f"the file is longer than {MAX_SPEC_BYTES:,} characters"
        raise SpecError(message, Place(source, 1, 1), help="split it into several specs")
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Events(source, yaml.parse(source.text, Loader=loader)).document()
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        detail = getattr(error, "problem", None) or getattr(error, "context", None)
        place = Place(source, mark.line + 1, mark.column + 1) if mark else Place(source, 1, 1)
        message = f"invalid YAML: {detail or str(error).splitlines()[0]}"
        raise SpecError(message, place, help="correct the YAML here or in the lines above") from None


class _Nodes:
    """Makes nodes of a compact tree."""

    def __init__(self, source: Source) -> None:
        self.source = source
        rows = f"{source.text}.".splitlines(keepends=True)  # a last line without a break, too
        self.starts = [0, *accumulate(map(len, rows[:-1]))]

    def node(self, tree: Tree) -> Node:
        start, inner = tree[:2]
        if isinstance(inner, int):
            return self.scalar(*tree)
        if isinstance(inner, list):
            return Sequence([self.node(item) for item in inner], self.place(start))
        node = Mapping({}, {}, self.place(start))
        for key, (begin, width, value) in inner.items():
            node.keys[key] = self.place(begin, width)
            node.items[key] = self.node(value)
        return node

    def scalar(self, start: int, end: int, text: str | None = None, quoted: bool = False) -> Scalar:
        raw = self.source.text[start:end]
        one_line, text = "\n" not in raw, raw if text is None else text
        width = max(1, len(text) + 2 * quoted) if one_line else 1
        return Scalar(text, self.place(start, width), bool(quoted), text if quoted or one_line else raw)

    def place(self, offset: int, width: int = 1) -> Place:
        line = bisect_right(self.starts, offset)
        return Place(self.source, line, offset - self.starts[line - 1] + 1, width)


class _Events:
    """Makes the compact tree of a text from PyYAML's events, and refuses what specs do not use."""

    def __init__(self, source: Source, events: Iterator[Any]) -> None:
        self.source, self.events = source, events

    def document(self) -> Tree:
        found: Tree | None = None
        for event in self.events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent" and found is not None:
                self.fail("a second document", event, "write one spec per file")
            if kind not in _AROUND:
                found = self.tree(event)
        if found is None:
            help_ = "start it with a comment and model_type:"
            raise SpecError("the file is empty", Place(self.source, 1, 1), help=help_)
        return found

    def tree(self, event: Any, depth: int = 0) -> Tree:
        kind, start = type(event).__name__, event.start_mark.index
        if kind == "AliasEvent" or event.anchor:
            self.fail("anchors and aliases are not allowed in specs", event, "write the value out")
        if event.tag:
            self.fail(f"the tag {event.tag} is not allowed in specs", event, "write the value without a tag")
        if kind == "ScalarEvent":
            end, quoted = event.end_mark.index, bool(event.style)
            is_slice = not quoted and self.source.text[start:end] == event.value
            return [start, end] if is_slice else [start, end, event.value, quoted]
        if depth == MAX_DEPTH:
            help_ = "name the inner parts, and refer to the names"
            self.fail(f"nested deeper than {MAX_DEPTH} levels", event, help_)
        inside = takewhile(lambda part: type(part).__name__ not in _ENDS, self.events)
        if kind == "SequenceStartEvent":
            return [start, [self.tree(part, depth + 1) for part in inside]]
        found: dict[str, Tree] = {}
        for part in inside:
            if type(part).__name__ in ("SequenceStartEvent", "MappingStartEvent"):
                self.fail("a key must be a string", part, "write the key in one line")
            self.tree(part, depth + 1)  # refuses what no scalar may have
            key, one_line = part.value, part.start_mark.line == part.end_mark.line
            width = max(1, len(key) + 2 * bool(part.style)) if one_line else 1
            if key in found:
                first = self.source.text.count("\n", 0, found[key][0]) + 1
                message = f"{key} is given twice, first in line {first}"
                self.fail(message, part, "remove one of the two", width)
            found[key] = [part.start_mark.index, width, self.tree(next(self.events), depth + 1)]
        return [start, found]

    def fail(self, message: str, event: Any, help_: str, width: int = 1) -> NoReturn:
        mark = event.start_mark
        raise SpecError(message, Place(self.source, mark.line + 1, mark.column + 1, width), help=help_)
