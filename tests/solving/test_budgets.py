"""Budgets for training and inference are matched by the costs of the nearest configs."""

from __future__ import annotations

import json
from typing import Any

import pytest

import archspec
from archspec.cli.main import main
from archspec.errors import ArchspecError, SweepError
from archspec.solving.laws import optimum
from archspec.solving.solve import solve


def best(**budgets: Any) -> Any:
    return solve("LlamaForCausalLM", ["num_hidden_layers"], top=1, dtype="bf16", **budgets)[0]


def test_training_flops() -> None:
    found = best(flops="1e22", tokens="2e11", sequence=4096)
    sequences = -(-200_000_000_000 // 4096)
    layers = found.values["num_hidden_layers"]

    def spent(layers: int) -> int:
        model = archspec.load("LlamaForCausalLM", set={"num_hidden_layers": layers})
        return sequences * model.forward(1, 4096).training_flops

    assert found.costs == {"training_flops": spent(layers)}
    miss = abs(spent(layers) - 10**22)
    assert all(abs(spent(other) - 10**22) > miss for other in (layers - 1, layers + 1))


def test_memory_is_weights_and_cache() -> None:
    found = best(memory="24GiB", batch=2, sequence=1000)

    def held(layers: int) -> int:
        model = archspec.load("LlamaForCausalLM", set={"num_hidden_layers": layers})
        return model.params_bytes("bf16") + model.forward(2, 1000).cache_bytes("bf16")

    layers = found.values["num_hidden_layers"]
    assert found.costs == {"memory": held(layers)} and held(layers) <= 24 * 2**30 < held(layers + 1)
    with pytest.raises(SweepError, match=r"memory in bytes <= 100 is the obstacle: .*192,184,320"):
        solve("GPT2LMHeadModel", "n_layer", memory="100")


def test_memory_is_only_a_limit_next_to_a_size() -> None:
    found = solve("LlamaForCausalLM", "num_hidden_layers", params="3e9", dtype="bf16", memory="24GiB", top=1)
    assert found[0].params == pytest.approx(3e9, rel=0.05)


def test_a_law_turns_compute_into_a_size(capsys: pytest.CaptureFixture[str]) -> None:
    found, wanted = best(compute="1e21", law="kaplan"), optimum(1e21, "kaplan")
    assert found.costs["tokens"] == wanted.tokens
    assert found.costs["non_embedding_params"] == pytest.approx(wanted.params, rel=0.02)
    shaped = solve("LlamaForCausalLM", compute="1e21", top=1)
    assert shaped.law is not None and str(shaped).startswith("law       ")
    assert shaped.as_json()["solutions"][0]["costs"]["tokens"] == shaped.law.tokens
    assert shaped[0].params == pytest.approx(shaped.law.params, rel=0.01)
    assert main(["solve", "LlamaForCausalLM", "--compute", "5.76e23", "--json"]) == 0
    law = json.loads(capsys.readouterr().out)["law"]
    assert (law["law"], law["params"]) == ("chinchilla", 67_000_000_000)


@pytest.mark.parametrize(
    ("budgets", "message"),
    [
        ({"flops": "1e22"}, "give --flops and --tokens"),
        ({"tokens": "2e11"}, "give --flops and --tokens"),
        ({"law": "kaplan"}, "law requires compute"),
        ({"batch": 2, "params": "1e9"}, "batch requires memory"),
        ({"sequence": 8, "params": "1e9"}, "sequence requires flops or memory"),
        ({"sequence": 0, "memory": "1GiB"}, "1 token or more"),
        ({"flops": "1e22", "tokens": "2e11", "memory": "1GiB"}, "flops and memory cannot be combined"),
        ({"flops": "much", "tokens": "2e11"}, "much is not a number of FLOPs"),
        ({"flops": "10", "tokens": "26e9"}, "too few"),
        ({"flops": "1e38", "tokens": "1000"}, "too many"),
        ({"compute": "1e21", "law": "none"}, "unknown scaling law 'none'"),
        ({"buffers": "1e6"}, "no argument buffers\nhelp: choose from: active_params, architecture, batch, "),
        ({}, "no budget is given"),
    ],
    ids=str,
)
def test_incomplete_budgets_are_refused(budgets: dict[str, Any], message: str) -> None:
    with pytest.raises(ArchspecError, match=message):
        best(**budgets)


def test_a_class_without_costs_has_no_budget_for_them() -> None:
    with pytest.raises(ArchspecError, match="are not supported"):
        solve("Wav2Vec2Model", "num_hidden_layers", flops="1e20", tokens="1e9")


def test_an_error_about_training_flops_counts_all_tokens() -> None:
    """The nearest config and the budget have the same unit: FLOPs for all tokens, not for one sequence."""
    with pytest.raises(SweepError) as caught:
        solve("GPT2LMHeadModel", "n_layer", flops="1e22", tokens="26e9", set=["n_layer=1:3"], within=1)
    one = archspec.load("GPT2LMHeadModel", set={"n_layer": 3}).forward(tokens=1024).training_flops
    spent = one * -(-26_000_000_000 // 1024)
    shown = f"training FLOPs = {spent:,} on 26,000,000,000 tokens (budget: 10,000,000,000,000,000,000,000)"
    assert shown in str(caught.value) and f"{one:,}" not in str(caught.value)
