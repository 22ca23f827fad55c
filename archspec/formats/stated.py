"""The quantization that a config states, wherever it does, and what it says about the KV cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from archspec.configs.origin import RawConfig
from archspec.errors import ArchspecError, ConfigError
from archspec.tree.counts import ASSUMED, stated_dtype
from archspec.typing_light import Any, NamedTuple

DTYPE_HELP = "count in a dtype: --weights bf16 for memory and cache, --dtype bf16 for the others"
_KEYS = ("quantization_config", "compression_config", "quantization", "quantize_config", "quant_config")
_STRAY = ("load_in_4bit", "load_in_8bit", "quant_method", "quant_algo")  # keys of a quantization at the top
_EXPERT_DTYPE = ("deepseek_v4",)  # whose config class moves expert_dtype into quantization_config


class Found(NamedTuple):
    """A quantization that a config states: where, and its keys."""

    path: str
    given: Mapping[str, Any]


def quantization_of(config: RawConfig) -> Found | None:
    """The quantization that a config states; None for a config without one.

    Errors: :class:`ConfigError` for a value that is not a mapping, and for one of a part of the model only.
    """
    for key in _STRAY:
        if config.raw.get(key):
            raise key_problem(config, key, f"{key} outside quantization_config is not supported", DTYPE_HELP)
    stated = [*_stated(config.raw, "")]
    if not stated:
        return None
    top = [(path, value) for path, value in stated if "." not in path]
    if not top:
        path = stated[0][0]
        if path not in (
            "text_config.quantization_config",
        ):  # transformers reads that one for the whole model
            raise key_problem(
                config, path, f"{path} quantizes a part of the model: not supported", DTYPE_HELP
            )
        top = stated
    path, value = top[0]
    if not isinstance(value, Mapping):
        raise key_problem(config, path, f"{path} is not a mapping", DTYPE_HELP)
    others = [other for other, given in top[1:] if not _same(value, given)]
    if others:
        message = f"{path} and {others[0]} state different quantizations"
        raise key_problem(config, others[0], message, "remove one of them")
    return Found(path, _completed(config, path, value, any(name == "quantization" for name, _ in top)))


def _stated(raw: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Every key of a config, and of its parts, that states a quantization."""
    for key in _KEYS:
        value = raw.get(key)
        if value is not None and (key != "quantization" or isinstance(value, Mapping)) and value != {}:
            yield prefix + key, value
    for key, value in raw.items():
        if key.endswith("_config") and key not in _KEYS and isinstance(value, Mapping):
            yield from _stated(value, f"{prefix}{key}.")


def _same(one: Any, other: Any) -> bool:
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return False
    return bool({**one, "quant_method": None} == {**other, "quant_method": None})


def _completed(config: RawConfig, path: str, given: Mapping[str, Any], mlx: bool) -> Mapping[str, Any]:
    """The keys with the method that they mean, and those next to them that belong to them."""
    method = given.get("quant_method")
    if given.get("load_in_4bit") or given.get("load_in_8bit"):
        method = method or "bitsandbytes"
    elif method is None and mlx and "bits" in given:
        method = "mlx"
    elif method is None and path == "compression_config":
        method = "compressed-tensors"
    elif (method is None and "quant_algo" in given) or method == "modelopt_fp4":
        method = "modelopt"
    found = {**given, "quant_method": method}
    expert = config.raw.get("expert_dtype")
    if expert is not None and "expert_dtype" not in given:
        if config.raw.get("model_type") not in _EXPERT_DTYPE or method != "fp8":
            message = f"expert_dtype {expert!r} next to {path} is not supported for this model type"
            raise key_problem(config, "expert_dtype", message, DTYPE_HELP)
        found["expert_dtype"] = expert
    return found


def assumed_note(config: RawConfig, whole: RawConfig | None = None) -> str | None:
    """A note that bytes depend on an assumed dtype; None for a config that states one.

    ``whole`` is the config that ``config`` is a part of.
    """
    whole = whole or config
    if stated_dtype(config.raw) or stated_dtype(whole.raw):
        return None
    quantized = quantization_of(config) is not None or quantization_of(whole) is not None
    option = "--set dtype=bfloat16" if quantized else "--dtype bf16"
    return f"the config has no dtype: bytes are counted in {ASSUMED}; choose another, e.g. with {option}"


def check_unquantized(config: RawConfig, what: str) -> None:
    """Errors: :class:`ConfigError` for a quantized config, whose bytes ``what`` does not count."""
    if (found := quantization_of(config)) is not None:
        message = f"bytes of quantized weights are not supported in {what}"
        raise key_problem(config, found.path, message, "count in a dtype with --dtype bf16")


def cache_note(config: RawConfig, dtype: str) -> str | None:
    """A note on a KV cache that the quantization stores in another dtype than the one that is counted."""
    try:
        found = quantization_of(config)
    except ArchspecError:
        return None
    if found is None:
        return None
    for key in ("kv_cache_quant_algo", "kv_cache_scheme"):
        if found.given.get(key):
            value = found.given[key]
            bits = value.get("num_bits") if isinstance(value, Mapping) else value
            what = f"{bits} bits" if type(bits) is int else bits
            option = "set --dtype fp8 to count the cache in fp8"
            return f"{found.path}.{key} stores the KV cache in {what}; it is counted in {dtype}: {option}"
    return None


def key_problem(config: RawConfig, key: str, message: str, help_: str) -> ConfigError:
    """An error at a key of a config."""
    beside = config.origin.beside
    if beside is not None and key.startswith("quantization_config"):
        rest = key.removeprefix("quantization_config").lstrip(".")
        return ConfigError(beside.problem(rest, message, help_))
    return ConfigError(config.origin.problem(key, message, help_))
