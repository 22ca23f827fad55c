"""The formats that a closed form is written in, alone or as a table of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from archspec.errors import FormulaError
from archspec.render import printers
from archspec.render.arrangements import Part, by_component
from archspec.render.code import code
from archspec.render.notation import FORMATS
from archspec.render.printers import Own, Terms
from archspec.render.terms import ordered
from archspec.symbolic.closed_form import ClosedForm


def written(formula: ClosedForm, form: str, own: Own = None, terms: Terms = None) -> str:
    """The formula alone, or some terms of its symbols, in one of :data:`archspec.render.notation.FORMATS`."""
    if form in ("text", "unicode"):
        return printers.text(formula, form == "unicode", own, terms)
    if form in ("latex", "markdown"):
        latex = printers.latex(formula, own, terms)
        return latex if form == "latex" else f"${latex}$"
    if form == "mathml":
        return printers.mathml(formula, own, terms)
    if form not in FORMATS:
        raise FormulaError(f"{form} is not a form; there are {', '.join(FORMATS)}")
    return code(formula, form, terms)


def written_part(formula: ClosedForm, part: Part, form: str, own: Own = None) -> str:
    """A part in the terms that it is best written in."""
    expr = part.expr
    terms: Sequence[Any] = part.terms or (ordered(expr) if expr.is_Add else [expr])
    return written(formula, form, own, list(terms))


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
    escaped = [(escaped_latex(label), *cells, share.replace("%", r"\%")) for label, *cells, share in rows]
    *body, total = (" & ".join(row) + r" \\" for row in escaped)
    head = [r"\begin{tabular}{llrr}", r"\toprule", r"component & formula & value & share \\", r"\midrule"]
    return "\n".join([*head, *body, r"\midrule", total, r"\bottomrule", r"\end{tabular}"])


def escaped_latex(text: str) -> str:
    return "".join(f"\\{c}" if c in "_{}#%&" else c for c in text)
