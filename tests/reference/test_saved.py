"""Tensors that autograd keeps, as torch's hooks see them: each storage once, with its module."""

from __future__ import annotations

from typing import Any

import pytest

from archspec.costs.records import Step
from archspec.reference.saved import recomputed_bytes, saved_bytes, training_model
from archspec.reference.verdicts import Unavailable

pytestmark = pytest.mark.reference
LLAMA = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 32, "intermediate_size": 48}
LLAMA |= {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 50}
LAYER = "model.layers.0"


def measured(step: Step, raw: dict[str, Any] = LLAMA, name: str = "LlamaForCausalLM") -> dict[str, int]:
    return saved_bytes(training_model(name, raw, raw["model_type"], step), step)


def test_each_storage_belongs_to_one_module() -> None:
    found = measured(Step(2, 16))
    assert found[f"{LAYER}.self_attn.q_proj"] == 2 * 16 * 32 * 2
    assert f"{LAYER}.self_attn.k_proj" not in found  # the same input
    heads, repeated = 32, 16  # elements of all queries, and of all keys
    assert found[f"{LAYER}.self_attn"] == 32 * 2 * (heads + 2 * repeated) + 2 * 4 * 16 * 4 + 24
    assert found[f"{LAYER}.self_attn.o_proj"] == 32 * 2 * heads  # the output of attention
    assert found["model.rotary_emb"] == 2 * 16 * 8 * 2  # angles


def test_a_dropout_keeps_a_byte_per_element() -> None:
    raw = {"model_type": "gpt2", "n_layer": 1, "n_embd": 32, "n_head": 4, "vocab_size": 50}
    found = measured(Step(2, 16, 0, "float32"), raw, "GPT2LMHeadModel")
    assert found["transformer.drop"] == 2 * 16 * 32
    assert "transformer.drop" not in measured(Step(2, 16), {**raw, "embd_pdrop": 0.0}, "GPT2LMHeadModel")


def test_with_checkpointing_a_layer_keeps_its_input_and_is_recomputed() -> None:
    step = Step(2, 16, checkpointing=True)
    found = measured(step)
    assert found[LAYER] == found["model.layers.1"] == 2 * 16 * 32 * 2
    assert not [name for name in found if name.startswith(f"{LAYER}.")]
    again = recomputed_bytes(training_model("LlamaForCausalLM", LLAMA, "llama", step), step)
    whole = measured(step._replace(checkpointing=False))
    assert again == sum(size for name, size in whole.items() if name.startswith("model.layers.1."))


def test_layers_are_not_dropped_by_chance() -> None:
    raw = {"model_type": "bart", "d_model": 32, "encoder_layerdrop": 1.0, "decoder_layerdrop": 1.0}
    found = measured(Step(2, 16, 8), raw, "BartForConditionalGeneration")
    assert found["model.encoder.layers.0.fc1"] == 2 * 8 * 32 * 2


def test_a_class_without_flash_attention_is_unavailable() -> None:
    raw = {"model_type": "bloom", "n_layer": 1, "hidden_size": 32, "n_head": 4, "vocab_size": 50}
    assert measured(Step(2, 16, attention="eager"), raw, "BloomForCausalLM")
    with pytest.raises(Unavailable, match="does not support flash attention"):
        measured(Step(2, 16), raw, "BloomForCausalLM")
