"""The quantization methods of configs: the keys that each one accepts, and the scheme that they stand for.

Layouts are those of `archspec.formats.table`, with the sizes of the config. Sources:
transformers/utils/quantization_config.py, transformers/integrations/ (bitsandbytes.py, awq.py,
finegrained_fp8.py, mxfp4.py), optimum/gptq/quantizer.py, modelopt's unified checkpoints, mlx.nn.quantize.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from archspec.configs.origin import RawConfig
from archspec.formats import compressed_tensors as ct
from archspec.formats.keys import (
    Check,
    Given,
    KeyProblem,
    choice,
    either,
    flag,
    group_size,
    mapping,
    names,
    pair,
    read,
    typed,
    unset,
)
from archspec.formats.scheme import EMBEDDING, LINEAR, Layout, Scheme
from archspec.formats.stated import DTYPE_HELP, key_problem, quantization_of
from archspec.formats.table import LAYOUTS, SCHEMES
from archspec.typing_light import Any, NamedTuple

Keys = dict[str, Any]


class Method(NamedTuple):
    """One `quant_method`: the scheme of its checked keys, their checks, and keys that change no bytes."""

    scheme: Callable[[Keys, Given], Scheme]
    checks: Mapping[str, Check]
    unused: str = ""


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


_SPLIT = "Llama4TextExperts"  # transformers.quantizers.base.MODULES_TO_PATCH_FOR_QUANTIZATION
_GPTQ_UNUSED = (
    "desc_act sym damp_percent true_sequential static_groups model_name_or_path model_file_base_name meta "
    "backend tokenizer dataset batch_size module_name_preceding_first_block use_cuda_fp16 use_exllama "
    "exllama_config disable_exllama max_input_length cache_block_outputs model_seqlen pad_token_id "
    "act_group_aware damp_auto_increment mse quantizer"
)
_STORAGE = ("uint8", "int8", "float16", "bfloat16", "float32", "float64")
_BNB_4BIT: dict[str, Check] = {
    "bnb_4bit_quant_type": choice("fp4", "nf4", default="fp4"),
    "bnb_4bit_quant_storage": choice(
        *_STORAGE, default="uint8", empty=True, fold=lambda text: text.removeprefix("torch.")
    ),
    "bnb_4bit_use_double_quant": flag(),
}


def _bitsandbytes(keys: Keys, given: Given) -> Scheme:
    """Fused experts stay unquantized, except those that transformers loads one by one."""
    if keys["load_in_8bit"] == keys["load_in_4bit"]:
        raise KeyProblem("load_in_8bit", "bitsandbytes needs either load_in_8bit or load_in_4bit")
    scheme = SCHEMES["int8"]
    if keys["load_in_4bit"]:
        four = read({key: given[key] for key in _BNB_4BIT if key in given}, _BNB_4BIT)
        name = four["bnb_4bit_quant_type"]
        scheme = SCHEMES[name]
        if four["bnb_4bit_use_double_quant"]:
            scheme = SCHEMES["nf4-double"]._replace(name=f"{name}, scales quantized")
    return scheme._replace(skipped=keys["llm_int8_skip_modules"], split=_SPLIT)


def _grouped(method: str, keys: Keys, **changes: Any) -> Scheme:
    """GPTQ and AWQ: the named format with the bits and groups of the config."""
    bits = keys["bits"]
    layout = LAYOUTS[method]._replace(bits=bits, zero_bits=bits, block=(1, keys["group_size"]))
    return SCHEMES[method]._replace(name=f"{method}, {bits} bits", layout=layout, **changes)


def _blocks(given: Given, key: str, where: str) -> tuple[int, int]:
    """The block size; (0, 0) for one scale per matrix (null in the config)."""
    if key not in given:
        return LAYOUTS["fp8"].block
    return (0, 0) if given[key] is None else pair(given, key, where)


def _fp8(keys: Keys, given: Given) -> Scheme:
    """Linears, the embeddings of `modules_to_convert`, and fused experts, which may be in fp4."""
    static = 4 if keys["activation_scheme"] == "static" else 0  # bytes of the scale of the activations
    scale, blocks = 1 if keys["scale_fmt"] == "ue8m0" else 4, keys["weight_block_size"]
    one_scale = LAYOUTS["fp8"]._replace(block=(0, 0))
    layout = one_scale._replace(block=blocks, scale_bytes=scale if any(blocks) else 4, extra_bytes=static)
    tables = keys["modules_to_convert"] or ()

    def choose(path: str, cls: str) -> Layout | None:
        if cls == LINEAR:
            return layout
        return one_scale if cls == EMBEDDING and path.endswith(tables) else None

    skipped = keys["modules_to_not_convert"]
    skipped = names(given, "ignored_layers", "") if skipped is None else skipped
    found = SCHEMES["fp8"]._replace(choose=choose, experts=layout, skipped=skipped)
    if keys["expert_dtype"] == "fp4":
        experts = LAYOUTS["mxfp4"]._replace(scale_bytes=scale, extra_bytes=static)
        return found._replace(name="fp8, experts in fp4", experts=experts)
    return found


def _modelopt(keys: Keys, given: Given) -> Scheme:
    """NVIDIA's modelopt: Linears in FP8 or NVFP4, except `exclude_modules`."""
    if given.get("quant_algo") is None:
        raise KeyProblem("config_groups", "config_groups without quant_algo are not supported")
    layouts = {"FP8": Layout(8, (0, 0), extra_bytes=8), "NVFP4": LAYOUTS["nvfp4"]}
    algorithm = choice(*layouts, fold=str.upper)(given, "quant_algo", "")
    expected: dict[str, Any] = {"num_bits": 8, "type": "float"}
    if algorithm == "NVFP4":
        choice(16, default=16, empty=True)(given, "group_size", "")
        expected = {"num_bits": 4, "type": "float", "group_size": 16}
    groups = mapping(given, "config_groups", "") if given.get("config_groups") else {}
    for name in groups:
        where = f"config_groups.{name}."
        group = mapping(groups, name, "config_groups.")
        weights = mapping(group, "weights", where)
        for key, value in expected.items():
            choice(value, default=value)(weights, key, where + "weights.")
        choice(None, ["Linear"])(group, "targets", where)
    excluded = (*(keys["exclude_modules"] or ()), *(keys["ignore"] or ()))

    def choose(path: str, cls: str) -> Layout | None:
        return layouts[algorithm] if cls == LINEAR and not _is_excluded(path, excluded) else None

    return SCHEMES["nvfp4"]._replace(name=algorithm.lower(), choose=choose, patterns=excluded)


def _is_excluded(path: str, patterns: tuple[str, ...]) -> bool:
    """Return True if a pattern with `*` matches a module or one around it."""
    parts = path.split(".")
    paths = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return any(fnmatchcase(one, pattern.removeprefix("re:")) for pattern in patterns for one in paths)


def _mlx_keys(bits: int | None, group: int) -> dict[str, Check]:
    return {
        "bits": choice(2, 3, 4, 5, 6, 8, default=bits),
        "group_size": choice(32, 64, 128, default=group),
        "mode": choice("affine", default="affine", empty=True),
    }


def _mlx(keys: Keys, given: Given) -> Scheme:
    """MLX: all Linears and embeddings; other keys are paths of modules, with false or bits and groups."""
    scheme, bits, group = SCHEMES["mlx-4bit"], keys["bits"], keys["group_size"]
    default = scheme.layout._replace(bits=bits, block=(1, group))
    modules: dict[str, Layout | None] = {}
    for path, value in given.items():
        if path in (*keys, "quant_method"):
            continue
        if isinstance(value, dict):
            own = read(value, _mlx_keys(bits, group), where=f"{path}.")
            modules[path] = default._replace(bits=own["bits"], block=(1, own["group_size"]))
        elif isinstance(value, bool):
            modules[path] = default if value else None
        else:
            raise KeyProblem(path, f"{path} is not a supported key of MLX's quantization")

    def choose(path: str, cls: str) -> Layout | None:
        return modules.get(path, default) if cls in scheme.classes else None

    return scheme._replace(name=f"mlx, {bits} bits", choose=choose, patterns=(*modules,))


_GPTQ_FORMAT = choice("gptq", "gptq_v2", default="gptq", empty=True)
_GEMM = choice("gemm", default="gemm", empty=True, fold=str.lower)
METHODS: dict[str, Method] = {
    "bitsandbytes": Method(
        _bitsandbytes,
        {
            "load_in_8bit": flag(),
            "load_in_4bit": flag(),
            "llm_int8_skip_modules": names,
            **unset("llm_int8_has_fp16_weight"),
        },
        "_load_in_8bit _load_in_4bit llm_int8_threshold llm_int8_enable_fp32_cpu_offload "
        "bnb_4bit_compute_dtype " + " ".join(_BNB_4BIT),
    ),
    "gptq": Method(
        lambda keys, given: _grouped("gptq", keys, inside=keys["block_name_to_quantize"]),
        {
            "bits": choice(4, 8),
            "group_size": group_size,
            "block_name_to_quantize": typed(lambda value: isinstance(value, str), "the path of a module", ""),
            "checkpoint_format": _GPTQ_FORMAT,
            "format": _GPTQ_FORMAT,
            "pack_dtype": choice("int32", default="int32", empty=True),
            **unset("lm_head dynamic modules_in_block_to_quantize is_marlin_format"),
        },
        _GPTQ_UNUSED,
    ),
    "awq": Method(  # AwqConfig extends GPTQConfig
        lambda keys, given: _grouped("awq", keys, skipped=keys["modules_to_not_convert"]),
        {
            "bits": either("w_bit", choice(4, 8, default=4)),
            "group_size": either("q_group_size", group_size),
            "version": _GEMM,
            "format": _GEMM,
            "modules_to_not_convert": names,
            **unset("lm_head dynamic modules_in_block_to_quantize block_name_to_quantize"),
        },
        f"{_GPTQ_UNUSED} checkpoint_format pack_dtype is_marlin_format w_bit q_group_size zero_point do_fuse "
        "fuse_max_seq_len modules_to_fuse",
    ),
    "fp8": Method(
        _fp8,
        {
            "activation_scheme": choice("dynamic", "static", default="dynamic"),
            "scale_fmt": choice("float", "ue8m0", default="float"),
            "fmt": choice("e4m3", "float8_e4m3fn", default="e4m3", empty=True),
            "expert_dtype": choice("fp8", "fp4", default="fp8"),
            "weight_block_size": _blocks,
            "modules_to_not_convert": names,
            "modules_to_convert": names,
            **unset("dequantize"),
        },
        "ignored_layers",
    ),
    "mxfp4": Method(
        lambda keys, given: SCHEMES["mxfp4"]._replace(skipped=keys["modules_to_not_convert"]),
        {"modules_to_not_convert": names, **unset("dequantize")},
    ),
    "compressed-tensors": Method(ct.scheme, ct.KEYS, ct.UNUSED),
    "modelopt": Method(
        _modelopt,
        {
            "exclude_modules": names,
            "ignore": names,
            **unset("quantized_layers pre_quant_scale has_zero_point"),
        },
        "quant_algo kv_cache_quant_algo kv_cache_scheme group_size producer config_groups",
    ),
    "mlx": Method(_mlx, _mlx_keys(None, 64), "*"),
}
