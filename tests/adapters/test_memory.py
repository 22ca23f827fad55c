"""Memory of a step with an adapter: activations against torch's saved_tensors_hooks, and batches that fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from adapters.cases import TINY

import archspec
from archspec.errors import ArchspecError

RECORDED = json.loads((Path(__file__).parent / "activations.json").read_text(encoding="utf-8"))
CASES: list[tuple[str, dict[str, Any], bool]] = [  # class, options, checkpointing
    ("LlamaForCausalLM", {"target_modules": "all-linear"}, False),
    ("LlamaForCausalLM", {"target_modules": "all-linear"}, True),
    ("LlamaForCausalLM", {"target_modules": ["q_proj", "down_proj"], "lora_dropout": 0.1}, False),
    ("LlamaForCausalLM", {"modules_to_save": ["norm"], "lora_bias": True}, False),
    ("GPT2LMHeadModel", {"target_modules": "all-linear"}, True),
    ("BertForTokenClassification", {"task_type": "TOKEN_CLS", "bias": "all"}, False),
]
LENGTHS = {"batch": 2, "tokens": 24}


@pytest.mark.parametrize(
    ("name", "options", "checkpointing", "recorded"),
    [(*case, row) for case, row in zip(CASES, RECORDED, strict=True)],
)
def test_activations(name: str, options: dict[str, Any], checkpointing: bool, recorded: list[int]) -> None:
    adapter = archspec.load(name, set=TINY[name]).lora(**options)
    parts = adapter.memory(dtype="bf16", checkpointing=checkpointing, **LENGTHS).parts
    rows = {part.name: part.bytes for part in parts}
    assert [rows["activations"], rows.get("recomputed", 0)] == recorded


@pytest.mark.reference
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("case", "recorded"), [*zip(CASES, RECORDED, strict=True)][:2])
def test_activations_are_those_of_torch(case: tuple[Any, ...], recorded: list[int]) -> None:
    assert measured(*case) == recorded


def measured(name: str, options: dict[str, Any], checkpointing: bool) -> list[int]:
    """Return the bytes that torch saves, and those of the largest layer if it is recomputed."""
    from archspec.costs.records import Step
    from archspec.costs.training.activations import loss_of
    from tools.from_hooks import measure

    model_type = archspec.load(name, set=TINY[name]).model_type
    step = Step(**LENGTHS, checkpointing=checkpointing, loss=loss_of(model_type, name) or "")
    return [*measure(name, {"model_type": model_type, **TINY[name]}, options, step)[:2]]


def test_the_largest_batch_fits() -> None:
    model = archspec.load("LlamaForCausalLM", set=TINY["LlamaForCausalLM"])
    adapter = model.lora(target_modules="all-linear")
    for budget in (2_000_000, 10_000_000, 300_000_000):
        batch = adapter.memory(dtype="bf16", tokens=24, budget=budget).fitting_batch
        assert batch and adapter.memory(dtype="bf16", batch=batch, tokens=24).total_bytes <= budget
        assert adapter.memory(dtype="bf16", batch=batch + 1, tokens=24).total_bytes > budget
    assert adapter.memory(dtype="bf16", tokens=24, budget=1000).fitting_batch == 0


def test_activations_of_another_function_are_refused() -> None:
    adapter = archspec.load("OPTForCausalLM", set={"activation_function": "gelu"}).lora()
    with pytest.raises(ArchspecError, match="not validated for activation_function"):
        adapter.memory(dtype="bf16", tokens=24)


@pytest.mark.parametrize(
    ("options", "step", "message"),
    [
        ({}, {"dtype": "float32"}, "not in bfloat16"),
        ({"use_dora": True}, {}, "without DoRA"),
        ({"target_modules": ["embed_tokens"]}, {}, "embed_tokens is not a linear layer"),
        ({}, {"weights": "int8"}, "layers in int8"),
        ({}, {"tokens": None, "budget": "1GiB"}, "tokens"),
    ],
)
def test_refused_activations(options: dict[str, Any], step: dict[str, Any], message: str) -> None:
    adapter = archspec.load("LlamaForCausalLM", set=TINY["LlamaForCausalLM"]).lora(**options)
    with pytest.raises(ArchspecError) as error:
        adapter.memory(**{"dtype": "bf16", "tokens": 24, **step})
    assert message in str(error.value)
