"""No verb replaces a file unless it is asked to."""

from __future__ import annotations

from pathlib import Path

import pytest

import archspec
from archspec.cli.main import main

SWEEP = ["sweep", "GPT2LMHeadModel", "--set", "n_layer=1:4"]
SOLVE = ["solve", "GPT2LMHeadModel", "--params", "124439808", "--free", "n_embd,n_layer", "--top", "3"]
WRITING = {  # the file that a command writes -> the command
    "rows.csv": [*SWEEP, "--out", "rows.csv"],
    "rows.parquet": [*SWEEP, "--out", "rows.parquet"],
    "rows.jsonl": [*SWEEP, "--out", "rows.jsonl"],
    "rows.arrow": [*SWEEP, "--out", "rows.arrow"],
    "picture.svg": [*SWEEP, "--plot", "picture.svg"],
    "picture.html": [*SWEEP, "--plot", "picture.html"],
    "found/2/config.json": [*SOLVE, "--out", "found"],
}


@pytest.mark.parametrize("name", WRITING)
def test_a_file_is_replaced_only_with_overwrite(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    assert main(WRITING[name]) == 2
    said = capsys.readouterr().err
    assert f"{name} already exists" in said
    assert "--overwrite" in said
    assert path.read_text() == "mine"
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == [path]  # nothing else was written
    assert main([*WRITING[name], "--overwrite"]) == 0
    assert path.read_bytes() != b"mine"


@pytest.mark.reference
def test_a_draft_is_replaced_only_with_overwrite(tmp_path: Path) -> None:
    path = tmp_path / "gpt2.yaml"
    path.write_text("mine")
    with pytest.raises(archspec.ArchspecError, match="already exists"):
        archspec.derive("gpt2", output=str(tmp_path), verify=False)
    assert path.read_text() == "mine"
    archspec.derive("gpt2", output=str(tmp_path), verify=False, overwrite=True)
    assert path.read_text() != "mine"


@pytest.mark.parametrize("line", [SWEEP, SOLVE])
def test_overwrite_without_a_file_is_refused(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*line, "--overwrite"]) == 2
    assert "--overwrite has no effect" in capsys.readouterr().err


def test_python_has_the_same_rule(tmp_path: Path) -> None:
    grid = archspec.sweep("GPT2LMHeadModel", {"n_layer": [1, 2]})
    path = str(tmp_path / "rows.csv")
    assert grid.write(path) == 2
    with pytest.raises(archspec.ArchspecError, match="already exists"):
        grid.write(path)
    assert grid.write(path, overwrite=True) == 2
    found = archspec.solve("GPT2LMHeadModel", params="1e8", top=1)[0]
    found.save(str(tmp_path))
    with pytest.raises(archspec.ArchspecError, match="already exists"):
        found.save(str(tmp_path))
    found.save(str(tmp_path), overwrite=True)
