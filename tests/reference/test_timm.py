"""Models of the timm library, by the names and arguments that published configs have."""

from __future__ import annotations

from typing import Any

import pytest

import archspec
from archspec.reference import transformers_rows

pytestmark = pytest.mark.reference

_MAPS = {"in_chans": 3, "features_only": True, "out_indices": [0, 1, 2, 3]}
_LANGUAGE = {"embed_dim": 1024, "depth": 3, "global_pool": "", "img_size": [448, 448], "init_values": 0.1}
_LANGUAGE |= {"ref_feat_shape": [32, 32], "use_post_transformer_norm": False}  # as Perception LM's


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("resnet50.a1_in1k", None),
        ("resnet18", {"features_only": True, "out_indices": [-3, 1]}),
        ("resnet152", {"output_stride": 8, "in_chans": 4}),
        ("repvit_m1.dist_in1k", _MAPS),
        ("repvit_m2_3", {"features_only": True, "out_indices": [1]}),
        ("repvit_m1_0", {"features_only": False, "in_chans": None}),
        ("fastvit_mci3", {"inference_mode": True}),
        ("fastvit_mci4", {"in_chans": 4}),
        ("vit_pe_core_large_patch14_336", _LANGUAGE),
        ("vit_pe_core_gigantic_patch14_448", {"depth": 1, "img_size": 300}),
        ("vit_pe_lang_gigantic_patch14_448", {"depth": 1, "global_pool": "map"}),
        ("vit_pe_lang_large_patch14_448", {"depth": 0, "use_post_transformer_norm": True}),
        ("mobilenetv5_300m_enc", {"in_chans": 1}),
    ],
)
def test_a_wrapped_model_has_the_tensors_that_timm_builds(name: str, arguments: Any) -> None:
    raw = {"model_type": "timm_wrapper", "architecture": name, "model_args": arguments, "num_labels": 7}
    for architecture in ("TimmWrapperModel", "TimmWrapperForImageClassification"):
        assert _is_equal(architecture, raw)


@pytest.mark.parametrize("name", ["resnet26", "resnet34.a1_in1k", "swin_tiny_patch4_window7_224"])
@pytest.mark.parametrize("frozen", [False, True])
def test_a_backbone_ends_with_its_last_map(name: str, frozen: bool) -> None:
    for indices in ([-1], [0], [1, 2]):
        raw = {"backbone": name, "out_indices": indices, "freeze_batch_norm_2d": frozen}
        raw |= {"model_type": "timm_backbone", "num_channels": 5}
        assert _is_equal("TimmBackbone", raw)


def test_perception_lm_reads_its_width_from_timms_arguments() -> None:
    tower = {"architecture": "vit_pe_core_large_patch14_336", "model_args": _LANGUAGE}
    raw = {"model_type": "perception_lm", "vision_config": {"model_type": "timm_wrapper", **tower}}
    raw["text_config"] = {"model_type": "llama", "num_hidden_layers": 1}
    assert _is_equal("PerceptionLMForConditionalGeneration", raw)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ({"architecture": "vgg11"}, "variant = 'vgg11'"),
        ({"model_args": {"out_indices": [1]}}, "out_indices"),
        ({"model_args": {"stem_width": 32}}, "stem_width|name in"),
        ({"architecture": "vit_pe_core_large_patch14_336", "model_args": {"embed_dim": 100}}, "dim % 64"),
    ],
)
def test_other_names_and_arguments_are_refused(raw: dict[str, Any], says: str) -> None:
    with pytest.raises(archspec.ArchspecError, match=says):
        archspec.load({"model_type": "timm_wrapper", **raw}, architecture="TimmWrapperModel").tensors()


def test_labels_are_counted_as_a_config_file_has_them() -> None:
    raw = {"model_type": "timm_wrapper", "architecture": "resnet50", "num_classes": 1000}
    raw["label_names"] = ["tench"]
    rows = archspec.load(raw, architecture="TimmWrapperForImageClassification").tensors()
    assert [tuple(row.shape) for row in rows if row.name == "timm_model.fc.bias"] == [(1000,)]


def _is_equal(architecture: str, raw: dict[str, Any]) -> bool:
    ours: Any = archspec.load(raw, architecture=architecture).tensors()
    sides = ours, transformers_rows(architecture, raw, raw["model_type"])
    one, other = ({(row.name, tuple(row.shape), row.kind, row.trainable) for row in rows} for rows in sides)
    return one == other
