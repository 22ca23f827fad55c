"""A field's value: given, null, zero, below zero, or computed from other fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import archspec
from archspec.reference import Row

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


LAYERS = """config:
  num_hidden_layers: 3
  width: 8
  per_layer_config: layers[width] = {}
architectures:
  A:
    layers: B(**per_layer_config.get(i, {})) for i in range(num_hidden_layers)
modules:
  B:
    a: Linear(width, 1, bias=False)
"""


def widths(rows: list[Row]) -> list[int]:
    return [shape[1] for shape in shapes(rows).values()]


def test_a_layer_has_fields_of_its_own(says: Says) -> None:
    assert widths(says(LAYERS, per_layer_config={"01": {"width": 5}})) == [8, 5, 8]
    assert widths(says(LAYERS, per_layer_config=None)) == [8, 8, 8]
    assert widths(says(LAYERS, depth=2, per_layer_config={0: {"depth": 2}})) == [
        8,
        8,
        8,
    ]  # as all layers have it


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"3": {"width": 5}}, "'3' is not an index of 3 layers"),
        ({"-1": {"width": 5}}, "'-1' is not an index"),
        ({"0": 5}, "layer 0: the number 5 is not a mapping"),
        ({"0": {"width": "wide"}}, "layer 0: width: the text 'wide' is not int"),
        ({"0": {"depth": 1}}, "layer 0: the spec does not support a depth that differs between layers"),
        ([], "is not layers"),
    ],
)
def test_what_no_layer_can_have_is_refused(says: Says, given: Any, message: str) -> None:
    with pytest.raises(archspec.ArchspecError, match=message):
        says(LAYERS, per_layer_config=given)
