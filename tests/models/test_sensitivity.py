"""A step of `sensitivity` is the difference of two counts, for every class."""

from __future__ import annotations

import random

import pytest

import archspec
from tools.fuzz.agreement import steps

NAMED = (
    *("MistralLarge4TextModel", "ExaoneMoeForCausalLM", "DebertaV2Model", "MiniMaxForCausalLM"),
    *("Qwen3NextForCausalLM", "Gemma4TextModel", "LlamaForCausalLM", "SwinModel", "GPT2Model"),
)
SAMPLED = random.Random(17).sample(archspec.architectures(), 6)


def check_steps(architecture: str) -> int:
    """Compares every step with a count; returns the number of steps."""
    compared, wrong = steps(architecture, random.Random(0))
    assert not wrong
    return compared


@pytest.mark.parametrize("architecture", NAMED)
def test_steps_are_counted(architecture: str) -> None:
    assert check_steps(architecture) > 3


@pytest.mark.parametrize("architecture", SAMPLED)
def test_steps_are_counted_for_a_sample_of_classes(architecture: str) -> None:
    check_steps(architecture)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", archspec.architectures())
def test_steps_are_counted_for_every_class(architecture: str) -> None:
    check_steps(architecture)


def test_a_step_takes_the_branch_of_the_count() -> None:
    rows = {row.field: row for row in archspec.load("MistralLarge4TextModel").sensitivity().fields}
    assert (rows["num_hidden_layers"].step, rows["num_hidden_layers"].by) == (14_746_215_360, 1)
    # the table includes a field without a symbol, whose number of dense layers is counted
    assert rows["first_k_dense_replace"].derivative is None and rows["first_k_dense_replace"].step != 0


def test_a_step_that_cannot_be_built_gives_way_to_the_next_one() -> None:
    rows = {row.field: row for row in archspec.load("LlamaForCausalLM").sensitivity().fields}
    wider = archspec.load("LlamaForCausalLM", set={"hidden_size": 4096 + 64}).params
    assert (rows["hidden_size"].by, rows["hidden_size"].step) == (64, wider - 6_738_415_616)


def test_steps_of_costs_and_bytes_are_counted() -> None:
    model = archspec.load("GPT2LMHeadModel")
    rows = {row.field: row for row in model.sensitivity("flops", tokens=8).fields}
    assert rows["tokens"].step == model.forward(tokens=9).flops - model.forward(tokens=8).flops
    rows = {row.field: row for row in model.sensitivity(dtype="bf16").fields}
    assert rows["n_layer"].step == 2 * (model.at(n_layer=13).params - model.params)


def test_derivatives_are_labeled_as_partial_and_name_their_branch() -> None:
    text = archspec.load("OPTForCausalLM").sensitivity().text()
    assert "partial derivative" in text and "all other symbols stay fixed" in text
    assert "they hold in the branch with" in text and "not (word_embed_proj_dim != hidden_size)" in text
