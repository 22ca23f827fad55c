"""A sweep in Python and on the screen: rows, frames, notes, and large grids."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import archspec
from archspec.errors import SweepError
from archspec.sweeping import files, sweep
from archspec.sweeping.engine import Engine

HUGE = "sweep GPT2LMHeadModel --set vocab_size=1:3000000000"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of points of each box that is evaluated."""
    seen: list[int] = []
    batch = Engine.batch
    monkeypatch.setattr(Engine, "batch", lambda self, box: (seen.append(box.size), batch(self, box))[1])
    return seen


def test_frames_take_a_sweep() -> None:
    import duckdb
    import pandas
    import polars

    grid = archspec.sweep("GPT2LMHeadModel", ["n_embd=12:120:12", "n_layer=1:3"])
    rows = list(grid)
    assert rows == grid.to_pandas().to_dict("records") == pandas.DataFrame(rows).to_dict("records")
    assert grid.to_polars().to_dicts() == rows == polars.DataFrame(grid).to_dicts()
    assert duckdb.sql("SELECT max(params) FROM grid").fetchall() == [(max(row["params"] for row in rows),)]
    assert grid.to_arrow().to_pylist() == rows


def test_a_sweep_has_the_length_of_its_rows() -> None:
    grid = archspec.sweep("LlamaForCausalLM", {"hidden_size": [2048, 2049, 4096]})
    assert grid and len(grid) == len(list(grid)) == 2 and grid.points == 3


def test_a_sweep_shows_what_the_command_prints(cli: Any) -> None:
    fields = ["hidden_size=2048:4096:1", "num_hidden_layers=1:3"]
    line = f"sweep LlamaForCausalLM --set {fields[0]} --set {fields[1]}"
    done, grid = cli(line), archspec.sweep("LlamaForCausalLM", fields)
    assert str(grid).splitlines()[:41] == done.out.splitlines()
    assert str(grid).splitlines()[41].startswith("59 more rows") and "59 more rows" in done.err
    lines = cli(f"{line} --json").out.splitlines()
    wide = archspec.sweep("LlamaForCausalLM", fields, wide=True)
    assert wide.as_json() == [json.loads(line) for line in lines]
    html = grid._repr_html_()
    assert html.count("<tr>") == 11 and "hidden_size: 2,049 x num_hidden_layers: 3" in html
    assert "89 more rows" in html and "configs are invalid" in html


@pytest.mark.parametrize("form", ["", "--json", "--out rows.csv"])
def test_a_field_without_effect_is_a_constant_column(form: str, cli: Any, folder: Path) -> None:
    done = cli(f"sweep gpt2 --set n_ctx=512,1024 {form}")
    assert "note: n_ctx does not affect any count; n_positions does" in done.err
    rows = list(archspec.sweep("gpt2", {"n_ctx": [512, 1024]}))
    assert rows == [{"n_ctx": 512, "params": 124439808}, {"n_ctx": 1024, "params": 124439808}]


def test_a_field_of_costs_alone_has_a_note_without_cost_columns() -> None:
    fields = {"activation_function": ["relu", "gelu"]}
    (note,) = archspec.sweep("gpt2", fields).notes
    assert "activation_function does not affect the number of parameters" in note
    assert archspec.sweep("gpt2", fields, columns="flops").notes == []


def test_a_table_on_screen_counts_what_it_prints(counted: list[int], cli: Any) -> None:
    done = cli(HUGE)
    assert len(done.out.splitlines()) == 41 and 0 < sum(counted) < 10**6
    assert "the first 40 rows of a sweep over 3,000,000,000 configs; use --rows N" in done.err


@pytest.mark.parametrize("options", ["--json", "--out rows.csv", "--out rows.parquet"])
def test_a_large_grid_needs_yes(options: str, counted: list[int], folder: Path, cli: Any) -> None:
    done = cli(f"{HUGE} {options}", code=2)
    assert "the grid has 3,000,000,000 configs" in done.err and "pass --yes" in done.err
    assert done.out == "" and os.listdir(folder) == [] and not counted


def test_a_large_grid_needs_yes_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MANY", 1000)
    grid = archspec.sweep("GPT2LMHeadModel", "vocab_size=1:5000")
    for make in (grid.to_arrow, grid.to_pandas, grid.to_polars, grid.array, grid.as_json, grid.__len__):
        with pytest.raises(SweepError, match="the grid has 5,000 configs"):
            make()
    assert len(grid.array(yes=True)) == len(grid.as_json(yes=True)) == grid.points


def test_a_file_larger_than_the_free_disk_needs_yes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    path, grid = tmp_path / "rows.arrow", archspec.sweep("GPT2LMHeadModel", "vocab_size=1:100")
    with pytest.raises(SweepError, match=r"rows.arrow can take 1,600 bytes, but 1,000 are free"):
        grid.write(str(path))
    assert not path.exists() and grid.write(str(path), yes=True) == 100


def test_a_search_for_rows_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "MANY", 10**6)
    grid = archspec.sweep("GPT2LMHeadModel", "vocab_size=1:5000000", where="vocab_size > 4999000")
    with pytest.raises(SweepError, match=r"^0 of the first 1,0\d\d,\d{3} configs have rows, of 5,000,000"):
        grid.head()
    assert grid.head(yes=True).rows[0]["vocab_size"] == 4_999_001
