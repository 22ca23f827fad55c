"""The schemes of transformers' quantizers, read from a quantization_config: what `from_pretrained` sets up.

Sources: transformers/utils/quantization_config.py, transformers/integrations/ (bitsandbytes.py, awq.py,
finegrained_fp8.py, mxfp4.py) and optimum/gptq/quantizer.py.
"""

from __future__ import annotations

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
from archspec.formats.layouts import block_bytes, four_bit_bytes, grouped_bytes, int8_bytes, packed_fp4_bytes
from archspec.formats.scheme import CONV1D, EMBEDDING, LINEAR, Choose, Layout, Scheme, same_for
from archspec.typing_light import Any

_BITSANDBYTES = (
    "load_in_8bit load_in_4bit _load_in_8bit _load_in_4bit llm_int8_threshold llm_int8_skip_modules "
    "llm_int8_enable_fp32_cpu_offload llm_int8_has_fp16_weight bnb_4bit_compute_dtype bnb_4bit_quant_type "
    "bnb_4bit_use_double_quant bnb_4bit_quant_storage"
)
_SPLIT = "Llama4TextExperts"  # transformers.quantizers.base.MODULES_TO_PATCH_FOR_QUANTIZATION
_CALIBRATION = (  # recorded by the tools; none changes the layout
    "desc_act sym damp_percent true_sequential static_groups model_name_or_path model_file_base_name meta "
    "backend tokenizer dataset batch_size module_name_preceding_first_block use_cuda_fp16 use_exllama "
    "exllama_config disable_exllama max_input_length cache_block_outputs model_seqlen pad_token_id "
    "act_group_aware damp_auto_increment mse quantizer"
)
_GPTQ = (
    f"{_CALIBRATION} bits group_size checkpoint_format format pack_dtype lm_head dynamic "
    "block_name_to_quantize modules_in_block_to_quantize is_marlin_format"
)
_AWQ = (  # AwqConfig extends GPTQConfig
    f"{_GPTQ} w_bit q_group_size zero_point version modules_to_not_convert do_fuse fuse_max_seq_len "
    "modules_to_fuse"
)
_FP8 = (
    "activation_scheme fmt weight_block_size scale_fmt expert_dtype modules_to_not_convert ignored_layers "
    "modules_to_convert dequantize"
)


def bitsandbytes(given: Given) -> Scheme:
    """LLM.int8, nf4 or fp4: nn.Linear and Conv1D; experts in one tensor stay in the model's dtype."""
    check_keys(given, _BITSANDBYTES)
    refuse_set(given, "llm_int8_has_fp16_weight")
    eight, four = flag(given, "load_in_8bit"), flag(given, "load_in_4bit")
    if eight == four:
        raise KeyProblem("load_in_8bit", "bitsandbytes needs one of load_in_8bit and load_in_4bit")
    skipped = listed(given, "llm_int8_skip_modules")
    split = (
        _SPLIT if given.get("quant_method") else ""
    )  # of a checkpoint, whose experts are loaded one by one
    if eight:
        return Scheme("int8", same_for((LINEAR, CONV1D), int8_bytes), skipped=skipped, split_class=split)
    kind = one_of(given, "bnb_4bit_quant_type", "fp4", ("fp4", "nf4"))
    storage = str(given.get("bnb_4bit_quant_storage") or "uint8").removeprefix("torch.")
    if storage not in ("uint8", "int8", "float16", "bfloat16", "float32", "float64"):
        raise KeyProblem("bnb_4bit_quant_storage", f"bnb_4bit_quant_storage {storage!r} is not supported")
    double = flag(given, "bnb_4bit_use_double_quant")
    name = f"{kind}, scales quantized" if double else kind
    choose = same_for((LINEAR, CONV1D), lambda rows, columns: four_bit_bytes(rows, columns, double))
    return Scheme(name, choose, skipped=skipped, split_class=split)


def gptq(given: Given) -> Scheme:
    """GPTQ: the Linears and Conv1Ds of the decoder's layers, each expert like a Linear."""
    check_keys(given, _GPTQ)
    refuse_set(given, "lm_head", "dynamic", "modules_in_block_to_quantize", "is_marlin_format")
    block = given.get("block_name_to_quantize") or ""
    if not isinstance(block, str):
        raise KeyProblem("block_name_to_quantize", "block_name_to_quantize is not the path of a module")
    for key in ("checkpoint_format", "format"):
        one_of({key: given.get(key) or "gptq"}, key, "gptq", ("gptq", "gptq_v2"))
    one_of({"pack_dtype": given.get("pack_dtype") or "int32"}, "pack_dtype", "int32", ("int32",))
    bits, group = one_of(given, "bits", None, (4, 8)), _group(given, "group_size")
    choose = same_for((LINEAR, CONV1D), lambda rows, columns: grouped_bytes(rows, columns, bits, group, True))
    return Scheme(f"gptq, {bits} bits", choose, each=True, blocks_only=True, block=block)


def awq(given: Given) -> Scheme:
    """AWQ: nn.Linear, each expert like a Linear; the output embeddings stay in the model's dtype."""
    check_keys(given, _AWQ)
    refuse_set(given, "lm_head", "dynamic", "modules_in_block_to_quantize", "block_name_to_quantize")
    for key in ("version", "format"):
        one_of({key: str(given.get(key) or "gemm").lower()}, key, "gemm", ("gemm",))
    bits = one_of(given, "bits" if "bits" in given else "w_bit", 4, (4, 8))
    group = _group(given, "group_size" if "group_size" in given else "q_group_size")
    skipped = listed(given, "modules_to_not_convert")
    choose = same_for((LINEAR,), lambda rows, columns: grouped_bytes(rows, columns, bits, group, False))
    name = f"awq, {bits} bits"
    return Scheme(name, choose, each=True, skipped=skipped, defaults=True, subclasses="all")


def _group(given: Given, key: str) -> int:
    return -1 if given.get(key) == -1 else positive(given, key, 128)


def fp8(given: Given) -> Scheme:
    """transformers' FineGrainedFP8: nn.Linear and fused experts, in blocks with a scale each."""
    check_keys(given, _FP8)
    refuse_set(given, "dequantize")
    static = one_of(given, "activation_scheme", "dynamic", ("dynamic", "static")) == "static"
    scale = 1 if one_of(given, "scale_fmt", "float", ("float", "ue8m0")) == "ue8m0" else 4
    one_of({"fmt": given.get("fmt") or "e4m3"}, "fmt", "e4m3", ("e4m3", "float8_e4m3fn"))
    blocks = _blocks(given)
    four = one_of(given, "expert_dtype", "fp8", ("fp8", "fp4")) == "fp4"
    skipped = listed(given, "modules_to_not_convert")
    skipped = listed(given, "ignored_layers") if skipped is None else skipped
    tables = listed(given, "modules_to_convert") or ()

    def expert(name: str, rows: int, columns: int) -> int:
        if four:
            return packed_fp4_bytes(rows, columns, scale) + (4 if static else 0)
        return block_bytes(rows, columns, blocks, scale, static, 2 if name == "gate_up_proj" else 1)

    name = "fp8, experts in fp4" if four else "fp8"
    choose = _linear_or_table(tables, blocks, scale, static)
    return Scheme(name, choose, expert, sized=True, skipped=skipped, subclasses="grouped")


def _linear_or_table(tables: tuple[str, ...], blocks: Any, scale: int, static: bool) -> Choose:
    def choose(path: str, cls: str) -> Layout | None:
        if cls == LINEAR:
            return lambda rows, columns, element: block_bytes(rows, columns, blocks, scale, static)
        if cls == EMBEDDING and any(path.endswith(one) for one in tables):
            return lambda rows, columns, element: rows * columns + 4  # one float32 scale
        return None

    return choose


def _blocks(given: Given) -> tuple[int, int] | None:
    if "weight_block_size" not in given:
        return 128, 128
    return None if given["weight_block_size"] is None else pair(given, "weight_block_size")


def mxfp4(given: Given) -> Scheme:
    """gpt-oss: the experts in 4-bit floats, a byte per 32 inputs; the rest in the model's dtype."""
    check_keys(given, "modules_to_not_convert dequantize")
    refuse_set(given, "dequantize")
    skipped = listed(given, "modules_to_not_convert")
    return Scheme(
        "mxfp4",
        lambda path, cls: None,
        lambda name, rows, columns: packed_fp4_bytes(rows, columns),
        experts_class="GptOssExperts",
        skipped=skipped,
    )
