"""Names that transformers accepts on load, and those of other tools, are not differences."""

from __future__ import annotations

import re
from typing import Any

import pytest
from written import stored_tensors

import archspec
from archspec.checking.comparison import compare
from archspec.checkpoints.records import StoredTensor

SMALL = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 50,
}
TEXT = {**SMALL, "num_key_value_heads": 2}
VISION = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
LLAVA = {
    "model_type": "llava",
    "architectures": ["LlavaForConditionalGeneration"],
    "text_config": {"model_type": "llama", **TEXT},
    "vision_config": {"model_type": "clip_vision_model", **VISION, "image_size": 28, "patch_size": 14},
}
MIXTRAL = {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"], **TEXT, "num_local_experts": 3}
VIT = {"model_type": "vit", "architectures": ["ViTForImageClassification"], **VISION, "image_size": 32}
QWEN = {
    "model_type": "qwen2_vl",
    "architectures": ["Qwen2VLForConditionalGeneration"],
    **TEXT,
    "vision_config": {"embed_dim": 32, "hidden_size": 32, "depth": 2, "num_heads": 4},
}
DEEPSEEK = {
    "model_type": "deepseek_v3",
    "architectures": ["DeepseekV3ForCausalLM"],
    **SMALL,
    "num_hidden_layers": 3,
    "q_lora_rank": 8,
    "kv_lora_rank": 8,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4,
    "v_head_dim": 6,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "moe_intermediate_size": 16,
    "first_k_dense_replace": 1,
    "num_nextn_predict_layers": 1,
}
GPT2 = {
    "model_type": "gpt2",
    "architectures": ["GPT2LMHeadModel"],
    "n_embd": 24,
    "n_layer": 2,
    "vocab_size": 50,
}
NEOX = {"model_type": "gpt_neox", "architectures": ["GPTNeoXForCausalLM"], **SMALL}
BERT = {"model_type": "bert", "architectures": ["BertForMaskedLM"], **SMALL}
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **TEXT}
Stored = dict[str, tuple[str, tuple[int, ...]]]


def stored(config: dict[str, Any], renames: dict[str, str]) -> Stored:
    """Return the tensors of a config under the names of an older version."""
    found = {}
    for name, one in stored_tensors(archspec.load(config)).items():
        for pattern, target in renames.items():
            name = re.sub(pattern, target, name)
        found[name] = one
    return found


def split_experts(tensors: Stored, gate: str, up: str, down: str) -> Stored:
    """Return fused experts as one tensor for each of them."""
    found = {}
    for name, (dtype, shape) in tensors.items():
        base, _, part = name.rpartition(".")
        for expert in range(shape[0] if base.endswith(".experts") else 0):
            if part == "down_proj":
                found[f"{base}.{expert}.{down}.weight"] = dtype, shape[1:]
            else:
                half = dtype, (shape[1] // 2, shape[2])
                found |= {f"{base}.{expert}.{one}.weight": half for one in (gate, up)}
        if not base.endswith(".experts"):
            found[name] = dtype, shape
    return found


def kinds(
    config: dict[str, Any], tensors: Stored, severity: str = "error"
) -> list[tuple[str, tuple[str, ...]]]:
    """Return the differences of a config's model."""
    listed = [StoredTensor(name, dtype, shape, 0, "x") for name, (dtype, shape) in tensors.items()]
    found = compare(archspec.load(config), listed).findings
    return [(one.kind, one.tensors) for one in found if one.severity == severity]


OLD_NAMES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "today's": (LLAMA, {}),
    "a head without the base prefix": (GPT2, {r"^transformer\.": ""}),
    "a base model with the prefix of a head": (
        {**GPT2, "architectures": ["GPT2Model"]},
        {"^": "transformer."},
    ),
    "embed_out": (NEOX, {"^lm_head": "embed_out"}),
    "gamma and beta": (BERT, {r"LayerNorm\.weight": "LayerNorm.gamma", r"LayerNorm\.bias": "LayerNorm.beta"}),
    "ViT's": (
        VIT,
        {
            r"^vit\.layers\.": "vit.encoder.layer.",
            r"attention\.q_proj": "attention.attention.query",
            r"attention\.k_proj": "attention.attention.key",
            r"attention\.v_proj": "attention.attention.value",
            r"attention\.o_proj": "attention.output.dense",
            r"mlp\.fc1": "intermediate.dense",
            r"mlp\.fc2": "output.dense",
        },
    ),
    "LLaVA's": (
        LLAVA,
        {
            r"^model\.language_model\.": "language_model.model.",
            "^lm_head": "language_model.lm_head",
            r"^model\.vision_tower\.": "vision_tower.vision_model.",
            r"^model\.multi_modal": "multi_modal",
        },
    ),
    "Qwen2-VL's": (QWEN, {r"^model\.visual\.": "visual.", r"^model\.language_model\.": "model."}),
}


@pytest.mark.parametrize("name", OLD_NAMES)
def test_old_names_are_understood(name: str) -> None:
    config, renames = OLD_NAMES[name]
    tensors = stored(config, renames)
    assert (tensors.keys() != stored(config, {}).keys()) == (name != "today's")
    assert kinds(config, tensors) == []
    lost = next(iter(tensors))
    kept = {key: one for key, one in tensors.items() if key != lost}
    assert [kind for kind, _ in kinds(config, kept)] == ["missing"]
    assert kinds(config, {**tensors, f"{lost}_more": ("F32", (1,))}) == [("unexpected", (f"{lost}_more",))]


def test_an_unknown_name_is_a_difference() -> None:
    assert {kind for kind, _ in kinds(LLAMA, stored(LLAMA, {"q_proj": "query"}))} == {"missing", "unexpected"}


def test_experts_may_be_stored_one_by_one() -> None:
    fused = stored(MIXTRAL, {})
    split = split_experts(stored(MIXTRAL, {r"\.mlp\.": ".block_sparse_moe."}), "w1", "w3", "w2")
    assert len(split) > len(fused) and kinds(MIXTRAL, fused) == kinds(MIXTRAL, split) == []
    name = "model.layers.1.block_sparse_moe.experts.2.w1.weight"
    gate, down = (f"model.layers.1.mlp.experts.{one}" for one in ("gate_up_proj", "down_proj"))
    assert kinds(MIXTRAL, {key: one for key, one in split.items() if key != name}) == [("shape", (gate,))]
    assert kinds(MIXTRAL, {**split, name: ("F32", (1, 1))}) == [("shape", (gate,))]
    assert kinds(MIXTRAL, {**split, name.replace("w1", "w2"): ("F32", (32, 47))}) == [("shape", (down,))]
    assert kinds(MIXTRAL, {**split, name: ("F32", ())}) == [("shape", (gate,))]


def test_a_module_in_two_parts_of_mlx() -> None:
    tensors = split_experts(stored(DEEPSEEK, {}), "gate_proj", "up_proj", "down_proj")
    assert kinds(DEEPSEEK, tensors) == []
    for layer in range(3):
        base = f"model.layers.{layer}.self_attn."
        del tensors[f"{base}kv_b_proj.weight"]
        tensors |= {
            f"{base}embed_q.weight": ("F32", (4, 8, 8)),
            f"{base}unembed_out.weight": ("F32", (4, 6, 8)),
        }
    assert kinds(DEEPSEEK, tensors) == []
    stacked = {key: one for key, one in tensors.items() if ".experts." not in key}
    for layer in (1, 2):
        base = f"model.layers.{layer}.mlp.switch_mlp."
        stacked |= {f"{base}{one}.weight": ("F32", (4, 16, 32)) for one in ("gate_proj", "up_proj")}
        stacked[f"{base}down_proj.weight"] = "F32", (4, 32, 16)
    assert kinds(DEEPSEEK, stacked) == []
    stacked["model.layers.1.mlp.switch_mlp.up_proj.weight"] = "F32", (4, 17, 32)
    assert kinds(DEEPSEEK, stacked) == [("shape", ("model.layers.1.mlp.experts.gate_up_proj",))]


def test_multi_token_prediction_is_not_a_difference() -> None:
    tensors = stored(DEEPSEEK, {})
    more = {f"model.layers.3.{name}": ("F32", (32,)) for name in ("enorm.weight", "hnorm.weight")}
    assert kinds(DEEPSEEK, {**tensors, **more}) == []
    assert [kind for kind, _ in kinds(DEEPSEEK, {**tensors, **more}, "note")] == ["unused", "unused"]
    beyond = {"model.layers.4.enorm.weight": ("F32", (32,))}
    assert kinds(DEEPSEEK, {**tensors, **beyond}) == [("unexpected", (*beyond,))]


@pytest.mark.parametrize(
    ("config", "name", "shape"),
    [
        (LLAMA, "model.layers.1.self_attn.rotary_emb.inv_freq", (4,)),
        (LLAMA, "model.rotary_emb.inv_freq", (4,)),
        (GPT2, "transformer.h.0.attn.bias", (1, 1, 64, 64)),
        (GPT2, "h.0.attn.bias", (1, 1, 64, 64)),
        (GPT2, "transformer.h.0.attn.masked_bias", ()),
        (NEOX, "gpt_neox.layers.0.attention.bias", (1, 1, 64, 64)),
        (BERT, "bert.embeddings.position_ids", (1, 512)),
        (LLAVA, "vision_tower.vision_model.embeddings.position_ids", (1, 5)),
    ],
)
def test_buffers_that_transformers_computes_are_not_a_difference(config: Any, name: str, shape: Any) -> None:
    tensors = {**stored(config, {}), name: ("F32", shape)}
    assert kinds(config, tensors) == []
    assert kinds(config, tensors, "note") == [("unused", (name,))]


def test_a_class_that_is_a_copy_of_another_one() -> None:
    """MaskFormerDetrDecoder has transforms; its spec is DetrDecoder."""
    model = archspec.load("MaskFormerModel")
    names = {one.name: one.shape for one in model.tensors() if not one.tied_to}
    old = {
        re.sub(r"(decoder\.layers.*)\.o_proj\.", r"\1.out_proj.", name): shape
        for name, shape in names.items()
    }
    assert old.keys() != names.keys()
    found = compare(model, [StoredTensor(name, "float32", shape, 0, "") for name, shape in old.items()])
    assert found.fits
