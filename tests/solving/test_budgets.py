"""Budgets of training and serving are met by what the nearest configs cost."""

from __future__ import annotations

import json
from typing import Any

import pytest

import archspec
from archspec.cli.main import main
from archspec.errors import ArchspecError, SweepError
from archspec.solving.budgets import Plan
from archspec.solving.solve import solve


def best(**plan: Any) -> Any:
    return solve("LlamaForCausalLM", ["num_hidden_layers"], top=1, dtype="bf16", **plan)[0]


def test_flops_of_training_on_some_tokens() -> None:
    found = best(flops="1e22", tokens="2e11", sequence=4096)
    model = archspec.load(found.config)
    sequences = -(-200_000_000_000 // 4096)
    whole = sequences * model.forward(1, 4096).training_flops
    assert found.costs == {"training_flops": whole}
    layers = found.values["num_hidden_layers"]
    for other in (layers - 1, layers + 1):
        near = archspec.load("LlamaForCausalLM", set={"num_hidden_layers": other})
        assert abs(near.forward(1, 4096).training_flops * sequences - 10**22) > abs(whole - 10**22)


def test_memory_holds_weights_and_cache() -> None:
    found = best(memory="24GiB", batch=2, sequence=1000)
    model = archspec.load(found.config)
    held = model.params_bytes("bf16") + model.forward(2, 1000).cache_bytes("bf16")
    assert found.costs == {"memory": held} and held <= 24 * 2**30
    more = {"num_hidden_layers": found.values["num_hidden_layers"] + 1}
    larger = archspec.load("LlamaForCausalLM", set=more)
    assert larger.params_bytes("bf16") + larger.forward(2, 1000).cache_bytes("bf16") > 24 * 2**30


def test_a_law_gives_a_size_and_tokens() -> None:
    found = best(compute="1e21", law="kaplan")
    wanted = Plan(compute="1e21", law="kaplan").optimum
    assert wanted is not None and found.costs["tokens"] == wanted.tokens
    assert found.costs["non_embedding_params"] == pytest.approx(wanted.params, rel=0.02)


def test_memory_is_only_a_limit_beside_a_size() -> None:
    found = solve("LlamaForCausalLM", "num_hidden_layers", params="3e9", dtype="bf16", memory="24GiB", top=1)
    assert found[0].params == pytest.approx(3e9, rel=0.05)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"flops": "1e22"}, "give --flops and --tokens"),
        ({"tokens": "2e11"}, "give --flops and --tokens"),
        ({"law": "kaplan"}, "has no compute"),
        ({"flops": "1e22", "tokens": "2e11", "memory": "1GiB"}, "of training or of serving"),
        ({"flops": "much", "tokens": "2e11"}, "much is no number of FLOPs"),
        ({"compute": "1e21", "law": "none"}, "none is no law"),
        ({}, "no budget is given"),
    ],
    ids=str,
)
def test_plans_that_leave_something_open_are_refused(plan: dict[str, Any], message: str) -> None:
    with pytest.raises(ArchspecError, match=message):
        best(**plan)


def test_a_class_without_costs_has_no_budget_of_them() -> None:
    with pytest.raises(ArchspecError, match="are not given"):
        solve("Wav2Vec2Model", "num_hidden_layers", flops="1e20", tokens="1e9")


def test_a_law_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "LlamaForCausalLM", "--compute", "5.76e23", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["law"]["law"], found["law"]["params"]) == ("chinchilla", 67_000_000_000)


def test_a_failing_budget_of_flops_speaks_of_all_tokens() -> None:
    """The nearest config and the budget have one unit: FLOPs on all tokens, not those of one sequence."""
    with pytest.raises(SweepError) as caught:
        archspec.solve(
            "GPT2LMHeadModel", "n_layer", flops="1e22", tokens="26e9", set=["n_layer=1:3"], within=1
        )
    one = archspec.load("GPT2LMHeadModel", set={"n_layer": 3}).forward(tokens=1024).training_flops
    spent = one * -(-26_000_000_000 // 1024)
    shown = f"training FLOPs = {spent:,} on 26,000,000,000 tokens (budget: 10,000,000,000,000,000,000,000)"
    assert shown in str(caught.value)
    assert f"{one:,}" not in str(caught.value)


@pytest.mark.parametrize(
    ("flops", "tokens", "wrong"), [("10", "26e9", "too few"), ("1e38", "1000", "too many")]
)
def test_flops_that_no_sequence_can_spend_are_refused(flops: str, tokens: str, wrong: str) -> None:
    with pytest.raises(SweepError, match=wrong):
        archspec.solve("GPT2LMHeadModel", flops=flops, tokens=tokens)


def test_a_memory_budget_is_called_by_its_name() -> None:
    with pytest.raises(SweepError, match="memory in bytes <= 100: the nearest has 192,184,320"):
        archspec.solve("GPT2LMHeadModel", "n_layer", memory="100")
