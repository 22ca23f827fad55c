"""Tensors of adapters, recorded from peft, and options that it rejects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from adapters.cases import ADAPTERS, REJECTED, TINY

import archspec
from archspec.errors import ArchspecError

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text(encoding="utf-8"))
WIDE = {"hidden_size": 4096, "num_hidden_layers": 2, "num_key_value_heads": 8, "intermediate_size": 14336}


@pytest.mark.parametrize(
    ("name", "options", "recorded"), [(*one, row) for one, row in zip(ADAPTERS, RECORDED, strict=True)]
)
def test_recorded_parameters(name: str, options: dict[str, Any], recorded: list[int]) -> None:
    adapter = archspec.load(name, set=TINY[name]).lora(**options)
    trained = adapter.tensors()
    assert [adapter.trainable_params, adapter.params, len(trained)] == recorded
    assert sum(one.numel for one in trained) == adapter.trainable_params


@pytest.mark.parametrize(("name", "options", "message"), REJECTED)
def test_rejected_options(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArchspecError) as error:
        archspec.load(name, set=TINY[name]).lora(**options)
    assert message.lower() in str(error.value).lower()


def test_a_known_adapter() -> None:
    model = archspec.load("LlamaForCausalLM", set=WIDE)
    assert model.lora(r=16, target_modules=["q_proj", "v_proj"]).trainable_params == 425_984


def test_names_of_tensors() -> None:
    first, second = archspec.load("BertModel", set=TINY["BertModel"]).lora().tensors()[:2]
    query = "base_model.model.encoder.layer.0.attention.self.query"
    assert first[:3] == (f"{query}.lora_A.default.weight", f"{query}.lora_A.weight", (8, 64))
    assert second[:3] == (f"{query}.lora_B.default.weight", f"{query}.lora_B.weight", (64, 8))
