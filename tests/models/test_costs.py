"""Reports on calls and training steps in Python equal the output of the commands."""

from __future__ import annotations

import json
from typing import Any

import pytest

import archspec
from archspec.cli.main import main

PLAN = {"checkpointing": True, "data_parallel": 4, "zero": 2}
BUDGET = {"dtype": "bf16", "budget": "1GiB"}
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("flops", {"tokens": 8, "past": 4}, "flops --tokens 8 --past 4"),
    ("cache", {"batch": 2, "tokens": 64, **BUDGET}, "cache --batch 2 --tokens 64 --dtype bf16 --budget 1GiB"),
    ("memory", {"tokens": 64, "weights": "int8", "last": True}, "memory --tokens 64 --weights int8 --last"),
    ("training", PLAN, "memory --train --checkpointing --data-parallel 4 --zero 2"),
]


@pytest.mark.parametrize(("method", "options", "line"), CASES, ids=[case[0] for case in CASES])
def test_python_says_what_the_command_prints(
    method: str, options: dict[str, Any], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = getattr(archspec.load("GPT2LMHeadModel"), method)(**options)
    verb, *rest = line.split()
    assert main([verb, "GPT2LMHeadModel", *rest]) == 0
    assert capsys.readouterr().out == f"{found}\n"
    assert main([verb, "GPT2LMHeadModel", *rest, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found.as_json()
    assert found._repr_html_().startswith("<div><table>") and "GPT2LMHeadModel" in found._repr_html_()


def test_a_step_without_activations_says_why() -> None:
    model = archspec.load("ZambaForCausalLM")
    with pytest.raises(archspec.ArchspecError, match="tokens has no effect: the activations of Zamba"):
        model.training(tokens=8)
    step = model.training()
    found = step.as_json()
    assert step.not_described and found["total_bytes"] == sum(part.bytes for part in step.states)
    assert found["excluded"][0] == "activations" and found["tokens"] is found["batch"] is None
    assert "excluded are:\n  activations\n  the loss" in str(step) and "\ntokens" not in str(step)


def test_sensitivity_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    found = archspec.load("GPT2LMHeadModel").sensitivity("active_params", assume=["n_inner=4*n_embd"])
    line = ["sensitivity", "GPT2LMHeadModel", "--quantity", "active_params", "--assume", "n_inner=4*n_embd"]
    assert main(line) == 0
    assert capsys.readouterr().out == f"{found}\n"
    assert main([*line, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found.as_json()


@pytest.mark.parametrize(
    ("method", "options"),
    [
        *(("training", {"optimizer": wrong}) for wrong in (None, 1, ["adamw"])),
        *(("training", {name: [1]}) for name in ("tokens", "encoder_tokens", "dtype", "attention", "zero")),
        *(("flops", {name: "8"}) for name in ("batch", "tokens", "past", "encoder_tokens")),
        ("forward", {"new_encoder_tokens": ""}),
        ("memory", {"weights": ["nf4"]}),
        ("cache", {"budget": "1GiB", "weights": {"nf4": 1}}),
        ("memory", {"dtype": [1]}),
    ],
)
def test_an_option_of_another_type_is_refused(method: str, options: dict[str, Any]) -> None:
    with pytest.raises(archspec.ArchspecError) as refused:
        getattr(archspec.load("GPT2LMHeadModel"), method)(**options).as_json()
    assert len(refused.value.problems) == 1 and "\n" not in refused.value.problems[0].message


@pytest.mark.parametrize("architecture", ["T5ForConditionalGeneration", "BartForConditionalGeneration"])
def test_other_lengths_of_a_formula_are_those_of_a_call(architecture: str) -> None:
    """The encoder positions of a call follow its memory and its past there, as they do in `flops`."""
    model = archspec.load(architecture)
    formula = model.quantity("flops", tokens=10, encoder_tokens=20)
    changed: list[dict[str, int]] = [{"encoder_tokens": 21}, {"past": 3}, {"past": 3, "encoder_tokens": 25}]
    for lengths in changed:
        expected = model.flops(**{"tokens": 10, "encoder_tokens": 20, **lengths}).flops
        assert formula.at(lengths).evaluate() == formula.evaluate(lengths) == expected
    steps = {row.field: row.step for row in formula.sensitivity().fields}
    for name, value in {"encoder_tokens": 21, "past": 1}.items():
        there = model.flops(**{"tokens": 10, "encoder_tokens": 20, name: value}).flops
        assert steps[name] == there - formula.evaluate()
