"""Types of config values, and how values read in messages."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from archspec.language.values import describe, fits, frozen, has_negative, kind_of, numbers, shown


@pytest.mark.parametrize(
    ("kinds", "fitting", "others"),
    [
        ("int", [1], [True, "1", None]),
        ("float", [], [1]),
        ("float bool", [True], []),
        ("int float", [1.0], []),
        ("None", [None], []),
        ("list", [(1, 2)], []),
        ("list[int]", [[1, 2]], [[1, True]]),
        ("list[int|None]", [[1, None]], []),
        ("list[list[int]]", [[[1], [2, 3]]], [[[1], ["a"]]]),
        ("list[list[int]|str]", [[[1], "a"]], []),
        ("dict", [{}], []),
        ("dict str", [], [[]]),
    ],
)
def test_fits(kinds: str, fitting: list[Any], others: list[Any]) -> None:
    assert [fits(value, kinds.split()) for value in fitting] == [True] * len(fitting)
    assert [fits(value, kinds.split()) for value in others] == [False] * len(others)


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


def test_only_a_tuple_becomes_a_list() -> None:
    assert frozen((1, 2)) == [1, 2]
    assert frozen("ab") == "ab" and frozen(None) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (False, "false"),
        (3, "the number 3"),
        (0.5, "the number 0.5"),
        pytest.param(10**5000, "the number too large", id="too large"),
        ("a", "the text 'a'"),
        ("a" * 100, "the text '" + "a" * 56 + "..."),
        ((1,), "a list"),
        ({}, "a mapping"),
        ({1}, "a set"),
    ],
)
def test_describe(value: Any, text: str) -> None:
    assert describe(value) == text


def test_shown_values_are_short() -> None:
    assert shown([1, 2]) == "[1, 2]"
    assert all(len(shown(value)) <= 60 for value in ("a" * 500, [["b" * 90] * 9] * 9, 10**300))
