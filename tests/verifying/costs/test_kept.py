"""Kept activations held to torch: what is exact, and that an altered spec is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from archspec.specs.library import shipped
from archspec.verifying.costs.activations import AGAIN, verify_activations

pytestmark = pytest.mark.reference
SMALL = {
    "num_hidden_layers": 2,
    "hidden_size": 24,
    "intermediate_size": 20,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
LLAMA = [{"model_type": "llama", **SMALL}, {"model_type": "llama", **SMALL, "attention_dropout": 0.1}]


def test_exact_in_every_kind() -> None:
    found = verify_activations(shipped().load("llama"), "LlamaForCausalLM", LLAMA)
    assert found.keys() == {"flash", "flash checkpointing", "eager", "eager checkpointing"}
    assert all(outcome.exact for outcome in found.values()), found
    assert {outcome.compared for outcome in found.values()} == {7}


def test_what_is_left_out_is_found(tmp_path: Path) -> None:
    text = Path(shipped().files()["llama"]).read_text(encoding="utf-8")
    path = tmp_path / "llama.yaml"
    gated = "GatedMLP(intermediate_size, mlp_bias)"
    altered = text.replace(f" {gated}", f"\n    extends: {gated}\n    saves: {{act_fn: 0}}")
    assert altered != text
    path.write_text(altered, encoding="utf-8")
    found = verify_activations(shipped().load_file(str(path)), "LlamaForCausalLM", LLAMA)
    first = found["flash"].differences[0]
    assert (first.module, first.found) == ("model.layers.0.mlp", 0)
    assert not found["flash"].exact
    (again,) = found["flash checkpointing"].differences  # what a layer is given is right
    assert again.module == AGAIN
    assert again.found < again.expected


def test_a_class_that_is_not_described_is_not_exact() -> None:
    found = verify_activations(shipped().load("mamba"), "MambaForCausalLM", [{"model_type": "mamba"}])
    assert not any(outcome.exact for outcome in found.values())
    assert "are not supported" in found["eager"].unavailable
