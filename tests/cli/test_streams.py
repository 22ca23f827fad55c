"""Outputs that are closed or full, and paths that lead nowhere: an exit code and a sentence, no traceback."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from archspec.cli.main import main

PRINTING = [
    *("count BertModel", "count BertModel --json", "count --help", "--version", "list", "lint --schema"),
    *("formula BertModel", "diff BertModel BertForMaskedLM"),
    "sweep LlamaForCausalLM --set num_hidden_layers=2:40 --json",
]
REFUSED = ["count nope", "count", "counts"]
SWEEP = "sweep LlamaForCausalLM --set num_hidden_layers=2:400 --set hidden_size=128:12800:128"


def run(line: str, redirected: str = "") -> subprocess.CompletedProcess[str]:
    """A command line in a shell, with its outputs buffered, as they are for users."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = ["bash", "-c", f"{sys.executable} -m archspec {line} {redirected}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)


@pytest.mark.parametrize("line", PRINTING)
def test_a_full_disk(line: str) -> None:
    done = run(line, ">/dev/full")
    assert (done.returncode, done.stderr) == (2, "the output: No space left on device\n")


@pytest.mark.parametrize("line", ["count BertModel", *REFUSED])
def test_no_room_for_complaints_either(line: str) -> None:
    assert run(line, ">/dev/full 2>&1").returncode == 2


@pytest.mark.parametrize("line", [*PRINTING[:3], *REFUSED])
def test_closed_outputs(line: str) -> None:
    """Python has no stream for an output that is closed: what goes there goes nowhere else."""
    plain = run(line)
    mute, unheard = run(line, ">&-"), run(line, "2>&-")
    assert (mute.returncode, mute.stderr) == (plain.returncode, plain.stderr)
    assert (unheard.returncode, unheard.stdout) == (plain.returncode, plain.stdout)
    assert run(line, ">&- 2>&- <&-").returncode == plain.returncode


@pytest.mark.parametrize("option", ["--out a.csv", "--out a.parquet", "--out a.jsonl", "--plot a.svg"])
def test_a_file_that_grows_too_large(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        assert main([*SWEEP.split(), *option.split()]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith(option.split()[1]) and "File too large" in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "line",
    [
        *("count loop", "count ./loop", "count loop/config.json", "diff BertModel loop", "lint loop"),
        "count folder",
        *("formula BertModel --notation loop", f"{SWEEP} --out loop/a.csv"),
        "solve LlamaForCausalLM --params 7e9 --free hidden_size --out loop",
    ],
)
def test_a_symbolic_link_to_itself(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    Path("folder").mkdir()
    Path("folder", "config.json").symlink_to("../loop")
    assert main(line.split()) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert ("loop" in told or "folder/config.json" in told) and "Too many levels of symbolic links" in told


def test_a_link_to_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bert").symlink_to("gone")
    assert main(["count", "bert"]) == 2
    assert capsys.readouterr().err == "bert: No such file or directory\n"
