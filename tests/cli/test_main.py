"""The command line: what it prints, its exit codes, and what it must not import."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from archspec import TRANSFORMERS_VERSION
from archspec.cli.main import command, main
from archspec.tables.verbs import VERBS

HEAVY = ("torch", "transformers", "sympy", "rich", "numpy", "huggingface_hub", "inspect", "dataclasses")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "archspec", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    "command",
    [
        ["count"],
        ["count", "nowhere/config.json"],
        ["count", "BertModel", "--set", "hidden_size"],
        ["count", "BertModel", "--set", "hidden_size=-1"],
        ["count", "BertModel", "--set", "hidden_size=a"],
        ["count", "BertModel", "--set", "hiden_size=4"],
        ["count", "BertModel", "--architecture", "GPT2Model"],
        ["count", "BertModel", "--no-such-option"],
        ["count", "BertModel", "extra"],
        ["count", "BertModel", "--arch", "BertForMaskedLM"],  # options are written in full
        ["counts", "BertModel"],
        ["--counts"],
        ["tree", "no-such-model"],
        ["tensors", "no_such_model"],
        ["formula", "BertModel", "--format", "word"],
        [],
    ],
)
def test_bad_input_is_2_with_a_message(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    found = capsys.readouterr()
    assert found.err.strip() or not command
    assert "Traceback" not in found.err


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: archspec {verb} ")
    assert main(["help", verb]) == 0 and capsys.readouterr().out == shown
    assert main(["--help"]) == 0
    assert f"  {verb} " in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert TRANSFORMERS_VERSION in capsys.readouterr().out


def test_a_bug_is_neither_a_difference_nor_bad_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> int:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("archspec.cli.main.run", broken)
    assert main(["list"]) == 70
    assert capsys.readouterr().err.startswith("a bug of archspec: ZeroDivisionError: by zero\n")


def test_interrupted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("archspec.cli.main.run", interrupted)
    assert main(["list"]) == 130


def test_interrupted_while_a_verb_is_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    ended: list[int] = []
    monkeypatch.setattr("sys.argv", ["archspec", "list"])
    monkeypatch.setattr("archspec.cli.main.main", interrupted)
    monkeypatch.setattr("os._exit", ended.append)
    monkeypatch.setattr("gc.disable", lambda: None)
    command()
    assert ended == [130] and capsys.readouterr().err == "interrupted\n"


def test_as_a_program() -> None:
    done = run("count", "BertModel")
    assert (done.returncode, done.stderr) == (0, "")
    assert "109,482,240" in done.stdout
    assert "\x1b" not in done.stdout
    assert run("diff", "BertModel", "BertForMaskedLM").returncode == 1
    failed = run("count", "nope")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert "Traceback" not in failed.stderr


def test_a_pipe_that_is_closed() -> None:
    command = f"{sys.executable} -m archspec tensors BertModel | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.startswith("embeddings.word_embeddings.weight")
    assert done.stderr == ""
    assert done.returncode in (0, 141)


def test_an_output_that_is_not_utf8() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "archspec", "formula", "BertModel"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_tables_on_a_terminal() -> None:
    """On a terminal the tables are rich ones: with rules, and still with all the numbers."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": "120", "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "archspec", "count", "BertModel"]
    with subprocess.Popen(command, stdout=follower, stderr=subprocess.PIPE, env=environment) as process:
        os.close(follower)
        shown = b""
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError:
                break
            if not chunk:
                break
            shown += chunk
    text = shown.decode()
    assert process.returncode == 0
    assert "─" in text
    for number in ("109,482,240", "23,837,184", "85,054,464", "590,592", "77.69%"):
        assert number in text


@pytest.mark.parametrize("verb", ["count", "tree", "tensors", "list"])
def test_counting_imports_nothing_heavy(verb: str, config: str) -> None:
    arguments = [verb] if verb == "list" else [verb, config]
    code = (
        f"import sys; from archspec.cli.main import main; main({arguments!r});"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
