"""IA3, VeRA, prompt and prefix tuning: tensors as peft adds and saves them, recorded on the meta device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from adapters.kinds import CASES, config

import archspec
from archspec.errors import ArchspecError, FormulaError
from tools.peft_tensors import digest

RECORDED = json.loads((Path(__file__).parent / "kinds.json").read_text(encoding="utf-8"))
KINDS = ("IA3", "VERA", "PROMPT_TUNING", "PREFIX_TUNING")
TUNED: dict[str, Any] = {"peft_type": "PREFIX_TUNING", "task_type": "CAUSAL_LM", "num_virtual_tokens": 5}


def tensors(name: str, options: dict[str, Any]) -> list[Any] | None:
    """Return numbers of trained and all parameters, and the digest; None for a rejected adapter."""
    try:
        adapter = archspec.load(name, set=config(name)).lora(options)
    except ArchspecError:
        return None
    saved = {one.saved_name: one.shape for one in adapter.tensors() if one.saved_name}
    rows = ((one.name, one.shape, one.trainable) for one in adapter.tensors(frozen=True))
    return [adapter.trainable_params, adapter.params, digest(rows, saved | adapter.tree.buffers)]


@pytest.mark.parametrize("kind", KINDS)
def test_tensors_are_those_of_peft(kind: str) -> None:
    cases = [row for row in zip(CASES, RECORDED, strict=True) if row[0][1]["peft_type"] == kind]
    assert [tensors(*case) for case, _ in cases] == [found for _, found in cases]
    assert len({case[0] for case, found in cases if found}) >= 25


@pytest.mark.parametrize("kind", KINDS)
def test_costs_and_closed_forms_are_refused(kind: str) -> None:
    given = TUNED if kind.startswith("P") else {}
    adapter = archspec.load("LlamaForCausalLM").lora({**given, "peft_type": kind})
    for function in (adapter.flops, adapter.memory, lambda: adapter.formula):
        with pytest.raises(ArchspecError, match=f"{kind} adapters is not supported") as error:
            function()  # type: ignore[operator]
    assert error.type is FormulaError


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("GPTNeoForCausalLM", TUNED, "not compared"),
        (
            "Blip2TextModelWithProjection",
            {**TUNED, "task_type": "FEATURE_EXTRACTION"},
            "query_tokens is trained, but not saved",
        ),
        ("LlamaForCausalLM", {**TUNED, "token_dim": 12}, "do not give head_dim"),
        ("LlamaForCausalLM", {**TUNED, "num_virtual_tokens": 0}, "num_virtual_tokens"),
        ("LlamaForCausalLM", {**TUNED, "task_type": None}, "task_type"),
        ("LlamaForCausalLM", {"peft_type": "VERA", "exclude_modules": "q"}, "VeraConfig"),
        ("LlamaForCausalLM", {"peft_type": "LORA", "vera_dropout": 0.1}, "LoraConfig"),
        ("LlamaForCausalLM", {"peft_type": "OFT"}, "use one of LORA, IA3"),
    ],
)
def test_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArchspecError) as error:
        archspec.load(name).lora(options)
    assert message in str(error.value)


def test_a_file_with_another_tensor() -> None:
    adapter = archspec.load("LlamaForCausalLM").lora({**TUNED, "prefix_projection": True})
    assert {one.saved_name for one in adapter.tensors()} == {""}
    assert adapter.notes == ["the adapter's file has prompt_embeddings (5, 262144)"]
