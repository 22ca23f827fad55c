"""`archspec flops`, `cache` and `memory`, as people and programs read them."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Command

from archspec.specs.index import CostRecord


def test_flops(cli: Command) -> None:
    text = cli("flops LlamaForCausalLM --tokens 1 --past 2047").out
    assert "14,287,896,576" in text and "model.layers.*.self_attn.q_proj" in text
    assert text.splitlines()[-1].split()[0] == "lm_head"
    found = cli("flops t5 --tokens 4 --encoder-tokens 9 --json").json
    assert found["flops"] == sum(module["flops"] for module in found["modules"])
    assert (found["tokens"], found["encoder_tokens"], found["new_encoder_tokens"]) == (4, 9, 9)


def test_allocations_of_the_cache(cli: Command) -> None:
    found = cli("cache GptOssForCausalLM --tokens 4096 --dtype bf16 --json").json
    assert found["cache_bytes"]["pages"] == 73_728 * 4096
    assert found["cache_bytes"]["exact"] < found["cache_bytes"]["static"] < found["cache_bytes"]["pages"]
    lines = cli("cache Mamba2Model --dtype bf16").out.splitlines()
    dtypes = [line.split()[-1] for line in lines if "state" in line or "conv" in line]
    assert dtypes == ["bfloat16", "float32"]


@pytest.mark.parametrize(
    ("options", "weights_bytes"), [("", 13_476_831_232), ("--weights nf4", 3_642_767_360 + 2 * 262_410_240)]
)
def test_a_budget(options: str, weights_bytes: int, cli: Command) -> None:
    found = cli(f"cache LlamaForCausalLM --dtype bf16 --budget 24GiB --json {options}").json
    assert found["weights_bytes"] == weights_bytes
    left = found["budget_bytes"] - weights_bytes
    assert found["holds"]["exact"] == {"tokens": left // 524_288, "batch": left // (524_288 * 2048)}
    assert "do not fit in" in cli("cache LlamaForCausalLM --dtype bf16 --budget 12GiB").out


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("Mamba2Model", None),
        ("MistralModel --weights nf4", None),  # every layer keeps only the window
        ("GPT2Model", 1024),
        ("LlamaModel --dtype bf16", (2**60 - 2 * 6_607_343_616) // 524_288),
    ],
)
def test_a_cache_that_does_not_grow_fits_any_number_of_tokens(model: str, tokens: Any, cli: Command) -> None:
    command = f"cache {model} --budget {'1048576TiB' if 'Llama' in model else '80GiB'}"
    assert cli(f"{command} --json").json["holds"]["exact"]["tokens"] == tokens
    assert ("any number of tokens" in cli(command).out) == (tokens is None)


def test_memory_adds_up(cli: Command) -> None:
    found = cli("memory GptOssForCausalLM --tokens 4096 --dtype bf16 --json").json
    output = {"needed_by": "lm_head", "bytes": 2 * 4096 * 201_088, "validated": False}
    assert found["temporary_memory"] == dict.fromkeys(found["cache_bytes"], output)
    assert found["cache_bytes"]["pages"] == 73_728 * 4096
    for allocation, total in found["total_bytes"].items():
        assert total == found["weights_bytes"] + found["cache_bytes"][allocation] + output["bytes"]
    last = cli("memory GptOssForCausalLM --tokens 4096 --dtype bf16 --last --json").json
    needed = {"needed_by": "model.layers.0.self_attn.q_proj", "bytes": 2 * 4096 * 4096, "validated": False}
    assert last["temporary_memory"]["exact"] == needed


def test_temporary_memory_of_a_validated_class(cli: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    validated: tuple[str, ...] = ("static", "working_set")
    monkeypatch.setattr(CostRecord, "validated_figures", lambda *_: validated)
    command = "memory LlamaForCausalLM --tokens 1000 --dtype bf16"
    text = cli(command).out
    for line in (
        "peak temporary memory      99,336,000      >= 64,000,000      >= 64,000,000",
        "DynamicCache: peak temporary memory occurs in mlp",
        "StaticCache: peak temporary memory is not validated; lower bound: the output of lm_head",
        "total                  14,100,455,232  >= 14,065,119,232",
    ):
        assert line in text
    for other in ("--dtype float32", "--weights nf4"):
        assert not cli(f"{command} {other} --json").json["temporary_memory"]["exact"]["validated"]
    validated = ("static",)
    assert "temporary memory occurs in" not in cli(command).out


def test_formats_and_columns_of_memory(cli: Command) -> None:
    command = "memory LlamaForCausalLM --weights nf4 --dtype bf16"
    weights = cli(f"{command} --json").json["weights"]
    assert [stored["format"] for stored in weights] == ["nf4", "bfloat16"]
    text = cli(command).out
    assert "weights in nf4" in text and "cache in bfloat16" in text
    assert max(map(len, text.splitlines())) <= 80
    without_cache = cli("memory BertModel").out
    assert "cache" not in without_cache and "encoder.layer.0.intermediate.dense" in without_cache


def test_a_training_step(cli: Command) -> None:
    command = "memory BertForMaskedLM --train --data-parallel 4 --zero 3 --tokens 64"
    found = cli(f"{command} --json").json
    parts = found["parts"][:5]
    names = ["weights", "gradients", "master weights", "momentum", "variance"]
    assert [(part["name"], part["sharded_across"]) for part in parts] == [(name, 4) for name in names]
    assert found["total_bytes"] == sum(part["bytes"] for part in found["parts"])
    assert "inputs and buffers" in found["excluded"] and found["loss_bytes"] > 4 * 64
    text = cli(command).out
    assert "4, ZeRO stage 3" in text and "1/4" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cache BertModel", "does not return a KV cache"),
        ("flops T5Model", "needs an encoder sequence length of at least 1"),
        ("flops T5Model --encoder-tokens 0", "needs an encoder sequence length of at least 1"),
        ("cache gpt2 --batch 99999999999999999999", "--batch 99999999999999999999 is too large"),
        ("cache gpt2 --budget 1e99", "1e99 is too large for a memory budget"),
        ("memory LlamaForCausalLM --dtype int64", "unknown dtype 'int64'"),
        ("table gpt2 --batch 0 --columns flops", "--batch must be an integer of at least 1, not 0"),
        ("table gpt2 --dtype foo --columns bytes", "unknown dtype 'foo'"),
        ("cache LlamaModel --budget many", "write 80GiB"),
        ("cache LlamaModel --weights nf4", "--weights has no effect without --budget"),
        ("memory BertModel --train --past 4", "--past cannot be combined with --train"),
        ("memory BertModel --train --optimizer adam", "did you mean adamw"),
        ("memory LlamaForCausalLM --budget 80GiB", "--budget is an option of archspec cache, lora;"),
        ("memory BertModel --weights mxfp4", "which has no supported layers"),
    ],
)
def test_refused(line: str, message: str, cli: Command) -> None:
    assert message in cli(line, code=2).err
