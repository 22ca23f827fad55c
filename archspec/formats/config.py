"""The scheme that a config's quantization stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from archspec.configs.origin import RawConfig
from archspec.formats import checkpoints, methods
from archspec.formats.keys import KeyProblem
from archspec.formats.scheme import Scheme
from archspec.formats.stated import DTYPE_HELP, key_problem, quantization_of
from archspec.typing_light import Any

METHODS: dict[str, Callable[[Mapping[str, Any]], Scheme]] = {
    "bitsandbytes": methods.bitsandbytes,
    "gptq": methods.gptq,
    "awq": methods.awq,
    "fp8": methods.fp8,
    "mxfp4": methods.mxfp4,
    "compressed-tensors": checkpoints.compressed_tensors,
    "modelopt": checkpoints.modelopt,
    "mlx": checkpoints.mlx,
}


def scheme_of(config: RawConfig) -> Scheme | None:
    """The scheme of a config, None for one that is not quantized.

    Errors: :class:`ConfigError` at the key that is not supported.
    """
    found = quantization_of(config)
    if found is None:
        return None
    method = found.given["quant_method"]
    if (
        method == "modelopt"
        and found.given.get("quant_algo") is None
        and not found.given.get("quantized_layers")
        and not found.given.get("config_groups")
    ):
        return None  # only the KV cache is quantized
    reader = METHODS.get(method) if isinstance(method, str) else None
    if reader is None:
        what = (
            f"quantization method {method!r}" if method is not None else "a quantization without quant_method"
        )
        key = f"{found.path}.quant_method"
        message = f"the bytes of {what} are not supported"
        raise key_problem(config, key, message, f"supported: {', '.join(METHODS)}; {DTYPE_HELP}")
    try:
        return reader(found.given)
    except KeyProblem as error:
        problem = error.problems[0]
        key = (
            error.key
            if error.key == "expert_dtype" and "expert_dtype" in config.raw
            else f"{found.path}.{error.key}"
        )
        help_ = f"{problem.help}; {DTYPE_HELP}" if problem.help else DTYPE_HELP
        raise key_problem(config, key, problem.message, help_) from None
