"""Parts and leading forms print like a formula and match the command line."""

from __future__ import annotations

from typing import Any

import pytest
import sympy

import archspec
from archspec.errors import FormulaError

BY = pytest.mark.parametrize("by", ["repetition", "component", "module", "layer", "polynomial"])


@BY
def test_parts_are_those_of_the_command_and_add_up(by: str, cli: Any) -> None:
    formula = archspec.formula("DeepseekV3ForCausalLM")
    options = {"depth": 2} if by == "module" else {}  # a depth is refused elsewhere
    parts = formula.split(by, **options)
    words = ["--depth", "2"] if options else []
    assert cli(f"formula DeepseekV3ForCausalLM --by {by} --json", *words).json["parts"] == parts.as_json()
    assert sympy.expand(sympy.Add(*(part.expr for part in parts)) - formula.expr) == 0
    assert sum(part.value for part in parts) == formula.evaluate() and parts[0].text() in parts.text()


@BY
def test_a_formula_of_0_has_one_part(by: str, cli: Any) -> None:
    command = f"formula LlamaForCausalLM --quantity buffers --by {by}"
    for way in ("--format latex", "--standalone", "--env equation"):
        cli(f"{command} {way}")
    cli(f"{command} --table latex", code=2 if by in ("repetition", "polynomial") else 0)
    assert "buffers of LlamaForCausalLM = 0" in cli(command).out
    assert "\\approx 0" in cli(f"{command} --leading --env align").out


def test_a_leading_form_prints_like_a_formula() -> None:
    formula = archspec.formula("GPT2LMHeadModel").assume("n_inner=4*n_embd")
    form = formula.leading_terms("n_embd", "n_layer")
    assert (str(form), form.text(), repr(form)) == ("≈ 12·L·d²", "12·L·d²", "<params ≈ 12·L·d²>")
    assert form._repr_latex_() == f"$\\displaystyle \\approx {form.latex()}$" and "<math" in form.mathml()
    assert eval(form.python(), {}, formula.inputs) == form.value == 12 * 12 * 768**2
    assert form.value + form.dropped.value == formula.evaluate()
    assert [part.label for part in form.split("component")] == ["attention", "feed-forward"]


@pytest.mark.parametrize("form", ["latex", "markdown"])
def test_tables_are_those_of_the_command(form: str, cli: Any) -> None:
    formula = archspec.formula("BertModel")
    assert cli(f"formula BertModel --table {form}").out == formula.table(form) + "\n"
    assert "d·(V + s + t)" in formula.split("component")._repr_html_()


@pytest.mark.parametrize("form", ["markdown", "c", "sql", "spark"])
def test_a_formula_is_written_like_the_command_does(form: str, cli: Any) -> None:
    found = archspec.formula("GPT2Model")
    assert cli(f"formula GPT2Model --format {form}").out == f"{found.render(form)}\n"
    printed = cli("formula GPT2Model --json --symbol n_embd=h").json
    assert printed == found.as_json(symbol={"n_embd": "h"})


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("split", ("layers",), r"(?s)by: unknown grouping 'layers'.*did you mean layer"),
        ("split", ("module", 0), "depth must be at least 1, not 0"),
        ("table", ("html",), r"(?s)unknown table format 'html'.*choose markdown or latex"),
        ("render", ("fortran",), "unknown formula format 'fortran'"),
        ("collect", ("hidden",), "the formula does not depend on hidden"),
        ("leading_terms", ("num_attention_heads",), "the formula does not depend on num_attention_heads"),
    ],
)
def test_unknown_arrangements_and_fields_are_refused(
    method: str, arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(FormulaError, match=message):
        getattr(archspec.formula("BertModel"), method)(*arguments)
