"""Budgets as users write them, scaling laws, and costs of the nearest configs."""

from __future__ import annotations

import json
from typing import Any

import pytest

import archspec
from archspec.cli.main import main
from archspec.errors import ArchspecError, SweepError
from archspec.solving.budgets import Goal, parse_goal, ratio_condition, size_of
from archspec.solving.laws import find_optimum
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
    with pytest.raises(SweepError, match=r"(?s)memory in bytes <= 100; .*raise memory to 192,184,320"):
        solve("GPT2LMHeadModel", "n_layer", memory="100")


def test_memory_is_only_a_limit_next_to_a_size() -> None:
    found = solve("LlamaForCausalLM", "num_hidden_layers", params="3e9", dtype="bf16", memory="24GiB", top=1)
    assert found[0].params == pytest.approx(3e9, rel=0.05)


def test_a_law_turns_compute_into_a_size(capsys: pytest.CaptureFixture[str]) -> None:
    found, wanted = best(compute="1e21", law="kaplan"), find_optimum(1e21, "kaplan")
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
        ({"flops": "1e22"}, "flops needs tokens"),
        ({"tokens": "2e11"}, "tokens has no effect without flops"),
        ({"law": "kaplan"}, "law has no effect without compute"),
        ({"batch": 2, "params": "1e9"}, "batch has no effect without memory"),
        ({"sequence": 8, "params": "1e9"}, "sequence has no effect without flops or memory"),
        ({"sequence": 0, "memory": "1GiB"}, "sequence must be at least 1"),
        ({"flops": "1e22", "tokens": "2e11", "memory": "1GiB"}, "flops cannot be combined with memory"),
        ({"compute": "1e21", "params": "7B"}, "compute cannot be combined with a target of params"),
        ({"batch": 0, "memory": "1GiB"}, "^batch must be at least 1"),
        ({"compute": "1e40"}, "1e40 is too large"),
        ({"flops": "much", "tokens": "2e11"}, "much is not a number of FLOPs"),
        ({"flops": "10", "tokens": "26e9"}, "too few"),
        ({"flops": "1e38", "tokens": "1000"}, "too many"),
        ({"compute": "1e21", "law": "none"}, "unknown scaling law 'none'"),
        ({"params": "1e9", "ratio": {"hidden_size/num_hidden_layers": "9..8"}}, "first: 8..9"),
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
        solve("ReformerModel", "num_hidden_layers", flops="1e20", tokens="1e9")
    with pytest.raises(ArchspecError, match="not supported for encoder-decoders such as T5Model"):
        solve("t5", memory="80GiB")


def test_memory_of_an_encoder_is_that_of_its_weights() -> None:
    (found,) = solve("BertModel", "num_hidden_layers", memory="1GiB", top=1)
    assert found.costs["memory"] == 4 * found.params


def test_an_error_about_training_flops_counts_all_tokens() -> None:
    """The nearest config and the budget have the same unit: FLOPs for all tokens, not for one sequence."""
    with pytest.raises(SweepError) as caught:
        solve("GPT2LMHeadModel", "n_layer", flops="1e22", tokens="26e9", set=["n_layer=1:3"], within=1)
    one = archspec.load("GPT2LMHeadModel", set={"n_layer": 3}).forward(tokens=1024).training_flops
    spent = one * -(-26_000_000_000 // 1024)
    shown = f"training FLOPs = {spent:,} on 26,000,000,000 tokens (budget: 10,000,000,000,000,000,000,000)"
    assert shown in str(caught.value) and f"{one:,}" not in str(caught.value)


SIZES = {
    **dict.fromkeys(("7e9", "7b", "7,000,000,000"), 7 * 10**9),
    **dict.fromkeys(("350M", "350m"), 35 * 10**7),
    "1.3B": 13 * 10**8,
    "1.5T": 15 * 10**11,
    "2_000": 2000,
    5: 5,
    1e3: 1000,
}
BYTES = {"16GiB": 2**34, "16gb": 16 * 10**9, "1 KiB": 1024, "7B": 7, "2.5kB": 2500}
INVALID = ["", "x", "-3", "0", "7q", "1.5", "1e99", "nan", "2..1", "..", "1..2..3", "7 e9", "1Gb", "1,2"]


def test_sizes() -> None:
    assert {text: size_of(text) for text in SIZES} == SIZES
    assert {text: size_of(text, "bytes") for text in BYTES} == BYTES


def test_bytes_are_a_limit_unless_a_range_is_given() -> None:
    assert parse_goal("bytes", "1GiB") == Goal("bytes", 2**30, None, 2**30)
    assert parse_goal("bytes", "1GiB..2GiB") == Goal("bytes", None, 2**30, 2**31)


@pytest.mark.parametrize("text", INVALID)
def test_invalid_sizes_are_refused(text: str) -> None:
    with pytest.raises(SweepError, match=r"is not a number of|is not a range|is too large"):
        parse_goal("params", text)


def test_ratios_are_conditions_on_whole_numbers() -> None:
    assert ratio_condition("a/b", "1.1..4/3") == "b > 0 and 11 * (b) <= 10 * (a) and 3 * (a) <= 4 * (b)"
    ratio = "b + c > 0 and 2 * (b + c) <= 1 * (a) and 1 * (a) <= 2 * (b + c)"
    assert ratio_condition("a/(b+c)", "2") == ratio
    assert ratio_condition("a/b", (2, 3)) == ratio_condition("a / b", "2..3")
    assert ratio_condition("a/b", "..3") == "b > 0 and 1 * (a) <= 3 * (b)"


ROWS = {  # parameters, FLOPs: arXiv:2203.15556, table 3 (approach 1) and table A3 (2 and 3)
    "chinchilla": "400e6 1.92e19, 1e9 1.21e20, 10e9 1.23e22, 175e9 3.85e24, 1e12 1.27e26, 10e12 1.30e28",
    "chinchilla-isoflop": "400e6 1.84e19, 1e9 1.20e20, 10e9 1.32e22, 67e9 6.88e23",
    "chinchilla-parametric": "400e6 2.21e19, 1e9 1.62e20, 10e9 2.46e22, 67e9 1.71e24",
}


@pytest.mark.parametrize(("law", "row"), [(law, row) for law in ROWS for row in ROWS[law].split(", ")])
def test_the_tables_of_hoffmann_et_al(law: str, row: str) -> None:
    """The tolerance is that of their rounding: sizes and exponents have two digits."""
    params, compute = map(float, row.split())
    found = find_optimum(compute, law)
    assert found.params == pytest.approx(params, rel=0.06)
    assert 6 * found.params * found.tokens == pytest.approx(compute)


def test_the_parametric_loss_is_least_at_its_optimum() -> None:
    def loss(params: float) -> float:
        return float(482.01 / params**0.3478 + 2085.43 / (1e21 / 6 / params) ** 0.3658)

    best = find_optimum(1e21, "besiroglu").params
    assert loss(best) < min(loss(best * 1.01), loss(best * 0.99))


def test_other_papers() -> None:
    found = find_optimum(5.76e23, "besiroglu")  # arXiv:2404.10102, section 3: about 20 tokens per parameter
    assert 15 < found.tokens / found.params < 25
    petaflop_day = find_optimum(1e15 * 86400, "kaplan")  # arXiv:2001.08361, table 6
    assert (petaflop_day.counts, petaflop_day.params) == ("non_embedding_params", 1_300_000_000)


@pytest.mark.parametrize(
    ("compute", "law"),
    [(1e21, "chinchila"), (0, "kaplan"), (float("nan"), "kaplan"), (1, "kaplan"), (1, "chinchilla")],
)
def test_unknown_laws_and_invalid_compute_are_refused(compute: float, law: str) -> None:
    with pytest.raises(ArchspecError, match=r"did you mean chinchilla|is not a compute budget|is too small"):
        find_optimum(compute, law)
