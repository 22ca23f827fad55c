"""The sizes of a layer's output on a grid of positions: convolutions, pooling, upsampling."""

from __future__ import annotations

from archspec.errors import ArchspecError
from archspec.language.values import value_of
from archspec.typing_light import Any

_RANKS = {"1d": ("length",), "2d": ("height", "width"), "3d": ("frames", "height", "width")}
_WITHOUT_RANK = {"Upsample": "2d", "PixelShuffle": "2d"}
_SLIDING = ("Conv", "MaxPool", "AvgPool")


def positions_of(layer: str, axes: dict[str, Any]) -> tuple[str, ...] | None:
    """Return the axes that a layer's kernel moves along; None for a layer without one."""
    rank = _WITHOUT_RANK.get(layer, layer[-2:])
    names = _RANKS.get(rank)
    is_grid = layer.startswith((*_SLIDING, "AdaptiveAvgPool")) or layer in _WITHOUT_RANK
    if names is None or not is_grid or any(axes.get(name) is None for name in names):
        return None
    return names


def grid_after(layer: str, before: list[Any], arguments: list[Any], keywords: dict[str, Any]) -> list[Any]:
    """Return the size of a layer's output, from torch's arguments of its constructor."""
    rank = len(before)
    if layer == "PixelShuffle":
        return [size * arguments[0] for size in before]
    if layer == "Upsample":
        factor = keywords.get("scale_factor", 1)
        return _each(keywords["size"], rank) if "size" in keywords else [size * factor for size in before]
    if layer.startswith("AdaptiveAvgPool"):
        return _each(arguments[0] if arguments else keywords.get("output_size", 1), rank)
    skip = 0 if "Pool" in layer else 2  # channels
    names = ["kernel_size", "stride", "padding"]
    if layer.startswith("ConvTranspose"):
        names += ["output_padding", "groups", "bias", "dilation"]
    elif "Pool" not in layer:
        names += ["dilation"]
    given = dict(zip(names, arguments[skip:], strict=False)) | keywords
    kernel = _each(given["kernel_size"], rank)
    if any(value_of(size) < 1 for size in kernel):
        message = f"the forward pass fails: {layer} has a kernel of size {' × '.join(map(str, kernel))}"
        raise ArchspecError(message, help="change the sizes in the config that set it")
    usual = kernel if "Pool" in layer else 1
    stride = _each(given.get("stride", usual) or usual, rank)
    dilation = _each(given.get("dilation", 1), rank)
    padding = given.get("padding", 0)
    reach = [wide * (size - 1) for size, wide in zip(kernel, dilation, strict=True)]
    if padding == "same":  # as in TensorFlow: of a stride as many positions as it has starts
        return [size if step == 1 else -(-size // step) for size, step in zip(before, stride, strict=True)]
    border = [0] * rank if padding == "valid" else _each(padding, rank)
    sides = list(zip(before, reach, stride, border, strict=True))
    if layer.startswith("ConvTranspose"):
        extra = _each(given.get("output_padding", 0), rank)
        return [
            (size - 1) * step - 2 * pad + far + more + 1
            for (size, far, step, pad), more in zip(sides, extra, strict=True)
        ]
    if given.get("ceil_mode"):
        return [-((far + 1 - size - 2 * pad) // step) + 1 for size, far, step, pad in sides]
    return [_steps(size + 2 * pad, far + 1, step) for size, far, step, pad in sides]


def _steps(size: Any, kernel: Any, step: Any) -> Any:
    """Return the positions of a kernel; ⌊n / k⌋ if it moves by its own size."""
    return size // kernel if kernel is step or kernel == step else (size - kernel) // step + 1


def _each(given: Any, rank: int) -> list[Any]:
    """Return one value for each axis. Errors: :class:`ArchspecError` for a list of another length."""
    values = list(given) if isinstance(given, list | tuple) else [given]
    if len(values) not in (1, rank):
        raise ArchspecError(f"{values} is not a size of {rank} axes: the forward pass fails")
    return values * (rank // len(values))
