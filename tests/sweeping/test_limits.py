"""A sweep evaluates no more of its grid than it prints, and large ones need --yes."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

import archspec
from archspec.cli.main import main
from archspec.errors import SweepError
from archspec.sweeping import files, sweep
from archspec.sweeping.engine import Engine

HUGE = ["sweep", "GPT2LMHeadModel", "--set", "vocab_size=1:3000000000"]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of points of each box that is evaluated."""
    seen: list[int] = []
    plain_batch = Engine.batch
    monkeypatch.setattr(Engine, "batch", lambda self, box: (seen.append(box.size), plain_batch(self, box))[1])
    return seen


def test_a_table_on_screen_counts_what_it_prints(
    counted: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(HUGE) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 41 and 0 < sum(counted) < 10**6
    assert "the first 40 rows of a grid of 3,000,000,000 points; --rows prints more" in said.err


@pytest.mark.parametrize("options", [["--json"], ["--out", "rows.csv"], ["--out", "rows.parquet"]])
def test_a_large_grid_needs_yes(
    options: list[str],
    counted: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*HUGE, *options]) == 2
    said = capsys.readouterr()
    assert "a grid of 3,000,000,000 points is large" in said.err and "--yes (yes=True) goes ahead" in said.err
    assert said.out == "" and os.listdir(tmp_path) == [] and not counted


def test_a_large_grid_becomes_no_table_in_memory_without_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MANY", 1000)
    grid = archspec.sweep("GPT2LMHeadModel", "vocab_size=1:5000")
    for make in (grid.to_arrow, grid.to_pandas, grid.to_polars, grid.array, grid.as_json, grid.__len__):
        with pytest.raises(SweepError, match="a grid of 5,000 points is large"):
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
    with pytest.raises(SweepError, match=r"^0 rows are among the first 1,0\d\d,\d{3} of 5,000,000 points"):
        grid.head()
    assert grid.head(yes=True).rows[0]["vocab_size"] == 4_999_001
