"""A cost column of any row equals the verb at that config, in any order of the grid."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

import archspec
from archspec.configs.scope import Scope
from archspec.errors import ArchspecError
from archspec.specs.library import shipped_library
from archspec.tables.quantities import COST_COLUMNS

LLAMA = "LlamaForCausalLM"
RECORD = json.loads((Path(shipped_library().folder) / "costs.json").read_text())["types"]
VALID = {"esm": {"vocab_size": 33}, "gpt_neo": {"attention_types": [[["global"], 1]]}}  # defaults are refused
OTHERS = ["deepseek_v3", "gpt_oss", "llama", "mamba2", "mistral", "qwen3_next", "t5"]  # without a limit
KNOWN = [name for name in shipped_library().model_types() if RECORD.get(name, {}).get("exact")]
LIMITED = [name for name in KNOWN if shipped_library().load(name).max_length][::3]
LENGTHS: tuple[Mapping[str, int], ...] = ({}, {"batch": 2, "past": 7}, {"tokens": 600})
Call = dict[str, int]
GRIDS: dict[str, tuple[Call, int]] = {  # a class with its fields, a call, and the most regions
    f"{LLAMA} hidden_size=512:1024:256,num_hidden_layers=1:12": ({"tokens": 100}, 1),
    "GptOssForCausalLM num_hidden_layers=2:7,num_local_experts=8,32": ({"tokens": 300, "past": 7}, 6),
    "DeepseekV3ForCausalLM num_hidden_layers=2:7,first_k_dense_replace=0:4": ({"tokens": 50}, 16),
    "BertModel num_hidden_layers=2:9,hidden_size=96:240:48": ({"tokens": 50, "batch": 3}, 1),
    "AlbertModel num_hidden_layers=2:9": ({"tokens": 50, "batch": 3}, 1),
}


def fields_of(scope: Scope) -> dict[str, list[int]]:
    """Values of the fields that limit the length of a call, and of the number of layers."""
    rule = scope.spec.max_length.get("tokens")
    named = [name for name in scope.spec.fields if rule and name in rule.text and "position" in name]
    few = [4, 5] if scope.spec.model_type == "qwen3_next" else [1, 2]  # it runs with a layer of attention
    depths = [name for name in ("num_hidden_layers", "num_layers", "n_layer") if name in scope.spec.fields]
    values = {**{name: [40, 1000, 3000] for name in named}, **dict.fromkeys(depths[:1], few)}
    return {name: values[name] for name in values if type(scope.get(name)) is int}


def of_verbs(config: Any, architecture: str, point: Any, names: list[str], lengths: Mapping[str, int]) -> Any:
    """The columns as `flops`, `cache` and `memory --train` give them; None if a verb refuses."""
    try:
        model = archspec.load(config, architecture, point)
        call = model.forward(**lengths)
        if not call.cache and any(name.startswith("cache") for name in names):
            return None
        found: dict[str, Any] = {"tokens": call.call.tokens, "cache_elements": call.cache_elements()}
        found["cache_bytes"] = call.cache_bytes(model.dtype)
        found["item_tokens"] = call.item_tokens
        found["flops"] = model.flops(**lengths).flops
        found |= {name: getattr(call, name) for name in ("masked_flops", "training_flops") if name in names}
    except ArchspecError:
        return None
    return {**point, **{name: found[name] for name in names}}


@pytest.mark.parametrize("model_type", [*LIMITED, *OTHERS])
def test_a_row_costs_what_the_verbs_report_in_any_order(model_type: str) -> None:
    random, line = Random(model_type), RECORD[model_type]
    architecture = random.choice(line["exact"])
    config = {"model_type": model_type, **VALID.get(model_type, {})}
    fields, rows = fields_of(Scope(shipped_library().load(model_type), config)), 0
    validated = {"masked_flops": line["masked"], "training_flops": line["training"]}
    names = [one for one in (*COST_COLUMNS, "tokens") if architecture in validated.get(one, [architecture])]
    for lengths in LENGTHS:
        asked = [one for one in names if one != "training_flops" or "past" not in lengths]
        needs_encoder = of_verbs(config, architecture, {}, ["flops"], {}) is None
        called = {**lengths, **({"encoder_tokens": 9} if needs_encoder else {})}
        if of_verbs(config, architecture, {}, ["cache_bytes"], called) is None:
            asked = [one for one in asked if not one.startswith("cache")]
        shuffled = {name: random.sample(values, len(values)) for name, values in fields.items()}
        points = [dict(zip(shuffled, values, strict=True)) for values in product(*shuffled.values())]
        expected = [of_verbs(config, architecture, point, asked, called) for point in points]
        expected = [row for row in expected if row is not None]
        try:
            grid = archspec.sweep(config, shuffled, architecture=architecture, columns=asked, **called)
            found = list(grid)
        except ArchspecError:
            found = []
        assert found == expected, called
        rows += len(found)
    assert rows


@pytest.mark.parametrize("model", GRIDS)
def test_few_regions_hold_every_cost(model: str) -> None:
    (name, fields), (lengths, regions) = model.split(), GRIDS[model]
    unsupported = ["training_flops"] if "past" in lengths else []
    unsupported += ["cache_elements", "cache_bytes"] if name in ("BertModel", "AlbertModel") else []
    names = [one for one in COST_COLUMNS if one not in unsupported]
    grid = archspec.sweep(name, fields, columns=["params", *names], **lengths)
    rows = list(grid)
    assert len(rows) == grid.points and len(grid.engine.regions) <= regions
    for row in rows:
        point = {axis.name: row[axis.name] for axis in grid.subject.axes}
        found = of_verbs(name, None, point, names, lengths)  # type: ignore[arg-type]
        assert {column: row[column] for column in found} == found


def test_layers_that_differ_in_their_costs_alone_are_distinct() -> None:
    """gpt-oss's layers have the same tensors; every other one has a window."""
    (row,) = archspec.sweep("GptOssModel", {"num_hidden_layers": "12:12"}, columns="cache_elements")
    assert row["cache_elements"] == 2 * 8 * 64 * 6 * (127 + 2048)


def test_costs_in_a_condition_and_in_a_dtype() -> None:
    options: dict[str, Any] = {"where": "flops < 2e12", "dtype": "bf16", "tokens": 64}
    rows = list(archspec.sweep(LLAMA, "num_hidden_layers=1:4", columns="cache_bytes", **options))
    assert [row["cache_bytes"] for row in rows] == [2 * 2 * 4096 * 64 * layers for layers in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("name", "column", "lengths", "message"),
    [
        ("BertModel", "flops", {"past": 4}, "does not return a KV cache"),
        ("BertModel", "cache_bytes", {}, "does not return a KV cache"),
        ("LlamaModel", "flops", {"encoder_tokens": 4}, "does not attend to an encoder"),
        ("LlamaModel", "flops", {"tokens": 0}, "tokens must be an integer of at least 1, not 0"),
        ("LlamaModel", "training_flops", {"past": 4}, "a training step does not have a KV cache"),
    ],
)
def test_impossible_calls_are_refused(name: str, column: str, lengths: Call, message: str) -> None:
    with pytest.raises(ArchspecError, match=message):
        list(archspec.sweep(name, {"num_hidden_layers": "1:2"}, columns=column, **lengths))


def test_a_class_without_costs_is_refused() -> None:
    with pytest.raises(archspec.ArchspecError, match="costs are not supported for ReformerModel"):
        list(archspec.sweep("ReformerModel", {"vocab_size": [99]}, columns="flops"))


@pytest.mark.parametrize("values", ["512,1024", "1024,512"])
def test_the_order_of_a_grid_changes_no_row(values: str, cli: Any) -> None:
    done = cli(f"sweep GPT2LMHeadModel --set n_positions={values} --columns flops --json")
    costs = {512: 136_160_477_184, 1024: 291_648_307_200}
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert rows == [{"n_positions": int(one), "flops": costs[int(one)]} for one in values.split(",")]
    assert "as many tokens as a config has positions for, at most 2,048" in done.err


def test_lengths_are_printed_and_encoder_lengths_are_not_assumed(cli: Any) -> None:
    done = cli("sweep LlamaModel --set num_hidden_layers=2,3 --columns flops")
    assert "note: costs are for a forward pass with batch size 1, 2,048 tokens" in done.err
    grid = "sweep T5Model --set num_layers=2,3 --columns flops"
    assert "needs an encoder sequence length" in cli(grid, code=2).err
    notes = cli(f"{grid} --encoder-tokens 100 --batch 3").err
    assert "with batch size 3, 2,048 tokens, 100 encoder tokens" in notes
    line = f"sweep {LLAMA} --set num_hidden_layers=16,32 --columns flops,cache_bytes --tokens 1 --past 2047"
    last = json.loads(cli(f"{line} --json").out.splitlines()[-1])
    assert last == {"num_hidden_layers": 32, "flops": 14_287_896_576, "cache_bytes": 2 * 1_073_741_824}
