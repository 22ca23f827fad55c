"""`archspec flops` and `archspec cache`, as a person and as a program read them."""

from __future__ import annotations

import json

import pytest

from archspec.cli.main import main

Captured = pytest.CaptureFixture[str]


def test_flops_by_module(capsys: Captured) -> None:
    assert main(["flops", "LlamaForCausalLM", "--tokens", "1", "--past", "2047"]) == 0
    text = capsys.readouterr().out
    assert "14,287,896,576" in text
    assert "model.layers.*.self_attn.q_proj" in text
    assert text.splitlines()[-1].split()[0] == "lm_head"


def test_flops_json_adds_up(capsys: Captured) -> None:
    assert main(["flops", "t5", "--tokens", "4", "--encoder-tokens", "9", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["flops"] == sum(module["flops"] for module in found["modules"])
    assert (found["tokens"], found["encoder_tokens"], found["new_encoder_tokens"]) == (4, 9, 9)


def test_cache_says_what_each_allocation_reserves(capsys: Captured) -> None:
    assert main(["cache", "GptOssForCausalLM", "--tokens", "4096", "--dtype", "bf16", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cache_bytes"]["pages"] == 73_728 * 4096
    assert found["cache_bytes"]["exact"] < found["cache_bytes"]["static"] < found["cache_bytes"]["pages"]


def test_states_are_told_with_their_dtype(capsys: Captured) -> None:
    assert main(["cache", "Mamba2Model", "--dtype", "bf16"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines if "state" in line or "conv" in line] == ["bf16", "float32"]


def test_a_budget_holds_weights_and_cache(capsys: Captured) -> None:
    command = ["cache", "LlamaForCausalLM", "--dtype", "bf16", "--budget", "24GiB", "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    left = found["budget_bytes"] - found["weights_bytes"]
    assert found["holds"]["exact"] == {"tokens": left // 524_288, "batch": left // (524_288 * 2048)}
    assert main([*command[:-3], "--budget", "12GiB"]) == 0
    assert "do not fit in" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("Mamba2Model", None),
        ("MistralModel --weights nf4", None),  # every layer keeps the window alone
        ("GPT2Model", 1024),
        ("LlamaModel --dtype bf16", (2**60 - 2 * 6_607_343_616) // 524_288),
    ],
)
def test_a_cache_that_does_not_grow_fits_any_number_of_tokens(
    model: str, tokens: int | None, capsys: Captured
) -> None:
    budget = "--budget", "1048576TiB" if "Llama" in model else "80GiB"
    assert main(["cache", *model.split(), *budget, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["holds"]["exact"]["tokens"] == tokens
    assert main(["cache", *model.split(), *budget]) == 0
    assert ("any number of tokens" in capsys.readouterr().out) == (tokens is None)


def test_what_cannot_be_answered_is_refused(capsys: Captured) -> None:
    assert main(["cache", "BertModel"]) == 2
    assert "does not return a KV cache" in capsys.readouterr().err
    assert main(["flops", "T5Model"]) == 2
    assert "sequence length as encoder_tokens" in capsys.readouterr().err
    assert main(["cache", "LlamaModel", "--budget", "many"]) == 2
    assert "write 80GiB" in capsys.readouterr().err
    assert main(["cache", "LlamaModel", "--weights", "nf4"]) == 2
    assert "give a budget" in capsys.readouterr().err
