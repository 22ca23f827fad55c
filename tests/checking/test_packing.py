"""Quantized weights as files store them, compared with the quantization of the config."""

from __future__ import annotations

import json
import re
from math import ceil, prod
from pathlib import Path
from typing import Any

import pytest
from written import stored_tensors

import archspec
from archspec.checking.comparison import compare
from archspec.checking.packing import PACKED, unpack
from archspec.checkpoints.records import StoredTensor

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "dtype": "float16",
    "vocab_size": 96,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
OSS = {
    "model_type": "gpt_oss",
    "architectures": ["GptOssForCausalLM"],
    "dtype": "bfloat16",
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "head_dim": 16,
    "num_key_value_heads": 2,
    "num_local_experts": 3,
    "layer_types": ["sliding_attention", "full_attention"],
}
Parts = dict[str, tuple[str, tuple[int, ...]]]
LIBRARIES = json.loads((Path(__file__).parents[1] / "formats" / "packed.json").read_text(encoding="utf-8"))


def awq(rows: int, columns: int) -> Parts:
    scales = {"qzeros": ("int32", (columns // 64, rows // 8)), "scales": ("float16", (columns // 64, rows))}
    return {"qweight": ("int32", (columns, rows // 8)), **scales}


def gptq(rows: int, columns: int) -> Parts:
    return {**awq(rows, columns), "qweight": ("int32", (columns // 8, rows)), "g_idx": ("int32", (columns,))}


def int8(rows: int, columns: int) -> Parts:
    return {"weight": ("int8", (rows, columns)), "SCB": ("float32", (rows,)), "weight_format": ("uint8", ())}


def nf4(rows: int, columns: int) -> Parts:
    size = rows * columns
    parts = {"absmax": ("uint8", (size // 64,)), "quant_map": ("float32", (16,))}
    parts |= {"nested_absmax": ("float32", (ceil(size / 64 / 256),)), "nested_quant_map": ("float32", (256,))}
    parts["quant_state.bitsandbytes__nf4"] = "uint8", (120,)
    return {"weight": ("uint8", (size // 2, 1)), **{f"weight.{name}": one for name, one in parts.items()}}


def fp8(rows: int, columns: int) -> Parts:
    blocks = ceil(rows / 128), ceil(columns / 128)
    return {"weight": ("float8_e4m3fn", (rows, columns)), "weight_scale_inv": ("float32", blocks)}


def compressed(rows: int, columns: int) -> Parts:
    scale = {"weight_scale": ("bfloat16", (rows, columns // 64)), "weight_shape": ("int64", (2,))}
    return {"weight_packed": ("int32", (rows, columns // 8)), **scale}


def nvfp4(rows: int, columns: int) -> Parts:
    scales = {"weight_scale": ("float8_e4m3fn", (rows, columns // 16)), "weight_scale_2": ("float32", ())}
    return {"weight": ("uint8", (rows, columns // 2)), **scales, "input_scale": ("float32", ())}


def mlx(rows: int, columns: int) -> Parts:
    scales = dict.fromkeys(("scales", "biases"), ("float16", (rows, columns // 64)))
    return {"weight": ("uint32", (rows, columns // 8)), **scales}


GROUPS = {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "strategy": "group"}}}
GROUPS["group_0"]["weights"] |= {"group_size": 64, "symmetric": True}  # type: ignore[operator]
FORMATS: dict[
    str, tuple[Any, dict[str, Any], tuple[str, ...]]
] = {  # parts, config, ends of quantized modules
    "awq": (awq, {"quant_method": "awq", "bits": 4, "group_size": 64, "version": "gemm"}, ("_proj",)),
    "gptq": (gptq, {"quant_method": "gptq", "bits": 4, "group_size": 64}, ("_proj",)),
    "int8": (int8, {"quant_method": "bitsandbytes", "load_in_8bit": True}, ("_proj",)),
    "nf4": (
        nf4,
        {
            "quant_method": "bitsandbytes",
            "load_in_4bit": True,
            "bnb_4bit_quant_type": "nf4",
            "bnb_4bit_use_double_quant": True,
        },
        ("_proj",),
    ),
    "fp8": (fp8, {"quant_method": "fp8", "weight_block_size": [128, 128]}, ("_proj",)),
    "compressed": (
        compressed,
        {
            "quant_method": "compressed-tensors",
            "format": "pack-quantized",
            "config_groups": GROUPS,
            "ignore": ["lm_head"],
            "quantization_status": "compressed",
        },
        ("_proj",),
    ),
    "nvfp4": (
        nvfp4,
        {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16, "exclude_modules": ["lm_head"]},
        ("_proj",),
    ),
    "mlx": (mlx, {"bits": 4, "group_size": 64}, ("_proj", "lm_head", "embed_tokens")),
}


def quantized(name: str) -> tuple[dict[str, Any], Parts]:
    """Return a config and the tensors of a format."""
    parts, given, ends = FORMATS[name]
    found: Parts = {}
    for label, (_, shape) in stored_tensors(archspec.load(LLAMA)).items():
        module = label.removesuffix(".weight")
        if module.endswith(ends):
            found |= {f"{module}.{part}": one for part, one in parts(*shape).items()}
        else:
            found[label] = "float16", shape
    return {**LLAMA, ("quantization" if name == "mlx" else "quantization_config"): given}, found


def kinds(config: dict[str, Any], tensors: Parts) -> list[tuple[str, tuple[str, ...]]]:
    listed = [StoredTensor(name, dtype, shape, prod(shape), "x") for name, (dtype, shape) in tensors.items()]
    found = compare(archspec.load(config), listed).findings
    return [(one.kind, one.tensors) for one in found if one.severity == "error"]


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_compared_with_its_config(name: str) -> None:
    config, tensors = quantized(name)
    assert kinds(config, tensors) == []
    base = "model.layers.1.mlp.down_proj."
    weight = f"{base}weight"
    plain = {key: one for key, one in tensors.items() if not key.startswith(base)}
    assert kinds(config, {**plain, weight: ("float16", (128, 256))}) == [("quantization", (weight,))]
    assert ("quantization", (weight,)) in kinds(LLAMA, {**stored_in_half(), **cut(tensors, base)})
    other = FORMATS[name][0](128, 384)
    wrong = {**plain, **{f"{base}{part}": one for part, one in other.items()}}
    assert kinds(config, wrong) == [("shape", (weight,))]


def stored_in_half() -> Parts:
    found = {name: ("float16", shape) for name, (_, shape) in stored_tensors(archspec.load(LLAMA)).items()}
    del found["model.layers.1.mlp.down_proj.weight"]
    return found


def cut(tensors: Parts, base: str) -> Parts:
    return {key: one for key, one in tensors.items() if key.startswith(base)}


@pytest.mark.parametrize(
    ("name", "part"), [("awq", "scales"), ("gptq", "qzeros"), ("compressed", "weight_scale")]
)
def test_scales_that_are_missing(name: str, part: str) -> None:
    config, tensors = quantized(name)
    missing = f"model.layers.0.self_attn.q_proj.{part}"
    del tensors[missing]
    assert ("quantization", (missing,)) in kinds(config, tensors)


@pytest.mark.parametrize("name", FORMATS)
def test_a_part_that_other_layers_have(name: str) -> None:
    config, tensors = quantized(name)
    base = "model.layers.1.mlp.down_proj."
    parts = [one for one in tensors if one.startswith(base)]
    data = max(parts, key=lambda one: prod(tensors[one][1]))
    for part in parts:
        found = kinds(config, {key: one for key, one in tensors.items() if key != part})
        assert ("quantization" in {kind for kind, _ in found}) == (part != data), (part, found)
        assert found or part == data


@pytest.mark.parametrize("library", LIBRARIES)
def test_tensors_of_quantization_libraries(library: str) -> None:
    """The tensors of a matrix are one weight, whose elements have the bytes of the layout."""
    for config, rows, columns, _, recorded in LIBRARIES[library]["records"]:
        key = "quantization" if library == "mlx" else "quantization_config"
        given = {name: value for name, value in config.items() if value != "mlx"}
        scheme = archspec.load({**LLAMA, key: given}).weights().scheme
        assert scheme is not None
        layout = scheme.layout_of("model.layers.0.mlp.up_proj", "Linear")
        prefix = "_weight_" if "qdata" in recorded else ""  # as transformers names torchao's tensors
        names = {name: prefix + re.sub(r"^(.*up_proj|layers\.0|0)\.", "", name) for name in recorded}
        tensors = [
            StoredTensor(f"module.{names[name]}", dtype, tuple(shape), 0, "")
            for name, (dtype, *shape) in recorded.items()
        ]
        ((name, one),) = unpack(tensors)[0].items()
        assert layout and name == "module.weight" and one.dtype == PACKED, (config, recorded)
        assert one.bytes == layout.element_bytes(rows, columns), (config, rows, columns, recorded)
        assert one.shape in (None, (rows, columns)) and unpack(tensors)[1] == []


def test_mxfp4_experts() -> None:
    config = {**OSS, "quantization_config": {"quant_method": "mxfp4"}}
    tensors: Parts = {}
    for name, (_, shape) in stored_tensors(archspec.load(OSS)).items():
        if name.endswith(("gate_up_proj", "down_proj")):
            experts, columns, rows = shape
            tensors[f"{name}_blocks"] = "uint8", (experts, rows, columns // 32, 16)
            tensors[f"{name}_scales"] = "uint8", (experts, rows, columns // 32)
        else:
            tensors[name] = "bfloat16", shape
    assert kinds(config, tensors) == []
    name = "model.layers.0.mlp.experts.down_proj"
    scales = tensors.pop(f"{name}_scales")
    assert kinds(config, tensors) == [("quantization", (f"{name}_scales",))]
    tensors |= {f"{name}_scales": scales, f"{name}_blocks": ("uint8", (3, 63, 3, 16))}
    assert kinds(config, tensors) == [("shape", (name,))]


def test_a_parameter_named_scale_is_not_a_scale_of_a_weight() -> None:
    config = {
        "model_type": "dinov2",
        "architectures": ["Dinov2Model"],
        "hidden_size": 48,
        "num_hidden_layers": 1,
    }
    config |= {"num_attention_heads": 4}
    tensors = {name: ("float32", shape) for name, (_, shape) in stored_tensors(archspec.load(config)).items()}
    assert kinds(config, tensors) == []
    assert kinds(config, {**tensors, "layernorm.scale": ("float32", (48,))}) == [
        ("unexpected", ("layernorm.scale",))
    ]
