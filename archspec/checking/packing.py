"""Quantized weights in files: the tensors that each format stores for one weight.

The layouts are those of formulas/weight_formats.json, which names their sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import prod

from archspec.checkpoints.records import BITS, StoredTensor
from archspec.tree.tensors import fold_layers

PACKED = "packed"
_ELEMENTS = (".qweight", ".weight_packed", ".W_q", "._weight_qdata", "_blocks")  # ends of names
_NEEDED = {".qweight": (".scales", ".qzeros"), ".weight_packed": (".weight_scale",), "_blocks": ("_scales",)}
_COMPANION = re.compile(  # names of tensors that are stored next to a weight under its own name
    r"(.+?)(\.(scales|biases|scale|SCB|weight_format|(input|output|activation)_scale|input_zero_point"
    r"|weight_(zero_point|scale(_2|_inv)?)"
    r"|weight\.((nested_)?(absmax|quant_map)|quant_state\.bitsandbytes__(nf4|fp4)))"
    r"|_scales|_scale|_scale_inv|_activation_scale)$"
)
_WHOLE = ("int8", "float8_e4m3fn", "float8_e5m2")  # dtypes of elements that are not packed into words
_PACKED_DTYPES = (*_WHOLE, "", "uint8", "int16", "int32", "uint32")  # "" of an index
_CACHE_SCALE = re.compile(r"\.[kv]_(scale|zero_point)$|\.(k_proj|v_proj)\.output_scale$")


def unpack(tensors: Iterable[StoredTensor]) -> tuple[dict[str, StoredTensor], list[str]]:
    """Return the weights of stored tensors by a model's names, and the names of scales that are missing.

    The dtype of quantized weights is :data:`PACKED`, and their bytes are those of their elements, without
    scales. Their shape is None if elements are packed into words.
    """
    stored = {one.name: one for one in tensors}
    ends = {name: next(filter(name.endswith, _ELEMENTS)) for name in stored if name.endswith(_ELEMENTS)}
    modules = {name.removesuffix(end): name for name, end in ends.items()}
    parts: dict[str, set[str]] = {}
    for name in stored:
        base, _, last = name.rpartition(".")
        if last in ("weight", "bias"):
            continue
        data = modules.get(base, name)
        if data == name and (companion := _COMPANION.match(name)):
            labels = (companion[1] + end for end in (".weight", "_blocks", ""))
            data = next((label for label in labels if label in stored), name)
        if data != name and stored[data].dtype in _PACKED_DTYPES:
            parts.setdefault(data, set()).add(name)
    companions = set[str]().union(*parts.values())
    bases = {name: name.removesuffix(ends.get(name, ".weight")) for name in (*ends, *parts)}
    usual: dict[tuple[str, str], set[str]] = {}  # ends of companions, by the weight's name in all layers
    for data, names in parts.items():
        own = {name.removeprefix(bases[data]) for name in names}
        usual.setdefault((fold_layers(data), stored[data].dtype), set()).update(own)
    weights, missing = {}, []
    for name, one in stored.items():
        if name in bases:
            base, end = bases[name], ends.get(name, "")
            needed = {*_NEEDED.get(end, ()), *usual.get((fold_layers(name), one.dtype), ())}
            missing += sorted(base + part for part in needed if base + part not in stored)
            shape = one.shape if one.dtype in _WHOLE else None
            size = prod(one.shape or ()) * BITS.get(one.dtype, 0) // 8
            label = f"{base}.weight" if end not in ("", "_blocks") else base if end else name
            weights[label] = one._replace(dtype=PACKED, shape=shape, bytes=size)
        elif name not in companions and not _CACHE_SCALE.search(name):
            weights[name] = one
    return weights, missing
