"""Forward passes with images, videos and audio: without weights, and with random ones."""

from __future__ import annotations

from typing import Any

import pytest

from archspec.costs.records import Call
from archspec.reference.costs import Measured, instance, measure
from archspec.reference.media import running
from archspec.reference.verdicts import Unavailable

pytestmark = pytest.mark.reference
_TEXT = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "vocab_size": 99,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
}
_VISION = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
_LLAVA = {
    "image_token_index": 98,
    "text_config": {"model_type": "llama", **_TEXT},
    "vision_config": {"model_type": "clip_vision_model", **_VISION, "image_size": 32, "patch_size": 8},
}
_QWEN = {
    "image_token_id": 98,
    "video_token_id": 97,
    "vision_start_token_id": 96,
    "vision_end_token_id": 95,
    "text_config": {**_TEXT, "rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3]}},
    "vision_config": {"depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "patch_size": 4},
}
_SMOLVLM = {
    "image_token_id": 98,
    "pad_token_id": 0,
    "text_config": {"model_type": "llama", **_TEXT},
    "vision_config": {**_VISION, "image_size": 32, "patch_size": 8},
}
_WHISPER = {
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "d_model": 16,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "num_mel_bins": 10,
    "vocab_size": 99,
    "max_source_positions": 20,
    "decoder_start_token_id": 1,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_WAV2VEC2 = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "conv_dim": [16, 16],
    "conv_kernel": [10, 3],
    "conv_stride": [5, 2],
    "num_feat_extract_layers": 2,
    "num_conv_pos_embedding_groups": 4,
}
_SWIN = {"embed_dim": 16, "depths": [2, 2], "num_heads": [2, 2], "window_size": 4, "image_size": 64}
_IDEFICS = {
    **{name: _TEXT[name] for name in _TEXT if name != "num_key_value_heads"},
    "vision_config": {
        "embed_dim": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 1,
        "image_size": 32,
        "patch_size": 8,
    },
}
_MINICPM = {
    "image_token_id": 98,
    "video_token_id": 97,
    "insert_layer_id": 0,
    "text_config": {"model_type": "llama", **_TEXT},
    "vision_config": {**_VISION, "image_size": 32, "patch_size": 4},
}
_MOLMO = {
    "image_patch_id": 98,
    "text_config": {**_TEXT, "head_dim": 16, "additional_vocab_size": 0},
    "vision_config": {**_VISION, "num_key_value_heads": 2, "head_dim": 16, "image_size": [168, 168]},
    "adapter_config": {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "text_hidden_size": 32,
        "vision_feature_layer": [1, 0],
    },
}
_PHI4 = {
    **_TEXT,
    "pad_token_id": 0,
    "vision_config": {**_VISION, "image_size": 56, "crop_size": 56, "image_token_id": 98},
    "audio_config": {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_blocks": 1,
        "num_attention_heads": 2,
        "ext_pw_out_channel": 32,
        "depthwise_separable_out_channel": 32,
        "nemo_conv_channels": 32,
    },
}
_GRID = ((16, 24), (8, 16))
_CASES: dict[str, tuple[str, str, dict[str, Any], Call]] = {
    "ViT": ("ViTModel", "vit", {"num_hidden_layers": 1}, Call(1, 1, images=((32, 48),))),
    "Swin": ("SwinModel", "swin", _SWIN, Call(2, 1, images=((72, 56),) * 2)),
    "LLaVA": ("LlavaForConditionalGeneration", "llava", _LLAVA, Call(2, 24, images=((32, 32),) * 2)),
    "step": ("LlavaForConditionalGeneration", "llava", _LLAVA, Call(2, 3, 24, images=((32, 32),) * 2)),
    "grids": ("Qwen2VLForConditionalGeneration", "qwen2_vl", _QWEN, Call(1, 19, images=_GRID)),
    "videos": ("Qwen2VLForConditionalGeneration", "qwen2_vl", _QWEN, Call(1, 19, videos=((4, 16, 16),))),
    "grids in the past": ("Qwen2VLForConditionalGeneration", "qwen2_vl", _QWEN, Call(1, 3, 19, images=_GRID)),
    "tiles": ("SmolVLMForConditionalGeneration", "smolvlm", _SMOLVLM, Call(1, 13, images=((32, 32),) * 2)),
    "images at each step": ("IdeficsModel", "idefics", _IDEFICS, Call(2, 3, 5, images=((32, 32),) * 2)),
    "patches in a row": (
        "MiniCPMV4_6Model",
        "minicpmv4_6",
        _MINICPM,
        Call(1, 19, images=((16, 32), (32, 48))),
    ),
    "frames in a row": ("MiniCPMV4_6Model", "minicpmv4_6", _MINICPM, Call(1, 19, videos=((3, 16, 32),))),
    "padded crops": (
        "Phi4MultimodalModel",
        "phi4_multimodal",
        _PHI4,
        Call(1, 60, images=((56, 56), (60, 90))),
    ),
    "crops": ("Molmo2Model", "molmo2", _MOLMO, Call(1, 150, images=((224, 168),))),
    "crops of frames": ("Molmo2Model", "molmo2", _MOLMO, Call(1, 50, videos=((2, 168, 168),))),
    "Whisper": ("WhisperForConditionalGeneration", "whisper", _WHISPER, Call(2, 5, audios=(40, 40))),
    "Whisper's step": (
        "WhisperForConditionalGeneration",
        "whisper",
        _WHISPER,
        Call(2, 2, 5, audios=(40, 40)),
    ),
    "frames": ("SpeechT5HifiGan", "speecht5_hifigan", {}, Call(2, 1, audios=(9, 9))),
    "packed frames": (
        "Qwen2_5OmniAudioEncoder",
        "qwen2_5_omni_audio_encoder",
        {"encoder_layers": 1, "d_model": 32, "encoder_attention_heads": 2, "n_window": 10},
        Call(2, 1, audios=(50, 37)),
    ),
    "samples": ("Wav2Vec2Model", "wav2vec2", _WAV2VEC2, Call(2, 1, audios=(800, 800))),
}


def refuse(*_: Any) -> Any:
    raise Unavailable("this way is not taken")


def measured(model: Any, call: Call, way: str) -> Measured:
    """The costs of a forward pass in one way."""
    with pytest.MonkeyPatch.context() as patch:
        if way == "weights":
            patch.setattr(running, "hybrid", refuse)
        else:
            patch.setattr(running, "with_weights", refuse)
        return measure(model, call)


@pytest.mark.parametrize("name", _CASES)
def test_weights_do_not_change_the_costs(name: str) -> None:
    architecture, model_type, raw, call = _CASES[name]
    model = instance(architecture, raw, model_type)
    assert measured(model, call, "hybrid") == measured(model, call, "weights")


def test_vit_has_the_flops_of_its_layers() -> None:
    model = instance("ViTModel", {"num_hidden_layers": 2}, "vit")
    found = measure(model, Call(2, 1, images=((224, 224),) * 2))
    tokens, width = 14 * 14 + 1, 768
    layers = 2 * 2 * tokens * 2 * (12 * width**2 + 2 * tokens * width)
    assert sum(found.flops.values()) == layers + 2 * 2 * 196 * width**2 + 2 * 2 * width**2 == 12_096_417_792


def test_images_of_a_sequence_are_tokens_of_its_cache() -> None:
    model = instance("LlavaForConditionalGeneration", _LLAVA, "llava")
    call = Call(2, 24, images=((32, 32),) * 2)
    assert running.least_tokens(model, call) == 1 + 4 * 4
    assert running.least_tokens(model, call._replace(batch=1)) == 2 * (1 + 4 * 4)
    found = measure(model, call)
    assert [*found.cache.values()] == [(2, 1, 24, 16)] * 4
    assert any(path.startswith("model.vision_tower.") for path in found.flops)
    step = measure(model, call._replace(tokens=3, past=24))
    assert [*step.cache.values()] == [(2, 1, 27, 16)] * 4
    assert not any(path.startswith("model.vision_tower.") for path in step.flops)


def test_fewer_tokens_than_placeholders_are_not_measured() -> None:
    model = instance("LlavaForConditionalGeneration", _LLAVA, "llava")
    with pytest.raises(Unavailable, match="the placeholders are more than 16 tokens"):
        measure(model, Call(1, 16, images=((32, 32),)))


@pytest.mark.parametrize("way", ["hybrid", "weights"])
def test_a_prompt_must_have_a_placeholder_for_each_feature(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, the output of the tower would be dropped."""
    from archspec.reference.media import prompts

    model = instance("LlavaForConditionalGeneration", _LLAVA, "llava")
    monkeypatch.setattr(prompts, "placeholders", lambda *_: {"image": [15]})
    with pytest.raises(Unavailable, match="do not match"):
        measured(model, Call(1, 24, images=((32, 32),)), way)


def test_a_forward_pass_leaves_nothing_for_the_next_one() -> None:
    """Swin shrinks its windows to a small image, and keeps them so."""
    model = instance("SwinModel", _SWIN, "swin")
    call = Call(1, 1, images=((64, 64),))
    first = measure(model, call)
    with pytest.raises(Unavailable):
        measure(model, Call(1, 1, images=((8, 8),)))
    assert measure(model, call) == first


def test_masks_decide_which_patches_are_padding() -> None:
    """Both images are padded to the larger one, as in a batch of the processor."""
    raw = {"vision_config": {**_VISION, "num_patches": 64, "patch_size": 8}, "text_config": _TEXT}
    model = instance("Siglip2Model", raw, "siglip2")
    found = measure(model, Call(2, 5, images=((32, 48), (16, 16))))
    assert found.flops["vision_model.embeddings.patch_embedding"] == 2 * 2 * 24 * 3 * 8 * 8 * 32


def test_padding_is_pooled_with_the_patches() -> None:
    raw = {**_VISION, "num_key_value_heads": 2, "head_dim": 16, "patch_size": 4, "pooling_kernel_size": 2}
    found = measure(
        instance("Gemma4VisionModel", raw, "gemma4_vision"), Call(2, 1, images=((16, 24), (8, 8)))
    )
    assert found.flops["pooler"] == 2 * 2 * 6 * 24 * 32


def test_the_value_of_a_weight_is_asked_for_with_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    model = instance("ViTModel", {"num_hidden_layers": 1}, "vit")
    call = Call(1, 1, images=((32, 32),))
    expected = measure(model, call)
    dense = type(model.layernorm).forward

    def ask(self: Any, hidden: Any) -> Any:
        assert hidden.sum().item() < 1e9
        return dense(self, hidden)

    monkeypatch.setattr(type(model.layernorm), "forward", ask)
    with pytest.raises(Unavailable, match="not taken"):
        measured(model, call, "hybrid")
    assert measure(model, call) == expected
    monkeypatch.setattr(running, "LARGEST", 1000)
    with pytest.raises(Unavailable, match=r"without weights; there are [\d,]+ of them"):
        measure(model, call)


def test_modules_are_those_of_the_model() -> None:
    model = instance("Wav2Vec2Model", _WAV2VEC2, "wav2vec2")
    paths = {name for name, _ in model.named_modules()}
    assert {*measure(model, Call(1, 1, audios=(800,))).flops} <= paths
