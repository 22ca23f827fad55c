"""The formats that a closed form is written in, alone or as a table of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archspec.render.arrangements import Part, by_component
from archspec.render.code import INTEGERS, LANGUAGES, c_source, code, identifier
from archspec.render.factors import shortest
from archspec.render.notation import Glyph, chosen
from archspec.render.printers import latex, mathml, text
from archspec.render.terms import arranged
from archspec.symbolic.closed_form import ClosedForm

Own = Mapping[str, Glyph] | None  # a user's symbols, over the usual ones


def glyphs(formula: ClosedForm, own: Own = None) -> dict[str, Glyph]:
    """The symbols that a formula is written in."""
    return chosen([symbol.name for symbol in formula.expr.free_symbols], own)


def written(formula: ClosedForm, form: str, own: Own = None, terms: Sequence[Any] = ()) -> str:
    """The formula alone, or some terms of its symbols, in one of :data:`archspec.render.notation.FORMATS`."""
    terms = terms or arranged(formula)
    if form == "c":
        return c_source(formula, [(formula.quantity, terms)])
    if form in LANGUAGES:
        return code(formula, form, terms)
    symbols = glyphs(formula, own)
    if form in ("text", "unicode"):
        return text(terms, symbols, form == "unicode")
    if form == "mathml":
        return mathml(terms, symbols)
    return latex(terms, symbols) if form == "latex" else f"${latex(terms, symbols)}$"


def written_part(formula: ClosedForm, part: Part, form: str, own: Own = None) -> str:
    """A part in the terms that it is best written in."""
    return written(formula, form, own, part.terms or shortest(part.expr))


def program(formula: ClosedForm, parts: Sequence[Part], language: str) -> str:
    """The parts in one of :data:`archspec.render.code.LANGUAGES`, each under its label where it has one."""
    named = [
        (identifier(part.label or formula.quantity), part.terms or shortest(part.expr)) for part in parts
    ]
    if language == "c":
        return c_source(formula, named)
    texts = [code(formula, language, terms) for _, terms in named]
    if not any(part.label for part in parts):
        return texts[0]
    names = [name for name, _ in named]
    if language in INTEGERS:
        return ",\n".join(f"{text} AS {name}" for name, text in zip(names, texts, strict=True))
    return "\n".join(f"{name} = {text}" for name, text in zip(names, texts, strict=True))


def tabled(formula: ClosedForm, parts: list[Part], form: str, own: Own) -> str:
    """A table of the parts with formula, value at the config and share, in LaTeX (booktabs) or Markdown."""
    parts = parts if any(part.label for part in parts) else by_component(formula)
    total = formula.evaluate()
    rows = []
    for part in parts:
        value = int(formula.number(part.expr))
        latex = f"${written_part(formula, part, 'latex', own)}$"
        rows.append((part.label, latex, f"{value:,}", f"{value / max(1, total):.2%}"))
    rows.append(("total", "", f"{total:,}", "100.00%"))
    return _markdown(rows) if form == "markdown" else _booktabs(rows)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    head = ["| component | formula | value | share |", "| --- | --- | ---: | ---: |"]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)])


def _booktabs(rows: Sequence[Sequence[str]]) -> str:
    escaped = [(_escaped(label), *cells, share.replace("%", r"\%")) for label, *cells, share in rows]
    *body, total = (" & ".join(row) + r" \\" for row in escaped)
    head = [r"\begin{tabular}{llrr}", r"\toprule", r"component & formula & value & share \\", r"\midrule"]
    return "\n".join([*head, *body, r"\midrule", total, r"\bottomrule", r"\end{tabular}"])


def cases_latex(cases: Sequence[tuple[dict[str, bool], ClosedForm]], own: Own = None) -> str:
    """A formula for each combination of some flags, in LaTeX."""
    lines = []
    for flags, case in cases:
        signs = {True: "", False: "\\lnot "}
        held = [f"{signs[value]}\\mathrm{{{_escaped(name)}}}" for name, value in flags.items()]
        lines.append(f"{written(case, 'latex', own)} & " + (r" \land ".join(held) or r"\text{always}"))
    return "\\begin{cases}\n" + " \\\\\n".join(lines) + "\n\\end{cases}"


def _escaped(text: str) -> str:
    return "".join(f"\\{c}" if c in "_{}#%&" else c for c in text)
