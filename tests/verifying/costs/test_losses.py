"""Losses of training steps, validated against torch's saved_tensors_hooks with labels."""

from __future__ import annotations

import pytest

import archspec
from archspec.costs.records import Step
from archspec.costs.training.activations import loss_of
from archspec.reference.costs import inputs
from archspec.reference.saved import labels, saved_bytes, saved_storages, training_model
from archspec.specs.library import shipped_library
from archspec.verifying.costs import losses

NARROW = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 640, "intermediate_size": 1408}
NARROW |= {"num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 128256}


def test_recorded_losses_are_those_of_the_contractions() -> None:
    found = {loss_of(model_type, name) for model_type, name, _ in losses.classes()} - {None}
    assert found == {*losses.known_losses()}


def test_classes_without_labels_have_no_loss() -> None:
    assert loss_of("llama", "LlamaModel") is None
    assert loss_of("llama", "LlamaForCausalLM", "tensor") == "causal_lm_loss"


@pytest.mark.reference
@pytest.mark.parametrize("attention", ["flash", "eager"])
@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize(("batch", "tokens"), [(1, 1024), (2, 65)])
def test_hooks_see_the_activations_with_their_loss(
    attention: str, checkpointing: bool, batch: int, tokens: int
) -> None:
    step = Step(batch, tokens, 0, "bfloat16", attention, checkpointing)
    model = training_model("LlamaForCausalLM", NARROW, "llama", step)
    given = {**inputs(model, step.call), **labels(model, step.call)}
    measured = sum(storage.nbytes for storage in saved_storages(model, step, given))
    options = {"attention": attention, "checkpointing": checkpointing}
    found = archspec.load(NARROW, "LlamaForCausalLM").training(batch, tokens, **options)
    assert found.activation_bytes == measured
    assert found.loss_bytes == measured - sum(saved_bytes(model, step).values())


@pytest.mark.reference
@pytest.mark.parametrize(
    "name",
    [
        *("LlamaForCausalLM", "LlamaForTokenClassification", "GPT2ForSequenceClassification"),
        *("BertForMaskedLM", "BertForQuestionAnswering", "BartForConditionalGeneration"),
        "EuroBertForMaskedLM",
    ],
)
def test_a_loss_keeps_what_the_class_keeps(name: str) -> None:
    (model_type,) = {kind for kind, one, _ in losses.classes() if one == name and kind in name.lower()}
    kernels = next(one for kind, other, one in losses.classes() if (kind, other) == (model_type, name))
    assert losses.verify_loss(shipped_library().load(model_type), name, kernels, 1) == loss_of(
        model_type, name
    )


@pytest.mark.reference
@pytest.mark.slow
def test_every_recorded_loss_agrees() -> None:
    wrong = [
        (model_type, name)
        for model_type, name, kernels in losses.classes()
        if loss_of(model_type, name)
        and losses.verify_loss(shipped_library().load(model_type), name, kernels) != loss_of(model_type, name)
    ]
    assert wrong == []
