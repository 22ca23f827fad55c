"""A sweep looks at no more of its grid than it shows, and asks before it takes a minute, a disk or memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import archspec
from archspec.cli.main import main
from archspec.errors import SweepError
from archspec.sweeping import limits, sweep
from archspec.sweeping.engine import Engine
from archspec.sweeping.files import bytes_of

HUGE = ["sweep", "GPT2LMHeadModel", "--set", "vocab_size=1:3000000000"]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many points each box had that was counted."""
    seen: list[int] = []
    plain_batch = Engine.batch
    monkeypatch.setattr(Engine, "batch", lambda self, box: (seen.append(box.size), plain_batch(self, box))[1])
    return seen


def large() -> archspec.Sweep:
    """Enough points to be asked about; of eight widths seven are refused."""
    return archspec.sweep("LlamaForCausalLM", ["hidden_size=8:16000:8", "num_hidden_layers=1:2500"])


def test_a_table_on_screen_counts_what_it_prints(
    counted: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(HUGE) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 41 and 0 < sum(counted) < 10**6
    assert "the first 40 rows of a grid of 3,000,000,000 points; --rows prints more" in said.err


@pytest.mark.parametrize("options", [["--json"], ["--out", "rows.csv"], ["--out", "rows.parquet"]])
def test_what_takes_more_than_a_minute_is_refused(
    options: list[str],
    counted: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(limits, "MINUTE", 0.0)
    assert main([*HUGE[:-1], "vocab_size=1:5000000", *options]) == 2
    said = capsys.readouterr()
    assert "5,000,000 points: " in said.err and "takes about " in said.err and " seconds" in said.err
    assert "--yes (yes=True) goes ahead" in said.err
    assert said.out == "" and os.listdir(tmp_path) == [] and sum(counted) < 2 * 10**6


def test_what_the_disk_does_not_hold_is_refused_unless_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "free_disk", lambda target: 2**20)
    path = tmp_path / "rows.arrow"
    with pytest.raises(SweepError, match=r"rows.arrow takes about .* MiB, where 1.0 MiB are free"):
        large().write(str(path))
    assert not path.exists()
    assert large().write(str(path), yes=True) == 252 * 2500


@pytest.mark.parametrize("ending", [".csv", ".arrow"])
def test_the_size_is_told_as_it_will_be(ending: str, tmp_path: Path) -> None:
    grid, path = large(), tmp_path / f"rows{ending}"
    swept = ["hidden_size", "num_hidden_layers"]
    told = limits.estimate(grid.table, lambda rows: bytes_of(rows, grid.schema, swept, ending))
    grid.write(str(path), yes=True)
    assert told.bytes == pytest.approx(path.stat().st_size, rel=0.25) and told.points == grid.points


def test_frames_and_arrays_fit_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (limits, sweep):
        monkeypatch.setattr(module, "free_memory", lambda: 2**20)
    grid = archspec.sweep("GPT2LMHeadModel", "vocab_size=1:5000000")
    for make in (grid.to_arrow, grid.to_pandas, grid.to_polars, grid.array):
        with pytest.raises(SweepError, match=r"in memory takes about .* MiB, where 1.0 MiB are free"):
            make()
    assert len(grid.array(yes=True)) == len(grid) == 5_000_000


class Clock:
    """A clock on which a box takes some seconds, and the first of all much longer."""

    def __init__(self, seconds: float) -> None:
        self.now, self.seconds = 0.0, seconds

    def boxes(self) -> Iterator[tuple[None, int]]:
        for turn in range(1, 101):
            self.now += 50.0 if turn == 1 else self.seconds
            yield None, 1000 * turn


@pytest.mark.parametrize(("seconds", "said"), [(1.0, "about 2 minutes"), (0.5, "")])
def test_a_search_for_rows_ends_where_a_minute_would_not_do(
    seconds: float, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(seconds)
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: clock.now))
    if not said:
        assert len(list(limits.patient(clock.boxes(), 100_000))) == 100
        return
    with pytest.raises(SweepError, match=f"0 rows are among the first 4,000 of 100,000 points, .*{said}"):
        list(limits.patient(clock.boxes(), 100_000))
