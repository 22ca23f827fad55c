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
