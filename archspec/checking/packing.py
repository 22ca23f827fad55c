"""Quantized weights in files: the tensors that each format stores for one weight, and the weight's shape.

The layouts are those of formulas/weight_formats.json, which names their sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from archspec.checkpoints.records import Shape, StoredTensor

PACKED = "packed"
_WORD = 32  # bits of the integers that elements are packed into
_COMPANION = re.compile(  # names of tensors that are stored with the elements of a weight
    r"(.+?)(\.(qzeros|scales|biases|g_idx|scale|SCB|weight_format|(input|output|activation)_(global_)?scale"
    r"|input_zero_point|weight_(global_scale|zero_point|shape|g_idx|scale(_2|_inv)?)"
    r"|weight\.((nested_)?(absmax|quant_map)|quant_state\.bitsandbytes__(nf4|fp4)))"
    r"|_scales|_scale|_scale_inv|_activation_scale)$"
)
_ELEMENTS = (".qweight", ".weight_packed", ".weight", "_blocks", "")  # ends of the tensor with the elements
_PACKED_DTYPES = ("", "int8", "uint8", "int32", "uint32", "float8_e4m3fn", "float8_e5m2")  # "" of an index
_NEEDED = {".qweight": (".scales", ".qzeros"), ".weight_packed": (".weight_scale",), "_blocks": ("_scales",)}
_CACHE_SCALE = re.compile(r"\.[kv]_(scale|zero_point)$|\.(k_proj|v_proj)\.output_scale$")


def unpack(
    tensors: Iterable[StoredTensor], bits: int = 4, group: int = 64
) -> tuple[dict[str, StoredTensor], list[str]]:
    """Return the weights of stored tensors by a model's names, and the names of scales that are missing.

    The dtype of quantized weights is :data:`PACKED`. Their shape has one dimension if only the number of
    elements is known. ``bits`` and ``group`` are those of the config, if files do not show them.
    """
    stored = {one.name: one for one in tensors}
    parts: dict[str, dict[str, StoredTensor]] = {}
    for name in stored:
        if found := _COMPANION.match(name):
            ends = (end for end in _ELEMENTS if found[1] + end in stored)
            data = found[1] + next(ends, "")
            if data in stored and data != name and stored[data].dtype in _PACKED_DTYPES:
                parts.setdefault(data, {})[found[2]] = stored[name]
    companions = {one.name for found in parts.values() for one in found.values()}
    weights, missing = {}, []
    for name, one in stored.items():
        if name in companions or _CACHE_SCALE.search(name):
            continue
        own, end = parts.get(name, {}), next((end for end in _NEEDED if name.endswith(end)), "")
        base = name.removesuffix(end)
        missing += [base + part for part in _NEEDED.get(end, ()) if part not in own]
        if own or end:
            shape = None if one.shape is None else _shape(one, end, own, bits, group)
            one = one._replace(dtype=PACKED, shape=shape)
        weights[base if end in ("", "_blocks") else f"{base}.weight"] = one
    return weights, missing


def _shape(one: StoredTensor, end: str, parts: dict[str, StoredTensor], bits: int, group: int) -> Shape:
    """Return the shape of a weight from the tensors that store it."""
    *outer, last = one.shape or (0,)
    scales = next((x.shape for key, x in parts.items() if "scale" in key and x.shape), ())
    if end == ".qweight" and len(outer) == 1:  # AWQ packs the outputs, GPTQ the inputs, which come first
        is_awq = bool(scales) and scales[-1] != last
        return (scales[-1], outer[0]) if is_awq else (last, outer[0] * _WORD // bits)
    if end == "_blocks" and len(outer) == 3:  # of MXFP4, whose matrices are stored transposed
        return (outer[0], outer[2] * last * 2, outer[1])
    if ".weight.absmax" in parts:
        return (one.numel * 2,)
    if one.dtype == "uint8" and (end or ".weight_scale_2" in parts):  # NVFP4
        return (*outer, last * 2)
    if one.dtype == "int32" and end:
        return (*outer, last * _WORD // bits)
    return (*outer, scales[-1] * group) if one.dtype == "uint32" and scales else (*outer, last)
