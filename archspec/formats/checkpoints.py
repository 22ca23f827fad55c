"""The schemes of checkpoint formats that other tools write: compressed-tensors, NVIDIA's modelopt, MLX.

Experts are stored one by one, as Linears, in the names of the checkpoints: `experts.0.gate_proj`.
Sources: compressed_tensors/compressors, modelopt's unified checkpoints, mlx.nn.quantize.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from archspec.formats.keys import (
    Given,
    KeyProblem,
    check_keys,
    flag,
    listed,
    one_of,
    pair,
    positive,
    refuse_set,
)
from archspec.formats.layouts import affine_bytes, nvfp4_bytes, packed_fp4_bytes, q8_0_bytes
from archspec.formats.scheme import EMBEDDING, LINEAR, Choose, Layout, Scheme, same_for
from archspec.typing_light import Any

_ARGUMENTS = (
    "num_bits type symmetric strategy group_size block_structure dynamic actorder observer observer_kwargs "
    "scale_dtype zp_dtype is_mx"
)
_COMPRESSED = (
    "config_groups format ignore quantization_status kv_cache_scheme global_compression_ratio version "
    "sparsity_config transform_config moe_sparsity_config run_compressed dequantize"
)
_PLAIN = ("float-quantized", "int-quantized", "naive-quantized")
_FORMATS = (*_PLAIN, "pack-quantized", "nvfp4-pack-quantized", "mxfp4-pack-quantized", "mixed-precision")
_MODELOPT = (
    "quant_algo kv_cache_quant_algo kv_cache_scheme group_size exclude_modules ignore producer config_groups "
    "quantized_layers has_zero_point pre_quant_scale"
)


def compressed_tensors(given: Given) -> Scheme:
    """compressed-tensors: the Linears that a group targets and `ignore` does not list."""
    check_keys(given, _COMPRESSED)
    refuse_set(given, "transform_config", "moe_sparsity_config", "dequantize")
    sparsity = given.get("sparsity_config") or {}
    if not isinstance(sparsity, dict) or sparsity.get("format", "dense") != "dense":
        raise KeyProblem("sparsity_config", "sparse weights are not supported")
    if given.get("run_compressed") is False:
        raise KeyProblem("run_compressed", "run_compressed false dequantizes the weights: not supported")
    one_of({"quantization_status": given.get("quantization_status") or "compressed"}, "quantization_status",
           "compressed", ("compressed", "frozen"))  # fmt: skip
    form = one_of({"format": given.get("format") or ""}, "format", "", _FORMATS)
    groups = given.get("config_groups")
    if not isinstance(groups, dict) or not groups:
        raise KeyProblem("config_groups", "config_groups is not a mapping of groups")
    read = [_group(f"config_groups.{name}.", group, form) for name, group in groups.items()]
    ignored = listed(given, "ignore") or ()
    targets = [(target, layout) for found, layout, _ in read for target in found]

    def choose(path: str, cls: str) -> Layout | None:
        if cls != LINEAR or any(_targets(one, path, cls) for one in ignored):
            return None
        found = [(target == cls, layout) for target, layout in targets if _targets(target, path, cls)]
        if not found:
            return None
        return min(found, key=lambda one: one[0])[1]  # a path goes before a class

    names = [name for _, _, name in read]
    return Scheme(
        ", ".join(dict.fromkeys(names)),
        choose,
        each=True,
        own_names=True,
        subclasses="all",
        patterns=tuple(one for one in ignored if one != LINEAR),
    )


def _targets(pattern: str, path: str, cls: str) -> bool:
    """compressed_tensors.utils.match: a class, a path, or a regular expression after `re:`."""
    if not pattern.startswith("re:"):
        return pattern in (path, cls)
    try:
        return re.match(pattern.removeprefix("re:"), path) is not None
    except re.error as error:
        raise KeyProblem("ignore", f"{pattern} is not a regular expression: {error}") from None


def _group(where: str, group: Any, form: str) -> tuple[list[str], Layout, str]:
    """The targets of a group, the layout of its weights, and its name."""
    if not isinstance(group, dict):
        raise KeyProblem(where.rstrip("."), "a group is not a mapping")
    check_keys(group, "targets weights input_activations output_activations format", where)
    targets = listed(group, "targets")
    if not targets:
        raise KeyProblem(where + "targets", "a group has no targets")
    form = one_of({"format": group.get("format") or form}, "format", form, _FORMATS[:-1], where)
    weights = _arguments(group.get("weights"), f"{where}weights.")
    if weights is None:
        raise KeyProblem(where + "weights", "a group without weights is not supported")
    scalars = 0
    for key in ("input_activations", "output_activations"):
        activations = _arguments(group.get(key), f"{where}{key}.")
        scalars += _activation_elements(activations, f"{where}{key}.", form)
    if form in _PLAIN:
        return [*targets], _plain(weights, f"{where}weights.", scalars), f"{form} ({_kind(weights)})"
    if form == "pack-quantized":
        return [*targets], _packed(weights, f"{where}weights.", scalars), f"{form} ({_kind(weights)})"
    one_of(weights, "num_bits", None, (4,), f"{where}weights.")
    if form == "mxfp4-pack-quantized":
        one_of(weights, "group_size", 32, (32,), f"{where}weights.")
        return [*targets], lambda rows, columns, element: packed_fp4_bytes(rows, columns), "mxfp4"
    one_of(weights, "group_size", 16, (16,), f"{where}weights.")
    own = 1 + int(group.get("input_activations") is not None)
    return [*targets], lambda rows, columns, element: nvfp4_bytes(rows, columns, own), "nvfp4"


def _kind(weights: Given) -> str:
    kind = "fp" if weights["type"] == "float" else "int"
    return f"{kind}{weights['num_bits']} per {weights['strategy']}"


def _arguments(given: Any, where: str) -> Given | None:
    if given is None:
        return None
    if not isinstance(given, dict):
        raise KeyProblem(where.rstrip("."), f"{where.rstrip('.')} is not a mapping")
    check_keys(given, _ARGUMENTS, where)
    one_of({"actorder": given.get("actorder") or None}, "actorder", None, (None, "weight", "static"), where)
    group = given.get("group_size")
    default = "tensor" if group is None else "channel" if group == -1 else "group"
    strategy = given.get("strategy") or default
    kind = one_of(given, "type", "int", ("int", "float"), where)
    symmetric = flag(given, "symmetric", True, where)
    return {"num_bits": 8, **given, "strategy": strategy, "type": kind, "symmetric": symmetric}


def _activation_elements(given: Given | None, where: str, form: str) -> int:
    """Elements that calibrated activations store with a weight: a scale, and a zero point as a fraction."""
    if given is None or given.get("dynamic"):
        return 0
    if form not in _PLAIN:
        raise KeyProblem(where + "dynamic", f"static activations in {form} are not supported")
    one_of(given, "strategy", "tensor", ("tensor",), where)
    if not given["symmetric"]:
        raise KeyProblem(where + "symmetric", "asymmetric static activations are not supported")
    return 1


def _scales(weights: Given, where: str) -> Callable[[int, int], int]:
    """The number of scales of a matrix by its outputs and inputs."""
    strategy = one_of(weights, "strategy", "tensor", ("tensor", "channel", "group", "block"), where)
    if strategy == "group":
        group = positive(weights, "group_size", 0, where)

        def grouped(rows: int, columns: int) -> int:
            if columns % group:
                raise KeyProblem(where + "group_size", f"{columns} inputs are not divisible by {group}")
            return rows * (columns // group)

        return grouped
    if strategy == "block":
        height, width = pair(weights, "block_structure", where)
        return lambda rows, columns: -(-rows // height) * -(-columns // width)
    return lambda rows, columns: rows if strategy == "channel" else 1


def _plain(weights: Given, where: str, scalars: int) -> Layout:
    """A byte per element; scales are in the model's dtype, zero points are bytes."""
    one_of(weights, "num_bits", None, (8,), where)
    scales, zero = _scales(weights, where), 0 if weights["symmetric"] else 1
    return lambda rows, columns, element: (
        rows * columns + scales(rows, columns) * (element + zero) + scalars * element
    )


def _packed(weights: Given, where: str, scalars: int) -> Layout:
    """Ints packed into int32 along the inputs, scales in the model's dtype, the shape as two int64."""
    bits: int = one_of(weights, "num_bits", None, (2, 3, 4, 8), where)
    scales, zero = _scales(weights, where), not weights["symmetric"]

    def layout(rows: int, columns: int, element: int) -> int:
        count = scales(rows, columns)
        if columns * bits % 32 or (zero and rows * bits % 32):
            raise KeyProblem(where + "num_bits", f"{rows} x {columns} cannot be packed in {bits} bits")
        return rows * columns * bits // 8 + count * element + (count * bits // 8 if zero else 0) + 16

    return layout


def modelopt(given: Given) -> Scheme:
    """NVIDIA's modelopt: Linears in FP8 or NVFP4 with float32 scalars, except `exclude_modules`."""
    check_keys(given, _MODELOPT)
    refuse_set(given, "quantized_layers", "pre_quant_scale", "has_zero_point")
    algorithm = given.get("quant_algo")
    if algorithm is None:
        raise KeyProblem("config_groups", "the bytes of groups without quant_algo are not supported")
    layouts: dict[str, Layout] = {
        "FP8": lambda rows, columns, element: rows * columns + 8,
        "NVFP4": lambda rows, columns, element: nvfp4_bytes(rows, columns),
    }
    key = one_of({"quant_algo": str(algorithm).upper()}, "quant_algo", "", layouts)
    if key == "NVFP4":
        one_of({"group_size": given.get("group_size") or 16}, "group_size", 16, (16,))
    _check_groups(given.get("config_groups") or {}, 4 if key == "NVFP4" else 8)
    excluded = (*(listed(given, "exclude_modules") or ()), *(listed(given, "ignore") or ()))

    def choose(path: str, cls: str) -> Layout | None:
        return layouts[key] if cls == LINEAR and not any(_excludes(one, path) for one in excluded) else None

    return Scheme(key.lower(), choose, each=True, own_names=True, subclasses="all", patterns=excluded)


def _check_groups(groups: Any, bits: int) -> None:
    """Errors: :class:`KeyProblem` for groups that say something else than modelopt's quant_algo."""
    if not isinstance(groups, Mapping):
        raise KeyProblem("config_groups", "config_groups is not a mapping of groups")
    for name, group in groups.items():
        where = f"config_groups.{name}."
        weights = group.get("weights") if isinstance(group, Mapping) else None
        if not isinstance(weights, Mapping):
            raise KeyProblem(where + "weights", "weights is not a mapping")
        one_of(weights, "num_bits", bits, (bits,), where + "weights.")
        one_of(weights, "type", "float", ("float",), where + "weights.")
        if bits == 4:
            one_of(weights, "group_size", 16, (16,), where + "weights.")
        one_of(group, "targets", None, (None, ["Linear"]), where)


def _excludes(pattern: str, path: str) -> bool:
    """A path, a module around it, or a pattern with `*`."""
    pattern = pattern.removeprefix("re:") if pattern.startswith("re:") else pattern
    parts = path.split(".")
    return any(fnmatchcase(".".join(parts[:end]), pattern) for end in range(1, len(parts) + 1))


def mlx(given: Given) -> Scheme:
    """MLX: Linears and embeddings in groups with a scale and a bias each, tied weights once."""
    given = {**given}
    one_of({"mode": given.pop("mode", None) or "affine"}, "mode", "affine", ("affine",))
    bits = one_of(given, "bits", None, (2, 3, 4, 5, 6, 8))
    group = one_of(given, "group_size", 64, (32, 64, 128))
    own = {key: value for key, value in given.items() if key not in ("bits", "group_size", "quant_method")}
    for key, value in own.items():
        if value is not False and value is not True and not isinstance(value, dict):
            raise KeyProblem(key, f"{key} is not a supported key of MLX's quantization")
        if isinstance(value, dict):
            check_keys(value, "bits group_size mode", f"{key}.")
            one_of(value, "bits", bits, (2, 3, 4, 5, 6, 8), f"{key}.")
            one_of(value, "group_size", group, (32, 64, 128), f"{key}.")
            one_of({"mode": value.get("mode") or "affine"}, "mode", "affine", ("affine",), f"{key}.")

    def choose(path: str, cls: str) -> Layout | None:
        chosen = own.get(path, True)
        if cls not in (LINEAR, EMBEDDING) or chosen is False:
            return None
        one = chosen if isinstance(chosen, dict) else {}
        return _affine(one.get("bits", bits), one.get("group_size", group))

    return Scheme(
        f"mlx, {bits} bits", choose, own_names=True, subclasses="all", ties=True, patterns=(*own,), whole=True
    )


def _affine(bits: int, group: int) -> Layout:
    def layout(rows: int, columns: int, element: int) -> int:
        if columns % group:  # mlx-lm leaves such a weight in the model's dtype
            return rows * columns * element
        return affine_bytes(rows, columns, bits, group, element)

    return layout


def q8_0() -> Scheme:
    """llama.cpp's Q8_0 files: every matrix in blocks of 32; norms, biases and routers in float32."""
    choose: Choose = same_for((LINEAR, "Conv1D"), q8_0_bytes)

    def with_tokens(path: str, cls: str) -> Layout | None:
        table = cls == EMBEDDING and not re.search(r"wpe|position", path)
        return (lambda rows, columns, element: q8_0_bytes(rows, columns)) if table else choose(path, cls)

    return Scheme(
        "q8_0", with_tokens, lambda name, rows, columns: q8_0_bytes(rows, columns),
        own_names=True, subclasses="all", ties=True, rest="float32", whole=True,
    )  # fmt: skip
