"""The data of `archspec check` is what the specs and the installed transformers have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.checking.conversions import FILE, base_prefix, transforms_of
from archspec.checking.likely import FILE as NAMES
from archspec.checking.likely import name_code
from archspec.specs.library import shipped_library
from archspec.tree.tensors import fold_layers

FORMULAS = Path(shipped_library().folder)
SAMPLE = ("llama", "bert", "t5", "mixtral", "llava", "vit", "mamba", "whisper", "resnet")


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FORMULAS / name).read_text(encoding="utf-8"))
    return found


def test_names_cover_the_specs() -> None:
    found = read(NAMES)
    assert found.keys() <= {*shipped_library().model_types()} and len(found) > 700
    for model_type in SAMPLE:
        codes = {name_code(fold_layers(one.name)) for one in archspec.load(model_type).tensors()}
        assert found[model_type] == "".join(sorted(codes))


@pytest.mark.reference
def test_conversions_are_those_of_transformers() -> None:
    from tools.from_loading import conversions

    found = read(FILE)
    assert found["transforms"] == json.loads(json.dumps(conversions()))
    assert found["transformers"] == archspec.TRANSFORMERS_VERSION


CLASSES = [
    *(
        "BeitBackbone",
        "CLIPModel",
        "DetrForObjectDetection",
        "Gemma3ForConditionalGeneration",
        "GroundingDinoModel",
    ),
    *(
        "Kimi_K25ForConditionalGeneration",
        "LlavaForConditionalGeneration",
        "LlavaModel",
        "MixtralForCausalLM",
    ),
    *("OneFormerModel", "Qwen2VLForConditionalGeneration", "Qwen3VLMoeForConditionalGeneration", "SamModel"),
    *("SiglipVisionModel", "ViTForImageClassification", "VipLlavaForConditionalGeneration", "Wav2Vec2ForCTC"),
]


@pytest.mark.reference
@pytest.mark.parametrize("architecture", CLASSES)
def test_transforms_of_a_model_are_those_of_transformers(architecture: str) -> None:
    from transformers.conversion_mapping import get_model_conversion_mapping

    from archspec.reference.construction import build_class

    model = archspec.load(architecture)
    reference = build_class(architecture, {"model_type": model.model_type}, model.model_type)
    expected = [
        (one.compiled_sources.pattern, one.target_patterns) for one in get_model_conversion_mapping(reference)
    ]
    found = [(one.pattern.pattern, one.targets) for one in transforms_of(model.root)]
    assert found[: len(expected)] == expected
    assert base_prefix(model.root) == reference.base_model_prefix
