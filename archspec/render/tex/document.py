"""Formulas in LaTeX for papers: environments with a left side, tables, and documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sympy

from archspec.errors import FormulaError
from archspec.render.arrangements import Part
from archspec.render.notation import Glyph, escape
from archspec.render.order import place_of
from archspec.render.terms import arrange_terms
from archspec.render.tex.lines import ALIGNED, COLUMN, LEAST, break_lines, check_width, width
from archspec.symbolic.closed_form import ClosedForm
from archspec.tables.options import ENVIRONMENTS
from archspec.tables.quantities import FORMULAS

PAGE = 94  # the width of the text of a document
_HEAD = r"""\documentclass{article}
\usepackage[a4paper,margin=20mm]{geometry}
\usepackage{amsmath,booktabs,longtable}
\pagestyle{empty}
\let\underscore\_
\renewcommand{\_}{\underscore\allowbreak}
\begin{document}
\raggedright
\setlength{\parskip}{\medskipamount}"""
_TABLE_HEAD = r"""\begin{tabular}{@{}llrr@{}}
\toprule
component & formula & value & share \\
\midrule"""
_ALWAYS = r"\text{always}"
_RELATION = 2.7  # the width of an equals sign with its spaces
_GAPS = 3 * 2.4 + 1  # between four columns
_LONG = 40  # rows of a legend that fits on a page

Symbols = Mapping[str, Glyph]
Cases = Sequence[tuple[Mapping[str, bool], ClosedForm]]  # a formula for each combination of some flags


class Layout(NamedTuple):
    """The layout of LaTeX: an environment, a line width in digits, a whole document.

    ``relation`` is the sign after the left side, ``value`` the value that a document states.
    """

    env: str | None = None
    width: float | None = None
    standalone: bool = False
    relation: str = "="
    value: int | None = None

    @property
    def is_plain(self) -> bool:
        """True for LaTeX without an environment, lines or a document."""
        return self[:3] == Layout()[:3]

    def of_page(self) -> Layout:
        """Return the layout of the formula within a document."""
        return self._replace(env=self.env or "align*", width=self.width or PAGE) if self.standalone else self

    def line_width(self) -> float | None:
        """Return the width of lines. Errors: :class:`FormulaError` for an invalid one."""
        check_width(self.width)
        return COLUMN if self.env and self.width is None else self.width


class Row(NamedTuple):
    """A row of a table of parts."""

    label: str
    terms: Sequence[Any]
    value: str
    share: str


def left_side(formula: ClosedForm) -> str:
    r"""Return the symbol of a formula's quantity, e.g. `N_{\mathrm{params}}`; `M` for bytes."""
    symbol = FORMULAS[formula.quantity].latex_symbol
    return f"M{symbol.removeprefix('N')}" if formula.scale != 1 else symbol


def equations(formula: ClosedForm, parts: Sequence[Part], symbols: Symbols, layout: Layout) -> str:
    r"""Return a formula, or the sum of its labelled parts and each part, in an environment or `aligned`."""
    sides = [(left_side(formula), parts[0].terms)]
    if any(part.label for part in parts):
        letter = left_side(formula)[0]
        named = {one.label: Glyph("", rf"{letter}_{{\text{{{escape(one.label)}}}}}", "") for one in parts}
        symbols = {**symbols, **named}
        sides = [(left_side(formula), tuple(map(sympy.Symbol, named)))]
        sides += [(named[part.label].latex, part.terms) for part in parts]
    most = layout.line_width()
    if most is not None:
        left = max(width(side) for side, _ in sides) + _RELATION + (0 if layout.env else ALIGNED)
        most = max(LEAST, most - left)
    rows = []
    for side, terms in sides:
        first, *others = break_lines(terms, symbols, most)
        lines = ["  &" + r"\quad " * line.depth + line.text for line in others]
        rows.append([f"{side} &{layout.relation} {first.text}", *lines])
    return enclose_lines(rows, layout.env)


def enclose_lines(equations: Sequence[list[str]], env: str | None) -> str:
    r"""Put lines in an environment: `align` numbers each equation once, `equation` all of them together."""
    if env not in (None, *ENVIRONMENTS):
        raise FormulaError(f"unknown environment {env!r}", help=f"choose from: {', '.join(ENVIRONMENTS)}")
    if env == "align":
        equations = [[*(rf"{line} \notag" for line in lines[:-1]), lines[-1]] for lines in equations]
    lines = [line for lines in equations for line in lines]
    body = " \\\\\n".join(f"  {line}" for line in lines)
    if env is None:
        return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"
    if env.startswith("equation"):
        body = body.replace("&", "", 1) if len(lines) == 1 else f"\\begin{{split}}\n{body}\n\\end{{split}}"
    return f"\\begin{{{env}}}\n{body}\n\\end{{{env}}}"


def cases(forms: Cases, symbols: Symbols, layout: Layout) -> str:
    """Return a formula for each combination of some flags."""
    most, left, lines = layout.line_width(), left_side(forms[0][1]), []
    for flags, form in forms:
        signs = {True: "", False: r"\lnot "}
        held = r" \land ".join(rf"{signs[value]}\texttt{{{escape(name)}}}" for name, value in flags.items())
        room = None if most is None else max(LEAST, most - width(left) - width(held) - 2 * _RELATION)
        lines.append(f"  {_cell(arrange_terms(form), symbols, room)} & {held or _ALWAYS}")
    body = "\\begin{cases}\n" + " \\\\\n".join(lines) + "\n\\end{cases}"
    return enclose_lines([[f"{left} &= {body}"]], layout.env) if layout.env else body


def table(rows: Sequence[Row], symbols: Symbols, most: float | None = None) -> str:
    """Return a booktabs table of the parts; the last row is their sum. Formulas are broken into lines.

    The table is at most ``most`` digits wide, by default as wide as the text of LaTeX's article.
    """
    check_width(most)
    fixed = max(width(row.label) for row in rows) + max(width(row.value) for row in rows)
    room = max(LEAST, (most or COLUMN) - fixed - width("100.00%") - _GAPS)
    shown = []
    for row in rows:
        formula = f"${_cell(row.terms, symbols, room)}$" if row.terms else ""
        shown.append(rf"{escape(row.label)} & {formula} & {row.value} & {escape(row.share)} \\")
    *body, total = shown
    if any("aligned" in row for row in body):
        body = [part for row in body for part in (row, r"\addlinespace")][:-1]
    return "\n".join([_TABLE_HEAD, *body, r"\midrule", total, r"\bottomrule", r"\end{tabular}"])


def _cell(terms: Sequence[Any], symbols: Symbols, most: float | None) -> str:
    """Return a sum in a cell of a table, in lines if it is too wide."""
    first, *others = break_lines(terms, symbols, most)
    if most is None or not others:
        return first.text
    first, *others = break_lines(terms, symbols, most - ALIGNED)
    lines = [f"&{first.text}", *("&" + r"\quad " * max(1, line.depth) + line.text for line in others)]
    return r"\begin{aligned}[t] " + r" \\ ".join(lines) + r" \end{aligned}"


def document(
    formula: ClosedForm, body: str, symbols: Symbols, value: int | None = None, forms: Cases = ()
) -> str:
    """Return a LaTeX document with the formula, its value, its symbols and its conditions.

    ``forms`` are the cases shown; the flags that distinguish them are not conditions.
    """
    every = [form for _, form in (*forms, ({}, formula))]
    values = {name: value for form in every for name, value in form.symbols.items()}
    defined = {name for form in every for name in form.definitions}
    rows = [
        (symbols[name], "" if name in defined else name, f"{values[name]:,}")
        for name in sorted(values, key=place_of)
    ]
    flags = tuple(f"{name} = " for flags, _ in forms for name in flags)
    conditions = [text for text in formula.assumptions if not text.startswith(flags)]
    number = f"{formula.evaluate() if value is None else value:,}".replace(",", "{,}")
    quantity = FORMULAS[formula.quantity]
    name = quantity.title if formula.scale == 1 else formula.quantity_name
    title = escape(f"{name} ({quantity.help})")
    parts = [
        _HEAD,
        rf"\section*{{{escape(formula.architecture)} ({escape(formula.model_type)})}}",
        body,
        rf"${left_side(formula)}$: {title}; ${number}$ at these values:",
        f"{{\\small\n{_legend(rows)}}}",
    ]
    if conditions:
        parts.append(rf"The formula is valid for: {'; '.join(map(_code, conditions))}.")
    if unused := formula.unused_fields:  # slow: counts at other values
        parts.append(rf"The formula does not depend on: {', '.join(map(_code, unused))}.")
    return "\n\n".join([*parts, r"\end{document}"])


def _legend(rows: Sequence[tuple[Glyph, str, str]]) -> str:
    """Return a table of symbols with field, value and meaning; over several pages if it is long."""
    named = any(glyph.is_word for glyph, *_ in rows)
    columns = "{@{}p{25mm}p{56mm}rp{56mm}@{}}" if named else "{@{}lp{58mm}rp{64mm}@{}}"
    kind = "tabular" if len(rows) <= _LONG else "longtable"
    lines = [rf"\begin{{{kind}}}{columns}", r"\toprule", r"symbol & field & value & meaning \\", r"\midrule"]
    lines += [r"\endhead"] if kind == "longtable" else []
    for glyph, field, value in rows:
        symbol = glyph.latex if glyph.is_word else f"${glyph.latex}$"
        meaning = rf"\raggedright {escape(glyph.meaning)}\tabularnewline"
        lines.append(f"{symbol} & {_code(field)} & {value} & {meaning}")
    return "\n".join([*lines, r"\bottomrule", rf"\end{{{kind}}}"])


def _code(text: str) -> str:
    return rf"\texttt{{{escape(text)}}}" if text else ""
