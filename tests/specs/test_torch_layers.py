"""Every torch layer has torch's signature, tensors and refusals: by value, and against torch itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from archspec.configs.scope import Scope
from archspec.errors import ArchspecError
from archspec.reference import Row, module_rows, spec_rows
from archspec.specs.library import shipped_library
from archspec.specs.torch_layers import LEAVES, LayerError, Leaf, deciding_arguments, weight_norm
from archspec.tree.builder import Builder
from archspec.tree.tensors import tensors

CALLS = """
Linear(3, 4) | Linear(3, 4, False) | Linear(3, out_features=4, bias=True) | Linear(0, 4) | Bilinear(2, 3, 4)
Bilinear(2, 3, 4, bias=False) | Conv1d(4, 6, 3) | Conv1d(4, 6, kernel_size=3, groups=2, bias=False)
Conv1d(4, 4, [3], 2, 1, 1, 4) | Conv2d(4, 6, 3) | Conv2d(4, 6, [3, 5], stride=2)
Conv2d(4, 6, (1, 7), padding=[0, 3], groups=2) | Conv3d(3, 6, [2, 4, 4]) | Conv3d(3, 6, 2, bias=False)
ConvTranspose1d(4, 6, 3) | ConvTranspose1d(4, 6, 3, groups=2) | ConvTranspose1d(4, 6, 3, 2, 1, 1, 2, False)
ConvTranspose1d(4, 6, 5, stride=3, output_padding=1)
ConvTranspose2d(4, 6, 2, 2) | ConvTranspose3d(4, 6, [1, 2, 3], bias=False) | Embedding(5, 3)
Embedding(5, 3, 4) | Embedding(5, 3, padding_idx=-5) | Embedding(5, 3, None) | LayerNorm(6)
LayerNorm([2, 3]) | LayerNorm(6, 1e-6, False) | LayerNorm(6, bias=False) | LayerNorm(6, eps=1e-5)
RMSNorm(6) | RMSNorm(6, 1e-6) | RMSNorm([2, 3], elementwise_affine=False) | BatchNorm1d(6)
BatchNorm2d(6, affine=False) | BatchNorm3d(6, 1e-5, 0.1, True, False) | GroupNorm(2, 6)
GroupNorm(2, 6, affine=False) | GroupNorm(num_groups=3, num_channels=6) | MultiheadAttention(6, 2)
MultiheadAttention(6, 2, bias=False) | MultiheadAttention(6, 2, batch_first=True)
MultiheadAttention(6, 2, kdim=3) | MultiheadAttention(6, 2, kdim=3, vdim=5, add_bias_kv=True) | LSTM(3, 4)
LSTM(3, 4, 2, bidirectional=True) | LSTM(3, 4, bias=False, proj_size=2, num_layers=2) | GRU(3, 4)
GRU(3, 4, num_layers=2, bidirectional=True, bias=False) | LSTMCell(3, 4) | LSTMCell(3, 4, False)
GRUCell(3, 4) | GRUCell(3, 4, bias=False) | PReLU() | PReLU(5) | Identity() | Dropout(0.1) | ReLU() | GELU()
SiLU() | Tanh() | Sigmoid() | Softmax(-1) | Flatten() | MaxPool2d(2) | AvgPool2d(2, 2)
AdaptiveAvgPool2d((1, 1)) | PixelShuffle(2) | Conv1D(4, 6) | FrozenBatchNorm2d(6)
"""
REFUSED = """
Linear(-1, 4) | Linear(3) | Linear(3, 4, 5, 6, 7, 8) | Linear(3, 4.0) | Linear(3, 4, size=2)
Conv1d(4, 6, 3, groups=4) | Conv1d(3, 6, 3, groups=2) | Conv1d(4, 6, 3, groups=0) | Conv2d(4, 6)
Conv1d(4, 6, 3, output_padding=1) | ConvTranspose1d(4, 6, 3, groups=4)
Embedding(5, 3, 5) | Embedding(5, 3, -6) | GroupNorm(4, 6) | MultiheadAttention(6, 4)
MultiheadAttention(0, 2)
"""


def calls(text: str) -> list[str]:
    """Return the calls of a table, several to a line."""
    return re.split(r" \| |\n", text.strip())


class Symbolic:
    """A number with a value for decisions, like those of archspec.symbolic."""

    def __init__(self, value: int) -> None:
        self.decision_value = value


def shapes(call: str) -> str:
    """Return the tensors of a call as `weight 4x3, bias 4`."""
    leaves = eval(call, {**LEAVES, "Symbolic": Symbolic})
    return ", ".join(f"{leaf.name} {'x'.join(map(str, leaf.shape))}".strip() for leaf in leaves)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("Linear(3, 4)", "weight 4x3, bias 4"),
        ("Linear(3, 4, bias=False)", "weight 4x3"),
        ("Linear(3, 4, bias=Symbolic(0))", "weight 4x3"),
        ("Conv1D(4, 6)", "weight 6x4, bias 4"),
        ("Conv2d(4, 6, [3, 5], groups=2, bias=False)", "weight 6x2x3x5"),
        ("ConvTranspose1d(4, 6, 3, groups=2)", "weight 4x3x3, bias 6"),
        ("Embedding(5, 3)", "weight 5x3"),
        ("LayerNorm([2, 3], bias=False)", "weight 2x3"),
        ("RMSNorm(6, elementwise_affine=False)", ""),
        ("GroupNorm(2, 6)", "weight 6, bias 6"),
        ("PReLU()", "weight 1"),
        ("Dropout(0.1)", ""),
        ("GRUCell(3, 4, bias=False)", "weight_ih 12x3, weight_hh 12x4"),
        ("Parameter(2, 3)", "2x3"),
    ],
)
def test_tensors(call: str, expected: str) -> None:
    assert shapes(call) == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("Conv1d(4, 6, 3, 1, 0, 1, 4)", "6 is not divisible by 4"),
        ("Conv1d(4, 6, 3, 1, 0, 1, 0)", "groups must be a positive integer"),
        ("Embedding(5, 3, -6)", "padding_idx"),
        ("GroupNorm(4, 6)", "6 is not divisible by 4"),
        ("GroupNorm(Symbolic(4), Symbolic(6))", "6 is not divisible by 4"),
        ("MultiheadAttention(6, 4)", "6 is not divisible by 4"),
    ],
)
def test_refusals(call: str, message: str) -> None:
    with pytest.raises(LayerError, match=message):
        shapes(call)


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
    assert deciding_arguments(name, arguments, keywords) == expected


@pytest.mark.parametrize(("dim", "length"), [(0, (6, 1, 1)), (2, (1, 1, 3)), (-1, (1, 1, 3)), (None, ())])
def test_weight_norm(dim: int | None, length: tuple[int, ...]) -> None:
    leaves = [Leaf("weight", (6, 4, 3)), Leaf("bias", (6,))]
    path = "parametrizations.weight.original"
    assert weight_norm(leaves, dim=dim) == [leaves[1], Leaf(f"{path}0", length), Leaf(f"{path}1", (6, 4, 3))]


@pytest.mark.parametrize(
    ("name", "size", "message"),
    [("bias", 6, "the weight to normalize is missing"), ("weight", 0, "weight has 0 rows")],
)
def test_weight_norm_needs_a_weight(name: str, size: int, message: str) -> None:
    with pytest.raises(LayerError, match=message):
        weight_norm([Leaf(name, (size, 4))])


def rows(call: str, folder: Path) -> list[Row]:
    path = folder / "toy.yaml"
    path.write_text(f'model_type: toy\narchitectures:\n  Toy:\n    x: "{call}"\n', encoding="utf-8")
    return spec_rows(tensors(Builder(Scope(shipped_library().load_file(str(path)), {})).build("Toy")))


def torch_rows(call: str) -> list[Row]:
    """Return the rows of a module whose attribute is made by the text in torch, or transformers."""
    import torch
    from torch import nn
    from transformers.models.detr.modeling_detr import DetrFrozenBatchNorm2d
    from transformers.pytorch_utils import Conv1D

    names = {**vars(nn), "torch": torch, "Conv1D": Conv1D, "FrozenBatchNorm2d": DetrFrozenBatchNorm2d}
    whole = nn.Module()
    with torch.device("meta"):
        whole.x = eval(call, names)
    return module_rows(whole)


@pytest.mark.reference
@pytest.mark.parametrize("call", calls(CALLS))
def test_tensors_are_torchs(call: str, tmp_path: Path) -> None:
    assert rows(call, tmp_path) == torch_rows(call)


@pytest.mark.reference
@pytest.mark.parametrize("call", calls(REFUSED))
def test_torchs_refusals(call: str, tmp_path: Path) -> None:
    with pytest.raises((TypeError, ValueError, AssertionError, RuntimeError)):
        torch_rows(call)
    with pytest.raises(ArchspecError):
        rows(call, tmp_path)


def test_parameters_of_a_loop(tmp_path: Path) -> None:
    found = rows("[Parameter(i) for i in range(1, 3)]", tmp_path)
    assert [(row[0], row[1]) for row in found] == [("x.0", (1,)), ("x.1", (2,))]


@pytest.mark.reference
def test_parameters_in_a_dict(tmp_path: Path) -> None:
    theirs = torch_rows("ParameterDict({'a': Parameter(torch.empty(2)), 'b': Parameter(torch.empty(1))})")
    assert rows("{name: Parameter(size) for name, size in [['a', 2], ['b', 1]]}", tmp_path) == theirs


def test_every_layer_is_tried() -> None:
    tried = {call.partition("(")[0] for call in calls(CALLS)} | {"Parameter", "Buffer"}
    not_of_torch = {"Activation", "AdaptiveAvgPool1d", "Upsample", "Pad"}  # or without tensors, like others
    assert set(LEAVES) - tried == not_of_torch
