"""The model type and the architecture that a config stands for."""

from __future__ import annotations

from typing import Any

import pytest

from archspec.configs.choice import choose
from archspec.configs.reader import read_config
from archspec.errors import ArchspecError

LLAMA = {"model_type": "llama"}


def test_the_architecture_is_the_argument_then_the_configs_then_the_base_model() -> None:
    assert choose(read_config(LLAMA)) == ("llama", "LlamaModel")
    for empty in (None, []):
        assert choose(read_config({**LLAMA, "architectures": empty})) == ("llama", "LlamaModel")
    named = read_config({**LLAMA, "architectures": ["LlamaForCausalLM"]})
    assert choose(named) == ("llama", "LlamaForCausalLM")
    assert choose(named, "LlamaForTokenClassification") == ("llama", "LlamaForTokenClassification")
    assert choose(read_config({"architectures": ["LlamaForCausalLM"]})) == ("llama", "LlamaForCausalLM")
    assert choose(read_config({}), "LlamaForCausalLM") == ("llama", "LlamaForCausalLM")
    assert choose(read_config({"model_type": "clip_text_model"})) == ("clip_text_model", "CLIPTextModel")


@pytest.mark.parametrize(
    ("config", "architecture", "message"),
    [
        ({}, None, "config: the config has neither model_type nor architectures"),
        ({"peft_type": "LORA"}, None, "config: the config has neither model_type nor architectures"),
        ({"model_type": 3}, None, "config: model_type: the number 3 is not a model type"),
        ({"model_type": "lama"}, None, "config: model_type: no spec describes the model type 'lama'"),
        (
            {"model_type": "x", "auto_map": {"a": "b"}},
            None,
            "its code is not part of transformers (auto_map)",
        ),
        ({"model_type": "timm_backbone"}, None, "timm_backbone is not counted: "),
        (
            {"model_type": "dbrx_ffn_config", "architectures": ["BertModel"]},
            None,
            "BertModel is not an architecture of the model type dbrx_ffn_config, but of bert",
        ),
        ({"model_type": "dbrx_ffn_config"}, None, "the spec of dbrx_ffn_config has no architectures"),
        ({**LLAMA, "architectures": "LlamaModel"}, None, "'LlamaModel' is not a list of class names"),
        (
            {**LLAMA, "architectures": ["BertModel"]},
            None,
            "config: architectures: BertModel is not an architecture of the model type llama, but of bert",
        ),
        ({"architectures": ["NoModel"]}, None, "config: architectures: no spec describes the architecture"),
        (LLAMA, "LlamaMLP", "config: LlamaMLP is not an architecture of the model type llama"),
    ],
)
def test_configs_that_stand_for_nothing(
    config: dict[str, Any], architecture: str | None, message: str
) -> None:
    with pytest.raises(ArchspecError) as caught:
        choose(read_config(config), architecture)
    assert message in caught.value.problems[0].message
