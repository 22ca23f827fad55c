"""What each verb's help shows: every example works, and what is the verb's own comes first."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from archspec.cli.main import main
from archspec.tables.verbs import VERBS

ROOT = Path(__file__).parents[2]
REFERENCE = ("verify", "derive")
OF_NOBODY = "my_package"
TITLES = ("positional arguments", "options", "model", "output")


def of_a_line(line: str) -> Any:
    verb = line.split()[0]
    return pytest.param(line, marks=[pytest.mark.reference] if verb in REFERENCE else [])


@pytest.mark.parametrize(
    "line", [of_a_line(line) for verb in VERBS.values() for line in verb.examples if OF_NOBODY not in line]
)
def test_every_example_works(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "architectures": ["BertModel"]}))
    (tmp_path / "specs").mkdir()
    shutil.copy(ROOT / "formulas" / "bert.yaml", tmp_path / "specs")
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(line)) in (0, 1)
    assert capsys.readouterr().out


@pytest.mark.parametrize("verb", VERBS)
def test_help(verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([verb, "--help"]) == 0
    shown = capsys.readouterr().out
    before, _, examples = shown.partition("\nexamples:\n")
    assert max(map(len, before.splitlines())) <= 80
    assert examples.split("\n  ")[-1].strip() == f"archspec {VERBS[verb].examples[-1]}"
    titles = re.findall(r"^(positional arguments|options|model|output):$", before, re.MULTILINE)
    assert titles == [title for title in TITLES if title in titles]
    assert "output" in titles and before.rstrip().endswith("show this help")
