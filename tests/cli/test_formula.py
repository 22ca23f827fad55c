"""`archspec formula`: notes, symbols, cases and LaTeX."""

from __future__ import annotations

import pytest
from conftest import Command


def test_values_and_notes(cli: Command) -> None:
    out = cli("formula BertModel").out
    for text in ("note: num_attention_heads does not affect the result\n", "109,482,240"):
        assert text in out
    assert "add_cross_attention = False" in out
    found = cli("formula MixtralForCausalLM --quantity active_params --json").json
    assert found["value"] == 12_879_925_248
    values = {symbol["field"]: symbol["value"] for symbol in found["symbols"]}
    assert "num_experts_per_tok" in values and eval(found["python"], {}, values) == found["value"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--quantity parms", "active_params"),
        ("--symbol hidden_size", "= is missing"),
        ("--symbol hidden_size=", "has no symbol"),
        ("--symbol hidden_size=h --symbol hidden_size=g", "given twice"),
        ("--symbol hidden_sizes=h", "did you mean hidden_size?"),
        (r"--symbol hidden_size=\\frac{", r"\frac{ is not valid LaTeX"),
        ("--symbol hidden_size=50%", "50% is not valid LaTeX"),
        ("--quantity cache_elements", "BertModel does not return a KV cache"),
        ("--quantity flops --dtype bf16", "--dtype has no effect on flops"),
        ("--table latex --by polynomial", "--table cannot be combined with --by polynomial"),
        *((f"--width 48 {other}", "--width") for other in ("--format python", "--json", "--format text")),
        ("--width 48 --table markdown", "--width"),
    ],
)
def test_bad_options(options: str, message: str, cli: Command) -> None:
    assert message in cli(f"formula BertModel {options}", code=2).err


def test_cases_are_counted_in_bytes_too(cli: Command) -> None:
    command = "formula GPT2LMHeadModel --piecewise --json"
    cases, in_bytes = (cli(command, *more).json["cases"] for more in ([], ["--dtype", "bfloat16"]))
    assert [case["flags"] for case in cases] == [case["flags"] for case in in_bytes]
    assert [2 * case["value"] for case in cases] == [case["value"] for case in in_bytes]


def test_latex_layout(cli: Command) -> None:
    def printed(options: str) -> str:
        return cli(f"formula GPT2LMHeadModel {options}").out

    assert printed("--env align --width 40").count("\\notag") == 1
    assert printed("--by component --format latex").startswith("\\begin{aligned}\n")
    assert printed("--standalone").startswith("\\documentclass")
    assert "\\begin{tabular}" in printed("--standalone --table latex")
    assert "\\begin{cases}" in printed("--piecewise --standalone --width 90")
    assert "\\approx" in printed("--leading --env equation")
