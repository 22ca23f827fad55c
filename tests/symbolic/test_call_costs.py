"""Closed forms of costs: the lengths of a call are symbols, like the config's fields."""

from __future__ import annotations

import pytest
import sympy

import archspec
from archspec.errors import FormulaError
from archspec.specs.index import CostRecord


@pytest.mark.parametrize(
    ("architecture", "quantity", "expected"),
    [
        (
            "GPT2LMHeadModel",
            "flops",
            "batch*tokens*(2*(n_layer*(4*n_embd**2 + 2*n_embd*n_inner) + vocab_size*n_embd)"
            " + 4*n_layer*n_head*floor(n_embd/n_head)*(past + tokens))",
        ),
        (
            "DeepseekV3ForCausalLM",
            "cache_elements",
            "batch*(tokens + past)*num_hidden_layers*(kv_lora_rank + qk_rope_head_dim)",
        ),
    ],
)
def test_the_formula_of_a_call(architecture: str, quantity: str, expected: str) -> None:
    found = archspec.formula(architecture, quantity).expr
    assert sympy.expand(found - sympy.sympify(expected)) == 0


def test_a_formula_holds_at_other_lengths_and_fields() -> None:
    found = archspec.formula("GptOssForCausalLM", "cache_elements", tokens=1, past=4095)
    exact = archspec.load("GptOssForCausalLM", set={"head_dim": 80}).forward(2, 1, 500)
    assert found.evaluate(head_dim=80, batch=2, past=500) == exact.cache_elements()


def test_the_formula_of_a_prefill_differs_from_that_of_a_step() -> None:
    found = archspec.formula("Mamba2ForCausalLM", "flops")
    step = archspec.load("Mamba2ForCausalLM").forward(1, 1, 9).flops
    assert found.evaluate(tokens=1, past=9) == step
    assert found.with_fields(tokens=1, past=9).expr != found.expr
    with pytest.raises(FormulaError, match=r"tokens: 2\.5 is not a length"):
        found.evaluate(tokens=2.5)
    assert archspec.formula("Mamba2ForCausalLM", "flops", tokens=1, past=4).evaluate(past=9) == step


@pytest.mark.parametrize(
    ("architecture", "lengths"),
    [
        ("BertModel", {}),
        ("Qwen3NextForCausalLM", {}),
        ("MiniMaxModel", {}),
        ("HrmTextForCausalLM", {}),
        ("T5ForConditionalGeneration", {"encoder_tokens": 300, "new_encoder_tokens": 300}),
    ],
)
def test_training_flops_are_those_of_the_count(
    architecture: str, lengths: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CostRecord, "gap", lambda *_: None)
    formula = archspec.formula(architecture, "training_flops")
    exact = archspec.load(architecture).forward(3, 500, 0, **lengths).training_flops
    assert formula.evaluate(batch=3, tokens=500, **lengths) == exact
    assert sympy.Symbol("past") not in formula.expr.free_symbols
