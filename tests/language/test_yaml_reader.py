"""YAML text as nodes with places, and the parts of YAML that are refused."""

from __future__ import annotations

import json

import pytest

from archspec.errors import Source, SpecError
from archspec.language.yaml_reader import MAX_SPEC_BYTES, Mapping, Node, Scalar, Sequence, compact_tree, parse

TEXT = """# a comment
a: 12:30
b:
  - 'it''s'
  - [x, "y"]
long: one
  two
"""


def test_nodes_know_their_text_and_place() -> None:
    root = parse(Source("toy.yaml", TEXT))
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


@pytest.mark.parametrize(
    "text", [TEXT, "a: é\n\u2028b: 1\n", '"é \\" x": {a: [1, {b: "c\n  d"}]}', "a: |\n  x\n  y\nb: >-\n  z\n"]
)
def test_compact_trees_are_plain_data(text: str) -> None:
    source = Source("toy.yaml", text)
    assert parse(source) == parse(source, json.loads(json.dumps(compact_tree(source))))


@pytest.mark.parametrize(
    ("text", "scalar", "quoted", "raw", "place"),
    [
        ("a: x y # c", "x y", False, "x y", (1, 4, 3)),
        ("é: x", "x", False, "x", (1, 4, 1)),
        ("a:", "", False, "", (1, 3, 1)),
        ("a: ''", "", True, "", (1, 4, 2)),
        ('a: "x\\ty"', "x\ty", True, "x\ty", (1, 4, 5)),
        ("a: 'x\n  y'", "x y", True, "x y", (1, 4, 1)),
        ("a:\n  x\n\n  y", "x\ny", False, "x\n\n  y", (2, 3, 1)),
        ("a: |\n  x", "x", True, "x", (1, 4, 1)),
        ("b: 1\na: {c: x}", None, False, "", (2, 4, 1)),
    ],
)
def test_scalars(text: str, scalar: str | None, quoted: bool, raw: str, place: tuple[int, int, int]) -> None:
    root = parse(Source("toy.yaml", text))
    assert isinstance(root, Mapping)
    node = [*root.items.values()][-1]
    assert tuple(node.place[1:]) == place
    if isinstance(node, Scalar):
        assert (node.text, node.quoted, node.raw) == (scalar, quoted, raw)
        assert node.empty == (text == "a:")


def texts(node: Node) -> str:
    assert isinstance(node, Scalar)
    return node.text


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "the file is empty"),
        ("a: &x 1", 1, 4, "anchors and aliases are not allowed in specs"),
        ("a: 1\nb: *x", 2, 4, "anchors and aliases are not allowed in specs"),
        ("a: !!int 1", 1, 4, "the tag tag:yaml.org,2002:int is not allowed in specs"),
        ("a: 1\nb: 2\na: 3", 3, 1, "a is given twice, first in line 1"),
        ("[a]: 1", 1, 1, "a key must be a string"),
        ("a: 1\n---\nb: 2", 2, 1, "a second document"),
        ("a: [1", 2, 1, "invalid YAML: "),
        ("[" * 40 + "]" * 40, 1, 33, "nested deeper than 32 levels"),
        ("a: " + "x" * MAX_SPEC_BYTES, 1, 1, "the file is longer than 1,000,000 characters"),
        ("a: \0", 1, 1, "invalid YAML: "),
    ],
    ids=lambda part: str(part)[:12],
)
def test_unused_parts_of_yaml_are_refused(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse(Source("toy.yaml", text))
    [problem] = caught.value.problems
    assert problem.message.startswith(message)
    assert problem.place is not None and (problem.place.line, problem.place.column) == (line, column)
