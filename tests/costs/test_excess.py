"""The note on eager code that spends more than active parameters and attention need, and its reasons."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.cli.main import main
from archspec.costs.forward import own_flops
from archspec.costs.notes.excess import Excess
from archspec.costs.records import PRODUCTS
from archspec.errors import ArchspecError
from archspec.specs.library import shipped

RECORD = json.loads((Path(shipped().folder) / "costs.json").read_text())["types"]
CALLS: tuple[dict[str, int], ...] = ({"tokens": 64}, {"tokens": 1, "past": 4095})
REASONS = (
    " experts for each token",
    " for all ",
    " in an average layer",
    " times with the same weights",
    " times for each token",
    " share",
)


def ratio(model: Any, call: Any) -> Fraction:
    """FLOPs as a multiple of 2 × active parameters × tokens plus attention."""
    attention = sum(cost.flops for _, cost in own_flops(call.tree) if cost.name not in PRODUCTS)
    lengths = call.call
    weights = 2 * lengths.batch * lengths.tokens * Fraction(model.active_params_without_lookup)
    return Fraction(call.flops) / (weights + attention)


@pytest.mark.parametrize("model_type", sorted(name for name, line in RECORD.items() if line["exact"])[::5])
@pytest.mark.parametrize("lengths", CALLS, ids=["prompt", "step"])
def test_the_note_is_there_exactly_when_the_ratio_exceeds_the_limit(
    model_type: str, lengths: dict[str, int]
) -> None:
    for architecture in RECORD[model_type]["exact"][:2]:
        try:
            model = archspec.load({"model_type": model_type}, architecture)
            call = model.forward(**lengths)
        except ArchspecError:  # an encoder's length is needed, a field is required, or there is no cache
            continue
        excess = Excess(call)
        assert excess.ratio == ratio(model, call)
        assert (excess.note is not None) == (ratio(model, call) > Fraction(6, 5))
        assert excess.note is None or any(reason in excess.note for reason in REASONS), excess.note


@pytest.mark.parametrize(
    ("name", "lengths", "reason"),
    [
        (
            "DeepseekV3ForCausalLM",
            {"tokens": 1, "past": 131071},
            "kv_b_proj expands the latent cache again, for all 131,072",
        ),
        (
            "Llama4ForCausalLM",
            {"tokens": 1},
            "experts computes 16 experts for each token, whose router chooses 1",
        ),
        ("AlbertModel", {"tokens": 64}, "runs 12 times with the same weights"),
        (
            "Dots3NoteForCausalLM",
            {"tokens": 1, "past": 4095},
            "kv_b_proj expands the latent cache again, for 1,370.84",
        ),
    ],
)
def test_the_reason_follows_from_the_module(name: str, lengths: dict[str, int], reason: str) -> None:
    found = archspec.load(name).flops(**lengths)
    (note,) = found.notes
    assert reason in note and found.as_json()["notes"] == [note] and f"note: {note}" in found.text()


@pytest.mark.parametrize(
    ("name", "lengths"),
    [
        ("DeepseekV3ForCausalLM", {"tokens": 2048}),
        ("MixtralForCausalLM", {"tokens": 1, "past": 9}),
        ("LlamaForCausalLM", {}),
        ("T5Model", {"tokens": 1, "encoder_tokens": 512}),
    ],
)
def test_code_without_excess_has_no_note(name: str, lengths: dict[str, int]) -> None:
    assert archspec.load(name).flops(**lengths).notes == []


def test_every_report_of_flops_has_the_note(capsys: pytest.CaptureFixture[str]) -> None:
    note = "computes 16 experts for each token, whose router chooses 1"
    layers = ["--set", "num_hidden_layers=2"]
    for command in (
        ["flops", "Llama4ForCausalLM", *layers, "--tokens", "8"],
        ["memory", "Llama4ForCausalLM", *layers, "--tokens", "8", "--train"],
        ["table", "Llama4ForCausalLM", "--columns", "model,flops"],
        ["diff", "LlamaForCausalLM", "Llama4ForCausalLM", "--tokens", "8"],
        [
            "sweep",
            "Llama4ForCausalLM",
            "--set",
            "num_hidden_layers=2,3",
            "--columns",
            "flops",
            "--tokens",
            "8",
        ],
    ):
        assert main(command) in (0, 1)  # diff finds differences
        printed = capsys.readouterr()
        assert note in printed.out + printed.err, command
