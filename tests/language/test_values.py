"""Types of config values, and how values read in messages."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from archspec.language.values import describe, fits, frozen, has_negative, kind_of, numbers, shown


@pytest.mark.parametrize(
    ("value", "kinds", "expected"),
    [
        (1, ("int",), True),
        (True, ("int",), False),
        (True, ("float", "bool"), True),
        (1, ("float",), False),
        (1.0, ("int", "float"), True),
        ("1", ("int",), False),
        (None, ("int",), False),
        (None, ("None",), True),
        ((1, 2), ("list",), True),
        ([1, True], ("list[int]",), False),
        ([1, None], ("list[int | None]",), True),
        ([[1], [2, 3]], ("list[list[int]]",), True),
        ([[1], ["a"]], ("list[list[int]]",), False),
        ([[1], "a"], ("list[list[int] | str]",), True),
        ({}, ("dict",), True),
        ([], ("dict", "str"), False),
    ],
)
def test_fits(value: Any, kinds: tuple[str, ...], expected: bool) -> None:
    assert fits(value, kinds) is expected


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, "bool"),
        (1, "int"),
        (1.5, "float"),
        ("a", "str"),
        ([], "list"),
        ((), "list"),
        ({}, "dict"),
        (None, "None"),
        (object(), ""),
    ],
)
def test_kind_of(value: Any, kind: str) -> None:
    assert kind_of(value) == kind


def test_numbers_are_found_in_lists_within_lists() -> None:
    assert numbers([1, [2.5, "3", (True, 4)], None]) == [1, 2.5, 4]
    assert numbers(7) == [7]
    assert numbers(True) == numbers({"a": 1}) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-1", True),
        ("[-1] * 25 + [3]", True),
        ("None if size else [-1]", True),
        ("-size", False),
        ("size - 1", False),
        ("sizes[-1]", False),
        ("sizes[-1:]", False),
        ("[-1][0]", True),
    ],
)
def test_has_negative(text: str, expected: bool) -> None:
    assert has_negative(ast.parse(text, mode="eval").body) is expected


def test_a_tuple_becomes_a_list_and_nothing_else_changes() -> None:
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


def test_what_is_shown_is_short() -> None:
    assert shown([1, 2]) == "[1, 2]"
    assert all(len(shown(value)) <= 60 for value in ("a" * 500, [["b" * 90] * 9] * 9, 10**300))
