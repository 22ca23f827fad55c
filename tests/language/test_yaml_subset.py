"""The quick reader of plain YAML gives what PyYAML gives, node for node, or nothing at all."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archspec.errors import Source, SpecError
from archspec.language import yaml_reader as source
from archspec.language import yaml_subset
from archspec.language.yaml_nodes import Mapping, Node, Scalar
from archspec.specs.library import shipped

SPECS = list(shipped().files().values())
TEXTS = [Path(path).read_text(encoding="utf-8") for path in SPECS]
SNIPPETS = [
    *(
        ": ",
        ":",
        " #",
        "#",
        '"',
        "'",
        "[",
        "]",
        "{",
        "}",
        ",",
        "- ",
        "-",
        "\n",
        "\n  ",
        "\n    ",
        " ",
        "  ",
        "&a ",
        "*a",
        "!t ",
    ),
    *(
        "|",
        ">",
        "%",
        "@",
        "`",
        "? ",
        "---",
        "...",
        "\\",
        "é",
        "=",
        "~",
        "0",
        '": ',
        "': ",
        '""',
        "''",
        "\n- ",
        "\n\n",
        "{}",
        "[]",
    ),
    *(
        "\n#",
        "\nk: v",
        "\n  - x",
        "~:",
        "<<: a",
        "\t",
        "\r",
        "\u2028",
        "{a: b}",
        "[a, b]",
        '"a: b"',
        "'it''s'",
        ": - x",
    ),
]


def facts(node: Node) -> object:
    """All that a node says, without the text it came from."""
    if isinstance(node, Scalar):
        return (node.text, node.place[1:], node.quoted, node.raw)
    if isinstance(node, Mapping):
        return [(key, node.keys[key][1:], facts(value)) for key, value in node.items.items()], node.place[1:]
    return [facts(item) for item in node.items], node.place[1:]


def hold(text: str) -> bool:
    """Holds the quick reader to PyYAML on one text; whether it read it."""
    found = yaml_subset.read(Source("x.yaml", text))
    if found is None:
        return False
    try:
        expected = source.with_pyyaml(Source("x.yaml", text))
    except SpecError as error:
        raise AssertionError(f"read, but wrong: {error}") from None
    assert facts(found) == facts(expected), text
    return True


@pytest.mark.parametrize("path", SPECS, ids=lambda path: Path(path).stem)
def test_every_shipped_spec_is_plain(path: str) -> None:
    assert hold(Path(path).read_text(encoding="utf-8")), (
        "keep to what yaml_subset reads: PyYAML takes long to import"
    )


def damaged(seed: int) -> str:
    """Some lines of a real spec with a few characters put in, taken out or moved."""
    chosen = random.Random(seed)
    lines = chosen.choice(TEXTS).split("\n")
    start = chosen.randrange(len(lines))
    lines = lines[start : start + chosen.randrange(1, 12)]
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    text = "\n".join(line[indent:] for line in lines)
    for _ in range(chosen.randrange(4)):
        at = chosen.randrange(len(text) + 1)
        cut = chosen.choice((0, 0, 0, 1, 2))
        text = text[:at] + chosen.choice(SNIPPETS) + text[at + cut :]
    return text


def test_damaged_specs_are_read_alike_or_not_at_all() -> None:
    assert sum(hold(damaged(seed)) for seed in range(20_000)) > 3_000


@given(st.lists(st.sampled_from([*SNIPPETS, "a", "b c", "key: value", "\n  "]), max_size=12).map("".join))
def test_made_up_texts_are_read_alike_or_not_at_all(text: str) -> None:
    hold(text)


def test_flow_collections_over_lines() -> None:
    assert hold("a: {x: 1,\n  y: 2}\nb: [x,\n  y, z]\n")
    assert hold('a: ["x,\n   b"]\n')  # a text over two lines within one: PyYAML joins it by a blank
    assert not hold("a: [x,\ny]\n")


def test_what_is_not_plain_is_left_to_pyyaml() -> None:
    for text in (
        "a: &x 1",
        "a: *x",
        "a: !t 1",
        "a: |\n  b",
        "a: 1\na: 2",
        "",
        "# only",
        "a: {b: [[c]]}",
        "a\tb: 1",
        "--- a",
        "- a",
    ):
        assert yaml_subset.read(Source("x.yaml", text)) is None
