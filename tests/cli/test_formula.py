"""`archspec formula`: what a closed form says beside the numbers."""

from __future__ import annotations

import json

import pytest

from archspec.cli.main import main


def test_formula_says_what_does_not_enter(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formula", "BertModel"]) == 0
    out = capsys.readouterr().out
    assert "note: num_attention_heads does not enter the count\n" in out
    assert "109,482,240" in out
    assert "add_cross_attention = False" in out
    assert main(["formula", "MixtralForCausalLM", "--quantity", "active_params", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["value"] == 12_879_925_248
    assert "num_experts_per_tok" in {symbol["field"] for symbol in found["symbols"]}
    assert eval(found["python"], {}, {s["field"]: s["value"] for s in found["symbols"]}) == found["value"]


def test_formula_refuses_what_is_no_quantity(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formula", "BertModel", "--quantity", "parms"]) == 2
    assert "active_params" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("symbol", "says"),
    [
        (["hidden_size"], "= is missing"),
        (["hidden_size="], "lacks a symbol"),
        (["hidden_size=h", "hidden_size=g"], "given twice"),
    ],
)
def test_formula_refuses_what_is_no_symbol(
    symbol: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [part for text in symbol for part in ("--symbol", text)]
    assert main(["formula", "BertModel", *options]) == 2
    assert says in capsys.readouterr().err


def test_cases_are_counted_in_bytes_too(capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for options in ([], ["--dtype", "bfloat16"]):
        assert main(["formula", "GPT2LMHeadModel", "--piecewise", "--json", *options]) == 0
        found.append(json.loads(capsys.readouterr().out)["cases"])
    assert [case["flags"] for case in found[0]] == [case["flags"] for case in found[1]]
    assert [2 * case["value"] for case in found[0]] == [case["value"] for case in found[1]]


def test_latex_is_laid_out(capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*options: str) -> str:
        assert main(["formula", "GPT2LMHeadModel", *options]) == 0
        return capsys.readouterr().out

    assert printed("--env", "align", "--width", "40").count("\\notag") == 1
    assert printed("--by", "component", "--format", "latex").startswith("\\begin{aligned}\n")
    assert printed("--standalone").startswith("\\documentclass")
    assert "\\begin{tabular}" in printed("--standalone", "--table", "latex")
    assert "\\begin{cases}" in printed("--piecewise", "--standalone", "--width", "90")
    assert "\\approx" in printed("--leading", "--env", "equation")


@pytest.mark.parametrize(
    "options", [["--format", "python"], ["--json"], ["--table", "markdown"], ["--format", "text"]]
)
def test_other_formats_have_no_environment(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formula", "GPT2LMHeadModel", "--width", "48", *options]) == 2
    assert "--width" in capsys.readouterr().err
