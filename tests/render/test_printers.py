"""Every printed form gives the exact count when it is evaluated back."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import sympy

import archspec
from archspec.render.code import C_PRELUDE, identifier
from archspec.render.formats import written
from archspec.render.notation import chosen

ARCHITECTURES = [
    "BertForMaskedLM",
    "GPT2LMHeadModel",
    "LlamaForCausalLM",
    "T5ForConditionalGeneration",
    "MixtralForCausalLM",
    "Qwen3MoeForCausalLM",
    "DeepseekV3ForCausalLM",
    "JambaForCausalLM",
    "AlbertModel",
    "Wav2Vec2Model",
    "SwinModel",
    "ViTModel",
    "Gemma3ForConditionalGeneration",
]


@pytest.fixture(scope="module", params=ARCHITECTURES)
def formula(request: pytest.FixtureRequest) -> archspec.Formula:
    return archspec.formula(request.param)


def values(formula: archspec.Formula) -> dict[str, int | float]:
    return {identifier(name): value for name, value in formula.symbols.items()}


def exact(value: int | float) -> Any:
    return sympy.Rational(repr(value)) if isinstance(value, float) else sympy.Integer(value)


def test_python(formula: archspec.Formula) -> None:
    code = compile(formula.python(), "formula", "eval")
    whole = {n: int(v) if float(v).is_integer() else v for n, v in values(formula).items()}
    assert eval(code, {"__builtins__": {}, "min": min, "max": max}, whole) == formula.evaluate()


def test_c(formula: archspec.Formula, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "a C compiler is needed to run the C form"
    names = values(formula)
    signature = ", ".join(f"long long {name}" for name in names)
    source = tmp_path / "formula.c"
    source.write_text(f"{C_PRELUDE}long long count({signature}) {{ return {written(formula, 'c')}; }}\n")
    library = tmp_path / "formula.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True, capture_output=True)
    count = ctypes.CDLL(str(library)).count
    count.restype = ctypes.c_longlong
    assert count(*(ctypes.c_longlong(int(value)) for value in names.values())) == formula.evaluate()


def test_sql(formula: archspec.Formula) -> None:
    import duckdb

    columns = ", ".join(f"CAST({int(value)} AS BIGINT) AS {name}" for name, value in values(formula).items())
    query = f"SELECT {written(formula, 'sql')} FROM (SELECT {columns})"
    with duckdb.connect() as connection:
        assert connection.execute(query).fetchall() == [(formula.evaluate(),)]


def test_sql_of_narrow_columns_does_not_wrap_around() -> None:
    """Columns of 32 bits, as JSON readers and Spark make them, hold fields; their products are beyond."""
    import duckdb

    formula = archspec.formula("LlamaForCausalLM")
    columns = ", ".join(f"CAST({value} AS INTEGER) AS {name}" for name, value in values(formula).items())
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT {written(formula, 'sql')} FROM (SELECT {columns})").fetchall()
    assert rows == [(formula.evaluate(),)] and rows[0][0] > 2**32


def test_latex(formula: archspec.Formula) -> None:
    """SymPy's LaTeX parser reads the structure; each symbol is first given an index that it can read."""
    from sympy.parsing.latex import parse_latex

    glyphs = chosen([symbol.name for symbol in formula.expr.free_symbols])
    assert len({glyph.latex for glyph in glyphs.values()}) == len(glyphs), "two fields print alike"
    names = [f"{base}_{{{index}}}" for base in "uvwxyz" for index in "abcfghjklmnopq"]
    letters = dict(zip([glyph.latex for glyph in glyphs.values()], names, strict=False))
    assert len(letters) == len(glyphs)
    tokens = "|".join(re.escape(latex) for latex in sorted(letters, key=len, reverse=True))
    text = re.sub(rf"({tokens})|\\[A-Za-z]+", lambda m: letters[m[1]] if m[1] else m[0], formula.latex())
    # what stands side by side is multiplied
    text = re.sub(r"([})\d]|\\right\\r(?:floor|ceil)) (?=\\left|\\max|\\min|[u-z]_|\d)", r"\1 \\cdot ", text)
    parsed = parse_latex(text, backend="lark")
    table = {letters[glyph.latex]: exact(formula.symbols[name]) for name, glyph in glyphs.items()}
    assert parsed.subs({symbol: table[symbol.name] for symbol in parsed.free_symbols}) == formula.evaluate()


@pytest.mark.parametrize("unicode", [False, True])
def test_text(formula: archspec.Formula, unicode: bool) -> None:
    text = written(formula, "unicode" if unicode else "text")
    plain = text.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", "")) if not unicode else text
    plain = re.sub(
        r"([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda m: "**" + m[1].translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")), plain
    )
    plain = plain.replace("·", "*").replace("^", "**")
    plain = plain.replace("⌊", "floor(").replace("⌋", ")").replace("⌈", "ceil(").replace("⌉", ")")
    functions = {"floor": sympy.floor, "ceil": sympy.ceiling, "min": sympy.Min, "max": sympy.Max}
    glyphs = chosen([symbol.name for symbol in formula.expr.free_symbols])
    table = {glyph.text: exact(formula.symbols[name]) for name, glyph in glyphs.items()}
    assert eval(plain, {"__builtins__": {}}, {**functions, **table}) == formula.evaluate()


def test_mathml(formula: archspec.Formula) -> None:
    from xml.etree import ElementTree

    root = ElementTree.fromstring(formula.mathml())
    shown = {node.text for node in root.iter() if node.tag.endswith("mi")}
    glyphs = chosen([symbol.name for symbol in formula.expr.free_symbols])
    bases = {glyph.text.partition("_")[0] for glyph in glyphs.values()}
    assert bases <= {(text or "").partition("_")[0] for text in shown}


def test_own_notation_replaces_the_standard_one(tmp_path: Path) -> None:
    from archspec.render.notation import read

    file = tmp_path / "mine.yaml"
    file.write_text("D: {latex: D, meaning: width, fields: [n_embd]}\n")
    formula = archspec.formula("GPT2Model")
    assert "D" in written(formula, "unicode", read(str(file)))
    assert "D" not in written(formula, "unicode")


def test_latex_of_names_with_underscores() -> None:
    """Within mathrm an underscore would start a subscript."""
    names = ["protein_encoder_config.hidden_size", "L_self_attn", "mlp_ratio"]
    assert [chosen([name])[name].latex for name in names] == [
        r"d_{\mathrm{protein\_encoder}}",
        r"L_{\mathrm{self\_attn}}",
        r"\mathrm{mlp\_ratio}",
    ]
