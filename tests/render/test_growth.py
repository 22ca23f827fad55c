"""The leading form dominates a count as a model grows, and is close to it."""

from __future__ import annotations

from math import log10
from typing import Any

import pytest
import sympy

import archspec
from archspec.errors import FormulaError
from archspec.render.growth import Rates, grows, leading_terms

FAMILIES = (
    *("BertModel", "GPT2LMHeadModel", "LlamaForCausalLM", "MixtralForCausalLM", "Qwen3NextForCausalLM"),
    *("DeepseekV3ForCausalLM", "Glm4MoeForCausalLM", "JambaForCausalLM", "AfmoeForCausalLM"),
    *("Mistral4ForCausalLM", "Qwen3MoeForCausalLM", "Gemma3ForCausalLM", "T5ForConditionalGeneration"),
    *("Mamba2ForCausalLM", "ViTModel", "WhisperModel", "CLIPModel", "SwinForMaskedImageModeling"),
    *("DetrModel", "EncodecModel", "ResNetModel", "EfficientNetModel", "EdgeTamVideoModel"),
    *("CanaryForConditionalGeneration", "MobileNetV1Model", "Gemma3nForConditionalGeneration"),
    "InklingForConditionalGeneration",
)


@pytest.mark.parametrize("architecture", FAMILIES)
def test_the_leading_form_is_most_of_a_model(architecture: str) -> None:
    formula = archspec.formula(architecture)
    found = formula.leading_terms()
    assert sympy.expand(found.expr + found.dropped.expr - formula.expr) == 0
    assert found.value + found.dropped.value == formula.evaluate() and abs(found.dropped.share) < 0.1


@pytest.mark.parametrize("architecture", ["BertModel", "JambaForCausalLM", "DeepseekV3ForCausalLM"])
def test_dropped_terms_are_outgrown_and_kept_ones_are_not(architecture: str) -> None:
    """Powers are measured: the factor of a term when one field alone grows."""
    formula = archspec.formula(architecture)
    wanted = ("hidden_size", "num_hidden_layers", "vocab_size", "num_experts")
    grown = [name for name in wanted if name in formula.symbols]

    def size(term: sympy.Expr, field: str, times: int) -> float:
        values = {**formula.symbols, field: formula.symbols[field] * times}
        return float(term.xreplace({sympy.Symbol(name): sympy.Integer(n) for name, n in values.items()}))

    def powers(term: sympy.Expr) -> tuple[int, ...]:
        ratios = (size(term, field, 10**9) / size(term, field, 10**6) for field in grown)
        return tuple(round(log10(abs(ratio)) / 3) for ratio in ratios)

    terms = {term: powers(term) for term in sympy.Add.make_args(sympy.expand(formula.expr))}
    kept = {
        term
        for term, low in terms.items()
        if not any(high != low and all(map(int.__ge__, high, low)) for high in terms.values())
    }
    found = leading_terms(formula, grown)
    assert set(sympy.Add.make_args(found.expr)) == kept and found.dropped != 0


def test_the_fields_that_grow() -> None:
    formula = archspec.formula("LlamaForCausalLM")
    for name in ("hidden_size", "text_config.num_experts", "depths[0]", "q_lora_rank", "in_channels[1]"):
        assert grows(formula, name), name
    for name in ("attn_layer_period", "vision_config.patch_size", "conv_kernel[2]", "first_k_dense_replace"):
        assert not grows(formula, name), name
    assert not grows(formula, "tokens") and grows(archspec.formula("LlamaModel", "flops"), "tokens")
    # experts are kept, and a period stays
    found = archspec.formula("Qwen3MoeForCausalLM").leading_terms()
    assert "decoder_sparse_step" not in found.growing and found.dropped.share < 0.001
    assert sympy.Symbol("moe_intermediate_size") in found.expr.free_symbols
    # the backbone of DETR is half of it, and a constant: it is dropped only if fields are named
    detr = archspec.formula("DetrModel")
    assert detr.leading_terms().dropped.share < 0.02
    assert detr.leading_terms("d_model").dropped.share > 0.5
    found = archspec.formula("Qwen3NextForCausalLM").leading_terms("num_hidden_layers")
    assert {"L_linear_attn", "L_self_attn"} < set(found.growing)
    with pytest.raises(FormulaError, match="the formula does not depend on num_attention_headss"):
        archspec.formula("Qwen3NextForCausalLM").leading_terms("num_attention_headss")


d, layers, first, last, i = sympy.symbols("d L first last i")


@pytest.mark.parametrize(
    ("fast", "slow"),
    [
        (layers * d**2, first * sympy.floor(layers / 7) * d),
        (d * sympy.Max(0, layers - first), d),
        (d, sympy.Min(d, first)),
        (d, sympy.Mod(d, first)),
        (d**2, d ** sympy.Rational(3, 2) + d),
        (d, sympy.log(d)),
        (d, sympy.ceiling((last - first) / first)),
        (d**2, (d + 1) ** 2 / d),
        (d**2, sympy.Piecewise((d, first > 2), (1, True))),
        (sympy.Sum(i * d, (i, 0, layers - 1)), layers * d),
    ],
)
def test_rates(fast: sympy.Expr, slow: sympy.Expr) -> None:
    rates = Rates({d, layers})
    assert rates.outgrows(rates.rate_of(fast), rates.rate_of(slow))
    assert not rates.outgrows(rates.rate_of(slow), rates.rate_of(fast))
    assert not rates.outgrows(rates.rate_of(fast), rates.rate_of(fast))


def test_the_command_prints_the_approximation_and_what_it_drops(cli: Any) -> None:
    out = cli("formula GPT2LMHeadModel --assume n_inner=4*n_embd --leading").out
    value = "≈ 123,532,032 at the values below; the exact value is 124,439,808\n"
    assert f"GPT2LMHeadModel ≈ 12·L·d² + V·d\n{value}" in out
    growing = "note: dominant terms as these fields grow: n_embd, n_layer, vocab_size\n"
    assert f"{growing}note: dropped: 13·L·d + s·d + 2·d = 907,776" in out
    found = cli("formula GPT2LMHeadModel --leading n_embd,n_layer,n_inner --json").json
    assert found["leading"]["value"] == found["parts"][0]["value"] == 12 * (4 * 768**2 + 2 * 768 * 3072)
    assert found["leading"]["growing"] == ["n_embd", "n_inner", "n_layer"]
    out = cli("formula LlamaForCausalLM --leading --by component").out
    assert out.startswith("embeddings ≈ V·d\nattention ≈ 2·L·d·d_h·(h + h_kv)\n") and "norms" not in out
    refused = cli("formula LlamaForCausalLM --leading --table latex", code=2)
    assert "leave out --leading" in refused.err
