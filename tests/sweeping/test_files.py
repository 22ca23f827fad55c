"""Files of sweeps hold the rows, and are in place only when they are complete."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.cli.main import main
from archspec.errors import SweepError
from archspec.sweeping import files

ROOT, LLAMA = Path(__file__).parents[2], "LlamaForCausalLM"
ENDINGS = ["csv", "jsonl", "parquet", "arrow"]
every_format = pytest.mark.parametrize("ending", ENDINGS)


def read(path: Path) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix == ".csv":
        with open(path, encoding="utf-8", newline="") as file:
            return [{name: json.loads(value) for name, value in row.items()} for row in csv.DictReader(file)]
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    table = pq.read_table(path) if path.suffix == ".parquet" else pa.ipc.open_file(path).read_all()
    return list(table.to_pylist())


def is_usual(path: Path) -> bool:
    """Return True if a file has the permissions that a new file gets."""
    mask = os.umask(0)
    os.umask(mask)
    return path.stat().st_mode & 0o777 == 0o666 & ~mask


@every_format
def test_files_hold_the_rows(tmp_path: Path, ending: str) -> None:
    fields = ["hidden_size=32:320:32", "num_attention_heads=3,4", "tie_word_embeddings=true,false"]
    grid = archspec.sweep(LLAMA, fields, columns=["params", "hidden_size / 7"])
    path = tmp_path / f"rows.{ending}"
    assert grid.write(str(path)) == len(read(path)) == 26 and read(path) == list(grid)
    assert os.listdir(tmp_path) == [path.name] and is_usual(path)


@every_format
def test_an_interrupted_sweep_keeps_the_earlier_file(tmp_path: Path, ending: str) -> None:
    grid = archspec.sweep(LLAMA, ["hidden_size=32:32000:32", "num_hidden_layers=1:400"])

    def interrupt(done: int, total: int) -> None:
        if done > 150_000:
            raise KeyboardInterrupt

    path = tmp_path / f"rows.{ending}"
    path.write_text("earlier")
    with pytest.raises(KeyboardInterrupt):
        grid.write(str(path), interrupt, overwrite=True)
    assert os.listdir(tmp_path) == [path.name] and path.read_text() == "earlier"


@every_format
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_a_killed_sweep_keeps_the_earlier_file(
    tmp_path: Path, number: signal.Signals, code: int, ending: str
) -> None:
    path = tmp_path / f"rows.{ending}"
    path.write_text("earlier")
    line = f"sweep {LLAMA} --set hidden_size=32:3200000:32 --set num_hidden_layers=1:900"
    line += f" --set vocab_size=1:1000 --yes --overwrite --out {path}"
    process = subprocess.Popen(  # a parent may ignore SIGINT, and hand that down
        [sys.executable, "-m", "archspec", *line.split()],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        until = time.monotonic() + 600
        while max((one.stat().st_size for one in tmp_path.glob(".*.partial")), default=0) <= 100_000:
            assert process.poll() is None, f"the sweep ended by itself, with status {process.returncode}"
            assert time.monotonic() < until, "the sweep wrote nothing"
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait(600) == code
    finally:
        process.kill()
        process.wait()
    assert path.read_text() == "earlier"
    assert number == signal.SIGKILL or os.listdir(tmp_path) == [path.name]


def test_a_file_is_complete_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for text in ("one", "two"):
        with files.whole_file(str(path), overwrite=True) as partial:
            Path(partial).write_text(text)
            assert not path.exists() or path.read_text() == "one"
        assert path.read_text() == text and is_usual(path)
    with pytest.raises(KeyboardInterrupt), files.whole_file(str(path), overwrite=True) as partial:
        Path(partial).write_text("three")
        raise KeyboardInterrupt
    with pytest.raises(SweepError, match="already exists"), files.whole_file(str(tmp_path / "b.txt")):
        (tmp_path / "b.txt").write_text("another process wrote it")
    (tmp_path / "b.txt").unlink()
    (tmp_path / "folder").mkdir()
    with pytest.raises(SweepError, match="Is a directory"), files.whole_file(str(tmp_path / "folder")):
        pass
    assert path.read_text() == "two" and sorted(os.listdir(tmp_path)) == ["a.txt", "folder"]


@every_format
def test_a_sweep_reports_its_progress(tmp_path: Path, ending: str) -> None:
    grid = archspec.sweep(LLAMA, ["hidden_size=31:6400", "num_hidden_layers=1:200"])
    seen: list[tuple[int, int]] = []
    rows = grid.write(str(tmp_path / f"rows.{ending}"), lambda done, total: seen.append((done, total)))
    assert 0 < rows < grid.points and len(seen) > 2
    assert seen == sorted(seen) and {total for _, total in seen} == {grid.points}
    assert seen[-1][0] == grid.points and seen[0][0] < 0.4 * grid.points


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("patience", "long"), [(0.0, True), (1_000.0, False)])
def test_a_long_sweep_shows_its_progress_on_a_terminal(
    patience: float, long: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("archspec.terminal.PATIENCE", patience)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    options = ["--set", "hidden_size=32:6400:32", "--set", "num_hidden_layers=1:2", "--overwrite", "--out"]
    for screen in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", screen)
        assert main(["sweep", LLAMA, *options, str(tmp_path / "rows.csv")]) == 0
        shown = "sweeping" in screen.getvalue() and "400/400" in screen.getvalue()
        assert shown == (long and isinstance(screen, Terminal)) and "204 rows" in screen.getvalue()


def test_formulas_of_spreadsheets_are_neutralized_on_request(tmp_path: Path) -> None:
    evil = ["=cmd()", "+1", "-1", "@x", "plain", "\n=d", "\t@x", "\r-1", " +1"]
    columns = {"-params": "-params", "params": "params"}
    columns |= {f"x{number}": repr(text) for number, text in enumerate(evil)}
    grid = archspec.sweep(LLAMA, {"num_hidden_layers": [1, 2]}, columns=columns)
    found = {}
    for name in ("raw", "safe"):
        grid.write(str(tmp_path / f"{name}.csv"), csv_safe=name == "safe")
        with open(tmp_path / f"{name}.csv", encoding="utf-8", newline="") as file:
            found[name] = list(csv.reader(file))
    head, *rows = found["safe"]
    assert head[:3] == ["num_hidden_layers", "'-params", "params"]
    assert all(row[3:] == [text if text == "plain" else f"'{text}" for text in evil] for row in rows)
    assert all(row[1] == f"-{row[2]}" for row in rows)  # numbers stay numbers
    assert [row[3:] for row in found["raw"][1:]] == [evil, evil]
