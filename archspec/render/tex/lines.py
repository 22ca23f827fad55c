"""A formula in LaTeX in lines of a width, broken between its terms, outer ones before inner ones.

Widths are in digits of the font, of 5pt each at 10pt: LaTeX's article is 69 wide, a column of two 48.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from archspec.arguments import described
from archspec.errors import FormulaError
from archspec.render.notation import Glyph
from archspec.render.order import ordered, product
from archspec.render.tex.printer import TexPrinter, bracket

COLUMN = 69  # the text of LaTeX's article
WIDEST = 1_000_000  # that is asked for: no formula is as wide
LEAST = 16  # of a formula, however little room a label or a left side leaves
_DOT = r" \cdot "
ALIGNED = 2.0  # what the environment leaves beside its lines
INDENT = 2.0  # of \quad
_SMALL = 0.75  # of a subscript
_TOKENS = re.compile(
    r"\\texttt\{(?P<name>[^{}]*)\}|[_^](?P<one>[^{])|[_^]\{(?P<many>(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
    r"|\\(?P<command>[A-Za-z]+|[,_{}]) ?|(?P<sign>[+-])|(?P<letter>[A-Za-z])|(?P<other>[^ {}&$])"
)
_COMMANDS = {
    r"mathrm": 0.0,
    "text": 0.0,
    "frac": 0.0,
    "quad": INDENT,
    ",": 0.35,
    "cdot": 1.45,
    "lnot": 1.4,
    "land": 2.4,
    "max": 4.0,
    "min": 3.8,
    "lfloor": 0.9,
    "rfloor": 0.9,
    "lceil": 0.9,
    "rceil": 0.9,
    "bigl": 0.2,
    "bigr": 0.2,
    "Bigl": 0.4,
    "Bigr": 0.4,
    "biggl": 0.7,
    "biggr": 0.7,
    "_": 1.0,
}
_WIDE = {"m": 1.8, "w": 1.5, "M": 2.1, "N": 1.85}


class Line(NamedTuple):
    """A line of a formula and how far it is indented."""

    depth: int
    text: str


def check_width(most: float | None) -> None:
    """Errors: :class:`FormulaError` for lines that are too short for a formula, or longer than any."""
    if most is not None and not LEAST <= most <= WIDEST:
        message = f"a line of a formula is {LEAST} to {WIDEST:,} digits wide, not {described(most)}"
        raise FormulaError(message, help="give a width in that range; 48 is a column of two")


def width(latex: str) -> float:
    r"""About how wide LaTeX is when it is set.

    >>> round(width(r"2 V\,d"), 1), round(width(r"L_{\mathrm{dense}}"), 1)
    (4.0, 6.0)
    """
    return sum(map(_token, _TOKENS.finditer(latex)))


def _token(found: re.Match[str]) -> float:
    kind, text = found.lastgroup or "", found[found.lastgroup or 0]
    if kind == "name":
        return 1.05 * len(text.replace("\\", ""))
    if kind in ("one", "many"):
        return _SMALL * width(text) + 0.1
    if kind == "command":
        return _COMMANDS.get(text, 1.1)
    if kind == "letter":
        return _WIDE.get(text, 1.55 if text.isupper() else 1.15)
    if kind == "sign":
        return 2.45
    return 0.6 if text in "(),.;:'" else 1.0


def broken(terms: Sequence[Any], symbols: Mapping[str, Glyph], most: float | None = None) -> list[Line]:
    """A sum in lines that are at most so wide, where there are signs enough to break at; in one without."""
    printer = TexPrinter(symbols)
    if most is None or width(printer.terms(terms)) <= most:
        return [Line(0, printer.terms(terms))]
    layout = _Layout(printer, most)
    layout.sum(terms, 0, "")
    return [*layout.done, layout.line]


class _Layout:
    """Lines that are being filled: a term that is too long for one is broken within its last bracket.

    A long term that ends in a bracket has a line of its own.
    """

    def __init__(self, printer: TexPrinter, most: float) -> None:
        self.printer, self.most = printer, most
        self.done: list[Line] = []
        self.line = Line(0, "")

    def sum(self, terms: Sequence[Any], depth: int, tail: str) -> None:
        """Adds terms; ``tail`` are the brackets that close behind the last of them."""
        full = False  # the line takes no more terms
        for index, term in enumerate(terms):
            negative = product(term).negative
            sign = "-" if negative else "+"
            lead = f" {sign} " if index else "-" if negative else ""
            close = tail if index == len(terms) - 1 else ""
            text = self.printer._print(term).removeprefix("-") + close
            alone = _bracketed(term) and width(text) > self.most / 2
            if index and (full or alone or not self.fits(lead + text)):
                self.done.append(self.line)
                self.line, lead = Line(depth, ""), f"{sign} "
            elif depth and not self.fits(lead + text) and width(text) + depth * INDENT <= self.most:
                self.done.append(self.line)  # rather behind the bracket than within the next one
                self.line = Line(depth, "")
            lines = len(self.done)
            if self.fits(lead + text) or not self.split(term, lead, depth, close):
                self.put(lead + text)
            full = alone or len(self.done) > lines

    def split(self, term: Any, lead: str, depth: int, tail: str) -> bool:
        """Adds a term with its last bracket broken; whether it has one."""
        if not _bracketed(term):
            return False
        *front, inner = product(term).over
        size = bracket(self.printer._print(inner))
        before = self.printer.factors(front) + self.printer.between(front[-1], inner) if front else ""
        self.put(f"{lead}{before}{size}(")
        close = f"{size[:-1]}r)" if size else ")"
        self.sum(ordered(inner.args), depth + 1, close + tail)
        return True

    def put(self, text: str) -> None:
        """Adds text; where it is too long for the line, in several that break at the dots of its products."""
        for index, factor in enumerate(_factors(text)):
            if index and not self.fits(factor):
                self.done.append(self.line)
                self.line = Line(self.line.depth or 1, factor.lstrip())
            else:
                self.line = self.line._replace(text=self.line.text + factor)

    def fits(self, text: str) -> bool:
        return self.line.depth * INDENT + width(self.line.text + text) <= self.most


def _bracketed(term: Any) -> bool:
    """Whether a term ends in a bracket that it can be broken in."""
    _, over, under = product(term)
    return bool(over[-1].is_Add and not under)


def _factors(text: str) -> list[str]:
    r"""LaTeX in parts that a line may break between: each `\cdot` that is not within braces starts one.

    >>> _factors(r"a \cdot b + \frac{c \cdot d}{2}")
    ['a', ' \\cdot b + \\frac{c \\cdot d}{2}']
    """
    first, *others = text.split(_DOT)
    found = [first]
    for part in others:
        if found[-1].count("{") == found[-1].count("}"):
            found.append(_DOT + part)
        else:
            found[-1] += _DOT + part
    return found
