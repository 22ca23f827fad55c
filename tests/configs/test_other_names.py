"""Other names that a config class reads, and values of a wrong kind."""

from __future__ import annotations

from typing import Any

import pytest

import archspec
from archspec.specs.library import shipped_library

MIMO = {"model_type": "mimo_v2_flash", "num_hidden_layers": 4, "n_routed_experts": 8}
RECOGNIZER = {"model_type": "pp_ocrv6_small_rec", "architectures": ["PPOCRV6SmallRecForTextRecognition"]}
CONFIGS: list[dict[str, Any]] = [
    {"model_type": "mistral_large4_text", "num_hidden_layers": 2, "num_experts": 3},
    {"model_type": "aria", "max_value_projector_patch_to_query_dict": 257},
    {"model_type": "aria", "projector_patch_to_query_dict": {"5": 300}},
    {"model_type": "deepseek_v2", "num_hidden_layers": 1, "num_local_experts": 3},
    {"model_type": "step3p5", "num_hidden_layers": 5, "num_local_experts": 3},
    {"model_type": "step3p5", "num_hidden_layers": 5, "moe_num_experts": 3},
    {"model_type": "deepseek_v4", "num_hidden_layers": 2, "default_num_hash_layers": 0},
    {"model_type": "deepseek_v4", "num_hidden_layers": 2, "default_num_hash_layers": 5, "num_hash_layers": 0},
    {"model_type": "dots3_note_audio_encoder", "adapter_output_size": 48},
    {"model_type": "mimi", "_frame_rate": 3},
    {"model_type": "mimi", "_frame_rate": 25.0, "frame_rate": 12.5},
    {"model_type": "mimi", "_frame_rate": None, "frame_rate": 25.0},
    {"model_type": "nemotron", "num_hidden_layers": 0, "num_key_value_heads": None},
    {**RECOGNIZER, "conv_kernel_size": [3, 5, 7]},
    {"model_type": "wav2vec2", "tdnn_kernel": ["none"]},
    {"model_type": "llava", "text_config": {"model_type": "mllama_text_model"}},
    {"model_type": "llava", "vision_config": {"model_type": "chmv2"}},
]


def params(raw: dict[str, Any], architecture: str | None = None) -> int:
    return archspec.load(raw, architecture).params


@pytest.mark.reference
@pytest.mark.parametrize("raw", CONFIGS, ids=lambda raw: f"{raw['model_type']} {list(raw)[-1]}")
def test_transformers_builds_the_same(raw: dict[str, Any]) -> None:
    from archspec.verifying.comparison import Comparer

    spec = shipped_library().load(raw["model_type"])
    [architecture] = raw.get("architectures", spec.architectures[:1])
    assert Comparer(spec, architecture).compare(raw)[0] == []


def test_other_names_of_fields() -> None:
    large = {"model_type": "mistral_large4_text"}
    assert params({**large, "num_experts": 64}) == 534_241_224_224
    assert params({**large, "num_experts": 128}) == params(large)
    audio = {"model_type": "dots3_note_audio_encoder"}
    assert params({**audio, "adapter_output_size": 48}) == params({**audio, "adapter_out_dim": 48})
    aria, name = {"model_type": "aria"}, "AriaForConditionalGeneration"  # the constructor computes it, too
    assert params(aria, name) == 18_701_885_824
    assert params({**aria, "max_value_projector_patch_to_query_dict": 257}, name) == 18_701_886_976
    step = {"model_type": "step3p5"}  # the constructor overwrites it
    assert params({**step, "num_local_experts": 3}) == params(step)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"model_type": "deepseek_v2", "num_local_experts": 3}, "ignores num_local_experts"),
        (
            {"model_type": "mistral_large4_text", "num_experts": 64, "n_routed_experts": 8},
            "is 64, but n_routed_experts, the same field, is 8",
        ),
        *(
            ({"model_type": "wav2vec2", "tdnn_kernel": items}, r"must be a list of integers, not \[")
            for items in (["none"], [1.5], [True], [None])
        ),
        (
            {"model_type": "llava", "text_config": {"model_type": "mllama_text_model"}},
            "transformers' AutoModel lists no class for the model type mllama_text_model\n"
            "help: choose .* for instance llama$",
        ),
    ],
)
def test_refused_values(raw: dict[str, Any], expected: str) -> None:
    with pytest.raises(archspec.ArchspecError, match=expected):
        params(raw)


@pytest.mark.parametrize(("raw", "kept"), [({}, 129), ({"sliding_window_size": 512}, 513)])
def test_the_window_without_the_query_wins(raw: dict[str, Any], kept: int) -> None:
    both = {**MIMO, "sliding_window": 7} if raw else MIMO
    tensors = archspec.load({**both, **raw}, "MiMoV2FlashForCausalLM").cache(tokens=4096).as_json()["tensors"]
    assert {row["shape"][2] for row in tensors if row["kind"] == "window"} == {kept - 1}


def flops(raw: dict[str, Any]) -> int | None:
    return archspec.load(raw).flops(tokens=300).masked_flops


def test_windows_under_other_names() -> None:
    modern, ultra = {"model_type": "modernbert"}, {"model_type": "ultrabert", "num_hidden_layers": 3}
    assert flops({**modern, "sliding_window": 16}) == flops({**modern, "local_attention": 32})
    decoder = {"model_type": "modernbert-decoder"}
    assert flops({**decoder, "sliding_window": 16}) == flops({**decoder, "local_attention": 32})
    kinds = ["full_attention", "sliding_attention", "full_attention"]
    old = {**ultra, "attention_windows": [None, 16, 0]}
    assert flops(old) == flops({**ultra, "layer_types": kinds, "sliding_window": 16})
    assert flops(old) != flops(ultra)
    with pytest.raises(archspec.ArchspecError, match="attention_windows is not None"):
        flops({**ultra, "attention_windows": None})  # transformers raises a TypeError
