"""YAML text into nodes that know where they stand, and what of YAML specs do not use."""

from __future__ import annotations

import pytest

from archspec.errors import Source, SpecError
from archspec.language.yaml_nodes import Mapping, Node, Scalar, Sequence
from archspec.language.yaml_reader import MAX_SPEC_BYTES, parse, with_pyyaml

TEXT = """# a comment
a: 12:30
b:
  - 'it''s'
  - [x, "y"]
long: one
  two
"""


@pytest.mark.parametrize("read", [parse, with_pyyaml])
def test_nodes_know_their_text_and_place(read: object) -> None:
    root = read(Source("toy.yaml", TEXT))  # type: ignore[operator]
    assert isinstance(root, Mapping) and list(root.items) == ["a", "b", "long"]
    assert [(place.line, place.column, place.width) for place in root.keys.values()] == [
        (2, 1, 1),
        (3, 1, 1),
        (6, 1, 4),
    ]
    clock, listed, long = root.items.values()
    assert isinstance(clock, Scalar) and isinstance(long, Scalar) and isinstance(listed, Sequence)
    assert (clock.text, clock.quoted, clock.place.line, clock.place.column) == ("12:30", False, 2, 4)
    assert long.text == "one two" and long.raw == "one\n  two", "columns within hold"
    first, inner = listed.items
    assert isinstance(first, Scalar) and (first.text, first.quoted) == ("it's", True)
    assert isinstance(inner, Sequence) and [texts(item) for item in inner.items] == ["x", "y"]


def texts(node: Node) -> str:
    assert isinstance(node, Scalar)
    return node.text


def test_only_a_bare_nothing_is_empty() -> None:
    root = parse(Source("toy.yaml", "a:\nb: ''\nc: x\n"))
    assert isinstance(root, Mapping)
    assert [item.empty for item in root.items.values() if isinstance(item, Scalar)] == [True, False, False]


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "the file is empty"),
        ("a: &x 1", 1, 4, "anchors and aliases are not used in specs"),
        ("a: 1\nb: *x", 2, 4, "anchors and aliases are not used in specs"),
        ("a: !!int 1", 1, 4, "the tag tag:yaml.org,2002:int is not used in specs"),
        ("a: 1\nb: 2\na: 3", 3, 1, "a is given twice, first in line 1"),
        ("[a]: 1", 1, 1, "a key must be text"),
        ("a: 1\n---\nb: 2", 2, 1, "a second document"),
        ("a: [1", 2, 1, "not YAML: "),
        ("[" * 40 + "]" * 40, 1, 33, "nested deeper than 32 levels"),
        ("a: " + "x" * MAX_SPEC_BYTES, 1, 1, "the file is longer than 1,000,000 characters"),
        ("a: \0", 1, 1, "not YAML: "),
    ],
    ids=lambda part: str(part)[:12],
)
def test_what_specs_do_not_use_is_refused(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse(Source("toy.yaml", text))
    [problem] = caught.value.problems
    assert problem.message.startswith(message)
    assert problem.place is not None and (problem.place.line, problem.place.column) == (line, column)
