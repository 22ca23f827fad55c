"""Every printed form gives the exact count when it is evaluated back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import sympy
from native import CODES, Library

import archspec
from archspec.render.arrangements import arrangement
from archspec.render.conditions import literal
from archspec.render.formats import format_formula
from archspec.render.notation import choose_glyphs
from archspec.render.programs import program

ARCHITECTURES = (
    *("BertForMaskedLM", "GPT2LMHeadModel", "LlamaForCausalLM", "T5ForConditionalGeneration"),
    *("MixtralForCausalLM", "Qwen3MoeForCausalLM", "DeepseekV3ForCausalLM", "JambaForCausalLM"),
    *("Qwen3NextForCausalLM", "AlbertModel", "Wav2Vec2Model", "SwinModel", "ViTModel"),
    "Gemma3ForConditionalGeneration",
)
Query = Callable[[str], Any]


@pytest.fixture(scope="module", params=ARCHITECTURES)
def formula(request: pytest.FixtureRequest) -> archspec.Formula:
    return archspec.formula(request.param)


def exact(value: int | float) -> Any:
    return sympy.Rational(repr(value)) if isinstance(value, float) else sympy.Integer(value)


def test_python(formula: archspec.Formula) -> None:
    assert eval(formula.python(), {}, formula.inputs) == formula.evaluate()


def test_c(formula: archspec.Formula, tmp_path: Path) -> None:
    library = Library(format_formula(formula, "c"), tmp_path, "params")
    assert library.run(formula.inputs) == (CODES["ok"], formula.evaluate())


def over_a_row(formula: archspec.Formula, form: str, row: Mapping[str, Any], integer: str) -> str:
    """A query of a formula over a table of one row, whose whole numbers are of a type."""
    columns = {name: literal(form, value) for name, value in row.items()}
    columns |= {n: f"CAST({value} AS {integer})" for n, value in row.items() if type(value) is int}
    listed = ", ".join(f"{value} AS {name}" for name, value in columns.items())
    return f"SELECT {format_formula(formula, form)} FROM (SELECT {listed})"


@pytest.fixture
def duckdb_value() -> Iterator[Query]:
    import duckdb

    with duckdb.connect() as connection:
        yield lambda query: connection.execute(query).fetchone()[0]


def test_sql(formula: archspec.Formula, duckdb_value: Query) -> None:
    assert duckdb_value(over_a_row(formula, "sql", formula.inputs, "BIGINT")) == formula.evaluate()


@pytest.mark.parametrize("architecture", ["ParakeetForCTC", "Sam3TrackerVideoModel"])
def test_functions_that_code_lacks_are_constants(
    architecture: str, tmp_path: Path, duckdb_value: Query
) -> None:
    """Logarithms to any base, and sums in closed form with a case for each base."""
    formula = archspec.formula(architecture)
    assert "log" in formula.text()
    test_python(formula)
    test_c(formula, tmp_path)
    test_sql(formula, duckdb_value)


@pytest.mark.spark
@pytest.mark.parametrize("ansi", ["true", "false"], ids=["ansi", "lenient"])
def test_spark(spark: Any, ansi: str) -> None:
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    formulas = [archspec.formula(name) for name in ARCHITECTURES]
    queries = [over_a_row(formula, "spark", formula.inputs, "BIGINT") for formula in formulas]
    assert [spark.sql(query).first()[0] for query in queries] == [one.evaluate() for one in formulas]


def beyond_64_bits() -> tuple[archspec.Formula, dict[str, Any], int]:
    """A formula that is divided as a whole, a row of 32-bit numbers, and its value there."""
    formula = archspec.formula("LlamaForCausalLM").assume("intermediate_size=7*hidden_size/2")
    row = {**formula.inputs, "hidden_size": 2**31 - 64, "vocab_size": 2**31 - 1}
    row["num_hidden_layers"] = 2**20 + 1
    wanted = eval(format_formula(formula, "python"), {}, dict(row))
    assert "//" in format_formula(formula, "python") and wanted > 2**80
    return formula, row, wanted


def test_sql_of_narrow_columns_does_not_wrap_around(duckdb_value: Query) -> None:
    """Columns of 32 bits, as JSON readers and Spark make them, hold fields; their products are beyond."""
    formula, row, wanted = beyond_64_bits()
    assert duckdb_value(over_a_row(formula, "sql", row, "INTEGER")) == wanted


@pytest.mark.spark
@pytest.mark.parametrize("ansi", ["true", "false"], ids=["ansi", "lenient"])
def test_spark_of_narrow_columns_does_not_wrap_around(spark: Any, ansi: str) -> None:
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    formula, row, wanted = beyond_64_bits()
    assert spark.sql(over_a_row(formula, "spark", row, "INT")).first()[0] == wanted


def test_latex(formula: archspec.Formula) -> None:
    """SymPy's LaTeX parser reads the structure; each symbol is first given an index that it can read."""
    from sympy.parsing.latex import parse_latex

    glyphs = choose_glyphs([symbol.name for symbol in formula.expr.free_symbols])
    assert len({glyph.latex for glyph in glyphs.values()}) == len(glyphs), "two fields have one symbol"
    names = [f"{base}_{{{index}}}" for base in "uvwxyz" for index in "abcfghjklmnopq"]
    letters = dict(zip([glyph.latex for glyph in glyphs.values()], names, strict=False))
    assert len(letters) == len(glyphs)
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
    table = {letters[glyph.latex]: exact(formula.symbols[name]) for name, glyph in glyphs.items()}
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
    glyphs = choose_glyphs([symbol.name for symbol in formula.expr.free_symbols])
    table = {glyph.text: exact(formula.symbols[name]) for name, glyph in glyphs.items()}
    assert eval(text, {"__builtins__": {}}, {**functions, **table}) == formula.evaluate()


def test_mathml(formula: archspec.Formula) -> None:
    from xml.etree import ElementTree

    root = ElementTree.fromstring(formula.mathml())
    shown = {(node.text or "").replace("ρ", "rho") for node in root.iter() if node.tag.endswith("mi")}
    glyphs = choose_glyphs([symbol.name for symbol in formula.expr.free_symbols])
    bases = {glyph.text.partition("_")[0] for glyph in glyphs.values()}
    assert bases <= {text.partition("_")[0] for text in shown}


def test_own_notation_replaces_the_standard_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("D: {latex: D, meaning: width, fields: [n_embd]}\n")
    formula = archspec.formula("GPT2Model")
    assert "D" in formula.written(notation=str(file)) and "D" not in formula.written()


def test_products_in_markdown_have_no_escape_that_is_taken_off() -> None:
    formula = archspec.formula("GPT2Model")
    shown = formula.written("markdown")
    shown, _, note = shown.partition("\n\n")
    assert note.startswith("It holds for `add_cross_attention = False`")
    assert "d\\thinspace d_{" in shown
    assert shown.strip("$").replace("\\thinspace ", "\\,") == formula.latex()
    assert "\\," not in shown + formula.table("markdown")


def test_latex_of_names_with_underscores() -> None:
    """Within mathrm an underscore would start a subscript."""
    names = ["protein_encoder_config.hidden_size", "L_self_attn", "no_usual_letter"]
    assert [choose_glyphs([name])[name].latex for name in names] == [
        r"d_{\mathrm{protein\_encoder}}",
        r"L_{\mathrm{self\_attn}}",
        r"\texttt{no\_usual\_letter}",
    ]


def test_what_was_counted_at_the_config_is_never_wrong_elsewhere(duckdb_value: Query, tmp_path: Path) -> None:
    """The layers of a kind are counted at 48 layers: with others, code gives no number."""
    formula = archspec.formula("Qwen3NextForCausalLM")
    elsewhere = {**formula.inputs, "num_hidden_layers": 24}
    with pytest.raises(ValueError, match="does not hold for these fields"):
        eval(formula.python(), {}, elsewhere)
    assert duckdb_value(over_a_row(formula, "sql", elsewhere, "BIGINT")) is None
    assert Library(formula.written("c"), tmp_path, "params").run(elsewhere) == (CODES["condition"], None)


def test_parts_are_code_under_their_labels(duckdb_value: Query) -> None:
    formula = archspec.formula("LlamaForCausalLM")
    parts, row = arrangement(formula, "component"), formula.inputs
    wanted = {part.label.replace("-", "_"): int(formula.number(part.expr)) for part in parts}
    namespace: dict[str, Any] = {**row}
    labelled = [(part.label, part.terms) for part in parts]
    exec(program(formula, "python", labelled), {}, namespace)
    assert {name: namespace[name] for name in wanted} == wanted
    columns = ", ".join(f"{literal('sql', value)} AS {name}" for name, value in row.items())
    table = f"SELECT {program(formula, 'sql', labelled)} FROM (SELECT {columns})"
    assert duckdb_value(f"SELECT {' + '.join(wanted)} FROM ({table})") == formula.evaluate()
    assert program(formula, "c", labelled).count("int feed_forward(") == 1


def test_factors_in_mathml_are_told_apart() -> None:
    """Letters by a space, as in LaTeX: of `V d` without one nobody sees that it is a product."""
    times, letter = "\N{INVISIBLE TIMES}", "<mi>d</mi>"
    shown = archspec.formula("GPT2Model").mathml()
    assert f'{letter}<mo rspace="0.17em">{times}</mo><msub>' in shown  # d d_ff
    assert f"<mn>2</mn><mo>{times}</mo>{letter}" in shown and f"{letter}<mo>{times}</mo><mrow><mo>(" in shown
    named = archspec.formula("CanineModel").mathml()
    assert '<mo>\N{DOT OPERATOR}</mo><mi mathvariant="normal">downsampling_rate</mi>' in named
    assert "<mo>\N{MINUS SIGN}</mo>" in archspec.formula("DeepseekV3ForCausalLM").mathml()
