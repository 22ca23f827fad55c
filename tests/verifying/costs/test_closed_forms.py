"""Closed forms of costs are the fold's numbers, call for call."""

from __future__ import annotations

import pytest

from archspec.specs.library import shipped
from archspec.verifying.costs import formulas
from archspec.verifying.costs.cases import Case
from archspec.verifying.costs.formulas import without_closed_form

PAIRS = (
    *(("llama", "LlamaForCausalLM"), ("mistral", "MistralModel"), ("llama4_text", "Llama4ForCausalLM")),
    *(("t5gemma2", "T5Gemma2Model"), ("t5", "T5ForConditionalGeneration"), ("bert", "BertModel")),
    *(("mamba2", "Mamba2Model"), ("gpt_oss", "GptOssModel"), ("deepseek_v3", "DeepseekV3Model")),
)


@pytest.mark.parametrize(("model_type", "architecture"), PAIRS)
def test_every_call_has_a_closed_form(model_type: str, architecture: str) -> None:
    raw = {"model_type": model_type}
    assert list(without_closed_form(Case(shipped().load(model_type), architecture, raw))) == []


def test_one_that_gives_another_number_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = formulas.ClosedForm.substituted
    monkeypatch.setattr(formulas.ClosedForm, "substituted", lambda form, values: whole(form, values) + 1)
    first = next(without_closed_form(Case(shipped().load("llama"), "LlamaModel", {"num_hidden_layers": 1})))
    assert first.quantity == "flops"
    assert "does not give the exact flops" in first.why
