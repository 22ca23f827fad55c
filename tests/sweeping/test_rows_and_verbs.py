"""A cost column of any row equals the verb at that config, in any order of the grid."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

import archspec
from archspec.cli.main import main
from archspec.configs.scope import Scope
from archspec.errors import ArchspecError
from archspec.specs.library import shipped

FORMULAS = Path(shipped().folder)
RECORD = json.loads((FORMULAS / "costs.json").read_text())["types"]
VALID = {"esm": {"vocab_size": 33}, "gpt_neo": {"attention_types": [[["global"], 1]]}}  # defaults are refused
OTHERS = ["deepseek_v3", "gpt_oss", "llama", "mamba2", "mistral", "qwen3_next", "t5"]  # without a limit
LIMITED = [
    name
    for name in shipped().model_types()
    if shipped().load(name).max_length and RECORD.get(name, {}).get("exact")
][::3]
COLUMNS = ("flops", "masked_flops", "training_flops", "cache_elements", "cache_bytes", "tokens")
LENGTHS: tuple[Mapping[str, int], ...] = ({}, {"batch": 2, "past": 7}, {"tokens": 600})


def fields_of(scope: Scope) -> dict[str, list[int]]:
    """Values of the fields that a usual call may follow, and of the number of layers."""
    rule = scope.spec.max_length.get("tokens")
    named = [name for name in scope.spec.fields if rule and name in rule.text and "position" in name]
    few = [4, 5] if scope.spec.model_type == "qwen3_next" else [1, 2]  # it runs with a layer of attention
    depths = [name for name in ("num_hidden_layers", "num_layers", "n_layer") if name in scope.spec.fields]
    values = {**{name: [40, 1000, 3000] for name in named}, **dict.fromkeys(depths[:1], few)}
    return {name: values[name] for name in values if type(scope.get(name)) is int}


def of_verbs(config: Any, architecture: str, point: Any, names: list[str], lengths: Mapping[str, int]) -> Any:
    """The columns as `flops`, `cache` and `memory --train` give them; None where a verb refuses."""
    try:
        model = archspec.load(config, architecture, point)
        call = model.forward(**lengths)
        found: dict[str, Any] = {"tokens": call.call.tokens, "cache_elements": call.cache_elements()}
        found["cache_bytes"] = call.cache_bytes(model.dtype)
        found["flops"] = model.flops(**lengths).flops
        found |= {name: getattr(call, name) for name in ("masked_flops", "training_flops") if name in names}
    except ArchspecError:
        return None
    return {**point, **{name: found[name] for name in names}}


@pytest.mark.parametrize("model_type", [*LIMITED, *OTHERS])
def test_a_row_costs_what_the_verbs_report_in_any_order(model_type: str) -> None:
    spec = shipped().load(model_type)
    random = Random(model_type)
    line = RECORD[model_type]
    architecture = random.choice(line["exact"])
    config = {"model_type": model_type, **VALID.get(model_type, {})}
    fields = fields_of(Scope(spec, config))
    validated = {"masked_flops": line["masked"], "training_flops": line["training"]}
    names = [name for name in COLUMNS if architecture in validated.get(name, [architecture])]
    rows = 0
    for lengths in LENGTHS:
        asked = [one for one in names if one != "training_flops" or "past" not in lengths]
        encoder = {} if of_verbs(config, architecture, {}, ["flops"], {}) else {"encoder_tokens": 9}
        called = {**lengths, **encoder}
        shuffled = {name: random.sample(values, len(values)) for name, values in fields.items()}
        points: list[dict[str, int]] = [{}]
        for name, values in shuffled.items():
            points = [{**point, name: value} for point in points for value in values]
        expected = [of_verbs(config, architecture, point, asked, called) for point in points]
        expected = [row for row in expected if row is not None]
        try:
            grid = archspec.sweep(config, shuffled, architecture=architecture, columns=asked, **called)
            found = list(grid.rows())
        except ArchspecError:
            found = []
        assert found == expected, called
        rows += len(found)
    assert rows


@pytest.mark.parametrize("values", ["512,1024", "1024,512"])
def test_the_order_of_a_grid_changes_no_row(values: str, capsys: pytest.CaptureFixture[str]) -> None:
    grid = ["--set", f"n_positions={values}", "--columns", "flops"]
    assert main(["sweep", "GPT2LMHeadModel", *grid, "--json"]) == 0
    printed = capsys.readouterr()
    rows = [json.loads(line) for line in printed.out.splitlines()]
    costs = {512: 136_160_477_184, 1024: 291_648_307_200}
    assert rows == [{"n_positions": int(one), "flops": costs[int(one)]} for one in values.split(",")]
    assert "as many tokens as a config has positions for, at most 2,048" in printed.err


def test_lengths_are_printed_and_encoder_lengths_are_not_assumed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "LlamaModel", "--set", "num_hidden_layers=2,3", "--columns", "flops"]) == 0
    assert "note: costs are those of a call with batch 1, tokens 2,048" in capsys.readouterr().err
    grid = ["sweep", "T5Model", "--set", "num_layers=2,3", "--columns", "flops"]
    assert main(grid) == 2
    assert "sequence length as encoder_tokens" in capsys.readouterr().err
    assert main([*grid, "--encoder-tokens", "100", "--batch", "3"]) == 0
    assert "with batch 3, tokens 2,048, encoder_tokens 100" in capsys.readouterr().err
