"""Formulas are written as authors write them, and each printed form gives the exact count again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import sympy

import archspec
from archspec.render.formats import format_formula, glyphs
from archspec.render.notation import choose_glyphs, entries, path, spell_name
from archspec.render.printers import printer
from archspec.render.terms import arrange_terms

FORMULAS = {  # the highest order first, common factors taken, factors as notation.yaml lists them
    "BertModel": "L·(4·d² + 2·d·d_ff + 9·d + d_ff) + d·(V + s + t + d) + 3·d",
    "LlamaForCausalLM": "L·(2·d·d_h·(h + h_kv) + 3·d·d_ff + 2·d) + 2·V·d + d",
    "MixtralForCausalLM": "L·(3·E·d·d_ff + E·d + 2·d·d_h·(h + h_kv) + 2·d) + 2·V·d + d",
    "DeepseekV3ForCausalLM": "max(0, L - L_dense)·(3·d·d_moe·(E + E_s) + E·d)"
    " + L·(d·(r_q + r_kv + d_rope) + h·(d·d_v + r_q·(d_nope + d_rope) + r_kv·(d_nope + d_v))"
    " + 2·d + r_q + r_kv) + 3·min(L, L_dense)·d·d_ff + 2·V·d + d",
    "Mamba2ForCausalLM": "L·(3·x·d² + 2·g·N·(d + w + 1) + d·(w·x + 2·x + h + 1) + 3·h) + 2·V·d + d",
}
ARCHITECTURES = (
    *("BertForMaskedLM", "GPT2LMHeadModel", "LlamaForCausalLM", "T5ForConditionalGeneration"),
    *("MixtralForCausalLM", "Qwen3MoeForCausalLM", "DeepseekV3ForCausalLM", "JambaForCausalLM"),
    *("Qwen3NextForCausalLM", "AlbertModel", "Wav2Vec2Model", "SwinModel", "ViTModel"),
    "Gemma3ForConditionalGeneration",
)


@pytest.fixture(scope="module", params=ARCHITECTURES)
def formula(request: pytest.FixtureRequest) -> archspec.Formula:
    return archspec.formula(request.param)


def numbers(formula: archspec.Formula, attribute: str) -> dict[str, Any]:
    """The exact value of each symbol, by its text or its LaTeX."""
    symbols = choose_glyphs([symbol.name for symbol in formula.expr.free_symbols])
    found = {getattr(glyph, attribute): formula.symbols[name] for name, glyph in symbols.items()}
    assert len(found) == len(symbols), "two fields have one symbol"
    return {text: sympy.Rational(repr(value)) for text, value in found.items()}


@pytest.mark.parametrize("architecture", FORMULAS)
def test_formulas_are_as_authors_write_them(architecture: str) -> None:
    assert archspec.formula(architecture).text() == FORMULAS[architecture]


def test_latex(formula: archspec.Formula) -> None:
    """SymPy's LaTeX parser reads the structure; each symbol is first given an index that it can read."""
    from sympy.parsing.latex import parse_latex

    values = numbers(formula, "latex")
    names = [f"{base}_{{{index}}}" for base in "uvwxyz" for index in "abcfghjklmnopq"]
    letters = dict(zip(values, names, strict=False))
    text = re.sub(r"\\[bB]igg?[lr]", "", formula.latex())
    tokens = "|".join(re.escape(latex) for latex in sorted(letters, key=len, reverse=True))
    text = re.sub(rf"({tokens})|\\[A-Za-z]+", lambda m: letters[m[1]] if m[1] else m[0], text)
    # adjacent factors are multiplied
    text = text.replace(r"\,", r" \cdot ")
    text = re.sub(
        r"([})\d]|\\r(?:floor|ceil)) (?=\(|\\lfloor|\\lceil|\\max|\\min|[u-z]_)", r"\1 \\cdot ", text
    )
    text = re.sub(r"\\([lr])(floor|ceil)", r"\\\1\2", text)
    parsed = parse_latex(text, backend="lark")
    table = {letters[latex]: value for latex, value in values.items()}
    assert parsed.subs({symbol: table[symbol.name] for symbol in parsed.free_symbols}) == formula.evaluate()


@pytest.mark.parametrize("form", ["text", "unicode"])
def test_text(formula: archspec.Formula, form: str) -> None:
    """The text is a Python expression once its signs are replaced."""
    text = format_formula(formula, form)
    assert form == "unicode" or not re.search("[⁰¹²³⁴⁵⁶⁷⁸⁹⌊⌈]", text)
    raised = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
    text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda found: "**" + found[0].translate(raised), text)
    for sign, code in {"·": "*", "^": "**", "⌊": "floor(", "⌋": ")", "⌈": "ceil(", "⌉": ")"}.items():
        text = text.replace(sign, code)
    functions = {"floor": sympy.floor, "ceil": sympy.ceiling, "min": sympy.Min, "max": sympy.Max}
    names = {"__builtins__": {}, **functions, **numbers(formula, "text")}
    assert eval(text, names) == formula.evaluate()


@pytest.mark.parametrize("architecture", ["DeepseekV3ForCausalLM", "JambaForCausalLM"])
def test_the_order_is_the_same_in_every_format(architecture: str) -> None:
    formula = archspec.formula(architecture)
    symbols = choose_glyphs(formula.symbols)

    def met(text: str, names: dict[str, str]) -> list[str]:
        """The fields in the order in which a text names them."""
        marks = sorted(names, key=len, reverse=True)
        pattern = "|".join(rf"(?<![A-Za-z_\\]){re.escape(mark)}(?![A-Za-z_])" for mark in marks)
        return [names[mark] for mark in re.findall(pattern, text)]

    wanted = met(formula.text(), {glyph.text: name for name, glyph in symbols.items()})
    assert len(wanted) > 25
    assert met(formula.latex(), {glyph.latex: name for name, glyph in symbols.items()}) == wanted
    rounds = re.search("[⌈⌊]", formula.text())  # code has divisions in their place
    for form in () if rounds else ("python", "sql", "spark"):
        code = printer(form).print_sum(arrange_terms(formula))
        assert met(code, {name: name for name in formula.symbols}) == wanted
    shown = re.sub(r"<msub><mi>(\w+)</mi><mtext>(\w+)</mtext></msub>", r"<mi>\1_\2</mi>", formula.mathml())
    assert met(shown, {f"<mi>{glyph.text}</mi>": name for name, glyph in symbols.items()}) == wanted


def test_factors_in_mathml_are_separated() -> None:
    """Letters by a space, as in LaTeX: without one `V d` does not look like a product."""
    times, letter = "\N{INVISIBLE TIMES}", "<mi>d</mi>"
    shown = archspec.formula("GPT2Model").mathml()
    assert f'{letter}<mo rspace="0.17em">{times}</mo><msub>' in shown  # d d_ff
    assert f"<mn>2</mn><mo>{times}</mo>{letter}" in shown and f"{letter}<mo>{times}</mo><mrow><mo>(" in shown
    named = archspec.formula("CanineModel").mathml()
    assert '<mo>\N{DOT OPERATOR}</mo><mi mathvariant="normal">downsampling_rate</mi>' in named
    assert "<mo>\N{MINUS SIGN}</mo>" in archspec.formula("DeepseekV3ForCausalLM").mathml()
    assert "<mi>ρ</mi>" in archspec.formula("SwinModel").mathml()


def test_names_in_latex_never_touch() -> None:
    formula = archspec.formula("EfficientNetModel")
    latex = re.sub(r"\\([lr](floor|ceil)|cdot)", "*", formula.latex())
    assert latex.count(r"\texttt{") > 20
    assert not re.search(r"\\texttt\{[^}]*\}(\\,| )*(\\texttt|[A-Za-z(])", latex)
    assert not re.search(r"[A-Za-z)}](\\,| )\\texttt", latex)


def test_products_in_markdown_have_no_escape_that_github_removes() -> None:
    formula = archspec.formula("GPT2Model")
    shown, _, note = formula.render("markdown").partition("\n\n")
    assert note.startswith("The formula is valid for `add_cross_attention = False`")
    assert "d\\thinspace d_{" in shown
    assert shown.strip("$").replace("\\thinspace ", "\\,") == formula.latex()
    assert "\\," not in shown + formula.table("markdown")


def test_custom_notation_replaces_the_standard_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("D: {latex: D, meaning: width, fields: [n_embd]}\n")
    formula = archspec.formula("GPT2Model")
    assert "D" in formula.render(notation=str(file)) and "D" not in formula.render()


def test_standard_symbols() -> None:
    lines = entries(path())
    fields = [field for line in lines for field in line.fields]
    assert len(fields) == len(set(fields))
    for glyph in (line.glyph for line in lines if line.glyph is not None):
        plain = re.sub(r"\\mathrm|[{}\\]", "", glyph.latex).replace(",", "_")
        assert plain == glyph.text and glyph.meaning
    found = glyphs(archspec.formula("Qwen3NextForCausalLM"))
    assert found["L_linear_attn"].meaning == "layers with layer_types[i] == 'linear_attention'"
    assert all(glyph.meaning for glyph in found.values())


@pytest.mark.parametrize(
    ("name", "latex"),
    [  # within mathrm an underscore would start a subscript
        ("protein_encoder_config.hidden_size", r"d_{\mathrm{protein\_encoder}}"),
        ("L_self_attn", r"L_{\mathrm{self\_attn}}"),
        ("no_usual_letter", r"\texttt{no\_usual\_letter}"),
        ("text_config.v_head_dim", r"d_{v,\mathrm{text}}"),
    ],
)
def test_symbols_of_names(name: str, latex: str) -> None:
    assert choose_glyphs([name])[name].latex == latex
    assert spell_name("depth_divisor").latex == r"\texttt{depth\_divisor}"


def test_no_two_fields_share_a_symbol() -> None:
    """Fields of one meaning have one symbol; where two of them meet, the second is written out."""
    found = choose_glyphs(["v_head_dim", "linear_value_head_dim", "text_config.v_head_dim"])
    assert [glyph.text for glyph in found.values()] == ["d_v", "linear_value_head_dim", "d_v_text"]


def test_long_lists_are_written_by_their_pattern() -> None:
    formula = archspec.formula("Qwen3NextForCausalLM")
    (kinds,) = (text for text in formula.assumptions if text.startswith("layer_types"))
    assert kinds == "layer_types = ('linear_attention' × 3, 'full_attention') × 12"
    assert len(formula.flags["layer_types"]) == 48


def test_a_model_in_a_notebook_has_its_modules_and_is_escaped() -> None:
    model = archspec.load("BertForMaskedLM")
    html = model._repr_html_()
    assert html.count("<tr>") == html.count("</tr>") > 20
    total = "counted separately, the total is 132,955,194"
    assert all(text in html for text in ("109,514,298", "12 × BertLayer", "85,054,464", total))
    model.architecture = "<script>alert(1)</script>"
    assert "<script>" not in model._repr_html_()
