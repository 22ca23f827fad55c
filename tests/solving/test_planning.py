"""Without --free the shape is chosen: configs in the family's proportions come first."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.cli.main import main
from archspec.errors import SweepError
from archspec.solving.solve import solve

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.mark.parametrize(
    ("architecture", "params", "shape"),
    [
        ("LlamaForCausalLM", "7b", (4096, 32)),
        ("LlamaForCausalLM", "13b", (5120, 40)),
        ("GPT2LMHeadModel", "124M", (768, 12)),
        ("BertForMaskedLM", "110M", (768, 12)),
        ("MixtralForCausalLM", "47b", (4096, 32)),
        ("DeepseekV3ForCausalLM", "671b", (7168, 61)),
        ("T5ForConditionalGeneration", "3b", (2048, 24)),
        ("ViTForImageClassification", "86M", (768, 12)),
        ("Qwen3NextForCausalLM", "80b", (2048, 48)),
    ],
)
def test_the_familys_shapes_come_first(architecture: str, params: str, shape: tuple[int, int]) -> None:
    (first,) = solve(architecture, params=params, top=1)
    assert tuple(first.values.values())[:2] == shape


def test_configs_have_round_sizes_and_are_complete() -> None:
    found = solve("LlamaForCausalLM", params="70b")
    shapes = [(one.values["hidden_size"], one.values["num_hidden_layers"]) for one in found]
    assert len({*shapes}) == len(found) == 10
    for one in found:
        width, _, heads, inner = one.values.values()
        assert width % 128 == 0 and width == 128 * heads and inner % 256 == 0
        assert abs(one.params - 70 * 10**9) <= 7 * 10**8 and one.miss <= Fraction(1, 100)
        model = archspec.load(one.config)
        assert (model.params, model.non_embedding_params) == (one.params, one.non_embedding_params)


def test_named_fields_keep_to_the_proportions_too() -> None:
    options: dict[str, Any] = {"params": 7e9, "multiple": {"hidden_size": 128}, "top": 1}
    free = ["hidden_size", "num_hidden_layers"]
    assert list(solve("LlamaForCausalLM", free, **options)[0].values.values()) == [4096, 33]
    assert list(solve("LlamaForCausalLM", free, tolerance=0, **options)[0].values.values()) == [512, 388]
    found = solve("GPT2LMHeadModel", ["n_embd", "n_layer"], params="350M", top=5)
    assert found.ranking and {one.values["n_embd"] % 128 for one in found} == {0}


def test_without_a_config_in_the_tolerance_the_nearest_are_returned() -> None:
    found = solve("GPT2LMHeadModel", params="45M", tolerance=0.001, top=3)
    assert "no config is within 0.001% of the budget; these are the nearest" in found.notes
    assert [one.miss for one in found] == sorted(one.miss for one in found) and not found.ranking
    assert solve("LlamaForCausalLM", params="7b", within=0.1, top=1)[0].miss <= Fraction(1, 1000)


def test_given_fields_stay_and_tied_fields_follow() -> None:
    given = {"num_hidden_layers": 40, "vocab_size": 128256}
    tie, multiple = {"intermediate_size": "4 * hidden_size"}, {"hidden_size": 256}
    options: dict[str, Any] = {"set": given, "tie": tie, "multiple": multiple, "tolerance": 5}
    for one in solve("LlamaForCausalLM", params="7b", top=2, **options):
        config = one.config
        assert (config["num_hidden_layers"], config["vocab_size"]) == (40, 128256)
        assert config["intermediate_size"] == 4 * config["hidden_size"] and config["hidden_size"] % 256 == 0


def test_heads_fit_given_fields() -> None:
    given = {"hidden_size": 2048, "vocab_size": 50000}
    for one in solve("LlamaForCausalLM", params="1b", set=given, top=2):
        assert one.config["num_attention_heads"] == 16 and 5_000 <= one.config["intermediate_size"] <= 6_500
    for one in solve("LlamaForCausalLM", params="8b", set={"num_key_value_heads": 8}, top=3, tolerance=3):
        assert one.config["num_attention_heads"] % 8 == 0


def test_key_value_heads_keep_their_share() -> None:
    for one in solve("MixtralForCausalLM", params="20b", top=5):
        assert one.config["num_attention_heads"] == 4 * one.config["num_key_value_heads"]
    for one in solve("Starcoder2ForCausalLM", params="1b", top=3):
        assert one.config["num_attention_heads"] % 2 == one.config["hidden_size"] % 128 == 0
        assert one.config["num_key_value_heads"] == 2


def test_kinds_of_layers_come_in_whole_periods() -> None:
    found = solve("JambaForCausalLM", params="20b", top=3)
    assert {one.config["num_hidden_layers"] % 8 for one in found} == {0}


def test_stacks_of_encoder_and_decoder_grow_together() -> None:
    for one in solve("BartForConditionalGeneration", params="1b", top=3):
        for name in ("layers", "ffn_dim", "attention_heads"):
            assert one.config[f"encoder_{name}"] == one.config[f"decoder_{name}"]


def test_both_sizes_of_a_mixture_choose_the_experts_too() -> None:
    (best,) = solve("MixtralForCausalLM", params="141b", active_params="39b", top=1)
    assert best.values["num_local_experts"] == 8 and best.miss <= Fraction(1, 100)


def test_a_redundant_list_of_layers_is_removed() -> None:
    path = CONFIGS / "openai--gpt-oss-20b.json"
    for one in solve(str(path), params="120b", top=2):
        layers = one.config["num_hidden_layers"]
        assert layers != 24 and len(one.config.get("layer_types", range(layers))) == layers
    own = archspec.load(str(path)).config.raw | {"layer_types": ["full_attention"] * 24}
    kept = solve(own, params="40b", top=1)
    assert kept[0].config["num_hidden_layers"] == 24
    assert "num_hidden_layers is fixed: layer_types lists each layer" in kept.notes


def test_of_several_parts_the_largest_grows() -> None:
    (found,) = solve("Gemma3ForConditionalGeneration", params="12b", top=1)
    own = archspec.load("Gemma3ForConditionalGeneration").scope.get("vision_config").scope
    assert all(name.startswith("text_config.") for name in found.values)
    assert found.config["vision_config"]["hidden_size"] == own.get("hidden_size")
    listed = solve(str(CONFIGS / "allenai--olmOCR-7B.json"), params="4b", top=1)  # lists each layer
    config = listed[0].config
    assert listed[0].miss <= Fraction(1, 100) and "text_config.num_hidden_layers" in listed[0].values
    assert config["vision_config"]["hidden_size"] == config["text_config"]["hidden_size"] != 3584
    assert "layer_types" not in config["text_config"] and "layer_types" not in config
    unused = {"model_type": "mistral", "num_hidden_layers": 2, "layer_types": ["full_attention"] * 2}
    assert "layer_types does not affect counts and is removed" in solve(unused, params="1b", top=1).notes


@pytest.mark.parametrize(
    ("architecture", "given", "message"),
    [
        ("ResNetModel", {}, "no width and depth that determine its size"),
        (
            "LlamaForCausalLM",
            {"hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 64},
            "no width, depth or feed-forward width is left to vary",
        ),
    ],
)
def test_configs_without_a_shape_to_choose_are_refused(architecture: str, given: Any, message: str) -> None:
    with pytest.raises(SweepError, match=message) as refusal:
        solve(architecture, params="1b", set=given)
    assert "pass the fields to vary with free; run archspec sensitivity" in str(refusal.value)


@pytest.mark.parametrize(
    ("params", "message", "end"),
    [
        ("1k", "the nearest deviates by 835,522%: hidden_size = 128", "allow smaller values with set"),
        ("4000P", "no config is within 50% of the budget", "allow larger values with set"),
    ],
)
def test_unreachable_sizes_are_refused(params: str, message: str, end: str) -> None:
    with pytest.raises(SweepError, match=message) as refusal:
        solve("LlamaForCausalLM", params=params)
    assert end in str(refusal.value)


def test_the_ranking_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "LlamaForCausalLM", "--params", "7b", "--top", "1", "--tolerance", "2"]) == 0
    printed = capsys.readouterr()
    heads, row, order = printed.out.splitlines()
    shape = ["hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"]
    assert heads.split()[:5] == ["rank", *shape] and row.split()[:3] == ["1", "4,096", "32"]
    proportions = "hidden_size/num_hidden_layers = 128 and intermediate_size/hidden_size = 2.6875"
    assert order == f"ranked by closeness to {proportions}, among configs within 2% of the budget"
    assert "note: no config given: proportions are transformers' defaults" in printed.err


def test_parameters_without_embeddings_are_a_budget() -> None:
    (best,) = solve("LlamaForCausalLM", non_embedding_params="1.3b", top=1)
    assert archspec.load(best.config).non_embedding_params == best.non_embedding_params
    assert best.non_embedding_params == pytest.approx(1.3e9, rel=0.01)
