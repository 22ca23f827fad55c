"""Tables in LaTeX: the parts of a formula in the width of a column, and a legend of its symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from archspec.render.notation import Glyph, escaped
from archspec.render.tex.lines import ALIGNED, COLUMN, LEAST, broken, check_width, width

_PAGE = 40  # rows of a legend
_GAPS = 3 * 2.4 + 1  # between four columns


class Cells(NamedTuple):
    """A row of a table of parts."""

    label: str
    terms: Sequence[Any]
    value: str
    share: str


def booktabs(rows: Sequence[Cells], symbols: Mapping[str, Glyph], most: float | None = None) -> str:
    """The parts with formula, value and share, the last one their sum; wide formulas are in lines.

    The table is at most ``most`` digits wide, 69 where that is not given: the text of LaTeX's article.
    """
    check_width(most)
    fixed = sum(
        max(map(width, column)) for column in ([row.label for row in rows], [row.value for row in rows])
    )
    room = max(LEAST, (most or COLUMN) - fixed - width("100.00%") - _GAPS)
    *body, total = (_row(row, symbols, room) for row in rows)
    if any("aligned" in row for row in body):
        body = [part for row in body for part in (row, r"\addlinespace")][:-1]
    head = [
        r"\begin{tabular}{@{}llrr@{}}",
        r"\toprule",
        r"component & formula & value & share \\",
        r"\midrule",
    ]
    return "\n".join([*head, *body, r"\midrule", total, r"\bottomrule", r"\end{tabular}"])


def _row(row: Cells, symbols: Mapping[str, Glyph], room: float) -> str:
    formula = f"${cell(row.terms, symbols, room)}$" if row.terms else ""
    return rf"{escaped(row.label)} & {formula} & {row.value} & {escaped(row.share)} \\"


def cell(terms: Sequence[Any], symbols: Mapping[str, Glyph], most: float | None) -> str:
    """A sum in a cell of a table: in lines where it is wider."""
    first, *others = broken(terms, symbols, most)
    if most is None or not others:
        return first.text
    first, *others = broken(terms, symbols, most - ALIGNED)
    body = r" \\ ".join(
        [f"&{first.text}", *("&" + r"\quad " * max(1, line.depth) + line.text for line in others)]
    )
    return rf"\begin{{aligned}}[t] {body} \end{{aligned}}"


def legend(rows: Sequence[tuple[Glyph, str, str]]) -> str:
    """A table of symbols: each with its field, its value and its meaning; over pages where they are many."""
    head = r"symbol & field & value & meaning \\"
    names = any(glyph.named for glyph, *_ in rows)
    columns = "{@{}p{25mm}p{56mm}rp{56mm}@{}}" if names else "{@{}lp{58mm}rp{64mm}@{}}"
    body = []
    for glyph, field, value in rows:
        symbol = glyph.latex if glyph.named else f"${glyph.latex}$"
        meaning = rf"\raggedright {escaped(glyph.meaning)}\tabularnewline"
        body.append(f"{symbol} & {typed(field)} & {value} & {meaning}")
    kind = "tabular" if len(rows) <= _PAGE else "longtable"
    top = [rf"\begin{{{kind}}}{columns}", r"\toprule", head, r"\midrule"]
    top += [r"\endhead"] if kind == "longtable" else []
    return "\n".join([*top, *body, r"\bottomrule", rf"\end{{{kind}}}"])


def typed(text: str) -> str:
    r"""Code in `\texttt`.

    >>> print(typed("head_dim > 0"))
    \texttt{head\_dim \textgreater{} 0}
    """
    return rf"\texttt{{{escaped(text)}}}" if text else ""
