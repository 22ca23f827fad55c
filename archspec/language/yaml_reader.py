"""YAML text into positioned nodes; scalars stay text.

Anchors, aliases, tags, duplicate keys and several documents are refused: a spec says what it says
once, in one place. YAML's own retyping (``on``, ``010``, ``12:30``) never happens, because what a
scalar means is decided by the expression language alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from archspec.errors import ConfigError, Place, Source, SpecError
from archspec.language import yaml_subset
from archspec.language.yaml_nodes import MAX_DEPTH, Mapping, Node, Scalar, Sequence
from archspec.typing_light import Any

MAX_SPEC_BYTES = 1_000_000
_HELP = "see docs/spec-grammar.md"


def text_of(path: str) -> str:
    """The text of a file, as far as :func:`parse` reads it. Errors: :class:`ArchspecError`."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(MAX_SPEC_BYTES + 1)
    except UnicodeDecodeError as error:
        message = f"{path}: the file is not UTF-8 text: {error.reason} at byte {error.start}"
        raise SpecError(message) from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None


def parse(source: Source) -> Node:
    """The one document of a YAML text.

    Errors: :class:`SpecError` with line and column for text that is not YAML, and for the parts of
    YAML that specs do not use.
    """
    if len(source.text) > MAX_SPEC_BYTES:
        raise SpecError(f"the file is longer than {MAX_SPEC_BYTES:,} characters", Place(source, 1, 1))
    return yaml_subset.read(source) or with_pyyaml(source)


def with_pyyaml(source: Source) -> Node:
    """The same, by PyYAML alone, which knows all of YAML and takes longer to import than a model to count."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _document(yaml.parse(source.text, Loader=loader), source)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(source, mark.line + 1, mark.column + 1) if mark else Place(source, 1, 1)
        raise SpecError(f"not YAML: {error.problem or error.context}", place, help=_HELP) from None
    except (yaml.YAMLError, ValueError) as error:
        detail = str(error).splitlines()[0]
        raise SpecError(f"not YAML: {detail}", Place(source, 1, 1), help=_HELP) from None


def _document(events: Iterator[Any], source: Source) -> Node:
    found: Node | None = None
    for event in events:
        kind = type(event).__name__
        if kind == "DocumentStartEvent" and found is not None:
            raise SpecError("a second document", _place(event, source), help="one spec, one document")
        if kind not in ("StreamStartEvent", "StreamEndEvent", "DocumentStartEvent", "DocumentEndEvent"):
            found = _node(event, events, source, 0)
    if found is None:
        raise SpecError("the file is empty", Place(source, 1, 1), help="a spec starts with model_type:")
    return found


def _node(event: Any, events: Iterator[Any], source: Source, depth: int) -> Node:
    """The node that starts with an event, with the events up to its end."""
    kind, place = type(event).__name__, _place(event, source)
    if kind == "AliasEvent" or event.anchor:
        message = "anchors and aliases are not used in specs"
        raise SpecError(message, place, help="name a module or use `extends`")
    if event.tag:
        raise SpecError(f"the tag {event.tag} is not used in specs", place, help="write the value as text")
    if kind == "ScalarEvent":
        return _scalar(event, place)
    if depth == MAX_DEPTH:
        raise SpecError(f"nested deeper than {MAX_DEPTH} levels", place, help="give the inner parts names")
    ends = ("SequenceEndEvent", "MappingEndEvent")
    inside = takewhile(lambda part: type(part).__name__ not in ends, events)
    if kind == "SequenceStartEvent":
        return Sequence([_node(part, events, source, depth + 1) for part in inside], place)
    node = Mapping({}, {}, place)
    for part in inside:
        key = _node(part, events, source, depth + 1)
        if not isinstance(key, Scalar):
            raise SpecError("a key must be text", key.place, help="write the key in one line")
        if key.text in node.items:
            message = f"{key.text} is given twice, first in line {node.keys[key.text].line}"
            raise SpecError(message, key.place, help="keep one of the two")
        node.keys[key.text] = key.place
        node.items[key.text] = _node(next(events), events, source, depth + 1)
    return node


def _place(event: Any, source: Source) -> Place:
    return Place(source, event.start_mark.line + 1, event.start_mark.column + 1)


def _scalar(event: Any, place: Place) -> Scalar:
    start, end, text = event.start_mark, event.end_mark, event.value
    quoted, one_line = bool(event.style), start.line == end.line
    raw = text if quoted or one_line else place.source.text[start.index : end.index]
    width = max(1, len(text) + 2 * quoted) if one_line else 1
    return Scalar(text, place._replace(width=width), quoted, raw)
