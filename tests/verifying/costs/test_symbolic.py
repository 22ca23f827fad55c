"""Closed forms of FLOPs are the polynomials that torch counts over symbolic lengths."""

from __future__ import annotations

import pytest

from archspec.specs.library import shipped
from archspec.verifying.costs import formulas, record
from archspec.verifying.costs.cases import Case

pytestmark = pytest.mark.reference
PAIRS = (
    *(("llama", "LlamaForCausalLM"), ("mistral", "MistralModel"), ("bert", "BertForMaskedLM")),
    *(("gpt2", "GPT2Model"), ("gpt_neox", "GPTNeoXModel"), ("opt", "OPTModel"), ("olmo", "OlmoModel")),
    *(("t5", "T5ForConditionalGeneration"), ("bart", "BartModel"), ("falcon", "FalconModel")),
    *(("mixtral", "MixtralModel"), ("gemma3_text", "Gemma3TextModel")),
)
LEAST = 190  # pairs as polynomials


@pytest.mark.parametrize(("model_type", "architecture"), PAIRS)
def test_the_closed_form_is_torch_s_polynomial(model_type: str, architecture: str) -> None:
    spec = shipped().load(model_type)
    few = {name: 2 for name in ("num_hidden_layers", "n_layer", "num_layers") if name in spec.fields}
    assert formulas.agreement(Case(spec, architecture, few)) == "polynomials"


def test_another_polynomial_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = formulas.closed_form
    monkeypatch.setattr(formulas, "closed_form", lambda *given: whole(*given) + 1)
    found = formulas.agreement(Case(shipped().load("llama"), "LlamaModel", {"num_hidden_layers": 1}))
    assert found.startswith("the spec gives ")


def test_what_does_not_run_over_symbols_is_told() -> None:
    few = {"n_layer": 1}
    assert (
        formulas.agreement_if_symbolic(Case(shipped().load("bloom"), "BloomModel", few)) == formulas.NEITHER
    )


@pytest.mark.slow
def test_all_classes() -> None:
    found = {
        f"{model_type} {name}": formulas.agreement_if_symbolic(
            Case(shipped().load(model_type), name, {"model_type": model_type})
        )
        for model_type, names in record.in_scope().items()
        for name in names
    }
    known = (*formulas.AGREE, formulas.NEITHER)
    assert {pair: how for pair, how in found.items() if how not in known} == {}
    assert sum(how == "polynomials" for how in found.values()) >= LEAST
