"""A field's value: given, null, zero, below zero, or computed from other fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import archspec
from archspec.reference import Row

Says = Callable[..., list[Row]]
OR = "config: {size: 8, wide: or size}\narchitectures:\n  A:\n    a: Linear(1, wide, bias=False)\n"
HEADS = """
config: {heads: 8, size: 64, kv_heads: = heads, head_dim: = size // heads}
architectures:
  Toy:
    k: Linear(size, kv_heads * head_dim, bias=False)
"""


def widths(rows: list[Row], axis: int = 1) -> list[int]:
    return [row.shape[axis] for row in rows]


@pytest.mark.parametrize(
    ("given", "message"), [("x", "must be an integer"), (-1, "not be negative"), (True, "must be an integer")]
)
def test_a_default_in_place_of_zero_is_checked(says: Says, given: Any, message: str) -> None:
    assert widths(says(OR, wide=0), 0) == [8]
    with pytest.raises(archspec.ArchspecError, match=message):
        says(OR, wide=given)


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
def test_a_number_is_negative_only_like_the_default(says: Says, default: str, allowed: bool) -> None:
    kind, given = ("int", -1) if default == "-1" else ("list[int]", [-1])
    text = "config:\n  size: 8\n"
    text += f"  sizes: {kind} = {default}\narchitectures:\n  A:\n    a: Linear(size, size)"
    if allowed:
        assert says(text, sizes=given)
    else:
        with pytest.raises(archspec.ArchspecError, match=r"must not be negative, but .* -1"):
            says(text, sizes=given)


@pytest.mark.parametrize(
    ("config", "width"),
    [({}, 64), ({"kv_heads": None}, 64), ({"kv_heads": 2}, 16), ({"kv_heads": 0}, 0), ({"head_dim": 5}, 40)],
)
def test_null_is_absent_and_zero_is_not(says: Says, config: dict[str, Any], width: int) -> None:
    assert widths(says(HEADS, **config), 0) == [width]


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


def test_layers_with_other_fields(says: Says) -> None:
    assert widths(says(LAYERS, per_layer_config={"01": {"width": 5}})) == [8, 5, 8]
    assert widths(says(LAYERS, per_layer_config=None)) == [8, 8, 8]
    as_all_layers = {0: {"depth": 2}}
    assert widths(says(LAYERS, depth=2, per_layer_config=as_all_layers)) == [8, 8, 8]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"3": {"width": 5}}, "'3' is not an index of 3 layers"),
        ({"-1": {"width": 5}}, "'-1' is not an index"),
        ({"0": 5}, "layer 0: the number 5 is not a mapping"),
        ({"0": {"width": "wide"}}, "layer 0: width must be an integer, not the string 'wide'"),
        ({"0": {"depth": 1}}, "layer 0: the spec does not support a depth that differs between layers"),
        ([], "must be a mapping"),
    ],
)
def test_invalid_fields_of_layers(says: Says, given: Any, message: str) -> None:
    with pytest.raises(archspec.ArchspecError, match=message):
        says(LAYERS, per_layer_config=given)
