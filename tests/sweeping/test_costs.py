"""Costs of a call over a grid are those of each of its points."""

from __future__ import annotations

import json
from typing import Any

import pytest

import archspec
from archspec.cli.main import main
from archspec.errors import ArchspecError
from archspec.tables.quantities import COST_COLUMNS

GRIDS: dict[str, tuple[dict[str, str], dict[str, int], int]] = {  # fields, a call, regions that it may need
    "LlamaForCausalLM": ({"hidden_size": "512:1024:256", "num_hidden_layers": "1:12"}, {"tokens": 100}, 1),
    "GptOssForCausalLM": (
        {"num_hidden_layers": "2:7", "num_local_experts": "8,32"},
        {"tokens": 300, "past": 7},
        6,
    ),
    "DeepseekV3ForCausalLM": (
        {"num_hidden_layers": "2:7", "first_k_dense_replace": "0:4"},
        {"tokens": 50},
        16,
    ),
    "BertModel": ({"num_hidden_layers": "2:9", "hidden_size": "96:240:48"}, {"tokens": 50, "batch": 3}, 1),
    "AlbertModel": ({"num_hidden_layers": "2:9"}, {"tokens": 50, "batch": 3}, 1),
}


@pytest.mark.parametrize("name", GRIDS)
def test_each_point_costs_what_its_call_does(name: str) -> None:
    fields, lengths, regions = GRIDS[name]
    columns = [one for one in COST_COLUMNS if one != "training_flops" or "past" not in lengths]
    grid = archspec.sweep(name, fields, columns=["params", *columns], **lengths)
    rows = list(grid.rows())
    assert len(rows) == grid.points
    for row in rows:
        model = archspec.load(name, set={field: row[field] for field in fields})
        call = model.forward(**lengths)
        found = {"flops": call.flops, "masked_flops": call.masked_flops}
        if "past" not in lengths:
            found["training_flops"] = call.training_flops
        found |= {"cache_elements": call.cache_elements(), "cache_bytes": call.cache_bytes(model.dtype)}
        assert {column: row[column] for column in columns} == found
    assert len(grid.engine.regions) <= regions


def test_layers_that_differ_in_their_costs_alone_are_told_apart() -> None:
    """gpt-oss's layers have the same tensors; every other one has a window."""
    row = next(archspec.sweep("GptOssModel", {"num_hidden_layers": "12:12"}, columns="cache_elements").rows())
    assert row["cache_elements"] == 2 * 8 * 64 * 6 * (127 + 2048)


def test_costs_may_be_filtered_and_in_a_dtype() -> None:
    fields = {"num_hidden_layers": "1:4"}
    grid = archspec.sweep(
        "LlamaForCausalLM", fields, columns="cache_bytes", where="flops < 2e12", dtype="bf16", tokens=64
    )
    assert [row["cache_bytes"] for row in grid.rows()] == [
        2 * 2 * 4096 * 64 * layers for layers in (1, 2, 3, 4)
    ]


@pytest.mark.parametrize(
    ("name", "lengths", "message"),
    [
        ("BertModel", {"past": 4}, "does not return a KV cache"),
        ("LlamaModel", {"encoder_tokens": 4}, "does not attend to an encoder"),
        ("LlamaModel", {"tokens": 0}, "tokens is 0"),
        ("Wav2Vec2Model", {}, "are not supported"),
    ],
)
def test_calls_that_make_no_sense_are_refused(name: str, lengths: dict[str, Any], message: str) -> None:
    with pytest.raises(ArchspecError, match=message):
        list(archspec.sweep(name, {"num_hidden_layers": "1:2"}, columns="flops", **lengths).rows())


def test_a_training_step_has_no_past() -> None:
    fields = {"num_hidden_layers": "1:2"}
    with pytest.raises(ArchspecError, match="a training step does not have a KV cache"):
        list(archspec.sweep("LlamaModel", fields, columns="training_flops", past=4).rows())


def test_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["sweep", "LlamaForCausalLM", "--set", "num_hidden_layers=16,32"]
    assert (
        main([*command, "--columns", "flops,cache_bytes", "--tokens", "1", "--past", "2047", "--json"]) == 0
    )
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last == {"num_hidden_layers": 32, "flops": 14_287_896_576, "cache_bytes": 2 * 1_073_741_824}
