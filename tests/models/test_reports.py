"""What Python says of counts, and of what is described, is what the commands print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.cli.main import main

SPECS = str(Path(__file__).parents[1] / "linting" / "broken.yaml")
CASES: dict[str, Any] = {
    "count GPT2LMHeadModel --dtype bf16": lambda: archspec.load("GPT2LMHeadModel").counts("bf16"),
    "count GPT2LMHeadModel --depth 2": lambda: archspec.load("GPT2LMHeadModel").counts(depth=2),
    "list kosmos": lambda: archspec.catalogue("kosmos"),
    f"lint {SPECS}": lambda: archspec.lint(SPECS),
}


@pytest.mark.parametrize("line", CASES)
def test_python_says_what_the_command_prints(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = CASES[line]()
    main(line.split())
    assert capsys.readouterr().out == f"{found}\n"
    main([*line.split(), "--json"])
    assert json.loads(capsys.readouterr().out) == found.as_json()
    assert found._repr_html_().startswith("<div>")


def test_lint_is_true_where_something_is_wrong() -> None:
    assert not archspec.lint("formulas/gpt2.yaml")
    found = archspec.lint([SPECS])
    assert found and len(found) == len(list(found)) > 5
    with pytest.raises(archspec.ArchspecError, match=r"nowhere\.yaml"):
        archspec.lint("nowhere.yaml")


def test_what_is_not_described_is_an_error() -> None:
    with pytest.raises(archspec.ArchspecError, match="no supported model type or class contains 'nonsense'"):
        archspec.catalogue("nonsense")


@pytest.mark.parametrize("form", ["markdown", "c", "sql", "spark"])
def test_a_formula_is_written_as_the_command_does(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = archspec.formula("GPT2Model")
    assert main(["formula", "GPT2Model", "--format", form]) == 0
    assert capsys.readouterr().out == f"{found.written(form)}\n"
    assert main(["formula", "GPT2Model", "--json", "--symbol", "n_embd=h"]) == 0
    assert json.loads(capsys.readouterr().out) == found.as_json(symbol={"n_embd": "h"})


def test_a_formula_is_not_written_in_any_format() -> None:
    with pytest.raises(archspec.ArchspecError, match="unknown formula format 'fortran'"):
        archspec.formula("GPT2Model").written("fortran")
