"""A formula under an assumption gives the count of the config with that field set, or is refused."""

from __future__ import annotations

import random

import pytest

import archspec
from archspec.errors import FormulaError
from tools.fuzz.agreement import assumptions

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


def check(architecture: str, seed: int, tries: int) -> int:
    """Compares formulas under random assumptions with counts; returns how many were given."""
    compared, wrong = assumptions(architecture, random.Random(f"{architecture}{seed}"), tries)
    assert not wrong
    return compared


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
