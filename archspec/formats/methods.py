"""The quantization methods of configs: the keys that each one accepts, and the scheme that they stand for.

Layouts are those of formulas/weight_formats.json, with the sizes of the config. Sources:
transformers/utils/quantization_config.py, transformers/integrations/ (bitsandbytes.py, awq.py,
finegrained_fp8.py, mxfp4.py), optimum/gptq/quantizer.py, modelopt's unified checkpoints, mlx.nn.quantize.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from operator import methodcaller

from archspec.configs.origin import RawConfig
from archspec.formats import compressed_tensors
from archspec.formats.keys import Keys
from archspec.formats.scheme import EMBEDDING, FORMATS, LAYOUTS, LINEAR, MODELOPT, SCHEMES, Layout, Scheme
from archspec.formats.stated import quantization_of


def scheme_of(config: RawConfig) -> Scheme | None:
    """Return the scheme of a config, if it is quantized. Errors: :class:`ConfigError` at a key."""
    if (found := quantization_of(config)) is None:
        return None
    name, given = found.given["quant_method"], found.given
    if name == "modelopt" and not any(given.get(key) for key in _MODELOPT_KEYS):
        return None
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
_MODELOPT_KEYS = ["quant_algo", "quantized_layers", "config_groups", "kv_cache_quant_algo", "kv_cache_scheme"]
_MLX_MODES = {  # bits and group sizes, the default first
    "affine": ((2, 3, 4, 5, 6, 8), (64, 32, 128)),
    "mxfp4": ((4,), (32,)),
    "mxfp8": ((8,), (32,)),
    "nvfp4": ((4,), (16,)),
}
_TORCHAO = {
    "Int4WeightOnlyConfig": "torchao-int4",
    "Int8WeightOnlyConfig": "torchao-int8",
    "Int8DynamicActivationInt8WeightConfig": "torchao-int8",
    "Float8WeightOnlyConfig": "torchao-fp8",
}
_STORAGE = ("uint8", "int8", "float16", "bfloat16", "float32", "float64")
_without_torch = methodcaller("removeprefix", "torch.")


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
        keys.choice("bnb_4bit_quant_storage", *_STORAGE, default="uint8", empty=True, fold=_without_torch)
        scheme = SCHEMES[name]
        if keys.flag("bnb_4bit_use_double_quant"):
            scheme = SCHEMES["nf4-double"]._replace(name=f"{name}-double")
    return scheme._replace(skipped=skipped, split=_SPLIT)


def _read_gptq(keys: Keys) -> Scheme:
    inside = keys.value("block_name_to_quantize", "", lambda v: isinstance(v, str), "the path of a module")
    for key in ("checkpoint_format", "format"):
        keys.choice(key, "gptq", "gptq_v2", default="gptq", empty=True)
    keys.choice("pack_dtype", "int32", default="int32", empty=True)
    keys.refuse_keys("lm_head dynamic modules_in_block_to_quantize is_marlin_format")
    keys.ignore(_GPTQ_UNUSED)
    return _grouped_scheme(keys, keys.choice("bits", 2, 3, 4, 8))._replace(inside=inside)


def _read_awq(keys: Keys) -> Scheme:
    """Read the keys of AwqConfig, which extends GPTQConfig; some tools write other names."""
    keys.refuse_keys("lm_head dynamic modules_in_block_to_quantize block_name_to_quantize")
    keys.ignore(f"{_GPTQ_UNUSED} checkpoint_format pack_dtype is_marlin_format zero_point do_fuse")
    keys.ignore("fuse_max_seq_len modules_to_fuse bits w_bit group_size q_group_size")
    named = "version" if keys.given.get("version") else "format"
    keys.ignore("version format")
    form = keys.choice(named, "gemm", "gemv", "gemv_fast", default="gemm", empty=True, fold=str.lower)
    bits = keys.choice("bits" if "bits" in keys.given else "w_bit", 4, 8, default=4)
    scheme = _grouped_scheme(keys, bits, "group_size" if "group_size" in keys.given else "q_group_size")
    layout, group = scheme.layout, scheme.layout.block[1] or 128
    if form != "gemm":
        if bits != 4 or group < 32:
            keys.refuse(named, f"{form} with {bits} bits and group size {group} is not supported")
        layout = layout._replace(pad_groups=8 * max(1, 128 // group))
    if form == "gemv_fast":  # zero points in float16
        layout = layout._replace(scale_bytes=4, zero_bits=0)
    return scheme._replace(layout=layout, skipped=keys.names("modules_to_not_convert"))


def _grouped_scheme(keys: Keys, bits: int, key: str = "group_size") -> Scheme:
    found = FORMATS[keys.method]
    scheme = found.with_group_size(keys.choice(key, *found.group_sizes, default=128))
    layout = scheme.layout._replace(bits=bits, zero_bits=bits)
    return scheme._replace(name=f"{found.name} ({bits} bits)", layout=layout)


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


def _read_integration(keys: Keys) -> Scheme:
    """Read MXFP4, BitNet and EETQ: all keys except `modules_to_not_convert` have one supported value."""
    keys.refuse_keys("dequantize use_rms_norm")
    keys.ignore("rms_norm_eps quantization_mode")
    keys.choice("linear_class", "bitlinear", default="bitlinear")
    keys.choice("weights", "int8", default="int8")
    return SCHEMES[keys.method]._replace(skipped=keys.names("modules_to_not_convert"))


def _read_modelopt(keys: Keys) -> Scheme:
    """Read NVIDIA's modelopt: Linears in a format by `quant_algo`, except `exclude_modules`."""
    keys.refuse_keys("quantized_layers pre_quant_scale has_zero_point")
    keys.ignore("producer")
    excluded = (*(keys.names("exclude_modules") or ()), *(keys.names("ignore") or ()))
    cache = keys.choice("kv_cache_quant_algo", None, "FP8", "NVFP4")
    keys.ignore("kv_cache_scheme quant_algo")
    scales = Layout(0, (0, 0), extra_bytes=4) if cache or keys.given.get("kv_cache_scheme") else None
    if keys.given.get("quant_algo") is None and scales:
        keys.refuse_keys("config_groups")
        return SCHEMES["nvfp4"]._replace(name="scales of the KV cache", choose=lambda *_: None, cache=scales)
    algorithm = keys.choice("quant_algo", *MODELOPT, fold=str.upper)
    layout = MODELOPT[algorithm]
    stated = [keys]
    for group in keys.read_mappings("config_groups"):
        group.choice("targets", None, ["Linear"])
        stated.append(group.read_mapping("weights"))
        stated[-1].choice("num_bits", layout.bits, default=layout.bits)
        stated[-1].choice("type", "float", default="float")
    sizes = (16, 32) if algorithm == "W4A16_NVFP4" else (layout.block[1],)
    for one in stated if layout.block[1] in {16, 32} else ():
        size = one.choice("group_size", *sizes, default=layout.block[1], empty=True)
        layout = layout._replace(block=(1, size))

    def choose(path: str, cls: str) -> Layout | None:
        return layout if cls == LINEAR and not _is_excluded(path, excluded) else None

    return SCHEMES["nvfp4"]._replace(name=algorithm.lower(), choose=choose, patterns=excluded, cache=scales)


def _is_excluded(path: str, patterns: tuple[str, ...]) -> bool:
    parts = path.split(".")
    paths = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return any(fnmatchcase(one, pattern.removeprefix("re:")) for pattern in patterns for one in paths)


def _read_mlx(keys: Keys) -> Scheme:
    """Read MLX: all Linears and embeddings; other keys are paths of modules: false, or bits and groups."""
    scheme = SCHEMES["mlx-4bit"]

    def read(keys: Keys, bits: int | None = 4) -> Layout:
        mode = keys.choice("mode", *_MLX_MODES, default="affine", empty=True)
        all_bits, groups = _MLX_MODES[mode]
        bits = keys.choice("bits", *all_bits, default=bits if mode == "affine" else all_bits[0])
        group = keys.choice("group_size", *groups, default=groups[0])
        layout = scheme.layout if mode == "affine" else scheme.layout._replace(scale_bytes=1, scale_values=0)
        return layout._replace(bits=bits, block=(1, group))

    default = read(keys, bits=None)
    modules: dict[str, Layout | None] = {}
    for path, value in keys.given.items():
        if path in keys.known:
            continue
        if isinstance(value, dict):
            own = Keys(keys.config, f"{keys.path}.{path}", value)
            modules[path] = read(own)
            own.finish()
        elif isinstance(value, bool):
            modules[path] = default if value else None
        else:
            keys.refuse(path, f"{path} is not a supported key of MLX's quantization")
    keys.known.update(keys.given)

    def choose(path: str, cls: str) -> Layout | None:
        return modules.get(path, default) if cls in scheme.classes else None

    return scheme._replace(name=f"mlx ({default.bits} bits)", choose=choose, patterns=(*modules,))


def _read_torchao(keys: Keys) -> Scheme:
    """Read torchao: Linears in the format of the config class that `quant_type` names."""
    keys.refuse_keys("include_input_output_embeddings untie_embedding_weights")
    config = keys.read_mapping("quant_type").read_mapping("default")
    scheme = SCHEMES[_TORCHAO[config.choice("_type", *_TORCHAO)]]
    config.choice("_version", 2)
    data = config.read_mapping("_data")
    data.ignore("set_inductor_config int4_choose_qparams_algorithm int4_tile_packed_ntile granularity")
    data.ignore("act_mapping_type weight_only_decode reduce_range weight_dtype")
    layout = scheme.layout
    if layout.bits == 4:
        layout = layout._replace(block=(1, data.choice("group_size", 32, 64, 128, 256, default=128)))
        if data.choice("int4_packing_format", "plain", "tile_packed_to_4d", default="plain") != "plain":
            layout = layout._replace(pad_to=(data.choice("int4_tile_packed_ntile", 8, default=8), 1024))
    elif data.given.get("granularity") is not None:
        stated = data.read_mapping("granularity")
        name = stated.choice("_type", "PerRow", "PerTensor", "PerGroup")
        if name == "PerGroup":
            width = stated.read_mapping("_data").positive_int("group_size", 0)
            layout = layout._replace(block=(1, width), uneven="refuse")
        layout = layout._replace(block=(0, 0)) if name == "PerTensor" else layout
    if layout.bits == 8:
        data.choice("group_size", None)
    data.finish()
    return scheme._replace(layout=layout, skipped=keys.names("modules_to_not_convert"))


def _read_hqq(keys: Keys) -> Scheme:
    """Read HQQ: Linears except `skip_modules`, paths without `model`, `layers` and numbers."""
    skipped, stated = keys.names("skip_modules") or (), keys.read_mapping("quant_config")
    stated.refuse_keys("scale_quant_params zero_quant_params")
    stated.ignore("offload_meta")
    weights = stated.read_mapping("weight_quant_params")
    weights.ignore("channel_wise optimize round_zero view_as_float group_size")
    bits, is_row = weights.choice("nbits", 8, 4, 2, 1), weights.choice("axis", 0, 1) == 1
    weights.finish()
    stated.finish()
    layout = LAYOUTS["hqq"]._replace(bits=bits)
    if weights.given.get("group_size") is None:
        layout = layout._replace(block=(1, 0) if is_row else (0, 1), flat=False)
    else:
        layout = layout._replace(block=(1, weights.positive_int("group_size", 0)))

    def choose(path: str, cls: str) -> Layout | None:
        names = [one for one in path.split(".") if one not in {"model", "layers"} and not one.isnumeric()]
        return layout if cls == LINEAR and ".".join(names) not in skipped else None

    return SCHEMES["hqq"]._replace(name=f"hqq ({bits} bits)", choose=choose)


METHODS: dict[str, Callable[[Keys], Scheme]] = {
    "bitsandbytes": _read_bitsandbytes,
    "gptq": _read_gptq,
    "awq": _read_awq,
    "fp8": _read_fp8,
    **dict.fromkeys(("mxfp4", "bitnet", "eetq"), _read_integration),
    "compressed-tensors": compressed_tensors.read_scheme,
    "modelopt": _read_modelopt,
    "mlx": _read_mlx,
    "torchao": _read_torchao,
    "hqq": _read_hqq,
}
