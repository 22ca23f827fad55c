"""Closed forms of costs give the exact counts, and are torch's polynomials over symbolic lengths."""

from __future__ import annotations

import pytest

from archspec.specs.library import shipped_library
from archspec.verifying.costs import formulas, record
from archspec.verifying.costs.cases import Case

POLYNOMIALS = (
    *(("llama", "LlamaForCausalLM"), ("mistral", "MistralModel"), ("bert", "BertForMaskedLM")),
    *(("gpt2", "GPT2Model"), ("gpt_neox", "GPTNeoXModel"), ("opt", "OPTModel"), ("olmo", "OlmoModel")),
    *(("t5", "T5ForConditionalGeneration"), ("bart", "BartModel"), ("falcon", "FalconModel")),
    *(("mixtral", "MixtralModel"), ("gemma3_text", "Gemma3TextModel")),
)
LEAST = 190  # pairs as polynomials


@pytest.mark.reference
@pytest.mark.parametrize(("model_type", "architecture"), POLYNOMIALS)
def test_the_closed_form_is_torch_s_polynomial(model_type: str, architecture: str) -> None:
    spec = shipped_library().load(model_type)
    few = {name: 2 for name in ("num_hidden_layers", "n_layer", "num_layers") if name in spec.fields}
    assert formulas.compare_formulas(Case(spec, architecture, few)) == "polynomials"


@pytest.mark.reference
def test_another_polynomial_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = formulas.closed_form
    monkeypatch.setattr(formulas, "closed_form", lambda *given: whole(*given) + 1)
    found = formulas.compare_formulas(
        Case(shipped_library().load("llama"), "LlamaModel", {"num_hidden_layers": 1})
    )
    assert found.startswith("the spec gives ")


@pytest.mark.reference
def test_a_model_that_does_not_run_over_symbols() -> None:
    case = Case(shipped_library().load("bloom"), "BloomModel", {"n_layer": 1})
    assert formulas.agreement_if_symbolic(case) == formulas.NEITHER


@pytest.mark.reference
@pytest.mark.slow
def test_all_classes() -> None:
    found = {
        f"{model_type} {name}": formulas.agreement_if_symbolic(
            Case(shipped_library().load(model_type), name, {"model_type": model_type})
        )
        for model_type, names in record.in_scope().items()
        for name in names
    }
    known = (*formulas.AGREE, formulas.NEITHER)
    assert {pair: how for pair, how in found.items() if how not in known} == {}
    assert sum(how == "polynomials" for how in found.values()) >= LEAST


PAIRS = (
    *(("llama", "LlamaForCausalLM"), ("mistral", "MistralModel"), ("llama4_text", "Llama4ForCausalLM")),
    *(("t5gemma2", "T5Gemma2Model"), ("t5", "T5ForConditionalGeneration"), ("bert", "BertModel")),
    *(("mamba2", "Mamba2Model"), ("gpt_oss", "GptOssModel"), ("deepseek_v3", "DeepseekV3Model")),
)


@pytest.mark.parametrize(("model_type", "architecture"), PAIRS)
def test_every_call_has_a_closed_form(model_type: str, architecture: str) -> None:
    raw = {"model_type": model_type}
    assert (
        list(formulas.without_closed_form(Case(shipped_library().load(model_type), architecture, raw))) == []
    )


def test_a_closed_form_that_gives_another_number_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = formulas.ClosedForm.value_at
    monkeypatch.setattr(formulas.ClosedForm, "value_at", lambda form, values: whole(form, values) + 1)
    case = Case(shipped_library().load("llama"), "LlamaModel", {"num_hidden_layers": 1})
    first = next(formulas.without_closed_form(case))
    assert first.startswith("flops of ") and "does not give the exact flops" in first
