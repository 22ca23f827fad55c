"""The help of a class without costs names a class that has them; a class without tokens reports none."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import archspec
from archspec.cli.main import main
from archspec.errors import ArchspecError
from archspec.specs.library import shipped_library

SPECS = [shipped_library().load(name) for name in shipped_library().model_types()]
TEXT_PARTS = {"text_config", "language_config", "llm_config"}
UNEVEN = {"num_attention_heads": 16, "num_key_value_heads": 5}


NO_DEFAULT = ("deepseek_ocr2",)  # transformers cannot build its text model from the default config


def test_the_text_class_in_the_help_has_costs() -> None:
    named = 0
    for name in [spec.model_type for spec in SPECS if TEXT_PARTS & spec.fields.keys() and spec.architectures]:
        try:
            archspec.load(name).forward(tokens=2)
        except archspec.ArchspecError as error:
            found = re.search(r"pass architecture='(\w+)'", error.problems[0].help)
            if found and name not in NO_DEFAULT:
                assert archspec.load(name, found[1]).flops(tokens=2).flops > 0, name
                named += 1
    assert named > 20


def test_the_costs_of_a_text_part_are_those_of_its_config() -> None:
    text = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
    config = {"model_type": "llava", "text_config": text}
    inner = archspec.load(text, "LlamaForCausalLM").flops(tokens=4).flops
    assert archspec.load(config, "LlamaForCausalLM").flops(tokens=4).flops == inner
    assert archspec.load(config, "LlavaForConditionalGeneration").flops(tokens=4).flops == inner
    with pytest.raises(archspec.ArchspecError, match="use archspec count for parameter counts"):
        archspec.load("ReformerModel").flops()


@pytest.mark.parametrize("name", ["vit", "convnext", "swin", "resnet", "clip_vision_model", "dinov2"])
def test_a_vision_class_has_no_tokens(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for line in ("memory {} --train", "flops {}", "cache {}", "memory {}", "table {} vit"):
        main(line.format(name).split())
        out, err = capsys.readouterr()
        assert not re.search(r"tokens\W+[0-9]", out + err), line
    assert archspec.load(name).training().as_json()["tokens"] is None
    assert archspec.load("gpt2").training().as_json()["tokens"] == 1024


@pytest.mark.parametrize(
    "asked",
    [
        lambda: archspec.load("LlamaForCausalLM", set=UNEVEN).flops(),
        lambda: archspec.load("LlamaForCausalLM", set=UNEVEN).cache(),
        lambda: archspec.load("LlamaForCausalLM", set=UNEVEN).memory(),
        lambda: archspec.load("LlamaForCausalLM", set=UNEVEN).training(tokens=8),
        lambda: archspec.load("LlamaForCausalLM", set=UNEVEN).quantity("flops"),
        lambda: archspec.load("LlamaForCausalLM").quantity("flops").evaluate(UNEVEN),
    ],
)
def test_a_config_that_cannot_run_has_no_costs(asked: Callable[[], Any]) -> None:
    with pytest.raises(ArchspecError, match="`num_attention_heads % num_key_value_heads == 0`"):
        asked()


def test_points_that_cannot_run_have_no_costs() -> None:
    heads = {"num_attention_heads": [16], "num_key_value_heads": [4, 5]}
    found = archspec.sweep("LlamaForCausalLM", heads, columns=["params", "flops"])
    assert [row["num_key_value_heads"] for row in found.rows()] == [4]
    assert len(list(archspec.sweep("LlamaForCausalLM", heads).rows())) == 2


def test_conditions_on_experts_need_routed_experts() -> None:
    dense = {"num_experts": 4, "num_experts_per_tok": 8, "mlp_only_layers": list(range(48))}
    assert archspec.load("Qwen3MoeForCausalLM", set=dense).flops(tokens=2).flops
    with pytest.raises(ArchspecError, match="num_experts_per_tok <= num_local_experts"):
        archspec.load("Qwen3MoeForCausalLM", set={**dense, "mlp_only_layers": [0]}).flops(tokens=2)
