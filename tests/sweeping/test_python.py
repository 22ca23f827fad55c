"""A sweep in Python: rows, length, frames, a table for notebooks, and what is to be said of its fields."""

from __future__ import annotations

import json

import pytest

import archspec
from archspec.cli.main import main


def test_frames_take_a_sweep() -> None:
    import duckdb
    import pandas
    import polars

    grid = archspec.sweep("GPT2LMHeadModel", ["n_embd=12:120:12", "n_layer=1:3"])
    rows = list(grid)
    assert (
        grid.to_pandas().to_dict("records") == rows == pandas.DataFrame.from_records(rows).to_dict("records")
    )
    assert grid.to_polars().to_dicts() == rows == polars.DataFrame(grid).to_dicts()
    assert duckdb.sql("SELECT max(params) FROM grid").fetchall() == [(max(row["params"] for row in rows),)]
    assert grid.to_arrow().to_pylist() == rows


def test_a_sweep_has_the_length_of_its_rows() -> None:
    grid = archspec.sweep("LlamaForCausalLM", {"hidden_size": [2048, 2049, 4096]})
    assert grid and len(grid) == len(list(grid)) == 2 and grid.points == 3


def test_a_sweep_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    fields = ["hidden_size=2048:4096:1", "num_hidden_layers=1:3"]
    options = [part for field in fields for part in ("--set", field)]
    assert main(["sweep", "LlamaForCausalLM", *options]) == 0
    said = capsys.readouterr()
    grid = archspec.sweep("LlamaForCausalLM", fields)
    assert str(grid).splitlines()[:41] == said.out.splitlines()
    assert str(grid).splitlines()[41].startswith("59 more rows") and "59 more rows" in said.err
    assert main(["sweep", "LlamaForCausalLM", *options, "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    wide = archspec.sweep("LlamaForCausalLM", fields, wide=True)
    assert wide.as_json() == [json.loads(line) for line in lines]
    html = grid._repr_html_()
    assert html.count("<tr>") == 11 and "hidden_size: 2,049 x num_hidden_layers: 3" in html
    assert "89 more rows" in html and "points are refused" in html


@pytest.mark.parametrize("form", [[], ["--json"], ["--out", "rows.csv"]])
def test_a_field_that_enters_no_count_is_a_constant_column(
    form: list[str], capsys: pytest.CaptureFixture[str], tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    assert main(["sweep", "gpt2", "--set", "n_ctx=512,1024", *form]) == 0
    assert "note: n_ctx does not change any count of gpt2; n_positions does" in capsys.readouterr().err
    rows = list(archspec.sweep("gpt2", {"n_ctx": [512, 1024]}))
    assert rows == [{"n_ctx": 512, "params": 124439808}, {"n_ctx": 1024, "params": 124439808}]


def test_a_field_that_enters_costs_alone_is_told_where_none_are_asked_for() -> None:
    fields = {"activation_function": ["relu", "gelu"]}
    (note,) = archspec.sweep("gpt2", fields).notes
    assert "activation_function does not change the number of parameters" in note
    assert archspec.sweep("gpt2", fields, columns="flops").notes == []
