"""YAML text into positioned nodes; scalars stay text.

Anchors, aliases, tags, duplicate keys and several documents are refused: a spec says what it says
once, in one place. YAML's own retyping (``on``, ``010``, ``12:30``) never happens, because what a
scalar means is decided by the expression language alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from archspec.errors import Place, Source, SpecError
from archspec.language import yaml_subset
from archspec.language.yaml_nodes import MAX_DEPTH, Mapping, Node, Scalar, Sequence

MAX_SPEC_BYTES = 1_000_000
_HELP = "see docs/spec-grammar.md"


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
        return _compose(yaml.parse(source.text, Loader=loader), source)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(source, mark.line + 1, mark.column + 1) if mark else Place(source, 1, 1)
        raise SpecError(f"not YAML: {error.problem or error.context}", place, help=_HELP) from None
    except (yaml.YAMLError, ValueError) as error:
        detail = str(error).splitlines()[0]
        raise SpecError(f"not YAML: {detail}", Place(source, 1, 1), help=_HELP) from None


def _compose(events: Iterable[Any], source: Source) -> Node:
    """Builds nodes from parser events with a stack of its own, so that depth is bounded."""
    stack: list[_Open] = []
    document: Node | None = None
    for event in events:
        kind = type(event).__name__
        if kind in ("StreamStartEvent", "StreamEndEvent", "DocumentEndEvent"):
            continue
        place = Place(source, event.start_mark.line + 1, event.start_mark.column + 1)
        if kind == "DocumentStartEvent":
            if document is not None:
                _refuse("a second document", place, "one spec, one document")
            continue
        if kind == "AliasEvent" or getattr(event, "anchor", None):
            _refuse("anchors and aliases are not used in specs", place, "name a module or use `extends`")
        if getattr(event, "tag", None):
            _refuse(f"the tag {event.tag} is not used in specs", place, "write the value as text")
        node: Node
        if kind == "ScalarEvent":
            node = _scalar(event, place, source)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            if len(stack) >= MAX_DEPTH:
                _refuse(f"nested deeper than {MAX_DEPTH} levels", place, "give the inner parts names")
            empty = Mapping({}, {}, place) if kind == "MappingStartEvent" else Sequence([], place)
            stack.append(_Open(empty))
            continue
        else:
            node = stack.pop().node
        if stack:
            stack[-1].add(node)
        else:
            document = node
    if document is None:
        _refuse("the file is empty", Place(source, 1, 1), "a spec starts with model_type:")
    return document


class _Open:
    """A collection whose end has not come yet."""

    def __init__(self, node: Mapping | Sequence) -> None:
        self.node = node
        self.key: Scalar | None = None

    def add(self, node: Node) -> None:
        if isinstance(self.node, Sequence):
            self.node.items.append(node)
        elif self.key is None:
            if not isinstance(node, Scalar):
                _refuse("a key must be text", node.place, "write the key in one line")
            if node.text in self.node.items:
                first = self.node.keys[node.text].line
                message = f"{node.text} is given twice, first in line {first}"
                _refuse(message, node.place, "keep one of the two")
            self.key = node
        else:
            self.node.keys[self.key.text] = self.key.place
            self.node.items[self.key.text] = node
            self.key = None


def _scalar(event: Any, place: Place, source: Source) -> Scalar:
    start, end, text = event.start_mark, event.end_mark, event.value
    quoted = bool(event.style)
    raw = text
    if not quoted and start.line != end.line:
        raw = source.text[start.index : end.index]
    width = max(1, len(text) + (2 if quoted else 0)) if start.line == end.line else 1
    return Scalar(text, place._replace(width=width), quoted, raw)


def _refuse(message: str, place: Place, help_: str) -> NoReturn:
    raise SpecError(message, place, help=help_)
