"""Quantized weights in files: the tensors that each format stores for one weight, and the weight's shape.

Sources: the formats of formulas/weight_formats.json.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from archspec.checkpoints.records import Shape, StoredTensor

_WORD = 32  # bits of the integers that elements are packed into
_GROUP = 64  # of MLX, unless the config has another one
# tensors that are stored with a weight -> the ends of the tensor with its elements
_PARTS = {
    "qzeros scales g_idx": (".qweight",),
    "scales biases": (".weight",),
    "weight_scale weight_shape weight_zero_point weight_g_idx weight_global_scale": (
        ".weight_packed",
        ".weight",
    ),
    "input_global_scale input_scale input_zero_point output_scale": (".weight_packed", ".weight"),
    "weight_scale_2 weight_scale_inv activation_scale scale SCB weight_format": (".weight",),
    "weight.absmax weight.quant_map weight.nested_absmax weight.nested_quant_map": (".weight",),
    "weight.quant_state.bitsandbytes__nf4 weight.quant_state.bitsandbytes__fp4": (".weight",),
}
_ENDS = [(f".{end}", starts) for ends, starts in _PARTS.items() for end in ends.split()]
_ENDS += [("_scales", ("_blocks",)), ("_scale_inv", ("",)), ("_scale", ("",)), ("_activation_scale", ("",))]
_NEEDED = {".qweight": (".scales", ".qzeros"), ".weight_packed": (".weight_scale",), "_blocks": ("_scales",)}
_CACHE_SCALE = re.compile(r"\.[kv]_(scale|zero_point)$|\.(k_proj|v_proj)\.output_scale$")


class Packed(NamedTuple):
    """A weight as a model names it: its shape, None if unknown, and how it is stored."""

    shape: Shape | None
    dtype: str
    packed: bool = False
    flat: bool = False  # only the number of elements is known
    parts: tuple[str, ...] = ()


def unpack(
    tensors: Iterable[StoredTensor], bits: int = 4, group: int = _GROUP
) -> tuple[dict[str, Packed], list[str]]:
    """Return the weights of stored tensors by name, and the names of scales that are missing.

    ``bits`` and ``group`` are those of the config, for formats whose files do not show them.
    """
    stored = {one.name: one for one in tensors}
    parts: dict[str, dict[str, StoredTensor]] = {}
    for name, one in stored.items():
        for end, starts in _ENDS:
            if name.endswith(end):
                base = name.removesuffix(end)
                start = next(
                    (start for start in starts if base + start in stored and base + start != name), None
                )
                if start is not None:
                    parts.setdefault(base + start, {})[end] = one
                    break
    companions = {one.name for found in parts.values() for one in found.values()}
    weights, missing = {}, []
    for name, one in stored.items():
        if name in companions or _CACHE_SCALE.search(name):
            continue
        end = next((end for end in _NEEDED if name.endswith(end)), "")
        found = parts.get(name, {})
        base = name.removesuffix(end)
        missing += [base + part for part in _NEEDED.get(end, ()) if part not in found]
        label = base if end == "_blocks" else base + ".weight" if end else name
        if not end and not found:
            weights[label] = Packed(one.shape, one.dtype)
            continue
        shape = None if one.shape is None else _shape(one, end, found, bits, group)
        flat = ".weight.absmax" in found
        weights[label] = Packed(shape, one.dtype, True, flat, tuple(x.name for x in found.values()))
    return weights, missing


def _shape(one: StoredTensor, end: str, parts: dict[str, StoredTensor], bits: int, group: int) -> Shape:
    """Return the shape of a weight from the tensors that store it."""
    shape = one.shape or ()
    scales = next((x.shape for key, x in parts.items() if "scale" in key and x.shape), ())
    if end == ".qweight" and len(shape) == 2:
        rows, columns = shape
        outputs = scales[-1] if scales else columns
        return (outputs, rows) if outputs != columns else (columns, rows * _WORD // bits)
    if end == "_blocks":
        return (*shape[:-3], shape[-2] * shape[-1] * 2, shape[-3])
    if ".weight.absmax" in parts:
        return (one.numel * 2,)
    if one.dtype == "uint8" and (end or ".weight_scale_2" in parts):  # two elements of 4 bits a byte
        return (*shape[:-1], shape[-1] * 2)
    if one.dtype == "int32" and end:
        return (*shape[:-1], shape[-1] * _WORD // bits)
    if one.dtype == "uint32" and scales:
        return (*shape[:-1], scales[-1] * group)
    return shape
