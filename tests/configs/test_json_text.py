"""JSON with positions, and values of other libraries as JSON would hold them."""

from __future__ import annotations

from typing import Any

import pytest

from archspec.configs.json_text import as_json, keys, locate, nesting, parse_json, place_of, repeated_key
from archspec.errors import ConfigError, Source

TEXT = '{"a": 1,\n "b": {"c": [2, {"d": "}"}]},\n "b\\"": 3}'


def test_an_object_is_read() -> None:
    assert parse_json(Source("config.json", TEXT)) == {"a": 1, "b": {"c": [2, {"d": "}"}]}, 'b"': 3}


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "the file is empty"),
        ("[1]", 1, 1, "a list is not a config"),
        ('{"a": 1,}', 1, 9, "not JSON: "),
        ('{"a": 1,\n "a": 2}', 2, 2, "a is given twice"),
        ('{"a": {"b": 1, "b": 2}}', 1, 16, "b is given twice"),
        ('{"a": ' + "[" * 70 + "]" * 70 + "}", 1, 70, "nested deeper than 64 levels"),
        ('{"a": ' + "9" * 5000 + "}", 1, 7, "a number of more than 4,300 digits"),
    ],
    ids=lambda part: str(part)[:24],
)
def test_what_is_no_config(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_json(Source("config.json", text))
    [problem] = caught.value.problems
    assert problem.message.startswith(message) and problem.help
    assert problem.place is not None and (problem.place.line, problem.place.column) == (line, column)


def test_keys_and_their_places() -> None:
    assert [".".join(path) for path, *_ in keys(TEXT)] == ["a", "b", "b.c", "b.c.1.d", 'b"']
    assert all(TEXT[offset:].startswith('"' + path[-1][:1]) for path, offset, _ in keys(TEXT))
    assert locate(TEXT, ["b", "c"]) == (TEXT.index('"c"'), 3)
    assert locate(TEXT, ["c"]) is None


def test_the_first_key_that_is_repeated() -> None:
    assert repeated_key(TEXT) is None
    text = '{"a": {"x": 1}, "b": {"x": 1, "x": 2}}'
    assert repeated_key(text) == ("x", text.rindex('"x"'), 3)


@pytest.mark.parametrize(("lists", "offset"), [(63, 0), (64, 68), (65, 68)])
def test_where_a_text_is_nested_too_deep(lists: int, offset: int) -> None:
    assert nesting('{"a":' + "[" * lists + "]" * lists + "}") == offset


@pytest.mark.parametrize(("offset", "line", "column"), [(0, 1, 1), (2, 1, 3), (4, 2, 1), (6, 2, 3)])
def test_offsets_become_lines_and_columns(offset: int, line: int, column: int) -> None:
    place = place_of(Source("config.json", "abc\ndefg"), offset)
    assert (place.line, place.column) == (line, column)


class Config:
    model_type = "llama"

    def to_dict(self) -> dict[str, Any]:
        return {"size": 8}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        ((1, (2.5,)), [1, [2.5]]),
        ({1: {2}}, {"1": [2]}),
        ({"__float__": "-Infinity"}, float("-inf")),
        ({"__float__": "1.0"}, {"__float__": "1.0"}),
        (Config(), {"size": 8, "model_type": "llama"}),
        (Config, str(Config)),
        (b"x", "b'x'"),
    ],
)
def test_values_as_json_holds_them(value: Any, expected: Any) -> None:
    found = as_json(value)
    assert found == expected and type(found) is type(expected)


def test_what_no_json_holds() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ConfigError, match="nested deeper than 64 levels"):
        as_json(endless)
    with pytest.raises(ConfigError, match="more than 4,300 digits"):
        as_json(10**5000)
