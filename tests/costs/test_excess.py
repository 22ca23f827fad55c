"""The note on eager code that spends more than active parameters and attention need."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.cli.main import main
from archspec.costs.excess import excess_of
from archspec.costs.records import PRODUCTS
from archspec.costs.totals import own_terms, routed_share, walk
from archspec.errors import ArchspecError
from archspec.specs.library import shipped_library

RECORD = json.loads((Path(shipped_library().folder) / "costs.json").read_text())["types"]
CALLS: tuple[dict[str, int], ...] = ({"tokens": 64}, {"tokens": 1, "past": 4095})


def ratio(model: Any, call: Any) -> Fraction:
    """FLOPs as a multiple of 2 × active parameters × tokens plus attention."""
    attention = 0
    for _, node, routed in walk(call.tree, "flops"):
        others = [flops for name, (flops,) in own_terms("flops", node) if name not in PRODUCTS]
        attention += routed_share(sum(others), routed)
    weights = 2 * call.call.batch * call.call.tokens * Fraction(model.active_params_without_lookup)
    return Fraction(call.flops) / (weights + attention)


@pytest.mark.parametrize("model_type", sorted(name for name, line in RECORD.items() if line["exact"])[::5])
@pytest.mark.parametrize("lengths", CALLS, ids=["prompt", "step"])
def test_the_note_follows_the_ratio(model_type: str, lengths: dict[str, int]) -> None:
    for architecture in RECORD[model_type]["exact"][:2]:
        try:
            model = archspec.load({"model_type": model_type}, architecture)
            call = model.forward(**lengths)
        except ArchspecError:  # an encoder's length, a field or a cache is missing
            continue
        excess = excess_of(call)
        if call.has_items:  # tokens of the text and of images are not the same
            assert excess == (1, None)
            continue
        assert excess.ratio == ratio(model, call)
        assert (excess.note is not None) == (ratio(model, call) > Fraction(6, 5))


@pytest.mark.parametrize(
    ("name", "lengths", "reason"),
    [
        ("DeepseekV3ForCausalLM", {"tokens": 1, "past": 131071}, "kv_b_proj uses its active weights 131,072"),
        ("Llama4ForCausalLM", {"tokens": 1}, "experts uses its active weights 16 times per token"),
        ("AlbertModel", {"tokens": 64}, "uses its active weights 12 times"),
        ("DeepseekV3ForCausalLM", {"tokens": 2048}, ""),
        ("MixtralForCausalLM", {"tokens": 1, "past": 9}, ""),
        ("LlamaForCausalLM", {}, ""),
        ("T5Model", {"tokens": 1, "encoder_tokens": 512}, ""),
    ],
)
def test_the_note_names_the_module_with_most_of_the_excess(
    name: str, lengths: dict[str, int], reason: str
) -> None:
    found = archspec.load(name).flops(**lengths)
    assert [reason in note for note in found.notes] == [True] * bool(reason)
    assert found.as_json()["notes"] == found.notes


@pytest.mark.parametrize(
    "line",
    [
        "flops Llama4ForCausalLM {} --tokens 8",
        "memory Llama4ForCausalLM {} --tokens 8 --train",
        "table Llama4ForCausalLM --columns model,flops",
        "diff LlamaForCausalLM Llama4ForCausalLM --tokens 8",
        "sweep Llama4ForCausalLM --set num_hidden_layers=2,3 --columns flops --tokens 8",
    ],
)
def test_every_report_of_flops_has_the_note(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.format("--set num_hidden_layers=2").split()) in (0, 1)
    printed = capsys.readouterr()
    assert "note: " in printed.out + printed.err
    assert "experts uses its active weights 16 times" in printed.out + printed.err
