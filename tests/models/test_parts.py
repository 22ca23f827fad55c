"""Parts and leading forms of a formula print as it does, and are what the command line shows."""

from __future__ import annotations

import json

import pytest
import sympy

import archspec
from archspec.cli.main import main
from archspec.errors import FormulaError


@pytest.mark.parametrize("by", ["repetition", "component", "module", "layer", "polynomial"])
def test_parts_are_those_of_the_command_and_add_up(by: str, capsys: pytest.CaptureFixture[str]) -> None:
    formula = archspec.formula("DeepseekV3ForCausalLM")
    deep = by == "module"  # a depth is refused of the others
    parts = formula.by(by, depth=2) if deep else formula.by(by)
    command = ["formula", "DeepseekV3ForCausalLM", "--by", by, "--json"]
    assert main([*command, "--depth", "2"] if deep else command) == 0
    assert json.loads(capsys.readouterr().out)["parts"] == parts.as_json()
    assert sympy.expand(sympy.Add(*(part.expr for part in parts)) - formula.expr) == 0
    assert sum(part.value for part in parts) == formula.evaluate() and parts[0].text() in parts.text()


@pytest.mark.parametrize("by", ["repetition", "component", "module", "layer", "polynomial"])
def test_nothing_has_one_part_that_is_0(by: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["formula", "LlamaForCausalLM", "--quantity", "buffers", "--by", by]
    for way in (["--format", "latex"], ["--standalone"], ["--env", "equation"], ["--table", "latex"]):
        assert main([*command, *way]) == 0
    assert main(command) == 0
    assert "buffers of LlamaForCausalLM = 0" in capsys.readouterr().out


def test_a_leading_form_prints_as_a_formula_does() -> None:
    formula = archspec.formula("GPT2LMHeadModel").assume("n_inner=4*n_embd")
    form = formula.leading("n_embd", "n_layer")
    assert (str(form), form.text(), repr(form)) == ("≈ 12·L·d²", "12·L·d²", "<params ≈ 12·L·d²>")
    assert form._repr_latex_() == f"$\\displaystyle \\approx {form.latex()}$" and "<math" in form.mathml()
    assert eval(form.python(), {}, formula.inputs) == form.value == 12 * 12 * 768**2
    assert form.value + form.dropped.value == formula.evaluate()
    assert [part.label for part in form.by("component")] == ["attention", "feed-forward"]


def test_a_table_is_that_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("latex", "markdown"):
        assert main(["formula", "BertModel", "--table", form]) == 0
        assert capsys.readouterr().out == archspec.formula("BertModel").table(form) + "\n"


def test_what_is_no_arrangement_is_refused() -> None:
    formula = archspec.formula("BertModel")
    with pytest.raises(FormulaError, match=r"(?s)layers is no arrangement.*did you mean layer"):
        formula.by("layers")
    with pytest.raises(FormulaError, match="a depth of 0"):
        formula.by("module", depth=0)
    with pytest.raises(FormulaError, match=r"a depth of 1\.5"):
        formula.by("module", depth=1.5)  # type: ignore[arg-type]
    with pytest.raises(FormulaError, match="None is no arrangement"):
        formula.by(None)  # type: ignore[arg-type]
    with pytest.raises(FormulaError, match="html is no format of tables"):
        formula.table("html")
    with pytest.raises(FormulaError, match="hidden does not enter"):
        formula.collect("hidden")
    with pytest.raises(FormulaError, match="num_attention_heads does not enter"):
        formula.leading("num_attention_heads")


def test_notebooks_show_parts() -> None:
    html = archspec.formula("BertModel").by("component")._repr_html_()
    assert "<table" in html and "d·(V + s + t)" in html
