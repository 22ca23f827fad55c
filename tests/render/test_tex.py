"""Formulas in LaTeX: lines, environments, tables and documents, set by LaTeX without a complaint."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import archspec
from archspec.errors import FormulaError
from archspec.render.arrangements import arrange
from archspec.render.formats import parts_table, to_latex, typeset_cases
from archspec.render.tex.document import Layout
from archspec.render.tex.lines import width

FAMILIES = [
    *("BertModel", "GPT2LMHeadModel", "LlamaForCausalLM", "MixtralForCausalLM", "DeepseekV3ForCausalLM"),
    *("Qwen3NextForCausalLM", "Gemma3ForConditionalGeneration", "T5ForConditionalGeneration"),
    *("Mamba2ForCausalLM", "ViTForImageClassification", "WhisperForConditionalGeneration", "CLIPModel"),
]
LONG_NAMES = "Llama4ForConditionalGeneration"
COLUMN = 240  # points: a column of two, 48 digits
ARTICLE = 345  # points: 69 digits


def cases(architecture: str, layout: Layout) -> str:
    formula = archspec.formula(architecture)
    return typeset_cases(formula, formula.cases(), None, layout)


def pieces(architecture: str) -> list[tuple[int, str]]:
    """The LaTeX that an author may paste, each with the width of its column."""
    formula = archspec.formula(architecture)
    component, modules = arrange(formula, "component"), arrange(formula, "module", 2)
    found = [
        (COLUMN, formula.latex(env="align", width=48)),
        (ARTICLE, formula.latex(env="equation")),
        (ARTICLE, rf"\[{formula.latex(width=69)}\]"),
        (ARTICLE, to_latex(formula, component, None, Layout("align*"))),
        (COLUMN, to_latex(formula, component, None, Layout("align*", 48))),
        (ARTICLE, rf"\noindent{parts_table(formula, component, 'latex')}"),
    ]
    if architecture == "BertModel":
        found.append((ARTICLE, rf"\[{to_latex(formula, modules, None, Layout(width=69))}\]"))
    return found


@pytest.mark.latex
def test_a_dozen_families_are_set_without_a_complaint(tmp_path: Path) -> None:
    bodies, box = [], r"\begin{{minipage}}{{{}pt}}{}\end{{minipage}}"
    for architecture in [*FAMILIES, LONG_NAMES]:
        document = archspec.formula(architecture).latex(standalone=True)
        head, _, body = document.partition(r"\begin{document}")
        bodies.append(body.removesuffix("\\end{document}"))
        kept = pieces(architecture) if architecture in FAMILIES else []
        bodies += [box.format(points, piece) for points, piece in kept]
    both = Layout(env="align*", width=90)
    bodies.append(cases("GPT2LMHeadModel", both))
    source = tmp_path / "formulas.tex"
    source.write_text(head + r"\begin{document}" + "\n\n".join(bodies) + r"\end{document}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "formulas.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    log = (tmp_path / "formulas.log").read_text(errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert not re.findall(r"^! .*|LaTeX Warning.*", log, re.MULTILINE)
    too_wide = re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\).*", log)
    assert [points for points in too_wide if float(points) > 3] == []


@pytest.mark.parametrize("architecture", [*FAMILIES, "EfficientNetModel"])
def test_lines_keep_within_their_width_and_are_the_whole_formula(architecture: str) -> None:
    formula = archspec.formula(architecture)
    is_long = architecture == "EfficientNetModel"  # long names are broken at dots
    for most in (69,) if is_long else (40, 48, 69):
        text = formula.latex(env="align*", width=most)
        for line in text.splitlines()[1:-1]:
            left, _, right = line.removesuffix(r" \\").partition("&")
            assert width(r"N_{\mathrm{params}} ") + width(right) <= most + (20 if is_long else 1), left
        joined = re.sub(r"\\\\\n|&|\\quad", "", text.split("=", 1)[1].removesuffix("\\end{align*}"))
        assert "".join(joined.split()) == "".join(formula.latex().split())


def test_lines_break_at_the_outermost_sign() -> None:
    assert archspec.formula("LlamaForCausalLM").latex(env="align", width=32).splitlines() == [
        r"\begin{align}",
        r"  N_{\mathrm{params}} &= L \bigl(2 d\,d_h (h + h_{\mathrm{kv}}) \notag \\",
        r"    &\quad + 3 d\,d_{\mathrm{ff}} + 2 d\bigr) \notag \\",
        r"    &+ 2 V\,d + d",
        r"\end{align}",
    ]


def test_an_equation_is_numbered_once() -> None:
    formula = archspec.formula("DeepseekV3ForCausalLM")
    lines = formula.latex(env="align").splitlines()[1:-1]
    assert len(lines) > 2 and [r"\notag" in line for line in lines] == [True] * (len(lines) - 1) + [False]
    assert r"\begin{split}" in formula.latex(env="equation")
    assert "&" not in archspec.formula("GPT2Model").latex(env="equation*")


def test_parts_are_equations_below_each_other() -> None:
    formula = archspec.formula("BertModel")
    component = arrange(formula, "component")
    total, *parts = to_latex(formula, component).splitlines()[1:-1]
    sides = [part.split(" &= ")[0].strip() for part in parts]
    assert sides == [rf"N_{{\text{{{part.label}}}}}" for part in component]
    assert all(side in total for side in sides)


def test_a_document_has_the_fields_and_the_conditions() -> None:
    formula = archspec.formula("Qwen3NextForCausalLM")
    document = formula.latex(standalone=True).replace("\\", "")
    for field in formula.symbols.keys() - formula.definitions.keys():
        assert f"texttt{{{field}}}" in document.replace("\\", "")
    assert "('linear_attention' $times$ 3, 'full_attention') $times$ 12" in document
    assert "79{,}674{,}391{,}296" in document and "intermediate_size}, " in document
    # that of cases does not assume one of them
    document = cases("GPT2LMHeadModel", Layout(standalone=True)).replace("\\", "")
    assert "n_embd > 0" in document.replace("textgreater{}", ">")
    assert "tie_word_embeddings =" not in document and "add_cross_attention =" not in document


def test_bytes_have_another_left_side() -> None:
    formula = archspec.formula("GPT2Model").in_bytes("bfloat16")
    assert formula.latex(env="equation").splitlines()[1].startswith(r"  M_{\mathrm{params}} =")


@pytest.mark.parametrize(
    "wrong", [{"env": "gather"}, {"width": 5}, {"width": 10**400}, {"width": float("inf")}]
)
def test_invalid_layouts_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(FormulaError):
        archspec.formula("GPT2Model").latex(**wrong)  # type: ignore[arg-type]
