"""JSON with positions, values of other libraries as JSON, and problems at the line of a field."""

from __future__ import annotations

import enum
from typing import Any

import pytest

from archspec.configs import json_text
from archspec.configs.origin import Origin
from archspec.errors import ConfigError, Source

TEXT = '{"a": 1,\n "b": {"c": [2, {"d": "}"}]},\n "b\\"": 3}'


def test_an_object_is_read() -> None:
    assert json_text.parse_json(Source("config.json", TEXT)) == {"a": 1, "b": {"c": [2, {"d": "}"}]}, 'b"': 3}


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "the file is empty"),
        ("[1]", 1, 1, "a config must be a JSON object, not a list"),
        ('{"a": 1,}', 1, 9, "invalid JSON: "),
        ('{"a": 1,\n "a": 2}', 2, 2, "a is given twice"),
        ('{"a": {"b": 1, "b": 2}}', 1, 16, "b is given twice"),
        ('{"a": ' + "[" * 70 + "]" * 70 + "}", 1, 70, "nested deeper than 64 levels"),
        ('{"a": ' + "9" * 5000 + "}", 1, 7, "a number has more than 4,300 digits"),
    ],
    ids=lambda part: str(part)[:24],
)
def test_invalid_texts(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        json_text.parse_json(Source("config.json", text))
    [problem] = caught.value.problems
    assert problem.message.startswith(message) and problem.help
    assert problem.place is not None and (problem.place.line, problem.place.column) == (line, column)


def test_a_message_of_python_ends_in_a_word_that_needs_nothing() -> None:
    with pytest.raises(ConfigError, match=r"invalid JSON: Unterminated string\n"):
        json_text.parse_json(Source("config.json", '{"a'))


def test_places_of_keys() -> None:
    assert [".".join(path) for path, *_ in json_text.keys(TEXT)] == ["a", "b", "b.c", "b.c.1.d", 'b"']
    assert all(TEXT[offset:].startswith('"' + path[-1][:1]) for path, offset, _ in json_text.keys(TEXT))
    assert json_text.locate(TEXT, ["b", "c"]) == (TEXT.index('"c"'), 3)
    assert json_text.locate(TEXT, ["c"]) is None and json_text.repeated_key(TEXT) is None
    text = '{"a": {"x": 1}, "b": {"x": 1, "x": 2}}'
    assert json_text.repeated_key(text) == ("x", text.rindex('"x"'), 3)
    lines = [json_text.place_of(Source("config.json", "abc\ndefg"), offset) for offset in (0, 2, 4, 6)]
    assert [(place.line, place.column) for place in lines] == [(1, 1), (1, 3), (2, 1), (2, 3)]


@pytest.mark.parametrize(("lists", "offset"), [(63, 0), (64, 68), (65, 68)])
def test_the_place_of_too_many_levels(lists: int, offset: int) -> None:
    assert json_text.find_deep_nesting('{"a":' + "[" * lists + "]" * lists + "}") == offset


class Config:
    model_type = "llama"

    def to_dict(self) -> dict[str, Any]:
        return {"size": 8}


class Whole:
    model_type = "llava"

    def to_dict(self) -> dict[str, Any]:
        return {"text_config": Config(), "model_type": ""}


class Size(enum.IntEnum):
    SMALL = 8


class Kind(str, enum.Enum):
    LLAMA = "llama"


class Array:
    def tolist(self) -> list[int]:
        return [1, 2]


class Dtype:
    def __str__(self) -> str:
        return "torch.bfloat16"


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
        (Whole(), {"text_config": {"size": 8, "model_type": "llama"}, "model_type": "llava"}),
        (Config, str(Config)),
        (b"x", "b'x'"),
        (Size.SMALL, 8),
        (Kind.LLAMA, "llama"),
        (Array(), [1, 2]),
        (Dtype(), "torch.bfloat16"),
    ],
)
def test_values_as_json(value: Any, expected: Any) -> None:
    found = json_text.as_json(value)
    assert found == expected and type(found) is type(expected)


def test_values_without_json() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ConfigError, match="nested deeper than 64 levels"):
        json_text.as_json(endless)
    with pytest.raises(ConfigError, match="more than 4,300 digits"):
        json_text.as_json(10**5000)


PARTS = '{\n "size": 8,\n "text_config": {\n  "width": 3\n }\n}'
SET = {"size": "size=9", "text_config.x": "text_config.x=1"}
FILE = Origin("config.json", PARTS, overrides=SET, opened=["part"])


@pytest.mark.parametrize(
    ("origin", "field", "shown"),
    [
        (FILE, "text_config", "config.json:3:2: text_config is odd"),
        (FILE, "text_config.width", "config.json:4:3: text_config.width is odd"),
        (FILE.child("text_config"), "width", "config.json:4:3: text_config.width is odd"),
        (FILE, "text_config.depth", "config.json:3:2: text_config.depth is odd"),  # at the nearest part
        (FILE, "depth", "config.json:1:1: depth is odd"),
        (FILE, "size", "size=9: size is odd"),
        (FILE.child("text_config"), "x", "text_config.x=1: text_config.x is odd"),
        (Origin(), "size", "size is odd"),
        (Origin("q.json", PARTS, "text_config."), "", "q.json:3:2: text_config is odd"),
        (Origin("q.json", PARTS), "", "q.json:1:1: is odd"),
        (Origin("mine").child("a").child("b"), "c", "mine: a.b.c is odd"),
    ],
)
def test_the_place_of_a_problem(origin: Origin, field: str, shown: str) -> None:
    problem = origin.problem(field, "is odd", "make it even")
    assert (str(problem).splitlines()[0], problem.help) == (shown, "make it even")


def test_overridden_fields() -> None:
    assert FILE.is_overridden("size") and not FILE.is_overridden("x")
    assert FILE.child("text_config").is_overridden("x")
    assert FILE.is_opened("part") and not FILE.is_opened("text_config")
