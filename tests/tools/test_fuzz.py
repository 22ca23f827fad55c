"""Random command lines end as they should, and the fuzzer sees what ends badly."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tools.fuzz.__main__ import main
from tools.fuzz.lines import line, prepare
from tools.fuzz.running import Outcome, problem_of, run


def test_random_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--lines", "60", "--alone", "30"]) == 0, capsys.readouterr().err


def test_a_seed_gives_the_same_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lines(folder: Path) -> list[list[str]]:
        folder.mkdir()
        monkeypatch.chdir(folder)
        source = random.Random(7)
        prepare(folder, source)
        return [line(source, folder) for _ in range(50)]

    assert lines(tmp_path / "once") == lines(tmp_path / "again")


@pytest.mark.parametrize(
    ("given", "ended", "what"),
    [
        ("count a", Outcome(70, "", "a bug of archspec: KeyError: 'a'"), "a traceback or a bug"),
        ("count a", Outcome(None, "", "Traceback (most recent call last):"), "a traceback or a bug"),
        ("count a", Outcome(3, "", ""), "ends in 3"),
        ("count a", Outcome(1, "", ""), "a difference without a comparison"),
        ("count a", Outcome(2, "", ""), "refused without a reason"),
        ("sensitivity a", Outcome(0, "elasticity nan", ""), "not a number"),
        ("tree a --json", Outcome(0, "{", ""), "not JSON"),
        ("tree a", Outcome(0, "a 3", "UserWarning: no font"), "a warning of another package"),
        ("tree a", Outcome(None, "", "Traceback\n…TooSlow"), "takes more than"),
        ("tree a", Outcome(2, "", "\x1b[31m: there is no such file"), "a control character"),
        ("tree a", Outcome(2, "", "<object object at 0x7f00>"), "an address of an object"),
        ("tree a", Outcome(2, "", "x" * 200_000), "an error of more than"),
        ("diff a b", Outcome(1, "a 3", ""), ""),
        ("list", Outcome(0, "nanochat", ""), ""),
    ],
)
def test_what_is_problem_of(given: str, ended: Outcome, what: str) -> None:
    assert problem_of(given.split(), ended).startswith(what)
    assert bool(what) == bool(problem_of(given.split(), ended))


def test_a_bug_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("archspec.cli.verbs.tree", broken)
    assert problem_of(["tree", "BertModel"], run(["tree", "BertModel"])) == "a traceback or a bug"


def test_a_count_that_prints_two_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    line = ["count", "BertModel"]
    assert problem_of(line, run(line)) == ""

    def altered(given: list[str], width: int = 0) -> Outcome:
        ended = run(given, width)
        return ended._replace(out=ended.out.replace("109,482,240", "109,482,241"))

    monkeypatch.setattr("tools.fuzz.running.run", altered)
    assert problem_of(line, run(line)) == "count prints 109,482,241, with --json 109482240"
