"""The scheme of compressed-tensors: groups of modules, each with its format; compressed_tensors/compressors.

Experts are stored one by one, as Linears with the names of the checkpoint: `experts.0.gate_proj`.
"""

from __future__ import annotations

import re

from archspec.formats.keys import (
    Check,
    Given,
    KeyProblem,
    anything,
    choice,
    flag,
    mapping,
    names,
    pair,
    positive,
    read,
    typed,
    unset,
)
from archspec.formats.scheme import ALL_EXPERTS, LINEAR, Layout, Scheme
from archspec.formats.table import LAYOUTS
from archspec.typing_light import Any

_BYTES = ("float-quantized", "int-quantized", "naive-quantized")  # a byte per element
_ACTIVATIONS = ("input_activations", "output_activations")
_FORMATS = (*_BYTES, "pack-quantized", "nvfp4-pack-quantized", "mxfp4-pack-quantized")


def _is_dense(sparsity: Any) -> bool:
    return not sparsity or (isinstance(sparsity, dict) and sparsity.get("format", "dense") == "dense")


KEYS: dict[str, Check] = {
    **unset("transform_config moe_sparsity_config dequantize"),
    "sparsity_config": typed(_is_dense, "supported: give dense weights"),
    "run_compressed": typed(lambda value: value is not False, "supported: it dequantizes the weights"),
    "quantization_status": choice("compressed", "frozen", default="compressed", empty=True),
    "format": choice(*_FORMATS, "mixed-precision", default="", empty=True),
    "config_groups": mapping,
    "ignore": names,
}
UNUSED = "kv_cache_scheme global_compression_ratio version"
_ARGUMENTS: dict[str, Check] = {
    "num_bits": lambda given, key, where: given.get(key, 8),
    "type": choice("int", "float", default="int"),
    "symmetric": flag(True),
    "strategy": anything,
    "actorder": choice(None, "weight", "static", empty=True),
    "group_size": anything,
    "block_structure": anything,
    "dynamic": anything,
}
_UNUSED_ARGUMENTS = "observer observer_kwargs scale_dtype zp_dtype is_mx"


def scheme(keys: dict[str, Any], given: Given) -> Scheme:
    """Return the scheme: the Linears that a group targets and `ignore` does not list."""
    groups = [
        _group(f"config_groups.{name}", group, keys["format"])
        for name, group in keys["config_groups"].items()
    ]
    ignored = keys["ignore"] or ()
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
    )


def _matches(pattern: str, path: str, cls: str) -> bool:
    """compressed_tensors.utils.match: a class, a path, or a regular expression after `re:`."""
    if not pattern.startswith("re:"):
        return pattern in (path, cls)
    try:
        return re.match(pattern.removeprefix("re:"), path) is not None
    except re.error as error:
        raise KeyProblem("ignore", f"{pattern} is not a regular expression: {error}") from None


def _group(where: str, group: Any, default: str) -> tuple[tuple[str, ...], Layout, str]:
    """Return the targets of a group, the layout of its weights, and its name."""
    if not isinstance(group, dict):
        raise KeyProblem(where, "a group is not a mapping")
    checks = {"format": choice(*_FORMATS, default=default, empty=True), "targets": names}
    checks |= dict.fromkeys(("weights", *_ACTIVATIONS), _arguments)
    keys = read(group, checks, where=f"{where}.")
    stored, weights, inner = keys["format"], keys["weights"], f"{where}.weights."
    for key in ("targets", "weights"):
        if not keys[key]:
            raise KeyProblem(f"{where}.{key}", f"a group without {key} is not supported")
    static = sum(_static_values(keys[key], f"{where}.{key}.", stored) for key in _ACTIVATIONS)
    if stored in (*_BYTES, "pack-quantized"):
        kind = "fp" if weights["type"] == "float" else "int"
        name = f"{stored} ({kind}{weights['num_bits']} per {weights['strategy']})"
        return keys["targets"], _layout(weights, inner, stored, static), name
    choice(4)(weights, "num_bits", inner)
    name = stored.removesuffix("-pack-quantized")
    layout = LAYOUTS[name]
    choice(layout.block[1], default=layout.block[1])(weights, "group_size", inner)
    if name == "nvfp4":  # a float32 scale of the weights, and one of the activations
        layout = layout._replace(extra_bytes=8 if keys["input_activations"] is not None else 4)
    return keys["targets"], layout, name


def _arguments(given: Given, key: str, where: str) -> Given | None:
    """The arguments of a quantizer, with defaults; None for null."""
    if given.get(key) is None:
        return None
    if not isinstance(given[key], dict):
        raise KeyProblem(where + key, f"{where}{key} is not a mapping")
    keys = read(given[key], _ARGUMENTS, _UNUSED_ARGUMENTS, f"{where}{key}.")
    group = keys["group_size"]
    default = "tensor" if group is None else "channel" if group == -1 else "group"
    given_keys = {one: value for one, value in keys.items() if value is not None or one in given[key]}
    return {**given_keys, "strategy": keys["strategy"] or default}


def _static_values(given: Given | None, where: str, form: str) -> int:
    """Return how many values static activations store with a weight."""
    if given is None or given.get("dynamic"):
        return 0
    if form not in _BYTES:
        raise KeyProblem(where + "dynamic", f"static activations in {form} are not supported")
    choice("tensor")(given, "strategy", where)
    choice(True)(given, "symmetric", where)
    return 1


def _layout(weights: Given, where: str, form: str, static: int) -> Layout:
    """Scales are in the model's dtype; packed ints are stored with their shape as two int64."""
    packed = form == "pack-quantized"
    bits: int = choice(*((2, 3, 4, 8) if packed else (8,)))(weights, "num_bits", where)
    strategy = choice("tensor", "channel", "group", "block")(weights, "strategy", where)
    block, uneven = (1, 0) if strategy == "channel" else (0, 0), "pad"
    if strategy == "group":
        block, uneven = (1, positive(0)(weights, "group_size", where)), "refuse"
    elif strategy == "block":
        block = pair(weights, "block_structure", where)
    zero = 0 if weights["symmetric"] else bits
    found = Layout(bits, block, scale_values=1, zero_bits=zero, packed=packed, uneven=uneven)
    return found._replace(extra_bytes=16) if packed else found._replace(extra_values=static)
