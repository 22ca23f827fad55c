"""The quantization methods of configs: the keys that each one accepts, and the scheme that they stand for.

Layouts are those of formulas/weight_formats.json, with the sizes of the config. Sources:
transformers/utils/quantization_config.py, transformers/integrations/ (bitsandbytes.py, awq.py,
finegrained_fp8.py, mxfp4.py), optimum/gptq/quantizer.py, modelopt's unified checkpoints, mlx.nn.quantize.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

from archspec.configs.origin import RawConfig
from archspec.formats import compressed_tensors
from archspec.formats.keys import Keys
from archspec.formats.scheme import EMBEDDING, LAYOUTS, LINEAR, SCHEMES, Layout, Scheme
from archspec.formats.stated import quantization_of
from archspec.typing_light import Any


def scheme_of(config: RawConfig) -> Scheme | None:
    """Return the scheme of a config, if it is quantized. Errors: :class:`ConfigError` at a key."""
    if (found := quantization_of(config)) is None:
        return None
    name, given = found.given["quant_method"], found.given
    groups = given.get("quantized_layers") or given.get("config_groups")
    if name == "modelopt" and given.get("quant_algo") is None and not groups:
        return None  # only the KV cache is quantized
    keys = Keys(config, found.path, given, name)
    if not isinstance(name, str) or name not in METHODS:
        message = "is missing" if name is None else f"quantization method {name!r} is not supported"
        keys.refuse("quant_method", message, f"choose from: {', '.join(METHODS)}")
    scheme = METHODS[name](keys)
    keys.finish()
    return scheme


_SPLIT = "Llama4TextExperts"  # transformers.quantizers.base.MODULES_TO_PATCH_FOR_QUANTIZATION
_GPTQ_UNUSED = (
    "desc_act sym damp_percent true_sequential static_groups model_name_or_path model_file_base_name meta "
    "backend tokenizer dataset batch_size module_name_preceding_first_block use_cuda_fp16 use_exllama "
    "exllama_config disable_exllama max_input_length cache_block_outputs model_seqlen pad_token_id "
    "act_group_aware damp_auto_increment mse quantizer"
)
_STORAGE = ("uint8", "int8", "float16", "bfloat16", "float32", "float64")


def _read_bitsandbytes(keys: Keys) -> Scheme:
    """Read bitsandbytes' keys; fused experts stay unquantized unless transformers loads them one by one."""
    skipped = keys.names("llm_int8_skip_modules")
    keys.refuse_keys("llm_int8_has_fp16_weight")
    keys.ignore("_load_in_8bit _load_in_4bit llm_int8_threshold llm_int8_enable_fp32_cpu_offload")
    keys.ignore("bnb_4bit_compute_dtype bnb_4bit_quant_type bnb_4bit_quant_storage bnb_4bit_use_double_quant")
    is_4bit = keys.flag("load_in_4bit")
    if keys.flag("load_in_8bit") == is_4bit:
        message = "bitsandbytes needs one of load_in_8bit and load_in_4bit"
        keys.refuse("load_in_8bit", message, "set exactly one to true")
    scheme = SCHEMES["int8"]
    if is_4bit:
        name = keys.choice("bnb_4bit_quant_type", "fp4", "nf4", default="fp4")
        storage = str(keys.given.get("bnb_4bit_quant_storage") or "uint8").removeprefix("torch.")
        if storage not in _STORAGE:
            help_ = f"choose {', '.join(_STORAGE)}"
            keys.refuse("bnb_4bit_quant_storage", f"{storage} is not supported", help_)
        scheme = SCHEMES[name]
        if keys.flag("bnb_4bit_use_double_quant"):
            scheme = SCHEMES["nf4-double"]._replace(name=f"{name}-double")
    return scheme._replace(skipped=skipped, split=_SPLIT)


def _read_gptq(keys: Keys) -> Scheme:
    is_text: Callable[[Any], bool] = lambda value: isinstance(value, str)  # noqa: E731
    inside = keys.value("block_name_to_quantize", "", is_text, "the path of a module")
    for key in ("checkpoint_format", "format"):
        keys.choice(key, "gptq", "gptq_v2", default="gptq", empty=True)
    keys.choice("pack_dtype", "int32", default="int32", empty=True)
    keys.refuse_keys("lm_head dynamic modules_in_block_to_quantize is_marlin_format")
    keys.ignore(_GPTQ_UNUSED)
    return _grouped_scheme("gptq", keys.choice("bits", 4, 8), keys.group_size("group_size"), inside=inside)


def _read_awq(keys: Keys) -> Scheme:
    """Read the keys of AwqConfig, which extends GPTQConfig; some tools write other names."""
    keys.refuse_keys("lm_head dynamic modules_in_block_to_quantize block_name_to_quantize")
    keys.ignore(f"{_GPTQ_UNUSED} checkpoint_format pack_dtype is_marlin_format zero_point do_fuse")
    keys.ignore("fuse_max_seq_len modules_to_fuse bits w_bit group_size q_group_size")
    for key in ("version", "format"):
        keys.choice(key, "gemm", default="gemm", empty=True, fold=str.lower)
    bits = keys.choice("bits" if "bits" in keys.given else "w_bit", 4, 8, default=4)
    group = keys.group_size("group_size" if "group_size" in keys.given else "q_group_size")
    return _grouped_scheme("awq", bits, group, skipped=keys.names("modules_to_not_convert"))


def _grouped_scheme(method: str, bits: int, group: int, **changes: Any) -> Scheme:
    layout = LAYOUTS[method]._replace(bits=bits, zero_bits=bits, block=(1, group))
    return SCHEMES[method]._replace(name=f"{method} ({bits} bits)", layout=layout, **changes)


def _read_fp8(keys: Keys) -> Scheme:
    """Read FP8: Linears, the embeddings of `modules_to_convert`, and fused experts, which may be in fp4."""
    blocks = LAYOUTS["fp8"].block
    if "weight_block_size" in keys.given:  # null: one scale a matrix
        keys.ignore("weight_block_size")
        blocks = (0, 0) if keys.given["weight_block_size"] is None else keys.pair("weight_block_size")
    is_static = keys.choice("activation_scheme", "dynamic", "static", default="dynamic") == "static"
    static = 4 if is_static else 0  # bytes of the scale of the activations
    scale = 1 if keys.choice("scale_fmt", "float", "ue8m0", default="float") == "ue8m0" else 4
    keys.choice("fmt", "e4m3", "float8_e4m3fn", default="e4m3", empty=True)
    keys.refuse_keys("dequantize")
    keys.ignore("ignored_layers")
    one_scale = LAYOUTS["fp8"]._replace(block=(0, 0))
    layout = one_scale._replace(block=blocks, scale_bytes=scale if any(blocks) else 4, extra_bytes=static)
    tables, skipped = keys.names("modules_to_convert") or (), keys.names("modules_to_not_convert")

    def choose(path: str, cls: str) -> Layout | None:
        if cls == LINEAR:
            return layout
        return one_scale if cls == EMBEDDING and path.endswith(tables) else None

    skipped = keys.names("ignored_layers") if skipped is None else skipped
    found = SCHEMES["fp8"]._replace(choose=choose, experts=layout, skipped=skipped)
    if keys.choice("expert_dtype", "fp8", "fp4", default="fp8") == "fp8":
        return found
    experts = LAYOUTS["mxfp4"]._replace(scale_bytes=scale, extra_bytes=static)
    return found._replace(name="fp8, experts in fp4", experts=experts)


def _read_mxfp4(keys: Keys) -> Scheme:
    keys.refuse_keys("dequantize")
    return SCHEMES["mxfp4"]._replace(skipped=keys.names("modules_to_not_convert"))


def _read_modelopt(keys: Keys) -> Scheme:
    """Read NVIDIA's modelopt: Linears in FP8 or NVFP4, except `exclude_modules`."""
    keys.refuse_keys("quantized_layers pre_quant_scale has_zero_point")
    keys.ignore("kv_cache_quant_algo kv_cache_scheme group_size producer config_groups")
    excluded = (*(keys.names("exclude_modules") or ()), *(keys.names("ignore") or ()))
    if keys.given.get("quant_algo") is None:
        keys.refuse("config_groups", "config_groups without quant_algo are not supported")
    layouts = {"FP8": Layout(8, (0, 0), extra_bytes=8), "NVFP4": LAYOUTS["nvfp4"]}
    algorithm = keys.choice("quant_algo", *layouts, fold=str.upper)
    expected: dict[str, Any] = {"num_bits": 8, "type": "float"}
    if algorithm == "NVFP4":
        keys.choice("group_size", 16, default=16, empty=True)
        expected = {"num_bits": 4, "type": "float", "group_size": 16}
    if keys.given.get("config_groups"):
        groups = keys.read_mapping("config_groups")
        for group in map(groups.read_mapping, groups.given):
            group.choice("targets", None, ["Linear"])
            weights = group.read_mapping("weights")
            for key, value in expected.items():
                weights.choice(key, value, default=value)

    def choose(path: str, cls: str) -> Layout | None:
        return layouts[algorithm] if cls == LINEAR and not _is_excluded(path, excluded) else None

    return SCHEMES["nvfp4"]._replace(name=algorithm.lower(), choose=choose, patterns=excluded)


def _is_excluded(path: str, patterns: tuple[str, ...]) -> bool:
    parts = path.split(".")
    paths = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return any(fnmatchcase(one, pattern.removeprefix("re:")) for pattern in patterns for one in paths)


def _read_mlx(keys: Keys) -> Scheme:
    """Read MLX: all Linears and embeddings; other keys are paths of modules: false, or bits and groups."""

    def sizes(keys: Keys, bits: int | None = None, group: int = 64) -> tuple[int, int]:
        keys.choice("mode", "affine", default="affine", empty=True)
        bits = keys.choice("bits", 2, 3, 4, 5, 6, 8, default=bits)
        return bits or 0, keys.choice("group_size", 32, 64, 128, default=group)

    scheme, (bits, group) = SCHEMES["mlx-4bit"], sizes(keys)
    default = scheme.layout._replace(bits=bits, block=(1, group))
    modules: dict[str, Layout | None] = {}
    for path, value in keys.given.items():
        if path in keys.known:
            continue
        if isinstance(value, dict):
            own = Keys(keys.config, f"{keys.path}.{path}", value)
            own_bits, own_group = sizes(own, bits, group)
            own.finish()
            modules[path] = default._replace(bits=own_bits, block=(1, own_group))
        elif isinstance(value, bool):
            modules[path] = default if value else None
        else:
            keys.refuse(path, f"{path} is not a supported key of MLX's quantization")
    keys.known.update(keys.given)

    def choose(path: str, cls: str) -> Layout | None:
        return modules.get(path, default) if cls in scheme.classes else None

    return scheme._replace(name=f"mlx ({bits} bits)", choose=choose, patterns=(*modules,))


METHODS: dict[str, Callable[[Keys], Scheme]] = {
    "bitsandbytes": _read_bitsandbytes,
    "gptq": _read_gptq,
    "awq": _read_awq,
    "fp8": _read_fp8,
    "mxfp4": _read_mxfp4,
    "compressed-tensors": compressed_tensors.read_scheme,
    "modelopt": _read_modelopt,
    "mlx": _read_mlx,
}
