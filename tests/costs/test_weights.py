"""The bytes of weights: dtypes, quantized checkpoints as published, what transformers' quantizers make."""

from __future__ import annotations

from typing import Any

import pytest

import archspec
from archspec.costs.weights import Weights
from archspec.errors import ArchspecError
from archspec.formats.scheme import LAYOUTS
from archspec.specs.library import shipped_library

LLAMA: dict[str, Any] = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}
LLAMA_2_70B = {**LLAMA, "dtype": "float16", "hidden_size": 8192, "intermediate_size": 28672}
LLAMA_2_70B |= {"num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8}
GPT_OSS_20B = {"model_type": "gpt_oss", "architectures": ["GptOssForCausalLM"], "dtype": "bfloat16"}
GPT_OSS_20B |= {"num_hidden_layers": 24, "num_local_experts": 32}
LEFT_OUT = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]


def stored(config: dict[str, Any], **quantization: Any) -> Weights:
    return archspec.load({**config, "quantization_config": quantization}).weights()


def test_gpt_oss_20b_as_published() -> None:
    """total_size in openai/gpt-oss-20b's model.safetensors.index.json; a dtype replaces the quantization."""
    found = stored(GPT_OSS_20B, quant_method="mxfp4", modules_to_not_convert=LEFT_OUT)
    assert found.bytes == 13_761_264_768
    model = archspec.load({**GPT_OSS_20B, "quantization_config": {"quant_method": "mxfp4"}})
    assert len(model.weights().table) == 2
    assert model.weights("bf16").bytes == 2 * model.params


@pytest.mark.parametrize(
    ("group", "gigabytes"), [(32, 40.66), (64, 37.99), (128, 36.65), (-1, 35.33)], ids=str
)
def test_llama_2_70b_in_gptq_as_published(group: int, gigabytes: float) -> None:
    """The sizes in the README of TheBloke/Llama-2-70B-Chat-GPTQ; 35,332,232,264 bytes with a header."""
    biases = 2 * 80 * (2 * 8192 + 2 * 1024 + 2 * 28672 + 8192)  # zeros that AutoGPTQ wrote in float16
    found = stored(LLAMA_2_70B, quant_method="gptq", bits=4, group_size=group).bytes + biases
    assert round(found / 1e9, 2) == gigabytes
    if group == -1:
        assert 0 < 35_332_232_264 - found < 400_000


def test_double_quantization() -> None:
    plain = stored(LLAMA, load_in_4bit=True, bnb_4bit_quant_type="nf4")
    double = stored(LLAMA, load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True)
    saved = plain.table[0].bytes - double.table[0].bytes
    assert plain.table[1] == double.table[1] and plain.left_out == ["lm_head"]
    assert saved / plain.table[0].elements * 8 == pytest.approx(0.373, abs=2e-3)  # bits: arXiv:2305.14314, 3


def test_bytes_that_bitsandbytes_sets_up() -> None:
    """Measured with bitsandbytes 0.50.2, of a weight of 300 x 100: all tensors of its quant_state."""
    assert LAYOUTS["nf4"].bytes(300, 100) == 15_000 + 469 * 4 + 64
    assert LAYOUTS["nf4-double"].bytes(300, 100) == 15_000 + 469 + 2 * 4 + 64 + 1024 + 4
    assert LAYOUTS["int8"].bytes(300, 100) == 30_000 + 300 * 4


def test_tied_and_float32_weights_stay() -> None:
    found = archspec.load("T5ForConditionalGeneration").weights("int8")
    assert {"lm_head", "shared", "encoder.embed_tokens", "wo"} <= set(found.left_out)
    tied = archspec.load("GPT2LMHeadModel").weights("nf4")
    assert tied.table[0].elements == 12 * 12 * 768 * 768  # the Conv1D of its layers, and no embeddings


INT8 = {"_type": "Int8WeightOnlyConfig", "_version": 2}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        *(
            ({"quant_method": name}, f"method '{name}' is not supported")
            for name in ("aqlm", "auto-round", "fp_quant", "higgs", "quark", "quanto", "spqr", "vptq")
        ),
        ({"quant_method": "bitnet", "linear_class": "autobitlinear"}, "'autobitlinear' is not supported"),
        (
            {"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 3}}},
            "3 is not supported",
        ),
        (
            {"quant_method": "torchao", "quant_type": {"default": {"_type": "Int4XPU"}}},
            "'Int4XPU' is not supp",
        ),
        ({"bits": 4}, "quant_method is missing"),
        ({"quant_method": "compressed-tensors"}, "format is missing"),
        ({"quant_method": "gptq", "bits": 5}, "bits: 5 is not supported"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 100}, "group_size: 100 is not supported"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 96}, "group_size: 96 is not supported"),
        ({"quant_method": "gptq", "bits": 4, "lm_head": True}, "with lm_head"),
        ({"quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin"}, "'marlin' is not supported"),
        ({"quant_method": "awq", "version": "marlin"}, "version: 'marlin' is not supported"),
        ({"quant_method": "awq", "version": "gemv", "group_size": 16}, "group size 16 is not supported"),
        ({"quant_method": "fp8", "expert_dtype": "fp6"}, "expert_dtype: 'fp6' is not supported"),
        ({"quant_method": "fp8", "new_key": 1}, "new_key is not a supported key of fp8"),
        ({"quant_method": "fp8", "dequantize": True}, "with dequantize"),
        ({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}, "'W4A8_AWQ' is not supported"),
        ({"quant_method": "modelopt", "config_groups": {"group_0": {}}}, "quant_algo is missing"),
        ({"quant_method": "mxfp4"}, "which has no supported layers"),
        ({"quant_method": "bitsandbytes"}, "needs one of"),
        ({"load_in_4bit": True, "load_in_8bit": True}, "needs one of"),
    ],
    ids=lambda value: str(value.get("quant_method", "")) if isinstance(value, dict) else "",
)
def test_unsupported_quantizations_are_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ArchspecError, match=message):
        _ = stored(LLAMA_2_70B, **config).bytes
    bert = {"model_type": "bert", "architectures": ["BertForMaskedLM"]}
    with pytest.raises(ArchspecError, match="decoder is tied and quantized"):
        _ = stored(bert, quant_method="fp8", modules_to_not_convert=["pooler"]).bytes


SIZES = {"hidden_size": 96, "intermediate_size": 200, "num_attention_heads": 4}
OPT = {"hidden_size": 96, "ffn_dim": 200, "num_attention_heads": 4, "word_embed_proj_dim": 64}
SMALL: dict[str, dict[str, Any]] = {
    "LlamaForCausalLM": SIZES,
    "BertForMaskedLM": SIZES,
    "BertModel": SIZES,
    "GPT2LMHeadModel": {"n_embd": 96, "n_head": 4},
    "OPTForCausalLM": OPT,
    "T5ForConditionalGeneration": {"d_model": 96, "d_ff": 200, "num_heads": 4},
    "MixtralForCausalLM": SIZES,
    "DeepseekV3ForCausalLM": {"hidden_size": 96, "intermediate_size": 200, "moe_intermediate_size": 72},
    "Qwen3ForSequenceClassification": SIZES,
}


@pytest.mark.reference
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("skipped", [None, ["lm_head", "decoder", "layers.0"]], ids=["defaults", "named"])
@pytest.mark.parametrize("blocks", [(128, 128), (32, 64)], ids=str)
def test_fp8_agrees_with_transformers(name: str, skipped: list[str] | None, blocks: tuple[int, int]) -> None:
    """`replace_with_fp8_linear` on meta, with the modules that its quantizer leaves out."""
    import torch
    import transformers
    from transformers.integrations.finegrained_fp8 import replace_with_fp8_linear
    from transformers.quantizers.base import HfQuantizer

    cls = getattr(transformers, name)
    config = cls.config_class(**SMALL[name])
    with torch.device("meta"):
        model = cls(config).to(torch.bfloat16)
    left_out = HfQuantizer.get_modules_to_not_convert(model, skipped, model._keep_in_fp32_modules)
    quantization = transformers.FineGrainedFP8Config(weight_block_size=blocks)
    replace_with_fp8_linear(model, left_out, quantization)
    tensors = [one for one in model.parameters() if one.element_size() == 1]
    scales = [one for key, one in model.named_parameters() if key.endswith("scale_inv")]
    found = stored(
        {"model_type": shipped_library().model_type_of(name), "architectures": [name], **SMALL[name]},
        quant_method="fp8",
        weight_block_size=list(blocks),
        **({"modules_to_not_convert": skipped} if skipped else {}),
    )
    if not tensors:  # GPT-2 has Conv1D layers, and its lm_head is tied
        with pytest.raises(ArchspecError, match="which has no supported layers"):
            _ = found.table
        return
    assert found.table[0].elements == sum(one.numel() for one in tensors)
    assert found.table[0].bytes == sum(one.nbytes for one in (*tensors, *scales))
