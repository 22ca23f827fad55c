"""`archspec memory`, of a call and of a training step, as a person and as a program read it."""

from __future__ import annotations

import json

import pytest

from archspec.cli.main import main
from archspec.specs.index import CostRecord

Captured = pytest.CaptureFixture[str]


def test_weights_cache_and_output_add_up(capsys: Captured) -> None:
    command = ["memory", "GptOssForCausalLM", "--tokens", "4096", "--dtype", "bf16", "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    output = {"needed_by": "lm_head", "bytes": 2 * 4096 * 201_088, "exact": False}
    assert found["working_set"] == dict.fromkeys(found["cache_bytes"], output)
    assert found["cache_bytes"]["pages"] == 73_728 * 4096
    for allocation, total in found["total_bytes"].items():
        parts = found["weights_bytes"] + found["cache_bytes"][allocation] + output["bytes"]
        assert total == parts


def test_a_working_set_is_given_where_it_was_held_to_torch(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: tuple[str, ...] = ("static", "working_set")
    monkeypatch.setattr(CostRecord, "held", lambda *_: held)
    command = ["memory", "LlamaForCausalLM", "--tokens", "1000", "--dtype", "bf16"]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "temporary memory         99,336,000      >= 64,000,000      >= 64,000,000" in text
    assert "cache exact: the peak is in mlp" in text
    assert "cache static: lower bound (not validated): the output of lm_head" in text
    assert "total                14,100,455,232  >= 14,065,119,232" in text
    for other in (["--dtype", "float32"], ["--weights", "nf4"]):
        assert main([*command, *other, "--json"]) == 0
        assert not json.loads(capsys.readouterr().out)["working_set"]["exact"]["exact"]
    held = ("static",)
    assert main(command) == 0
    assert "the peak is in" not in capsys.readouterr().out


def test_the_last_position_has_few_logits(capsys: Captured) -> None:
    command = ["memory", "GptOssForCausalLM", "--tokens", "4096", "--dtype", "bf16", "--last", "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)["working_set"]["exact"]
    assert found == {"needed_by": "model.layers.0.self_attn.q_proj", "bytes": 2 * 4096 * 4096, "exact": False}


def test_weights_are_stored_as_is_asked_for(capsys: Captured) -> None:
    command = ["memory", "LlamaForCausalLM", "--weights", "nf4", "--dtype", "bf16"]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [stored["format"] for stored in found["weights"]] == ["nf4", "bfloat16"]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "weights in nf4" in text and "cache in bfloat16" in text
    assert max(map(len, text.splitlines())) <= 80


def test_what_keeps_no_cache_has_one_column(capsys: Captured) -> None:
    assert main(["memory", "BertModel"]) == 0
    text = capsys.readouterr().out
    assert "cache" not in text and "encoder.layer.0.intermediate.dense" in text


def test_a_training_step_says_where_its_memory_goes(capsys: Captured) -> None:
    command = [
        "memory",
        "BertForMaskedLM",
        "--train",
        "--data-parallel",
        "4",
        "--zero",
        "3",
        "--tokens",
        "64",
    ]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    names = ["weights", "gradients", "copy of the weights", "momentum", "variance"]
    assert [part["name"] for part in found["parts"]][:5] == names
    assert [part["shared_by"] for part in found["parts"]][:5] == [4] * 5
    assert found["total_bytes"] == sum(part["bytes"] for part in found["parts"])
    assert "inputs and buffers" in found["excluded"] and found["loss_bytes"] > 4 * 64
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "4, ZeRO stage 3" in text and "1/4" in text
    assert max(map(len, text.splitlines())) <= 80


def test_what_cannot_be_answered_is_refused(capsys: Captured) -> None:
    assert main(["memory", "BertModel", "--train", "--past", "4"]) == 2
    assert "--past cannot be combined with --train" in capsys.readouterr().err
    assert main(["memory", "BertModel", "--train", "--optimizer", "adam"]) == 2
    assert "did you mean adamw" in capsys.readouterr().err
    assert main(["memory", "BertModel", "--weights", "mxfp4"]) == 2
    assert "none of the weights" in capsys.readouterr().err


def test_a_budget_holds_quantized_weights(capsys: Captured) -> None:
    command = ["cache", "LlamaForCausalLM", "--dtype", "bf16", "--budget", "24GiB", "--json"]
    assert main([*command, "--weights", "nf4"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["weights_bytes"] == 3_642_767_360 + 2 * 262_410_240
    assert found["holds"]["exact"]["tokens"] == (found["budget_bytes"] - found["weights_bytes"]) // 524_288
