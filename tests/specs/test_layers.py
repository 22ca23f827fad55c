"""Tensors and refusals of layers, without torch; test_torch_layers.py holds the whole table to it."""

from __future__ import annotations

from typing import Any

import pytest

from archspec.specs.torch_layers import LEAVES, LayerError, Leaf, concrete, deciding, weight_norm


class Symbolic:
    """A number with a value for decisions, like those of archspec.symbolic."""

    def __init__(self, value: int) -> None:
        self.decided = value


def shapes(name: str, *arguments: Any, **keywords: Any) -> dict[str, tuple[int, ...]]:
    return {leaf.name: leaf.shape for leaf in LEAVES[name](*arguments, **keywords)}


@pytest.mark.parametrize(
    ("name", "arguments", "keywords", "expected"),
    [
        ("Linear", (3, 4), {}, {"weight": (4, 3), "bias": (4,)}),
        ("Linear", (3, 4), {"bias": False}, {"weight": (4, 3)}),
        ("Conv1D", (4, 6), {}, {"weight": (6, 4), "bias": (4,)}),
        ("Conv2d", (4, 6, [3, 5]), {"groups": 2, "bias": False}, {"weight": (6, 2, 3, 5)}),
        ("ConvTranspose1d", (4, 6, 3), {"groups": 2}, {"weight": (4, 3, 3), "bias": (6,)}),
        ("Embedding", (5, 3), {}, {"weight": (5, 3)}),
        ("LayerNorm", ([2, 3],), {"bias": False}, {"weight": (2, 3)}),
        ("RMSNorm", (6,), {"elementwise_affine": False}, {}),
        ("GroupNorm", (2, 6), {}, {"weight": (6,), "bias": (6,)}),
        ("PReLU", (), {}, {"weight": (1,)}),
        ("Dropout", (0.1,), {}, {}),
        ("GRUCell", (3, 4), {"bias": False}, {"weight_ih": (12, 3), "weight_hh": (12, 4)}),
        ("Parameter", (2, 3), {}, {"": (2, 3)}),
    ],
)
def test_tensors(
    name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], expected: dict[str, tuple[int, ...]]
) -> None:
    assert shapes(name, *arguments, **keywords) == expected


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("Conv1d", (4, 6, 3, 1, 0, 1, 4), "6 is not divisible by 4"),
        ("Conv1d", (4, 6, 3, 1, 0, 1, 0), "groups must be a positive integer"),
        ("Embedding", (5, 3, 5), "padding_idx"),
        ("Embedding", (5, 3, -6), "padding_idx"),
        ("GroupNorm", (4, 6), "6 is not divisible by 4"),
        ("MultiheadAttention", (6, 4), "6 is not divisible by 4"),
    ],
)
def test_refusals(name: str, arguments: tuple[int, ...], message: str) -> None:
    with pytest.raises(LayerError, match=message):
        LEAVES[name](*arguments)


def test_a_symbolic_size_is_decided_by_its_value() -> None:
    assert concrete(Symbolic(3)) == 3 and concrete(3) == 3
    assert list(shapes("Linear", 3, 4, bias=Symbolic(0))) == ["weight"]
    with pytest.raises(LayerError, match="6 is not divisible by 4"):
        LEAVES["GroupNorm"](Symbolic(4), Symbolic(6))


@pytest.mark.parametrize(
    ("name", "arguments", "keywords", "expected"),
    [
        ("Linear", [3, 4], {}, []),
        ("Linear", [3, 4, False], {}, [False]),
        ("LSTM", [3, 4, 2], {"bidirectional": True}, [2, True]),
        ("MultiheadAttention", [6, 2], {}, []),
        ("MultiheadAttention", [6, 2], {"kdim": 3}, [6, 3]),
    ],
)
def test_arguments_that_decide_which_tensors_there_are(
    name: str, arguments: list[Any], keywords: dict[str, Any], expected: list[Any]
) -> None:
    assert deciding(name, arguments, keywords) == expected


@pytest.mark.parametrize(("dim", "length"), [(0, (6, 1, 1)), (2, (1, 1, 3)), (-1, (1, 1, 3)), (None, ())])
def test_weight_norm(dim: int | None, length: tuple[int, ...]) -> None:
    leaves = [Leaf("weight", (6, 4, 3)), Leaf("bias", (6,))]
    path = "parametrizations.weight.original"
    assert weight_norm(leaves, dim=dim) == [leaves[1], Leaf(f"{path}0", length), Leaf(f"{path}1", (6, 4, 3))]


def test_weight_norm_of_what_has_no_weight_or_no_rows() -> None:
    with pytest.raises(LayerError, match="the weight to normalize is missing"):
        weight_norm([Leaf("bias", (6,))])
    with pytest.raises(LayerError, match="weight has 0 rows"):
        weight_norm([Leaf("weight", (0, 4))])
