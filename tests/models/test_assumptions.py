"""A formula under an assumption gives the count of the config with that field set, or is refused."""

from __future__ import annotations

import random
from typing import Any

import pytest

import archspec
from archspec.errors import ArchspecError, FormulaError

FAMILIES = (
    *("LlamaForCausalLM", "MistralForCausalLM", "GPT2LMHeadModel", "Qwen3MoeForCausalLM", "T5Model"),
    *("DeepseekV3ForCausalLM", "JambaForCausalLM", "Gemma3ForCausalLM", "LlavaForConditionalGeneration"),
    *(
        "Qwen3NextForCausalLM",
        "FalconForCausalLM",
        "ViTModel",
        "WhisperModel",
        "BloomModel",
        "OPTForCausalLM",
    ),
)
SAMPLED = random.Random(16).sample(archspec.architectures(), 6)


def drawn(chance: random.Random, values: dict[str, Any]) -> tuple[str, str, Any]:
    """A field, an expression of other fields, constants and itself, and its value at the config."""
    whole = {name: value for name, value in values.items() if type(value) is int and "[" not in name}
    field, one, other = (chance.choice(sorted(whole)) for _ in range(3))
    text = chance.choice(
        (
            *(one, f"2*{one}", f"{one}//2", f"{one}*{other}//64", f"max({one}, {other})", f"{one} + {other}"),
            *("64", "2", f"2*{field}", f"{field}", f"min(4*{one}, 1024)"),
        )
    )
    names = {name.replace(".", "__"): value for name, value in whole.items()}
    return field, text, eval(text.replace(".", "__"), {"max": max, "min": min}, names)


def check(architecture: str, seed: int, tries: int) -> int:
    """Compares formulas under random assumptions with counts; returns how many were given."""
    try:
        formula = archspec.formula(architecture)
    except ArchspecError:
        return 0
    chance, given = random.Random(f"{architecture}{seed}"), 0
    values = {**formula.config_values, **{n: formula.scope.get(n) for n in formula.absent}}
    values = {name: value for name, value in values.items() if name not in formula.definitions}
    if not any(type(value) is int and "[" not in name for name, value in values.items()):
        return 0
    for _ in range(tries):
        field, text, value = drawn(chance, values)
        if value > 4 * max(values[field], 8):
            continue  # as many layers or experts take long to count
        try:
            assumed = formula.assume({field: text})
        except ArchspecError:
            continue
        expected = archspec.load(architecture, set={field: value}).params
        found = (assumed.evaluate(), assumed.substituted(assumed.symbols))
        assert found == (expected, expected), (architecture, field, text, value)
        given += 1
        moved = {chance.choice(sorted(values)): chance.choice((1, 2, 3, 4, 8, 16, 64))}
        if field in moved or any("[" in name for name in moved):
            continue
        try:
            there = assumed.evaluate(moved)
        except ArchspecError:
            continue
        base = archspec.formula(architecture, set=moved)
        again = base.assume({field: text})
        assert there == again.evaluate() == again.substituted(again.symbols), (field, text, moved)
    return given


@pytest.mark.parametrize("architecture", FAMILIES)
def test_an_assumption_is_a_field_that_is_set(architecture: str) -> None:
    assert check(architecture, 1, 8) > 0


@pytest.mark.parametrize("architecture", SAMPLED)
def test_an_assumption_is_a_field_that_is_set_for_a_sample_of_classes(architecture: str) -> None:
    check(architecture, 2, 6)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", archspec.architectures())
def test_an_assumption_is_a_field_that_is_set_for_every_class(architecture: str) -> None:
    check(architecture, 3, 12)


def test_an_assumption_that_reads_what_follows_from_it_is_refused() -> None:
    """32 heads of 128 make a width of 4,096; with 128 heads a computed head_dim is 32."""
    with pytest.raises(FormulaError, match=r"reads head_dim, .* it is 128, .* becomes 32") as refused:
        archspec.formula("LlamaForCausalLM").assume(num_attention_heads="head_dim")
    assert "--set head_dim=128" in str(refused.value.problems[0].help)
    fixed = archspec.formula("LlamaForCausalLM", set={"head_dim": 128})
    assert fixed.assume(num_attention_heads="head_dim").evaluate() == 13_180_866_560
    set_too = archspec.load("LlamaForCausalLM", set={"head_dim": 128, "num_attention_heads": 128})
    assert set_too.params == 13_180_866_560
    plain = archspec.formula("LlamaForCausalLM").assume(num_attention_heads="128")
    assert plain.evaluate() == 6_738_415_616
