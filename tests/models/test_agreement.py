"""Formulas under assumptions, and steps of `sensitivity`, are the counts of configs with these fields."""

from __future__ import annotations

import random
from typing import Any

import pytest

import archspec
from archspec.errors import ArchspecError, FormulaError
from archspec.models.fields import MAX_STEP

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


def counted(architecture: str, fields: dict[str, Any]) -> int | None:
    """Return the parameters of a class with some fields set; None if it is refused."""
    try:
        return archspec.load(architecture, set=fields).params
    except ArchspecError:
        return None


def check_steps(architecture: str) -> int:
    """A step is the difference of two counts, and the smallest valid one; return the number of steps."""
    try:
        model = archspec.load(architecture)
        rows = [row for row in model.sensitivity().fields if "[" not in row.field]
    except ArchspecError:
        return 0  # the class has neither a default config nor a closed form
    for row in rows:
        refused = range(1, MAX_STEP + 1 if row.step is None else row.step)
        assert not [by for by in refused[:3] if counted(architecture, {row.field: row.value + by})], row
        there = None if row.step is None else counted(architecture, {row.field: row.value + row.step})
        assert row.change == (None if there is None else there - model.params), row
    return len(rows)


def check_assumptions(architecture: str, seed: int, tries: int) -> int:
    """Compare formulas under random assumptions with counts; return the number of comparisons."""
    chance = random.Random(f"{architecture}{seed}")
    try:
        formula = archspec.formula(architecture)
    except ArchspecError:
        return 0
    values = {**formula.config_values, **{name: formula.scope.get(name) for name in formula.absent}}
    values = {name: value for name, value in values.items() if name not in formula.definitions}
    sizes = {name: value for name, value in values.items() if type(value) is int and "[" not in name}
    compared = 0
    for _ in range(tries if sizes else 0):
        field, text, value = assumed_value(chance, sizes)
        if value > 4 * max(values[field], 8):
            continue  # many layers or experts take long to count
        try:
            assumed = formula.assume({field: text})
        except ArchspecError:
            continue
        found = {assumed.evaluate(), assumed.value_at(assumed.symbols)}
        assert found == {counted(architecture, {field: value})}, (field, text)
        compared += 1
        moved = {chance.choice(sorted(values)): chance.choice((1, 2, 3, 4, 8, 16, 64))}
        if field not in moved and not any("[" in name for name in moved):
            check_moved(architecture, assumed, {field: text}, moved)
    return compared


def assumed_value(chance: random.Random, sizes: dict[str, int]) -> tuple[str, str, Any]:
    """Return a field, an expression of other fields and constants, and its value at the config."""
    field, one, other = (chance.choice(sorted(sizes)) for _ in range(3))
    texts = (
        *(one, f"2*{one}", f"{one}//2", f"{one}*{other}//64", f"max({one}, {other})", f"{one} + {other}"),
        *("64", "2", f"2*{field}", f"{field}", f"min(4*{one}, 1024)"),
    )
    text = chance.choice(texts)
    names = {name.replace(".", "__"): value for name, value in sizes.items()}
    return field, text, eval(text.replace(".", "__"), {"max": max, "min": min}, names)


def check_moved(
    architecture: str, assumed: archspec.Formula, assumption: dict[str, str], moved: dict[str, int]
) -> None:
    """The same assumption gives one count if another field is changed before or after it."""
    try:
        after, there = assumed.evaluate(moved), archspec.formula(architecture, set=moved)
    except ArchspecError:
        return  # a field may be valid only with the assumption
    before = there.assume(assumption)
    assert {before.evaluate(), before.value_at(before.symbols)} == {after}, (assumption, moved)


@pytest.mark.parametrize("architecture", ASSUMED)
def test_an_assumption_is_a_field_that_is_set(architecture: str) -> None:
    assert check_assumptions(architecture, 1, 8) > 0


@pytest.mark.parametrize("architecture", STEPPED)
def test_steps_are_counted(architecture: str) -> None:
    assert check_steps(architecture) > 3


@pytest.mark.parametrize("architecture", random.Random(16).sample(EVERY, 8))
def test_a_sample_of_classes(architecture: str) -> None:
    check_assumptions(architecture, 2, 6)
    check_steps(architecture)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", EVERY)
def test_every_class(architecture: str) -> None:
    check_assumptions(architecture, 3, 12)
    check_steps(architecture)


def test_an_assumption_that_reads_a_default_that_it_changes_is_refused() -> None:
    """32 heads of 128 make a width of 4,096; with 128 heads a computed head_dim is 32."""
    formula = archspec.formula("LlamaForCausalLM")
    with pytest.raises(FormulaError, match=r"reads head_dim, .* it is 128, .* becomes 32") as refused:
        formula.assume(num_attention_heads="head_dim")
    assert "set={'head_dim': 128}" in str(refused.value.problems[0].help)
    fixed = archspec.formula("LlamaForCausalLM", set={"head_dim": 128})
    both = archspec.load("LlamaForCausalLM", set={"head_dim": 128, "num_attention_heads": 128})
    assert fixed.assume(num_attention_heads="head_dim").evaluate() == both.params == 13_180_866_560
    assert formula.assume(num_attention_heads="128").evaluate() == 6_738_415_616


def test_steps_take_the_branch_of_the_count_or_the_next_size() -> None:
    rows = {row.field: row for row in archspec.load("MistralLarge4TextModel").sensitivity().fields}
    assert (rows["num_hidden_layers"].change, rows["num_hidden_layers"].step) == (14_746_215_360, 1)
    # the table includes a field without a symbol, whose number of dense layers is counted
    assert rows["first_k_dense_replace"].derivative is None and rows["first_k_dense_replace"].change != 0
    rows = {row.field: row for row in archspec.load("LlamaForCausalLM").sensitivity().fields}
    wider = archspec.load("LlamaForCausalLM", set={"hidden_size": 4096 + 64}).params
    assert (rows["hidden_size"].step, rows["hidden_size"].change) == (64, wider - 6_738_415_616)


def test_steps_of_costs_and_bytes_are_counted() -> None:
    model = archspec.load("GPT2LMHeadModel")
    rows = {row.field: row for row in model.sensitivity("flops", tokens=8).fields}
    assert rows["tokens"].change == model.forward(tokens=9).flops - model.forward(tokens=8).flops
    rows = {row.field: row for row in model.sensitivity(dtype="bf16").fields}
    assert rows["n_layer"].change == 2 * (model.with_fields(n_layer=13).params - model.params)


@pytest.mark.parametrize("architecture", ["T5ForConditionalGeneration", "BartForConditionalGeneration"])
def test_other_lengths_of_a_formula_are_those_of_a_call(architecture: str) -> None:
    """The encoder tokens of a call follow its other lengths, like in `flops`."""
    model = archspec.load(architecture)
    formula = model.quantity("flops", tokens=10, encoder_tokens=20)
    changed: list[dict[str, int]] = [{"encoder_tokens": 21}, {"past": 3}, {"past": 3, "encoder_tokens": 25}]
    for lengths in changed:
        expected = model.flops(**{"tokens": 10, "encoder_tokens": 20, **lengths}).flops
        assert formula.with_fields(lengths).evaluate() == formula.evaluate(lengths) == expected
    found = {row.field: row.change for row in formula.sensitivity().fields}
    for name, value in {"encoder_tokens": 21, "past": 1}.items():
        assert found[name] == formula.evaluate({name: value}) - formula.evaluate()


def test_derivatives_are_labeled_as_partial_and_name_their_branch() -> None:
    text = archspec.load("OPTForCausalLM").sensitivity().text()
    assert "partial derivative" in text and "other fields stay fixed" in text
    listed = {"model_type": "gpt_oss", "num_hidden_layers": 1, "layer_types": ["full_attention"]}
    stuck = archspec.load(listed, "GptOssModel").sensitivity().text()
    assert "no increase up to +128 is valid; the last error: layer_types: lists 1 layer" in " ".join(
        stuck.split()
    )
    assert "are valid for" in text and "word_embed_proj_dim == hidden_size" in text
