"""Published sizes, names in both directions, options of llama-quantize, and the bytes around tensors."""

from __future__ import annotations

from typing import Any

import pytest

import archspec
from archspec.errors import ArchspecError
from archspec.formats.scheme import NAMES
from archspec.gguf.types import FILES

SMALL: dict[str, Any] = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 320}
SMALL |= {"hidden_size": 512, "intermediate_size": 768, "num_hidden_layers": 2}
SMALL |= {"num_attention_heads": 8, "num_key_value_heads": 2}
LLAMA_3_1_70B = {**SMALL, "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80}
LLAMA_3_1_70B |= {"num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256}
LLAMA_3_1_70B |= {"rope_scaling": {"rope_type": "llama3", "factor": 8.0}, "dtype": "bfloat16"}
MROPE = {"text_config.rope_parameters": {"rope_type": "default", "mrope_section": [16, 24, 24]}}
VOCABULARY = 7_820_000  # bytes of the tokens and merges of Llama 3.1 in a file, about


def tensor_types(name: str, **changes: Any) -> dict[str, str]:
    return {one.name: one.type for one in archspec.load({**SMALL, **changes}).weights(name).tensors()}


def test_sizes_of_published_files() -> None:
    """Sizes in GB of Meta-Llama-3.1-70B-Instruct on the Hub, vocabulary included."""
    published = {"Q3_K_M": 34.27, "Q4_K_M": 42.52, "Q5_K_M": 49.95, "Q6_K": 57.89, "Q8_0": 74.98}
    model = archspec.load(LLAMA_3_1_70B)
    found = {}
    for name in published:
        file = model.weights(name).file
        assert file is not None and file.metadata_bytes is not None
        size = file.bytes + file.padding_bytes + file.header_bytes + file.metadata_bytes + VOCABULARY
        found[name] = round(size / 1e9, 2)
    assert found == published


def test_names_in_both_directions() -> None:
    names = {one.name: one.sources for one in archspec.load(SMALL).weights("F16").tensors()}
    assert names["blk.1.attn_q.weight"] == ("model.layers.1.self_attn.q_proj.weight",)
    mixtral = archspec.load("MixtralForCausalLM", set={"num_hidden_layers": 1}).weights("Q4_0")
    by_source: dict[str, list[str]] = {}
    for one in mixtral.tensors():
        for source in one.sources:
            by_source.setdefault(source, []).append(one.name)
    experts = by_source["model.layers.0.mlp.experts.gate_up_proj"]
    assert experts == ["blk.0.ffn_gate_exps.weight", "blk.0.ffn_up_exps.weight"]


def test_generated_and_dropped_tensors() -> None:
    llama3 = {"rope_type": "llama3", "factor": 8.0}
    scaled = archspec.load({**SMALL, "rope_scaling": llama3}).weights("Q8_0")
    own = {one.name: one for one in scaled.tensors()}
    assert own["rope_freqs.weight"][1:] == ((), (32,), "F32")
    assert "rope_freqs.weight" not in tensor_types("Q8_0")
    vision = archspec.load("Qwen2VLForConditionalGeneration", set=MROPE).weights("Q4_K_M")
    assert any("parameters, such as model.visual" in note for note in vision.notes)
    assert all("visual" not in source for one in vision.tensors() for source in one.sources)


def test_options_of_llama_quantize() -> None:
    assert set(tensor_types("Q4_K_M --pure").values()) == {"Q4_K", "F32"}
    assert tensor_types("q4_k_m --output-tensor-type=q8_0")["output.weight"] == "Q8_0"
    assert tensor_types("Q4_K_M --token-embedding-type F16")["token_embd.weight"] == "F16"
    assert tensor_types("Q4_K_M --leave-output-tensor")["output.weight"] == "F16"
    tied = tensor_types("Q4_K_M --output-tensor-type Q8_0", tie_word_embeddings=True)
    assert tied["token_embd.weight"] == "Q8_0" and "output.weight" not in tied
    deep = {"num_hidden_layers": 8}
    plain, weighted = (tensor_types(name, **deep) for name in ("Q4_0", "Q4_0 --imatrix"))
    changed = {name: kind for name, kind in weighted.items() if kind != plain[name]}
    assert changed == {"blk.0.ffn_down.weight": "Q4_1"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Q4_K_M --purest", "unknown option '--purest'"),
        ("Q4_K_M --output-tensor-type Q4_K_M", "takes a type of tensors, not 'Q4_K_M'"),
        ("Q4_K_M --output-tensor-type", "takes a type of tensors, not ''"),
        ("Q4_K_M --tensor-type attn_v", "takes a type of tensors, not ''"),
        ("Q4_K_M --tensor-type (?i)v=Q8_0", "is not a supported pattern of tensors' names"),
        ("Q4_K_M --tensor-type (v=Q8_0", "is not a supported pattern of tensors' names"),
        ("Q4_K_X", "unknown weight format 'Q4_K_X'"),
    ],
)
def test_unknown_types_and_options(name: str, message: str) -> None:
    with pytest.raises(ArchspecError, match=message):
        archspec.load(SMALL).weights(name)


def test_shapes_that_llama_quantize_refuses() -> None:
    with pytest.raises(ArchspecError, match="columns do not fill blocks of Q1_0"):
        tensor_types("Q1_0", hidden_size=320)
    with pytest.raises(ArchspecError, match="do not fill blocks of Q4_K"):
        tensor_types("Q8_0 --output-tensor-type Q4_K", hidden_size=320)


def test_conversions_that_were_not_validated_are_refused() -> None:
    with pytest.raises(ArchspecError, match="rotary embeddings of type 'new'"):
        tensor_types("Q8_0", rope_scaling={"rope_type": "new"})
    with pytest.raises(ArchspecError, match=r"conversion of lm_head\.weight of Cohere2ForCausalLM"):
        archspec.load("Cohere2ForCausalLM", set={"tie_word_embeddings": False}).weights("Q8_0")


def test_layers_for_prediction_that_were_not_validated_are_refused() -> None:
    with pytest.raises(ArchspecError, match="with num_nextn_predict_layers 3"):
        archspec.load("NemotronHForCausalLM", set={"num_nextn_predict_layers": 3}).weights("Q4_K_M")


@pytest.mark.parametrize(
    ("name", "rejected", "accepted"),
    [
        ("ExaoneMoeForCausalLM", {}, {"scoring_func": "sigmoid"}),
        ("ModernBertModel", {}, {"layer_norm_eps": 1e-5}),
        ("EuroBertModel", {"classifier_pooling": "late"}, {"classifier_pooling": "mean"}),
        ("DeepseekV2ForCausalLM", {"q_lora_rank": None}, {"q_lora_rank": None, "num_hidden_layers": 27}),
        ("BertForSequenceClassification", {"num_labels": 3}, {}),
    ],
)
def test_configs_that_llama_cpp_rejects_are_refused(
    name: str, rejected: dict[str, Any], accepted: dict[str, Any]
) -> None:
    """llama-quantize did not load the files of these configs, or the converter did not write them."""
    model_type = archspec.load(name).model_type
    given = {"model_type": model_type, "architectures": [name], "num_hidden_layers": 2}
    with pytest.raises(ArchspecError, match=f"formats are not supported for {name} with"):
        archspec.load({**given, **rejected}).weights("Q8_0")
    assert archspec.load({**given, **accepted}).weights("Q8_0").bytes > 0


def test_vision_models_need_sections_of_rotary_embeddings() -> None:
    """Published configs have the type `mrope`, which transformers reads as the default one."""
    with pytest.raises(ArchspecError, match="without mrope_section"):
        archspec.load("Qwen3VLForConditionalGeneration").weights("Q8_0")
    rope = {"type": "mrope", "mrope_section": [16, 24, 24]}
    given = {"text_config.rope_parameters": rope}
    assert archspec.load("Qwen2VLForConditionalGeneration", set=given).weights("Q8_0").bytes > 0


def test_text_config_may_name_another_converter() -> None:
    """llama.cpp's `get_model_architecture` prefers the architectures of the text config."""
    name, key = "LlavaForConditionalGeneration", "text_config.architectures"
    assert archspec.load(name, set={key: ["LlamaForCausalLM"]}).weights("Q8_0").bytes > 0
    with pytest.raises(ArchspecError, match=f"for {name} with {key} Qwen2ForCausalLM"):
        archspec.load(name, set={key: ["Qwen2ForCausalLM"]}).weights("Q8_0")


FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
GROUPS = {"group_0": {"targets": ["Linear"], "weights": {"type": "int", "num_bits": 4, "strategy": "group"}}}
PACKED = {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": GROUPS}


@pytest.mark.parametrize(
    ("given", "is_restored"),
    [
        (FP8, True),
        ({"quant_method": "gptq", "bits": 4}, True),
        ({"quant_method": "gptq", "bits": 3}, False),
        (PACKED, True),
        ({**PACKED, "format": "nvfp4-pack-quantized"}, False),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, True),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, False),
        ({"quant_method": "awq", "bits": 4}, False),
        ({"load_in_4bit": True}, False),
        ({"quant_method": "mxfp4"}, False),
    ],
)
def test_quantized_checkpoints_are_restored_or_refused(given: dict[str, Any], is_restored: bool) -> None:
    """As llama.cpp's converter did with a tiny model packed in each of these formats."""
    if is_restored:
        assert tensor_types("Q4_K_M", quantization_config=given) == tensor_types("Q4_K_M")
        return
    with pytest.raises(ArchspecError, match=r"llama\.cpp's converter does not support this quantization"):
        tensor_types("Q4_K_M", quantization_config=given)


def test_experts_in_mxfp4_stay_so() -> None:
    model = archspec.load("GptOssForCausalLM", set={"quantization_config": {"quant_method": "mxfp4"}})
    assert model.weights("MXFP4_MOE").bytes == archspec.load("GptOssForCausalLM").weights("MXFP4_MOE").bytes
    with pytest.raises(ArchspecError, match="rejects weights that are in MXFP4"):
        model.weights("Q4_K_M")


@pytest.mark.parametrize(
    "changes",
    [
        {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "attn_factor": 1.0}},
        {"is_causal": False},
        {"n_group": 4},
    ],
)
def test_metadata_that_were_not_recorded_are_unknown(changes: dict[str, Any]) -> None:
    file = archspec.load({**SMALL, **changes}).weights("Q8_0").file
    assert file is not None and file.metadata_bytes is None


def test_metadata_depend_on_default_rotary_embeddings() -> None:
    """As llama.cpp's converter writes them: the default of gpt-oss is YaRN with beta_fast and beta_slow."""
    yarn = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 4096}
    whole = {**yarn, "beta_fast": 32.0, "beta_slow": 1.0}
    sizes = []
    for rope in (None, yarn, whole):
        file = archspec.load("GptOssForCausalLM", set={"rope_parameters": rope} if rope else {})
        sizes.append(file.weights("Q8_0").file.metadata_bytes)
    assert sizes == [1021, 919, 1021]


def test_metadata_depend_on_the_gating_function() -> None:
    """llama.cpp's converter writes an entry for scoring_func, and its files have 4 bytes of this entry."""
    plain = archspec.load("DeepseekV3ForCausalLM").weights("Q8_0").file
    stated = archspec.load("DeepseekV3ForCausalLM", set={"scoring_func": "sigmoid"}).weights("Q8_0").file
    assert plain is not None and stated is not None and plain.metadata_bytes and stated.metadata_bytes
    assert stated.metadata_bytes - plain.metadata_bytes == 8 + len("deepseek2.expert_gating_func") + 4 + 4


def test_without_experts() -> None:
    """Bytes that llama-quantize reports for a converted model whose numbers of experts are null."""
    config = {"model_type": "afmoe", "architectures": ["AfmoeForCausalLM"], "num_experts": None}
    config |= {"num_experts_per_tok": None, "num_hidden_layers": 2, "num_dense_layers": 2}
    config |= {"hidden_size": 256, "intermediate_size": 512, "vocab_size": 96}
    assert archspec.load(config).weights("Q4_K_M").bytes == 3_605_696


def test_capitals_distinguish_files_from_dtypes() -> None:
    """A file of llama.cpp has norms in float32."""
    model = archspec.load(SMALL)
    assert {"F16", "BF16", "F32", "Q4_K_M", "IQ2_XXS"} <= {*FILES} <= {*NAMES}
    assert model.weights("f16").bytes == 2 * model.params
    assert model.weights("F16").bytes == 2 * model.params + 2 * 5 * 512
    assert model.weights("F32").bytes == model.weights("f32").bytes


def test_unquantized_tensors_have_the_type_of_the_checkpoint() -> None:
    """Norms are in float32, other unquantized tensors in 16 bits unless the dtype is float32."""
    gemma = archspec.load("Gemma3nForCausalLM")
    kinds = {
        dtype: {one.name: one.type for one in gemma.weights("Q4_0", dtype).tensors()}
        for dtype in (None, "bfloat16", "float32")
    }
    name = "blk.0.laurel_l.weight"
    assert [found[name] for found in kinds.values()] == ["F16", "BF16", "F32"]


def test_bytes_around_tensors() -> None:
    """A file without vocabulary has 32-byte aligned tensors after its header."""
    weights = archspec.load({**SMALL, "hidden_size": 8, "num_hidden_layers": 1}).weights("F16")
    assert weights.file is not None
    assert weights.file.padding_bytes == sum(-one.bytes % 32 for one in weights.tensors())
    names = sum(8 + len(one.name) + 16 + 8 * len(one.shape) for one in weights.tensors())
    assert weights.file.header_bytes == 24 + names
