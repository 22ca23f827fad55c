"""The formats that a closed form is written in, alone or as a table of its parts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from archspec.render.arrangements import Part, by_component
from archspec.render.code.printer import LANGUAGES
from archspec.render.code.programs import program as coded
from archspec.render.factors import shortest
from archspec.render.notation import Glyph, chosen
from archspec.render.printers import mathml, text
from archspec.render.terms import arranged
from archspec.render.tex.document import PAGE, Cases, cases, document, shown
from archspec.render.tex.printer import latex
from archspec.render.tex.tables import Cells, booktabs
from archspec.reports import in_cell
from archspec.symbolic.closed_form import ClosedForm

Own = Mapping[str, Glyph] | None  # a user's symbols, over the usual ones


def glyphs(formula: ClosedForm, own: Own = None) -> dict[str, Glyph]:
    """The symbols that a formula is written in."""
    found = chosen([symbol.name for symbol in formula.expr.free_symbols], own)
    return _explained(found, formula.definitions)


def _explained(symbols: dict[str, Glyph], definitions: Mapping[str, str]) -> dict[str, Glyph]:
    """Symbols with the meanings of those that are no field."""
    own = {name: text for name, text in definitions.items() if name in symbols}
    return {**symbols, **{name: symbols[name]._replace(meaning=_meaning(text)) for name, text in own.items()}}


def written(formula: ClosedForm, form: str, own: Own = None, terms: Sequence[Any] = ()) -> str:
    """The formula alone, or some terms of its symbols, in one of :data:`archspec.render.notation.FORMATS`."""
    terms = terms or arranged(formula)
    if form in LANGUAGES:
        return coded(formula, form, [(formula.quantity, terms)], labeled=False)
    symbols = glyphs(formula, own)
    if form in ("text", "unicode"):
        return text(terms, symbols, form == "unicode")
    if form == "mathml":
        return mathml(terms, symbols)
    return latex(terms, symbols) if form == "latex" else in_markdown(latex(terms, symbols))


def symbols_json(formula: ClosedForm, own: Own = None) -> list[dict[str, Any]]:
    """The symbols of a formula as plain data."""
    found, keys = glyphs(formula, own), ("symbol", "latex", "meaning")
    return [
        {"field": name, **dict(zip(keys, found[name], strict=True)), "value": value}
        for name, value in formula.symbols.items()
    ]


def condition_note(formula: ClosedForm, form: str) -> str:
    """The conditions of a formula, as added below it: a comment, or a sentence in Markdown."""
    said = "; ".join(formula.assumptions)
    if not said or form not in ("latex", "mathml", "markdown"):
        return ""
    if form == "markdown":
        listed = "; ".join(f"`{text.replace('`', chr(39))}`" for text in formula.assumptions)
        return f"\n\nIt holds for {listed}."
    return (
        f"\n% it holds for {said}"
        if form == "latex"
        else f"\n<!-- it holds for {said.replace('--', '- -')} -->"
    )


def in_markdown(latex: str) -> str:
    r"""LaTeX in Markdown: GitHub's takes the backslash off `\,`, which would leave commas in products."""
    spaced = latex.replace(r"\,", r"\thinspace ")
    return f"${spaced}$"


def written_part(formula: ClosedForm, part: Part, form: str, own: Own = None) -> str:
    """A part in the terms that it is best written in."""
    return written(formula, form, own, part.terms or shortest(part.expr))


def program(formula: ClosedForm, parts: Sequence[Part], language: str) -> str:
    """The parts in one language of :mod:`archspec.render.code`, each under its label if it has one."""
    named = [(part.label or formula.quantity, part.terms or shortest(part.expr)) for part in parts]
    return coded(formula, language, named, labeled=any(part.label for part in parts))


class Layout(NamedTuple):
    """How LaTeX is laid out: in an environment, in lines so many digits wide, in a document of its own.

    ``relation`` is that of the formula to its left side, ``value`` what a document says that it gives.
    """

    env: str | None = None
    width: float | None = None
    standalone: bool = False
    relation: str = "="
    value: int | None = None


PLAIN = Layout()


def typeset(formula: ClosedForm, parts: Sequence[Part], own: Own = None, layout: Layout = PLAIN) -> str:
    """A formula or its parts in LaTeX.

    Errors: :class:`FormulaError` for an environment or a width that there is not.
    """
    env, width, standalone, relation, value = layout
    symbols = glyphs(formula, own)
    if layout[:3] == PLAIN[:3] and not any(part.label for part in parts):
        return latex(parts[0].terms or shortest(parts[0].expr), symbols)
    if not standalone:
        return shown(formula, parts, symbols, env, width, relation)
    text = shown(formula, parts, symbols, env or "align*", width or PAGE, relation)
    return document(formula, text, symbols, value)


def typeset_cases(formula: ClosedForm, forms: Cases, own: Own = None, layout: Layout = PLAIN) -> str:
    """A formula for each combination of some flags in LaTeX; the document is that of the formula itself."""
    env, width, standalone, *_ = layout
    names = {symbol.name for _, form in (*forms, ({}, formula)) for symbol in form.expr.free_symbols}
    defined = {name: text for _, form in forms for name, text in form.definitions.items()}
    symbols = _explained(chosen(names, own), {**defined, **formula.definitions})
    if not standalone:
        return cases(forms, symbols, env, width)
    body = cases(forms, symbols, env or "align*", width or PAGE)
    return document(formula, body, symbols, forms=forms)


def tabled(formula: ClosedForm, parts: list[Part], form: str, own: Own = None, layout: Layout = PLAIN) -> str:
    """A table of the parts with formula, value at the config and share, in LaTeX (booktabs) or Markdown.

    In LaTeX it is as wide as the text of LaTeX's article at most, or as ``layout`` says.
    """
    parts = parts if any(part.label for part in parts) else by_component(formula)
    total, symbols = formula.evaluate(), glyphs(formula, own)
    rows = []
    for part in parts:
        value = int(formula.number(part.expr))
        terms = part.terms or shortest(part.expr)
        rows.append(Cells(part.label, terms, f"{value:,}", f"{value / max(1, total):.2%}"))
    rows.append(Cells("total", (), f"{total:,}", "100.00%"))
    if form == "markdown":
        return _markdown(rows, symbols)
    table = booktabs(rows, symbols, layout.width)
    return document(formula, table, symbols) if layout.standalone else table


def _markdown(rows: Sequence[Cells], symbols: Mapping[str, Glyph]) -> str:
    head = ["| component | formula | value | share |", "| --- | --- | ---: | ---: |"]
    for label, terms, value, share in rows:
        formula = in_markdown(latex(terms, symbols)) if terms else ""
        head.append(f"| {in_cell(label)} | {formula} | {value} | {share} |")
    return "\n".join(head)


def _meaning(definition: str) -> str:
    """What a symbol that is no field stands for, in the words of a legend.

    >>> _meaning("number of i in range(num_hidden_layers) with layer_types[i] == 'mamba'")
    "layers with layer_types[i] == 'mamba'"
    """
    counted = re.fullmatch(r"number of \w+ in range\(.*layers\) with (.+)", definition)
    return f"layers with {counted[1]}" if counted else definition
