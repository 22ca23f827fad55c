"""Find the quantization of a config, wherever it is; notes on assumed dtypes and quantized KV caches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from archspec.arguments import describe_value
from archspec.configs.origin import RawConfig
from archspec.errors import ArchspecError, ConfigError, option
from archspec.formats.dtypes import ASSUMED, stated_dtype
from archspec.typing_light import Any, NamedTuple

_KEYS = ("quantization_config", "compression_config", "quantization", "quantize_config", "quant_config")
_MISPLACED = ("load_in_4bit", "load_in_8bit", "quant_method", "quant_algo")  # keys of quantization_config
_OF_WHOLE_MODEL = "text_config.quantization_config"  # transformers applies it to all parts
_EXPERT_DTYPE_TYPE = "deepseek_v4"  # its config class moves expert_dtype into quantization_config


class Found(NamedTuple):
    """The quantization of a config: its path and its keys."""

    path: str
    given: Mapping[str, Any]


def quantization_of(config: RawConfig) -> Found | None:
    """Return the quantization of a config, if it has one. Errors: :class:`ConfigError` unless it is clear."""
    for key in _MISPLACED:
        if config.raw.get(key):
            raise key_problem(config, key, f"{key} outside quantization_config is not supported")
    stated = dict(_find_keys(config.raw, ""))
    if not stated:
        return None
    top = {path: value for path, value in stated.items() if "." not in path} or stated
    path, value = next(iter(top.items()))
    if "." in path and path != _OF_WHOLE_MODEL:
        raise key_problem(config, path, f"{path} quantizes a part of the model: not supported")
    if not isinstance(value, Mapping):
        raise key_problem(config, path, f"must be a JSON object, not {describe_value(value)}")
    for other, given in top.items():
        if not isinstance(given, Mapping) or {**value, "quant_method": 0} != {**given, "quant_method": 0}:
            message = f"{path} and {other} contain different quantizations"
            raise key_problem(config, other, message, "remove one of them")
    found = {**value, "quant_method": _method(path, value, is_mlx="quantization" in top)}
    expert = config.raw.get("expert_dtype")
    if expert is not None and "expert_dtype" not in found:
        if config.raw.get("model_type") != _EXPERT_DTYPE_TYPE or found["quant_method"] != "fp8":
            message = f"expert_dtype {expert!r} next to {path} is not supported for this model type"
            raise key_problem(config, "expert_dtype", message)
        found["expert_dtype"] = expert
    return Found(path, found)


def _find_keys(raw: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key in _KEYS:
        value = raw.get(key)
        if value is not None and (key != "quantization" or isinstance(value, Mapping)) and value != {}:
            yield prefix + key, value
    for key, value in raw.items():
        if key.endswith("_config") and key not in _KEYS and isinstance(value, Mapping):
            yield from _find_keys(value, f"{prefix}{key}.")


def _method(path: str, given: Mapping[str, Any], is_mlx: bool) -> Any:
    method = given.get("quant_method")
    if given.get("load_in_4bit") or given.get("load_in_8bit"):
        return method or "bitsandbytes"
    if method is not None:
        return "modelopt" if method == "modelopt_fp4" else method
    if is_mlx and "bits" in given:
        return "mlx"
    if path == "compression_config":
        return "compressed-tensors"
    return "modelopt" if "quant_algo" in given else None


def assumed_note(*configs: RawConfig) -> str | None:
    """Return a note on the dtype that bytes are for, if neither a config nor the one around it has one."""
    if any(stated_dtype(one.raw) for one in configs):
        return None
    quantized = any(quantization_of(one) is not None for one in configs)
    other = option("set", {"dtype": "bfloat16"}) if quantized else option("dtype", "bf16")
    return f"the config has no dtype: bytes are for {ASSUMED}; choose another, e.g. with {other}"


def check_unquantized(config: RawConfig, verb: str) -> None:
    """Raise :class:`ConfigError` for a quantized config, whose bytes a verb does not support."""
    if (found := quantization_of(config)) is not None:
        message = f"bytes of quantized weights are not supported in {verb}"
        help_ = f"pass {option('dtype', 'bf16')} to use unquantized weights"
        raise key_problem(config, found.path, message, help_)


def check_convertible(config: RawConfig, file: str) -> None:
    """Raise :class:`ConfigError` for quantized weights that llama.cpp cannot convert to a type of file.

    Its converter restores weights in 16 bits (`dequant_model` in conversion/base.py), except MXFP4 experts.
    """
    if (found := quantization_of(config)) is None or _is_restored(found.given):
        return
    method = found.given["quant_method"]
    message = f"llama.cpp's converter does not support this quantization by {method}"
    if method == "mxfp4" and config.raw.get("model_type") == "gpt_oss":
        if file == "MXFP4_MOE":
            return
        message = "llama-quantize rejects weights that are in MXFP4 already; MXFP4_MOE is possible"
    raise key_problem(config, found.path, message)


def _is_restored(given: Mapping[str, Any]) -> bool:
    method, form = given["quant_method"], given.get("format")
    if method == "compressed-tensors":
        groups = [*(given.get("config_groups") or {}).values()]
        if len(groups) != 1 or given.get("kv_cache_scheme") or not isinstance(groups[0], Mapping):
            return False
        weights, inputs = groups[0].get("weights") or {}, groups[0].get("input_activations") or {}
        if inputs.get("dynamic") is False or weights.get("actorder"):
            return False
        if form == "pack-quantized":
            return bool(weights.get("strategy") == "group" and weights.get("type") == "int")
        known = form in {"float-quantized", "int-quantized", "naive-quantized"}
        return bool(known and weights.get("strategy") in {"channel", "block"})
    return bool(
        (method == "fp8" and "expert_dtype" not in given)
        or (method == "gptq" and given.get("bits") in {2, 4, 8})
        or (method == "modelopt" and given.get("quant_algo") in {None, "FP8"})
    )


def cache_note(config: RawConfig, dtype: str) -> str | None:
    """Return a note if the quantization stores the KV cache in another format than ``dtype``."""
    with suppress(ArchspecError):
        path, given = quantization_of(config) or Found("", {})
        for key in ("kv_cache_quant_algo", "kv_cache_scheme"):
            if value := given.get(key):
                bits = value.get("num_bits") if isinstance(value, Mapping) else value
                stored = f"{bits} bits" if type(bits) is int else bits
                counted = f"bytes are for {dtype}; pass {option('dtype', 'fp8')} for a cache in fp8"
                return f"{path}.{key} stores the KV cache in {stored}; {counted}"
    return None


def unquantized_help() -> str:
    """Return the help for an unsupported quantization."""
    return f"for unquantized weights, pass {option('set', {'quantization_config': None})}"


def key_problem(config: RawConfig, key: str, message: str, help_: str = "") -> ConfigError:
    """Return an error at a key of a config, or of the quantization file next to it."""
    help_ = help_ or unquantized_help()
    file = config.origin.quantization
    if file is not None and key.startswith("quantization_config"):
        key = key.removeprefix("quantization_config").lstrip(".")
        return ConfigError(file.problem(key, message, help_))
    return ConfigError(config.origin.problem(key, message, help_))
