"""A formula in LaTeX in lines of a width, broken between its terms, outer ones before inner ones.

Widths are in digits of the font, 5pt each at 10pt: LaTeX's article is 69 wide, one of two columns 48.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from archspec.arguments import described
from archspec.errors import FormulaError
from archspec.render.notation import Glyph
from archspec.render.order import product, sort_terms
from archspec.render.printers import TexPrinter, bracket_size

COLUMN = 69  # the text of LaTeX's article
WIDEST = 1_000_000
LEAST = 16  # for a formula, even if a label or a left side leaves less
ALIGNED = 2.0  # the margin of `aligned`
INDENT = 2.0  # of \quad
_DOT = r" \cdot "
_TOKENS = re.compile(
    r"\\texttt\{(?P<name>[^{}]*)\}|[_^](?P<one>[^{])|[_^]\{(?P<many>(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
    r"|\\(?P<command>[A-Za-z]+|[,_{}]) ?|(?P<sign>[+-])|(?P<letter>[A-Za-z])|(?P<other>[^ {}&$])"
)
_COMMANDS = {
    **dict.fromkeys(("mathrm", "text", "frac"), 0.0),
    **dict.fromkeys(("lfloor", "rfloor", "lceil", "rceil"), 0.9),
    "bigl": 0.2,
    "bigr": 0.2,
    "Bigl": 0.4,
    "Bigr": 0.4,
    "biggl": 0.7,
    "biggr": 0.7,
    "quad": INDENT,
    ",": 0.35,
    "cdot": 1.45,
    "lnot": 1.4,
    "land": 2.4,
    "max": 4.0,
    "min": 3.8,
    "_": 1.0,
}
_WIDE = {"m": 1.8, "w": 1.5, "M": 2.1, "N": 1.85}


class Line(NamedTuple):
    """A line of a formula and its indentation."""

    depth: int
    text: str


def check_width(most: float | None) -> None:
    """Errors: :class:`FormulaError` for an invalid line width."""
    if most is not None and not LEAST <= most <= WIDEST:
        message = f"a line of a formula is {LEAST} to {WIDEST:,} digits wide, not {described(most)}"
        raise FormulaError(message, help="give a width in that range; 48 is one of two columns")


def width(latex: str) -> float:
    r"""The approximate width of LaTeX when typeset."""
    return sum(map(_token, _TOKENS.finditer(latex)))


def _token(found: re.Match[str]) -> float:
    kind, text = found.lastgroup or "", found[found.lastgroup or 0]
    if kind == "name":
        return 1.05 * len(text.replace("\\", ""))
    if kind in ("one", "many"):
        return 0.75 * width(text) + 0.1  # smaller type
    if kind == "command":
        return _COMMANDS.get(text, 1.1)
    if kind == "letter":
        return _WIDE.get(text, 1.55 if text.isupper() else 1.15)
    if kind == "sign":
        return 2.45
    return 0.6 if text in "(),.;:'" else 1.0


def break_lines(terms: Sequence[Any], symbols: Mapping[str, Glyph], most: float | None = None) -> list[Line]:
    """A sum in lines of at most a width if it has enough signs to break at; by default, in one line."""
    printer = TexPrinter(symbols)
    text = printer.terms(terms)
    if most is None or width(text) <= most:
        return [Line(0, text)]
    lines = _Lines(printer, most)
    lines.sum(terms, 0, "")
    return [*lines.done, lines.line]


class _Lines:
    """Lines of a sum: a term longer than a line is broken within its last bracket.

    A long term that ends in a bracket is on its own line.
    """

    def __init__(self, printer: TexPrinter, most: float) -> None:
        self.printer, self.most = printer, most
        self.done: list[Line] = []
        self.line = Line(0, "")

    def sum(self, terms: Sequence[Any], depth: int, tail: str) -> None:
        """Add terms; ``tail`` are the brackets that close after the last of them."""
        full = False  # the line takes no more terms
        for index, term in enumerate(terms):
            negative = product(term).negative
            sign = "-" if negative else "+"
            lead = f" {sign} " if index else "-" if negative else ""
            close = tail if index == len(terms) - 1 else ""
            text = self.printer._print(term).removeprefix("-") + close
            alone = _ends_in_bracket(term) and width(text) > self.most / 2
            if index and (full or alone or not self.fits(lead + text)):
                self.done.append(self.line)
                self.line, lead = Line(depth, ""), f"{sign} "
            elif depth and not self.fits(lead + text) and width(text) + depth * INDENT <= self.most:
                self.done.append(self.line)  # better after the bracket than within the next one
                self.line = Line(depth, "")
            lines = len(self.done)
            if self.fits(lead + text) or not self.split(term, lead, depth, close):
                self.put(lead + text)
            full = alone or len(self.done) > lines

    def split(self, term: Any, lead: str, depth: int, tail: str) -> bool:
        """Add a term with its last bracket broken; return False for a term without one."""
        if not _ends_in_bracket(term):
            return False
        *front, inner = product(term).over
        size = bracket_size(self.printer._print(inner))
        before = self.printer.factors(front) + self.printer.separator(front[-1], inner) if front else ""
        self.put(f"{lead}{before}{size}(")
        close = f"{size[:-1]}r)" if size else ")"
        self.sum(sort_terms(inner.args), depth + 1, close + tail)
        return True

    def put(self, text: str) -> None:
        """Add text; if it is too long for a line, break it at the dots of its products."""
        for index, factor in enumerate(_factors(text)):
            if index and not self.fits(factor):
                self.done.append(self.line)
                self.line = Line(self.line.depth or 1, factor.lstrip())
            else:
                self.line = self.line._replace(text=self.line.text + factor)

    def fits(self, text: str) -> bool:
        return self.line.depth * INDENT + width(self.line.text + text) <= self.most


def _ends_in_bracket(term: Any) -> bool:
    _, over, under = product(term)
    return bool(over[-1].is_Add and not under)


def _factors(text: str) -> list[str]:
    r"""LaTeX split before each `\cdot` outside of braces."""
    first, *others = text.split(_DOT)
    found = [first]
    for part in others:
        if found[-1].count("{") == found[-1].count("}"):
            found.append(_DOT + part)
        else:
            found[-1] += _DOT + part
    return found
