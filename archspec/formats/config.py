"""The quantization scheme of a config."""

from __future__ import annotations

from archspec.configs.origin import RawConfig
from archspec.formats.keys import KeyProblem, read
from archspec.formats.methods import METHODS
from archspec.formats.scheme import Scheme
from archspec.formats.stated import DTYPE_HELP, key_problem, quantization_of


def scheme_of(config: RawConfig) -> Scheme | None:
    """Return the scheme of a config; None for an unquantized one.

    Errors: :class:`ConfigError` at the unsupported key.
    """
    if (found := quantization_of(config)) is None:
        return None
    name, given = found.given["quant_method"], found.given
    groups = given.get("quantized_layers") or given.get("config_groups")
    if name == "modelopt" and given.get("quant_algo") is None and not groups:
        return None  # only the KV cache is quantized
    method = METHODS.get(name) if isinstance(name, str) else None
    if method is None:
        what = "a quantization without quant_method" if name is None else f"quantization method {name!r}"
        message = f"the bytes of {what} are not supported"
        help_ = f"supported: {', '.join(METHODS)}; {DTYPE_HELP}"
        raise key_problem(config, f"{found.path}.quant_method", message, help_)
    try:
        return method.scheme(read(given, method.checks, method.unused), given)
    except KeyProblem as error:
        at_top = error.key == "expert_dtype" and error.key in config.raw
        key = error.key if at_top else f"{found.path}.{error.key}"
        problem = error.problems[0]
        help_ = f"{problem.help}; {DTYPE_HELP}" if problem.help else DTYPE_HELP
        raise key_problem(config, key, problem.message, help_) from None
