"""Kept activations validated against torch, and altered specs that must be found."""

from __future__ import annotations

import pytest
from altering import altered

from archspec.specs.library import shipped_library
from archspec.specs.records import Spec
from archspec.verifying.costs.cases import Case
from archspec.verifying.costs.instruments import ACTIVATIONS, RECOMPUTED, Comparison, compare

pytestmark = pytest.mark.reference
SMALL = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 24, "intermediate_size": 20}
SMALL |= {"num_attention_heads": 4, "num_key_value_heads": 2}
LLAMA = (SMALL, {**SMALL, "attention_dropout": 0.1})


def activations(spec: Spec, architecture: str, *raws: dict[str, object]) -> dict[str, Comparison]:
    cases = [Case(spec, architecture, raw) for raw in raws]
    return {kind: compare(instrument, cases) for kind, instrument in ACTIVATIONS.items()}


def test_exact_in_every_kind() -> None:
    found = activations(shipped_library().load("llama"), "LlamaForCausalLM", *LLAMA)
    assert found.keys() == {"flash", "flash checkpointing", "eager", "eager checkpointing"}
    assert {(outcome.verdict, outcome.compared) for outcome in found.values()} == {("exact", 7)}


def test_a_missing_activation_is_found() -> None:
    gated = "GatedMLP(intermediate_size, mlp_bias)"
    spec = altered("llama", f" {gated}", f"\n    extends: {gated}\n    saves: {{act_fn: 0}}")
    found = activations(spec, "LlamaForCausalLM", *LLAMA)
    first = found["flash"].differences[0]
    assert (first.name, first.found) == ("model.layers.0.mlp", 0)
    (recomputed,) = found["flash checkpointing"].differences  # the inputs of layers are right
    assert recomputed.name == RECOMPUTED
    assert recomputed.found < recomputed.expected


def test_an_unsupported_class_is_not_exact() -> None:
    found = activations(shipped_library().load("mamba2"), "Mamba2ForCausalLM", {"model_type": "mamba2"})
    assert {outcome.verdict for outcome in found.values()} == {"unavailable"}
    assert "are not supported" in found["eager"].unavailable
