"""FlopCounterMode counts operations as docs/explanation/published-flops.md says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from archspec.reference.media.running import _counted_kernels
from archspec.reference.training import _convolution_backward_flops

pytestmark = pytest.mark.reference
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "published-flops.md"
CHECKS: dict[str, Callable[[], None]] = {}  # by the start of the first cell of a row


def row(start: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def register(check: Callable[[], None]) -> Callable[[], None]:
        CHECKS[start] = check
        return check

    return register


def rows() -> list[str]:
    """Return the first cells of the page's last table."""
    table = PAGE.read_text(encoding="utf-8").partition("| operation | `FlopCounterMode` |")[2]
    return re.findall(r"^\| (.*?) \|", table.partition("\n\n")[0], re.MULTILINE)[1:]


def count(run: Callable[[], Any], corrected: bool = False) -> int:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    mapping = {torch.ops.aten.convolution_backward: _convolution_backward_flops} if corrected else None
    with FlopCounterMode(display=False, custom_mapping=mapping) as counter:
        run()
    return int(counter.get_total_flops())


def infer(run: Callable[[], Any]) -> int:
    import torch

    with torch.no_grad():
        return count(run)


@pytest.mark.parametrize("name", rows())
def test_row(name: str) -> None:
    (check,) = [check for start, check in CHECKS.items() if name.startswith(start)]
    check()


def test_every_check_is_of_a_row() -> None:
    assert len(rows()) == len(CHECKS)


@row("softmax, norms")
def _no_products() -> None:
    import torch
    from torch.nn import functional as f

    x = torch.rand(1, 3, 8, 8)
    window = torch.ones(16)
    for run in (
        lambda: f.gelu(f.softmax(f.layer_norm(x, (8,)), -1)),
        lambda: f.batch_norm(x, torch.zeros(3), torch.ones(3)),
        lambda: f.adaptive_avg_pool2d(f.max_pool2d(x, 2), 1),
        lambda: f.interpolate(x, scale_factor=2, mode="bicubic"),
        lambda: f.grid_sample(x, torch.zeros(1, 4, 4, 2), align_corners=False),
        lambda: torch.fft.fft(x),
        lambda: torch.stft(torch.rand(1, 64), 16, window=window, return_complex=True),
    ):
        assert infer(run) == 0


@row("multiply-and-sum")
def _other_products() -> None:
    import torch

    a, b = torch.rand(5, 8), torch.rand(7, 8)
    triangle, right = torch.eye(8), torch.rand(8, 4)
    assert infer(lambda: a @ b.T) == 2 * 5 * 7 * 8
    for run in (
        lambda: (a[:, None] * b).sum(-1),
        lambda: a @ b[0],
        lambda: torch.dot(a[0], b[0]),
        lambda: torch.cdist(a, b),
        lambda: torch.linalg.solve_triangular(triangle, right, upper=False),
    ):
        assert infer(run) == 0


def _convolution(name: str = "Conv2d", **options: int) -> tuple[Any, Any]:
    """Return a layer of 8 to 16 channels, and its input of 10 × 10."""
    import torch

    return getattr(torch.nn, name)(8, 16, 3, **options), torch.rand(2, 8, 10, 10)


@row("convolution with padding")
def _padding() -> None:
    layer, x = _convolution(padding=1)
    assert infer(lambda: layer(x)) == 2 * 2 * 10 * 10 * layer.weight.numel()


@row("transposed convolution")
def _transposed() -> None:
    for options in ({}, {"stride": 2}, {"padding": 1}, {"groups": 4}):
        layer, x = _convolution("ConvTranspose2d", **options)
        assert infer(lambda layer=layer, x=x: layer(x)) == 2 * 2 * 10 * 10 * layer.weight.numel()


@row("`einsum`")
def _sums_of_one() -> None:
    import torch

    def scores(width: int) -> tuple[int, int]:
        q, k = torch.rand(2, 5, width), torch.rand(2, 7, width)
        product = infer(lambda: q @ k.transpose(1, 2))
        return product, infer(lambda: torch.einsum("bqd,bkd->bqk", q, k))

    assert scores(8) == (2 * 2 * 5 * 7 * 8, 2 * 2 * 5 * 7 * 8)
    assert scores(1) == (2 * 2 * 5 * 7, 0)


@row("causal attention")
def _causal() -> None:
    import torch

    q = torch.rand(2, 2, 5, 4, device="meta")
    attention = torch.nn.functional.scaled_dot_product_attention
    assert infer(lambda: attention(q, q, q, is_causal=True)) == 2 * 2 * 2 * 2 * 5 * 5 * 4


@row("grouped convolution")
def _grouped() -> None:
    layer, x = _convolution(groups=4)
    once = infer(lambda: layer(x))
    assert once == 2 * 2 * 8 * 8 * layer.weight.numel()
    assert count(layer(x).sum().backward) == 4 * once
    assert count(layer(x).sum().backward, corrected=True) == once


def _attention_flops(tokens: int, width: int) -> int:
    return 2 * (4 * tokens * width**2 + 2 * tokens**2 * width)


@row("`nn.MultiheadAttention`")
def _fast_path() -> None:
    import torch

    layer, x = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval(), torch.rand(1, 5, 8)
    assert infer(lambda: layer(x, x, x)) == 0
    with _counted_kernels():
        assert infer(lambda: layer(x, x, x)) == _attention_flops(5, 8)
    layer, x = layer.to("meta"), x.to("meta")
    assert infer(lambda: layer(x, x, x)) == _attention_flops(5, 8)


@row("`scaled_dot_product_attention`")
def _flash_on_the_cpu() -> None:
    import torch

    q = torch.rand(2, 2, 5, 4)
    attention = torch.nn.functional.scaled_dot_product_attention
    assert infer(lambda: attention(q, q, q)) == 0
    with _counted_kernels():
        assert infer(lambda: attention(q, q, q)) == 2 * 2 * 2 * 2 * 5 * 5 * 4


@row("LSTM")
def _mkldnn() -> None:
    import torch

    layer, x = torch.nn.LSTM(8, 8, batch_first=True), torch.rand(2, 5, 8)
    assert infer(lambda: layer(x)) == 0
    with _counted_kernels():
        assert infer(lambda: layer(x)) == 2 * 2 * 5 * 2 * 8 * 32


@row("grouped products of experts")
def _grouped_experts() -> None:
    import torch

    rows, weights = (
        torch.rand(*size, dtype=torch.bfloat16, device="meta") for size in ((8, 16), (3, 16, 32))
    )
    ends = torch.zeros(3, dtype=torch.int32, device="meta")
    assert infer(lambda: torch._grouped_mm(rows, weights, ends)) == 0
