"""The default config of a model type, with other sizes where those of its parts do not fit each other."""

from __future__ import annotations

from typing import Any

from archspec.reference.classes import config_of
from archspec.reference.verdicts import Refused, Unavailable
from archspec.specs.records import Spec
from archspec.verifying.blame import Config

_MROPE = {
    "rope_type": "default",
    "rope_theta": 10000.0,
    "mrope_section": [8, 12, 12],
    "partial_rotary_factor": 0.5,
}
_REPVIT: Config = {
    "model_type": "timm_wrapper",
    "architecture": "repvit_m1.dist_in1k",
    "num_classes": 0,
    "model_args": {"in_chans": 3, "features_only": True, "out_indices": [0, 1, 2, 3]},
}
_RATIOS = {"long": 7, "mid": 5, "short": 3}
_INTRACLASS: Config = {  # of each convolution: kernel, stride, padding
    "reduce_channel": [1, 1, 0],
    "return_channel": [1, 1, 0],
    **{f"vertical_long_to_small_conv_{r}ratio": [[k, 1], 1, [k // 2, 0]] for r, k in _RATIOS.items()},
    **{f"horizontal_small_to_long_conv_{r}ratio": [[1, k], 1, [0, k // 2]] for r, k in _RATIOS.items()},
    **{f"symmetric_conv_long_{r}ratio": [k, 1, k // 2] for r, k in _RATIOS.items()},
}
_SERVER_DET = {
    "intraclass_block_config": _INTRACLASS,
    "kernel_list": [3, 2, 2],
    "scale_factor_list": [1, 2, 4, 8],
}
_LCNET_V4 = {
    "model_type": "pp_lcnet_v4",
    "block_configs": [
        [[3, 96, 96, 1, True]],
        [[3, 96, 96, 2, False]],
        [[3, 96, 192, 2, False]],
        [[3, 192, 384, 2, True]],
    ],
    "out_features": ["stage1", "stage2", "stage3", "stage4"],
}
_GRANITE_SPEECH: Config = {"projector_config": {"model_type": "blip_2_qformer", "encoder_hidden_size": 1024}}
_LLAMA4: Config = {"hidden_size": 1408, "vision_output_dim": 4096, "image_size": 336}
_MODERNVBERT: Config = {"vision_config": {"model_type": "siglip_vision_model", "image_size": 512}}
_FITTING: dict[str, Config] = {  # as in the configs of checkpoints
    "aria": {"vision_config": {"model_type": "idefics3_vision", "image_size": 490, "patch_size": 14}},
    "aya_vision": {"vision_config": {"model_type": "siglip_vision_model", "num_attention_heads": 16}},
    "beit": {"out_indices": [1, 2, 3, 4]},
    "bridgetower": {"contrastive_hidden_size": 512, "logit_scale_init_value": 2.6592},
    "blip-2": {"image_token_id": 50265},
    "colmodernvbert": {"vlm_config": {"model_type": "modernvbert", **_MODERNVBERT}},
    "edgetam": {"vision_config": {"backbone_config": _REPVIT}},
    "edgetam_vision_model": {"backbone_config": _REPVIT},
    "gemma3": {"vision_config": {"image_size": 896, "patch_size": 14}},
    **{
        name: {f"{part}_config": {"model_type": f"{name}_{part}"} for part in ("vision", "audio")}
        for name in ("gemma4", "gemma4_unified")
    },
    "glm46v": {"text_config": {"model_type": "glm4v_text", "rope_parameters": _MROPE}},
    "glm4v": {"text_config": {"rope_parameters": _MROPE}},
    "glm4v_moe": {"text_config": {"head_dim": 128, "rope_parameters": _MROPE}},
    "glmga": {"text_config": {"model_type": "glm4v_text", "rope_parameters": _MROPE}},
    **dict.fromkeys(("granite_speech", "granite_speech_plus"), _GRANITE_SPEECH),
    "hiera": {"decoder_hidden_size": 512, "decoder_depth": 8, "decoder_num_heads": 16},
    "idefics3": {"vision_config": {"image_size": 256}},
    "instructblip": {"image_token_id": 50265},
    "instructblipvideo": {"video_token_id": 50265},
    "lw_detr": {"projector_scale_factors": [2.0, 0.5]},
    "rf_detr": {
        "backbone_config": {
            "model_type": "rf_detr_dinov2",
            "hidden_size": 384,
            "num_attention_heads": 6,
            "image_size": 560,
            "out_features": ["stage2", "stage5", "stage8", "stage11"],
        }
    },
    "qwen3_asr": {"audio_config": {"output_dim": 2048}},
    "sapiens2": {"head_config": {"upsample_out_channels": [64, 32], "conv_out_channels": [32]}},
    "janus": {"vision_config": {"projection_dim": 4096}},
    "pp_ocrv5_mobile_rec": {
        "backbone_config": {
            "model_type": "pp_lcnet_v3",
            "block_configs": [
                [[3, 16, 32, 1, False]],
                [[3, 32, 64, 1, False]],
                [[3, 64, 128, [2, 1], False]],
                [[3, 128, 256, [1, 2], False]],
                [[5, 256, 512, [2, 1], True], [5, 512, 512, [2, 1], False]],
            ],
            "out_features": ["stage5"],
        }
    },
    "pp_ocrv5_server_det": _SERVER_DET,
    "pp_ocrv6_medium_det": {**_SERVER_DET, "backbone_config": _LCNET_V4},
    "pp_ocrv6_small_det": {"backbone_config": _LCNET_V4, "layer_list_out_channels": [96, 96, 192, 384]},
    "uvdoc": {
        "backbone_config": {
            "model_type": "uvdoc_backbone",
            "out_features": [f"stage{i + 1}" for i in range(6)],
        }
    },
    "modernvbert": _MODERNVBERT,
    "moonshine_streaming": {"num_key_value_heads": 8},
    "llama4": {"vision_config": _LLAMA4},
    "llama4_vision_model": _LLAMA4,
    "qwen2_vl": {
        "vision_config": {"hidden_size": 3584},
        "text_config": {"hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4},
    },
    "shieldgemma2": {"vision_config": {"image_size": 896, "patch_size": 14}},
    "smolvlm": {"vision_config": {"image_size": 256}},
    "voxtral": {"audio_token_id": 24},
    "vitmatte": {"hidden_size": 768, "fusion_hidden_sizes": [256, 128, 64, 32]},
}


def default_config(spec: Spec) -> Config:
    """Return the default config of a model type, with other sizes where those of its parts do not fit."""
    raw = {"model_type": spec.model_type, **spec.valid_config, **_FITTING.get(spec.model_type, {})}
    try:
        return merge_configs(raw, _fitting_width(config_of(spec.model_type, raw)))
    except (Refused, Unavailable):
        return raw


def _fitting_width(config: Any) -> Config:
    """Return the width of the vision tower's output if it is not the width of the text."""
    vision, text = getattr(config, "vision_config", None), getattr(config, "text_config", None)
    width, out = getattr(text, "hidden_size", None), getattr(vision, "out_hidden_size", None)
    return {"vision_config": {"out_hidden_size": width}} if width and out and width != out else {}


def merge_configs(base: Config, over: Config) -> Config:
    """Return a config whose parts have the fields of both; the second one's win."""
    both = {name for name in base if isinstance(base[name], dict) and isinstance(over.get(name), dict)}
    return {**base, **over, **{name: merge_configs(base[name], over[name]) for name in both}}
