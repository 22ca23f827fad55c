"""The size of a layer's output on a grid, against torch's layers."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from archspec.costs.media.grid import grid_after, positions_of
from archspec.errors import ArchspecError

pytestmark = pytest.mark.reference
_AXES = {"frames": 1, "height": 1, "width": 1, "length": 1}


def random_layer(random: Random) -> tuple[str, list[Any], dict[str, Any]]:
    """Return a layer with arguments of its constructor."""
    rank, kind = random.choice((1, 2, 3)), random.choice(("Conv", "ConvTranspose", "MaxPool", "AvgPool"))
    kernel = [random.randint(1, 5) for _ in range(rank)]
    stride = [random.randint(1, 4) for _ in range(rank)]
    keywords: dict[str, Any] = {"stride": stride, "padding": random.randint(0, min(kernel) // 2)}
    if kind == "Conv":
        keywords["dilation"] = random.randint(1, 2)
    if kind == "ConvTranspose":
        keywords["output_padding"] = random.randint(0, min(stride) - 1)
    channels = [] if kind.endswith("Pool") else [2, 3]
    return f"{kind}{rank}d", [*channels, kernel if rank > 1 else kernel[0]], keywords


@pytest.mark.parametrize("seed", range(60))
def test_output_sizes_are_those_of_torch(seed: int) -> None:
    import torch

    random = Random(seed)
    name, arguments, keywords = random_layer(random)
    if name[-2] == "1":
        keywords["stride"] = keywords["stride"][0]
    size = [random.randint(12, 40) for _ in range(int(name[-2]))]
    layer = getattr(torch.nn, name)(*arguments, **keywords).to("meta")
    expected = layer(torch.empty(1, 2, *size, device="meta")).shape[2:]
    assert grid_after(name, size, arguments, keywords) == list(expected)


@pytest.mark.parametrize(
    ("name", "arguments", "keywords"),
    [
        ("PixelShuffle", [3], {}),
        ("Upsample", [], {"scale_factor": 2}),
        ("AdaptiveAvgPool2d", [5], {}),
        ("MaxPool2d", [3], {"stride": 2, "ceil_mode": True}),
        ("Conv2d", [18, 3, 5], {"padding": "same"}),
        ("Conv2d", [18, 3, 5], {"padding": "valid"}),
        ("Conv2d", [18, 3, 5], {"padding": [1], "stride": [2, 3]}),
    ],
)
def test_other_layers_and_arguments(name: str, arguments: list[Any], keywords: dict[str, Any]) -> None:
    import torch

    layer = getattr(torch.nn, name)(*arguments, **keywords).to("meta")
    expected = layer(torch.empty(1, 18, 21, 16, device="meta")).shape[2:]
    assert grid_after(name, [21, 16], arguments, keywords) == list(expected)


def test_a_list_of_another_length_is_refused() -> None:
    with pytest.raises(ArchspecError, match=r"\[1, 1, 1\] is not a size of 2 axes: the forward pass fails"):
        grid_after("Conv2d", [21, 16], [18, 3, 5], {"padding": [1, 1, 1]})


def test_which_layers_run_on_a_grid() -> None:
    assert positions_of("Conv2d", _AXES) == ("height", "width")
    assert positions_of("Conv2d", {**_AXES, "height": None}) is None
    assert positions_of("Linear", _AXES) is None and positions_of("Conv1D", _AXES) is None
