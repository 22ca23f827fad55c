"""Types of config values, and how values read in messages."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from archspec.language.values import describe, has_kind, has_negative, kind_of, numbers, short_repr


@pytest.mark.parametrize(
    ("kinds", "value", "expected"),
    [
        *(
            ("int", value, expected)
            for value, expected in ((1, True), (True, False), ("1", False), (None, False))
        ),
        *(("float", 1, False), ("float bool", True, True), ("int float", 1.0, True), ("None", None, True)),
        *(("list", (1, 2), True), ("list[int]", [1, 2], True), ("list[int]", [1, True], False)),
        *(("list[int|None]", [1, None], True), ("list[list[int]|str]", [[1], "a"], True)),
        *(("list[list[int]]", [[1], [2, 3]], True), ("list[list[int]]", [[1], ["a"]], False)),
        *(("dict", {}, True), ("dict str", [], False)),
    ],
)
def test_fits(kinds: str, value: Any, expected: bool) -> None:
    assert has_kind(value, kinds.split()) == expected


def test_kind_of() -> None:
    values = [True, 1, 1.5, "a", [], (), {}, None, object()]
    assert [*map(kind_of, values)] == ["bool", "int", "float", "str", "list", "list", "dict", "None", ""]


def test_numbers_are_found_in_lists_within_lists() -> None:
    assert numbers([1, [2.5, "3", (True, 4)], None]) == [1, 2.5, 4]
    assert numbers(7) == [7]
    assert numbers(True) == numbers({"a": 1}) == []


def test_has_negative() -> None:
    def found(text: str) -> bool:
        return has_negative(ast.parse(text, mode="eval").body)

    assert all(map(found, ("-1", "[-1] * 25 + [3]", "None if size else [-1]", "[-1][0]")))
    assert not any(map(found, ("-size", "size - 1", "sizes[-1]", "sizes[-1:]")))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (False, "false"),
        (3, "the number 3"),
        (0.5, "the number 0.5"),
        pytest.param(10**5000, "the number too large", id="too large"),
        ("a", "the string 'a'"),
        ("a" * 100, "the string '" + "a" * 56 + "..."),
        ((1,), "a list"),
        ({}, "a mapping"),
        ({1}, "a set"),
    ],
)
def test_describe(value: Any, text: str) -> None:
    assert describe(value) == text


def test_shown_values_are_short() -> None:
    assert short_repr([1, 2]) == "[1, 2]"
    assert all(len(short_repr(value)) <= 60 for value in ("a" * 500, [["b" * 90] * 9] * 9, 10**300))
