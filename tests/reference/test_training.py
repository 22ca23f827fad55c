"""FLOPs of training steps as torch counts them: gradients are of the modules that multiplied."""

from __future__ import annotations

from typing import Any

import pytest

from archspec.costs.records import Call
from archspec.reference.costs import instance, measure
from archspec.reference.training import measured_training

pytestmark = pytest.mark.reference

_CALL = Call(2, 7)
_TINY = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 50}
_PARTS = {"layers": 2, "ffn_dim": 48, "attention_heads": 4}
_BART = {f"{part}_{name}": size for part in ("encoder", "decoder") for name, size in _PARTS.items()}
_BART |= {"d_model": 32, "vocab_size": 50, "encoder_layerdrop": 0.9, "decoder_layerdrop": 0.9}


def ratios(model_type: str, architecture: str, raw: dict[str, Any], call: Call = _CALL) -> dict[str, float]:
    """By module how many forwards a step is."""
    forward = measure(instance(architecture, raw, model_type), call).flops
    step = measured_training(instance(architecture, raw, model_type, trains=True), call)
    assert step.keys() == forward.keys()
    return {path: step[path] / forward[path] for path in step}


def test_each_product_has_two_gradients() -> None:
    raw = {**_TINY, "num_key_value_heads": 2, "intermediate_size": 48}
    found = ratios("llama", "LlamaForCausalLM", raw)
    assert {"lm_head", "model.layers.1.self_attn", "model.layers.0.mlp.up_proj"} < found.keys()
    assert set(found.values()) == {3}


def test_an_unused_pooler_has_no_gradient() -> None:
    found = ratios("bert", "BertModel", {**_TINY, "intermediate_size": 48})
    assert found.pop("pooler.dense") == 1
    assert set(found.values()) == {3}


def test_positions_have_one_gradient() -> None:
    raw = {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48, "vocab_size": 50}
    found = ratios("xlnet", "XLNetModel", raw)
    assert 2 < found["layer.0.rel_attn"] < 3 == found["layer.0.ff.layer_1"]


def test_a_grouped_convolution_counts_once() -> None:
    raw = {**_TINY, "intermediate_size": 48, "embedding_size": 32}
    found = ratios("squeezebert", "SqueezeBertForMaskedLM", raw)
    assert found["transformer.encoder.layers.0.attention.query"] == 3
    assert found.pop("transformer.pooler.dense") == 1
    assert set(found.values()) == {3}


def test_no_layer_is_left_out_by_chance() -> None:
    found = ratios("bart", "BartModel", _BART, Call(2, 7, encoder_tokens=9, new_encoder_tokens=9))
    assert {"encoder.layers.1.fc1", "decoder.layers.1.fc1"} < found.keys()
    assert set(found.values()) == {3}
