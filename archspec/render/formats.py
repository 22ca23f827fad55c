"""The formats in which a closed form is written, alone, in parts or as a table of its parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from archspec.render.arrangements import Part, arrange
from archspec.render.markup import latex, mathml
from archspec.render.notation import Glyph, choose_glyphs
from archspec.render.printers import LANGUAGES, TextPrinter
from archspec.render.programs import program
from archspec.render.terms import arrange_terms
from archspec.render.tex.document import Cases, Layout, Row, cases, document, equations, table
from archspec.reports import in_cell
from archspec.symbolic.closed_form import ClosedForm

Own = Mapping[str, Glyph] | None  # a user's symbols, which override the standard ones
PLAIN = Layout()
PRINTERS: dict[str, Callable[[Sequence[Any], Mapping[str, Glyph]], str]] = {
    "text": lambda terms, symbols: TextPrinter(_texts(symbols)).add(terms),
    "unicode": lambda terms, symbols: TextPrinter(_texts(symbols), unicode=True).add(terms),
    "latex": latex,
    "mathml": mathml,
    "markdown": lambda terms, symbols: in_markdown(latex(terms, symbols)),
}
CONDITION_NOTES: dict[str, Callable[[list[str]], str]] = {
    "latex": lambda texts: f"\n% the formula is valid for {'; '.join(texts)}",
    # a comment of MathML cannot contain `--`
    "mathml": lambda texts: f"\n<!-- the formula is valid for {'; '.join(texts).replace('--', '- -')} -->",
    "markdown": lambda texts: (
        "\n\nThe formula is valid for " + "; ".join(f"`{text.replace('`', chr(39))}`" for text in texts) + "."
    ),
}


def glyphs(formula: ClosedForm, own: Own = None, forms: Cases = ()) -> dict[str, Glyph]:
    """Return the symbols of a formula and its cases; those without a field mean their definition."""
    every = [*(form for _, form in forms), formula]
    found = choose_glyphs({symbol.name for form in every for symbol in form.expr.free_symbols}, own)
    texts = {name: text for form in every for name, text in form.definitions.items() if name in found}
    return found | {name: found[name]._replace(meaning=_meaning(text)) for name, text in texts.items()}


def format_formula(formula: ClosedForm, form: str, own: Own = None, terms: Sequence[Any] = ()) -> str:
    """Return the formula, or some of its terms, in one of :data:`archspec.tables.options.FORMATS`."""
    terms = terms or arrange_terms(formula)
    if form in LANGUAGES:
        return program(formula, form, [("", terms)])
    return PRINTERS[form](terms, glyphs(formula, own))


def condition_note(formula: ClosedForm, form: str) -> str:
    """Return the conditions of a formula as a comment, or as a sentence in Markdown."""
    has_note = formula.assumptions and form in CONDITION_NOTES
    return CONDITION_NOTES[form](formula.assumptions) if has_note else ""


def in_markdown(latex: str) -> str:
    r"""Return LaTeX in Markdown: GitHub removes the backslash of `\,`, which would leave commas."""
    return "$" + latex.replace(r"\,", r"\thinspace ") + "$"


def to_latex(formula: ClosedForm, parts: Sequence[Part], own: Own = None, layout: Layout = PLAIN) -> str:
    """Return a formula or its parts in LaTeX. Errors: :class:`FormulaError` for an invalid layout."""
    symbols = glyphs(formula, own)
    if layout.is_plain and not any(part.label for part in parts):
        return latex(parts[0].terms, symbols)
    body = equations(formula, parts, symbols, layout.of_page())
    return document(formula, body, symbols, layout.value) if layout.standalone else body


def typeset_cases(formula: ClosedForm, forms: Cases, own: Own = None, layout: Layout = PLAIN) -> str:
    """Return a formula for each combination of some flags in LaTeX; a document also has the formula."""
    symbols = glyphs(formula, own, forms)
    body = cases(forms, symbols, layout.of_page())
    return document(formula, body, symbols, forms=forms) if layout.standalone else body


def parts_table(
    formula: ClosedForm, parts: list[Part], form: str, own: Own = None, layout: Layout = PLAIN
) -> str:
    """Return a table of the parts with formula, value and share, in LaTeX (booktabs) or Markdown."""
    parts = parts if any(part.label for part in parts) else arrange(formula, "component")
    total, symbols = formula.evaluate(), glyphs(formula, own)
    values = [int(formula.number(part.expr)) for part in parts]
    rows = [
        Row(part.label, part.terms, f"{value:,}", f"{value / max(1, total):.2%}")
        for part, value in zip(parts, values, strict=True)
    ]
    rows.append(Row("total", (), f"{total:,}", "100.00%"))
    if form == "latex":
        shown = table(rows, symbols, layout.width)
        return document(formula, shown, symbols) if layout.standalone else shown
    lines = ["| component | formula | value | share |", "| --- | --- | ---: | ---: |"]
    for label, terms, value, share in rows:
        shown = in_markdown(latex(terms, symbols)) if terms else ""
        lines.append(f"| {in_cell(label)} | {shown} | {value} | {share} |")
    return "\n".join(lines)


def _texts(symbols: Mapping[str, Glyph]) -> dict[str, str]:
    return {name: glyph.text for name, glyph in symbols.items()}


def _meaning(definition: str) -> str:
    counted = re.fullmatch(r"number of \w+ in range\(.*layers\) with (.+)", definition)
    return f"layers with {counted[1]}" if counted else definition
