"""What a call of two models costs, side by side."""

from __future__ import annotations

import json

import pytest

import archspec
from archspec.cli.main import main
from archspec.compare.costs import cost_changes
from archspec.errors import ArchspecError

COMMAND = ["diff", "LlamaForCausalLM", "LlamaForCausalLM", "--set-b", "num_key_value_heads=8"]


def test_costs_are_those_of_each_call() -> None:
    a, b = archspec.load("BertModel"), archspec.load("BertModel", set={"num_hidden_layers": 6})
    flops, cache = cost_changes(a, b, {"tokens": 100, "batch": 2})
    assert flops[1:] == (a.forward(2, 100).flops, b.forward(2, 100).flops)
    assert cache[1:] == (0, 0)


def test_a_side_without_costs_is_named() -> None:
    with pytest.raises(ArchspecError, match="B: the costs of Wav2Vec2Model"):
        cost_changes(archspec.load("BertModel"), archspec.load("Wav2Vec2Model"), {"tokens": 4})


def test_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--tokens", "2048"]) == 1
    assert "cache elements" in capsys.readouterr().out
    assert main([*COMMAND, "--tokens", "2048", "--json"]) == 1
    cache = json.loads(capsys.readouterr().out)["costs"][1]
    assert cache == {"quantity": "cache_elements", "before": 4 * cache["after"], "after": 2048 * 65_536}
    assert main(COMMAND) == 1
    assert "cache elements" not in capsys.readouterr().out
    assert main([*COMMAND, "--past", "4"]) == 2
    assert "--past has no effect without --tokens" in capsys.readouterr().err
