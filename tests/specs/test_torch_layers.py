"""Every leaf kind has torch's signature, tensors and refusals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from archspec.configs.scope import Scope
from archspec.errors import ArchspecError
from archspec.reference import Row, module_rows, spec_rows
from archspec.specs.library import shipped
from archspec.specs.torch_layers import LEAVES
from archspec.tree.builder import Builder
from archspec.tree.tensors import tensors

CALLS = """
Linear(3, 4) | Linear(3, 4, False) | Linear(3, out_features=4, bias=True) | Linear(0, 4) | Bilinear(2, 3, 4)
Bilinear(2, 3, 4, bias=False) | Conv1d(4, 6, 3) | Conv1d(4, 6, kernel_size=3, groups=2, bias=False)
Conv1d(4, 4, [3], 2, 1, 1, 4) | Conv2d(4, 6, 3) | Conv2d(4, 6, [3, 5], stride=2)
Conv2d(4, 6, (1, 7), padding=[0, 3], groups=2) | Conv3d(3, 6, [2, 4, 4]) | Conv3d(3, 6, 2, bias=False)
ConvTranspose1d(4, 6, 3) | ConvTranspose1d(4, 6, 3, groups=2) | ConvTranspose1d(4, 6, 3, 2, 1, 1, 2, False)
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
AdaptiveAvgPool2d((1, 1)) | PixelShuffle(2)
"""
REFUSED = """
Linear(-1, 4) | Linear(3) | Linear(3, 4, 5, 6, 7, 8) | Linear(3, 4.0) | Linear(3, 4, size=2)
Conv1d(4, 6, 3, groups=4) | Conv1d(3, 6, 3, groups=2) | Conv1d(4, 6, 3, groups=0) | Conv2d(4, 6)
Embedding(5, 3, 5) | Embedding(5, 3, -6) | GroupNorm(4, 6) | MultiheadAttention(6, 4)
MultiheadAttention(0, 2)
"""


def calls(text: str) -> list[str]:
    """The calls of a table, several to a line."""
    return re.split(r" \| |\n", text.strip())


def rows(call: str, folder: Path) -> list[Row]:
    path = folder / "toy.yaml"
    path.write_text(f'model_type: toy\narchitectures:\n  Toy:\n    x: "{call}"\n', encoding="utf-8")
    scope = Scope(shipped().load_file(str(path)), {})
    return spec_rows(tensors(Builder(scope).build("Toy")))


def torch_rows(call: str) -> list[Row]:
    import torch
    from torch import nn

    whole = nn.Module()
    with torch.device("meta"):
        whole.x = eval(call, dict(vars(nn)))  # the table's own text, in torch's names
    return module_rows(whole)


@pytest.mark.reference
@pytest.mark.parametrize("call", calls(CALLS))
def test_leaves_are_torchs(call: str, tmp_path: Path) -> None:
    assert rows(call, tmp_path) == torch_rows(call)


@pytest.mark.reference
@pytest.mark.parametrize("call", calls(REFUSED))
def test_what_torch_refuses_is_refused(call: str, tmp_path: Path) -> None:
    with pytest.raises((TypeError, ValueError, AssertionError, RuntimeError)):
        torch_rows(call)
    with pytest.raises(ArchspecError):
        rows(call, tmp_path)


@pytest.mark.reference
def test_leaves_of_transformers(tmp_path: Path) -> None:
    from torch import nn
    from transformers import pytorch_utils as utils
    from transformers.models.detr import modeling_detr as detr

    for call, build in (
        ("Conv1D(4, 6)", lambda: utils.Conv1D(4, 6)),
        ("FrozenBatchNorm2d(6)", lambda: detr.DetrFrozenBatchNorm2d(6)),
    ):
        whole = nn.Module()
        whole.x = build()
        assert rows(call, tmp_path) == module_rows(whole)


def test_bare_parameters(tmp_path: Path) -> None:
    for call, shape in (("Parameter(2, 3)", (2, 3)), ("Parameter()", ()), ("Parameter(*[2, 3])", None)):
        if shape is None:
            with pytest.raises(ArchspecError, match="is not part of the spec language"):
                rows(call, tmp_path)
        else:
            assert rows(call, tmp_path) == [("x", shape, "parameter", True, None, "")]
    assert rows("[Parameter(i) for i in range(1, 3)]", tmp_path) == [
        ("x.0", (1,), "parameter", True, None, ""),
        ("x.1", (2,), "parameter", True, None, ""),
    ]


@pytest.mark.reference
def test_named_parameters(tmp_path: Path) -> None:
    import torch
    from torch import nn

    named: Any = nn.ParameterDict({"a": nn.Parameter(torch.empty(2)), "b": nn.Parameter(torch.empty(1))})
    whole = nn.Module()
    whole.x = named
    assert rows("{name: Parameter(size) for name, size in [['a', 2], ['b', 1]]}", tmp_path) == module_rows(
        whole
    )


def test_every_leaf_is_tried() -> None:
    tried = {call.partition("(")[0] for call in calls(CALLS)}
    tried |= {"Conv1D", "FrozenBatchNorm2d", "Parameter", "Buffer"}
    not_of_torch = {"Activation", "AdaptiveAvgPool1d", "Upsample", "Pad"}  # or without tensors, like others
    assert set(LEAVES) - tried == not_of_torch
