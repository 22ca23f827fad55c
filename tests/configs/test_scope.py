"""A field's value: given, null, zero, below zero, or computed from other fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import archspec
from archspec.oracle import Row

Says = Callable[..., list[Row]]


def shapes(rows: list[Row]) -> dict[str, tuple[int, ...]]:
    return {name: shape for name, shape, *_ in rows}


@pytest.mark.parametrize(
    ("given", "message"), [("wide", "is not int"), (-1, "is negative"), (True, "is not int")]
)
def test_what_is_not_zero_is_checked_as_in_other_fields(says: Says, given: Any, message: str) -> None:
    text = (
        "config:\n  hidden_size: 8\n  size: or hidden_size\narchitectures:\n  A:\n    a: Linear(size, size)"
    )
    with pytest.raises(archspec.ArchspecError, match=message):
        says(text, size=given)


@pytest.mark.parametrize(
    ("default", "allowed"),
    [
        ("-1", True),
        ("[-1] * 2 + [3]", True),
        ("None if size else [-1]", True),
        ("[1, 2][-1:]", False),
        ("[size - 1]", False),
    ],
)
def test_a_number_is_below_zero_only_where_the_default_has_one(
    says: Says, default: str, allowed: bool
) -> None:
    kinds = "int" if default == "-1" else "list[int]"
    text = (
        f"config:\n  size: 8\n  sizes: {kinds} = {default}\narchitectures:\n  A:\n    a: Linear(size, size)"
    )
    given = -1 if kinds == "int" else [-1]
    if allowed:
        assert shapes(says(text, sizes=given))
    else:
        with pytest.raises(archspec.ArchspecError, match="-1 is negative"):
            says(text, sizes=given)


def test_null_is_absent_and_zero_is_not(says: Says) -> None:
    spec = """
config: {heads: 8, size: 64, kv_heads: = heads, head_dim: = size // heads}
architectures:
  Toy:
    k: Linear(size, kv_heads * head_dim, bias=False)
"""
    for config, width in (
        ({}, 64),
        ({"kv_heads": None}, 64),
        ({"kv_heads": 2}, 16),
        ({"kv_heads": 0}, 0),
        ({"head_dim": 5}, 40),
    ):
        assert shapes(says(spec, **config)) == {"k.weight": (width, 64)}
