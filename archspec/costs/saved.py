"""What torch's layers keep for the backward of a training step: mostly their inputs."""

from __future__ import annotations

from archspec.costs.records import Axes, Saved
from archspec.specs.torch_layers import Leaf

STATISTIC = 4  # bytes: norms compute in float32
_NOTHING = ("Embedding", "Parameter", "Buffer", "Identity", "Dropout")


def trains(axes: Axes | None) -> bool:
    """Whether a call is a training step, of which is asked what it keeps."""
    return axes is not None and "element_bytes" in axes


def layer_saves(layer: str, tensors: list[Leaf], axes: Axes) -> list[Saved]:
    """What a layer keeps on its own: a Linear its input, norms the input and statistics of each position.

    An embedding keeps its indices, which are inputs unless a spec says otherwise; an RMSNorm is transformers'
    own, which computes in float32.
    """
    if layer in _NOTHING:
        return []
    positions = axes["times"] * axes["batch"] * axes["tokens"]
    element = axes["element_bytes"]
    if layer == "Linear":
        return [Saved(layer, element * positions * tensors[0].shape[1])]
    if layer == "Conv1D":  # its weight is transposed
        return [Saved(layer, element * positions * tensors[0].shape[0])]
    if layer == "LayerNorm" and tensors:
        return [Saved(layer, positions * (element * tensors[0].shape[0] + 2 * STATISTIC))]
    if layer == "RMSNorm" and tensors:
        width = tensors[0].shape[0]
        return [Saved(layer, positions * ((STATISTIC + element) * width + STATISTIC))]
    return [Saved(layer, None)]
