"""Formulas under assumptions, and steps of `sensitivity`, are the counts of configs with these fields."""

from __future__ import annotations

import random

import pytest

import archspec
from archspec.errors import FormulaError
from tools.fuzz.agreement import assumptions, steps

ASSUMED = (
    *("LlamaForCausalLM", "MistralForCausalLM", "GPT2LMHeadModel", "Qwen3MoeForCausalLM", "T5Model"),
    *("DeepseekV3ForCausalLM", "JambaForCausalLM", "Gemma3ForCausalLM", "LlavaForConditionalGeneration"),
    *("Qwen3NextForCausalLM", "FalconForCausalLM", "ViTModel", "WhisperModel", "BloomModel"),
    "OPTForCausalLM",
)
STEPPED = (
    *("MistralLarge4TextModel", "ExaoneMoeForCausalLM", "DebertaV2Model", "MiniMaxForCausalLM"),
    *("Qwen3NextForCausalLM", "Gemma4TextModel", "LlamaForCausalLM", "SwinModel", "GPT2Model"),
)
EVERY = archspec.architectures()


def check(architecture: str, seed: int, tries: int, with_steps: bool = False) -> tuple[int, int]:
    """Compare formulas under random assumptions, and steps, with counts; return how many of each."""
    compared, wrong = assumptions(architecture, random.Random(f"{architecture}{seed}"), tries)
    stepped, wrong_steps = steps(architecture, random.Random(0)) if with_steps else (0, [])
    assert not wrong and not wrong_steps
    return compared, stepped


@pytest.mark.parametrize("architecture", ASSUMED)
def test_an_assumption_is_a_field_that_is_set(architecture: str) -> None:
    assert check(architecture, 1, 8)[0] > 0


@pytest.mark.parametrize("architecture", STEPPED)
def test_steps_are_counted(architecture: str) -> None:
    assert check(architecture, 1, 0, with_steps=True)[1] > 3


@pytest.mark.parametrize("architecture", random.Random(16).sample(EVERY, 8))
def test_a_sample_of_classes(architecture: str) -> None:
    check(architecture, 2, 6, with_steps=True)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", EVERY)
def test_every_class(architecture: str) -> None:
    check(architecture, 3, 12, with_steps=True)


def test_an_assumption_that_reads_a_default_that_it_changes_is_refused() -> None:
    """32 heads of 128 make a width of 4,096; with 128 heads a computed head_dim is 32."""
    formula = archspec.formula("LlamaForCausalLM")
    with pytest.raises(FormulaError, match=r"reads head_dim, .* it is 128, .* becomes 32") as refused:
        formula.assume(num_attention_heads="head_dim")
    assert "--set head_dim=128" in str(refused.value.problems[0].help)
    fixed = archspec.formula("LlamaForCausalLM", set={"head_dim": 128})
    both = archspec.load("LlamaForCausalLM", set={"head_dim": 128, "num_attention_heads": 128})
    assert fixed.assume(num_attention_heads="head_dim").evaluate() == both.params == 13_180_866_560
    assert formula.assume(num_attention_heads="128").evaluate() == 6_738_415_616


def test_steps_take_the_branch_of_the_count_or_the_next_size() -> None:
    rows = {row.field: row for row in archspec.load("MistralLarge4TextModel").sensitivity().fields}
    assert (rows["num_hidden_layers"].step, rows["num_hidden_layers"].by) == (14_746_215_360, 1)
    # the table includes a field without a symbol, whose number of dense layers is counted
    assert rows["first_k_dense_replace"].derivative is None and rows["first_k_dense_replace"].step != 0
    rows = {row.field: row for row in archspec.load("LlamaForCausalLM").sensitivity().fields}
    wider = archspec.load("LlamaForCausalLM", set={"hidden_size": 4096 + 64}).params
    assert (rows["hidden_size"].by, rows["hidden_size"].step) == (64, wider - 6_738_415_616)


def test_steps_of_costs_and_bytes_are_counted() -> None:
    model = archspec.load("GPT2LMHeadModel")
    rows = {row.field: row for row in model.sensitivity("flops", tokens=8).fields}
    assert rows["tokens"].step == model.forward(tokens=9).flops - model.forward(tokens=8).flops
    rows = {row.field: row for row in model.sensitivity(dtype="bf16").fields}
    assert rows["n_layer"].step == 2 * (model.at(n_layer=13).params - model.params)


@pytest.mark.parametrize("architecture", ["T5ForConditionalGeneration", "BartForConditionalGeneration"])
def test_other_lengths_of_a_formula_are_those_of_a_call(architecture: str) -> None:
    """The encoder tokens of a call follow its other lengths, like in `flops`."""
    model = archspec.load(architecture)
    formula = model.quantity("flops", tokens=10, encoder_tokens=20)
    changed: list[dict[str, int]] = [{"encoder_tokens": 21}, {"past": 3}, {"past": 3, "encoder_tokens": 25}]
    for lengths in changed:
        expected = model.flops(**{"tokens": 10, "encoder_tokens": 20, **lengths}).flops
        assert formula.at(lengths).evaluate() == formula.evaluate(lengths) == expected
    found = {row.field: row.step for row in formula.sensitivity().fields}
    for name, value in {"encoder_tokens": 21, "past": 1}.items():
        assert found[name] == formula.evaluate({name: value}) - formula.evaluate()


def test_derivatives_are_labeled_as_partial_and_name_their_branch() -> None:
    text = archspec.load("OPTForCausalLM").sensitivity().text()
    assert "partial derivative" in text and "all other symbols stay fixed" in text
    assert "they hold in the branch with" in text and "not (word_embed_proj_dim != hidden_size)" in text
