"""Costs agree with torch's count, and an altered spec is found."""

from __future__ import annotations

from typing import Any

import pytest
from altering import altered

from archspec.configs.scope import Scope
from archspec.costs.records import Call
from archspec.specs.library import shipped_library
from archspec.specs.records import Spec
from archspec.verifying.costs.cases import Case, calls
from archspec.verifying.costs.instruments import FORWARD, Comparison, compare
from archspec.verifying.costs.verify import verify_costs

pytestmark = pytest.mark.reference
SMALL = {"num_hidden_layers": 2, "hidden_size": 12, "num_attention_heads": 3, "num_key_value_heads": 3}


@pytest.mark.parametrize(
    ("model_type", "architecture"),
    [
        ("llama", "LlamaForCausalLM"),
        ("bert", "BertForMaskedLM"),
        pytest.param("t5", "T5ForConditionalGeneration", marks=pytest.mark.slow),
    ],
)
def test_exact(model_type: str, architecture: str) -> None:
    found = verify_costs(shipped_library().load(model_type), architecture, samples=2)
    assert found.verdict == "exact", found
    assert found.forward.compared >= 6
    assert found.training and found.training.verdict == "exact"
    assert all(raw in found.forward.configs for raw in found.training.configs)


def compared(spec: Spec, architecture: str, raw: dict[str, Any]) -> Comparison:
    return compare(FORWARD, [Case(spec, architecture, raw)])


def test_a_window_that_is_left_out_is_found() -> None:
    raw = {"model_type": "mistral", "sliding_window": 8, **SMALL}
    assert not compared(shipped_library().load("mistral"), "MistralModel", raw).differences
    spec = altered("mistral", "{window: sliding_window}", "{window: None}")
    first = compared(spec, "MistralModel", raw).differences[0]
    assert (first.quantity, first.at.tokens) == ("cache", 67)


def test_a_pooler_that_runs_too_often_is_found() -> None:
    spec = altered("bert", "pooler: {trained: pooled}", "pooler: {times: 5}")
    first = compared(spec, "BertModel", {"model_type": "bert", "num_hidden_layers": 1}).differences[0]
    assert (first.quantity, first.name, first.found) == ("flops", "pooler.dense", 5 * first.expected)


def test_a_state_in_the_model_s_dtype_is_found() -> None:
    raw = {"model_type": "rwkv", "num_hidden_layers": 1, "hidden_size": 8, "attention_hidden_size": 8}
    assert not compared(shipped_library().load("rwkv"), "RwkvModel", raw).differences
    state = 'maximum: batch, hidden_size, num_hidden_layers, "float32"'
    spec = altered("rwkv", state, "maximum: batch, 8, 1")
    first = compared(spec, "RwkvModel", raw).differences[0]
    expected, found = {((1, 8, 1), "float32"): 1}, {((1, 8, 1), "bfloat16"): 1}
    assert first[2:] == ("cache", "", expected, found)


def scope(model_type: str, **raw: Any) -> Scope:
    return Scope(shipped_library().load(model_type), raw)


def test_calls_are_around_windows_and_chunks() -> None:
    found = set(calls(scope("mistral", sliding_window=8, **SMALL), encodes=False))
    assert {Call(1, 7), Call(1, 8), Call(1, 9), Call(1, 1, 7), Call(1, 3, 8)} < found
    assert all(call.encoder_tokens for call in calls(scope("t5"), encodes=True))


def test_a_deep_config_is_called_thrice() -> None:
    found = list(calls(scope("mistral", sliding_window=8), encodes=False))
    assert [(call.tokens, call.past) for call in found] == [(67, 0), (5, 0), (3, 9)]
