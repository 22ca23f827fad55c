"""Formulas are written as authors write them, in one order and in one set of symbols in every format."""

from __future__ import annotations

import re

import pytest

import archspec
from archspec.render.formats import glyphs
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


@pytest.mark.parametrize("architecture", FORMULAS)
def test_formulas_are_as_authors_write_them(architecture: str) -> None:
    assert archspec.formula(architecture).text() == FORMULAS[architecture]


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
    rounds = re.search("[⌈⌊]", formula.text())  # which code does by divisions, where other signs are
    for form in () if rounds else ("python", "sql", "spark"):
        code = printer(form).print_sum(arrange_terms(formula))
        assert met(code, {name: name for name in formula.symbols}) == wanted
    shown = re.sub(r"<msub><mi>(\w+)</mi><mtext>(\w+)</mtext></msub>", r"<mi>\1_\2</mi>", formula.mathml())
    assert met(shown, {f"<mi>{glyph.text}</mi>": name for name, glyph in symbols.items()}) == wanted


def test_a_symbol_is_one_in_all_formats() -> None:
    lines = entries(path())
    fields = [field for line in lines for field in line.fields]
    assert len(fields) == len(set(fields))
    for glyph in (line.glyph for line in lines if line.glyph is not None):
        plain = re.sub(r"\\mathrm|[{}\\]", "", glyph.latex).replace(",", "_")
        assert plain == glyph.text and glyph.meaning


def test_greek_letters_are_letters_in_mathml() -> None:
    assert "<mi>ρ</mi>" in archspec.formula("SwinModel").mathml()


def test_names_in_latex_never_touch() -> None:
    formula = archspec.formula("EfficientNetModel")
    latex = re.sub(r"\\([lr](floor|ceil)|cdot)", "*", formula.latex())
    assert latex.count(r"\texttt{") > 20
    assert not re.search(r"\\texttt\{[^}]*\}(\\,| )*(\\texttt|[A-Za-z(])", latex)
    assert not re.search(r"[A-Za-z)}](\\,| )\\texttt", latex)
    assert spell_name("depth_divisor").latex == r"\texttt{depth\_divisor}"


def test_no_two_fields_share_a_symbol() -> None:
    """Fields of one meaning have one symbol; where two of them meet, the second is written out."""
    found = choose_glyphs(["v_head_dim", "linear_value_head_dim", "text_config.v_head_dim"])
    assert [glyph.text for glyph in found.values()] == ["d_v", "linear_value_head_dim", "d_v_text"]
    assert found["text_config.v_head_dim"].latex == r"d_{v,\mathrm{text}}"


def test_what_is_no_field_has_a_meaning() -> None:
    found = glyphs(archspec.formula("Qwen3NextForCausalLM"))
    assert found["L_linear_attn"].meaning == "layers with layer_types[i] == 'linear_attention'"
    assert all(glyph.meaning for glyph in found.values())


def test_long_lists_are_told_by_their_pattern() -> None:
    formula = archspec.formula("Qwen3NextForCausalLM")
    (kinds,) = (text for text in formula.assumptions if text.startswith("layer_types"))
    assert kinds == "layer_types = ('linear_attention' × 3, 'full_attention') × 12"
    assert len(formula.flags["layer_types"]) == 48
