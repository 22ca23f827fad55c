"""The scheme of compressed-tensors: groups of modules, each with its format; compressed_tensors/compressors.

Experts are stored one by one, as Linears with the names of the checkpoint: `experts.0.gate_proj`.
"""

from __future__ import annotations

import re

from archspec.errors import ArchspecError
from archspec.formats.keys import Keys
from archspec.formats.scheme import ALL_EXPERTS, LAYOUTS, LINEAR, Layout, Scheme
from archspec.typing_light import Any

_BYTES = ("float-quantized", "int-quantized", "naive-quantized")  # a byte per element
_PACKED = "pack-quantized"
_BLOCKS = {  # formats with a fixed block
    "nvfp4-pack-quantized": LAYOUTS["nvfp4"],
    "mxfp4-pack-quantized": LAYOUTS["mxfp4"],
    "mxfp6-pack-quantized": LAYOUTS["mxfp4"]._replace(bits=6),
    "mxfp8-quantized": LAYOUTS["mxfp4"]._replace(bits=8),
}
_FORMATS = (*_BYTES, _PACKED, *_BLOCKS)
_DENSE_SINCE = (0, 18)  # before, an int32 had 32 // bits elements


def read_scheme(keys: Keys) -> Scheme:
    """Return the scheme: the Linears that a group targets and `ignore` does not list."""
    keys.refuse_keys("transform_config moe_sparsity_config dequantize")
    keys.ignore("global_compression_ratio version")
    keys.value("sparsity_config", None, _is_dense, "supported: give dense weights")
    keys.value("run_compressed", None, lambda value: value is not False, "supported: it dequantizes")
    keys.choice("quantization_status", "compressed", "frozen", default="compressed", empty=True)
    default = keys.choice("format", *_FORMATS, "mixed-precision", default="", empty=True)
    version = tuple(int(one) for one in re.findall(r"\d+", str(keys.given.get("version")))[:2])
    ignored, stated = keys.names("ignore") or (), keys.read_mappings("config_groups", needed=True)
    groups = [_group(one, default, version) for one in stated]
    targets = [(target, layout) for found, layout, _ in groups for target in found]

    def choose(path: str, cls: str) -> Layout | None:
        if cls != LINEAR or any(_matches(one, path, cls) for one in ignored):
            return None
        found = [(target == cls, layout) for target, layout in targets if _matches(target, path, cls)]
        return min(found, key=lambda one: one[0])[1] if found else None  # a path has priority over a class

    return Scheme(
        ", ".join(dict.fromkeys(name for _, _, name in groups)),
        groups[0][1],
        choose=choose,
        split=ALL_EXPERTS,
        own_names=True,
        subclasses="all",
        patterns=tuple(one for one in ignored if one != LINEAR),
        cache=_cache_layout(keys),
    )


def _cache_layout(keys: Keys) -> Layout | None:
    """Return the layout of a scale of a quantized KV cache; None if the file has none."""
    found = _arguments(keys, "kv_cache_scheme")
    if found is None or found.given.get("dynamic"):
        return None
    found.choice("strategy", "tensor")
    found.choice("symmetric", True, default=True)
    return Layout(0, (0, 0), extra_values=1)


def _is_dense(sparsity: Any) -> bool:
    return not sparsity or (isinstance(sparsity, dict) and sparsity.get("format", "dense") == "dense")


def _matches(pattern: str, path: str, cls: str) -> bool:
    """Return True if a target fits: a class, a path, or a regular expression after `re:`."""
    if not pattern.startswith("re:"):
        return pattern in (path, cls)
    try:
        return re.match(pattern.removeprefix("re:"), path) is not None
    except re.error as error:
        raise ArchspecError(f"{pattern} is not a regular expression: {error}") from None


def _group(keys: Keys, default: str, version: tuple[int, ...]) -> tuple[tuple[str, ...], Layout, str]:
    stored, targets = keys.choice("format", *_FORMATS, default=default, empty=True), keys.names("targets")
    weights = _arguments(keys, "weights")
    inputs, outputs = (_arguments(keys, f"{name}_activations") for name in ("input", "output"))
    keys.finish()
    if not targets or weights is None:
        missing = "weights" if targets else "targets"
        keys.refuse(missing, f"a group without {missing} is not supported")
    static = sum(_static_values(one, stored) for one in (inputs, outputs) if one is not None)
    if stored in (*_BYTES, _PACKED):
        kind = "fp" if weights.given.get("type") == "float" else "int"
        name = f"{stored} ({kind}{weights.given['num_bits']} per {weights.given['strategy']})"
        if stored == _PACKED and 32 % weights.given["num_bits"] and version < _DENSE_SINCE:
            weights.refuse("num_bits", "this number of bits before version 0.18 is not supported")
        return targets, _layout(weights, stored, static), name
    name, layout = stored.removesuffix(f"-{_PACKED}"), _BLOCKS[stored]
    weights.choice("num_bits", layout.bits)
    weights.choice("type", "float")
    weights.choice("symmetric", True, default=True)
    weights.choice("group_size", layout.block[1], default=layout.block[1])
    if name == "nvfp4":  # a float32 scale of the weights, and one of the activations
        layout = layout._replace(extra_bytes=8 if inputs is not None else 4)
    return targets, layout, name


def _arguments(keys: Keys, name: str) -> Keys | None:
    """Return the arguments of a quantizer, with defaults; None for null."""
    keys.ignore(name)
    if keys.given.get(name) is None:
        return None
    found = keys.read_mapping(name)
    found.choice("type", "int", "float", default="int")
    found.flag("symmetric", True)
    found.choice("actorder", None, "weight", "static", empty=True)
    found.ignore("num_bits strategy group_size block_structure dynamic")
    found.ignore("observer observer_kwargs scale_dtype zp_dtype is_mx")
    found.finish()
    group = found.given.get("group_size")
    default = "tensor" if group is None else "channel" if group == -1 else "group"
    strategy = found.given.get("strategy") or default
    return Keys(keys.config, found.path, {"num_bits": 8, **found.given, "strategy": strategy})


def _static_values(activations: Keys, stored: str) -> int:
    """Return how many values static activations store with a weight."""
    if activations.given.get("dynamic"):
        return 0
    if stored not in _BYTES:
        activations.refuse("dynamic", f"static activations in {stored} are not supported")
    activations.choice("strategy", "tensor")
    activations.choice("symmetric", True, default=True)
    return 1


def _layout(weights: Keys, stored: str, static: int) -> Layout:
    """Return the layout: scales in the model's dtype; packed ints are stored with their shape, two int64."""
    is_packed = stored == _PACKED
    weights.choice("num_bits", *range(1, 9))
    bits = weights.given["num_bits"] if is_packed else 8
    strategy = weights.choice("strategy", "tensor", "channel", "group", "block")
    block, uneven = (1, 0) if strategy == "channel" else (0, 0), "pad"
    if strategy == "group":
        block, uneven = (1, weights.positive_int("group_size", 0)), "refuse"
    elif strategy == "block":
        block = weights.pair("block_structure")
    zero = 0 if weights.flag("symmetric", True) else 8 if strategy == "tensor" else bits
    found = Layout(bits, block, scale_values=1, zero_bits=zero, packed=int(is_packed), uneven=uneven)
    return found._replace(extra_bytes=16) if is_packed else found._replace(extra_values=static)
