"""A formula in LaTeX in lines of a width, broken between its terms, outer ones before inner ones.

Widths are in digits of the font, 5pt each at 10pt: LaTeX's article is 69 wide, one of two columns 48.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from archspec.arguments import describe_value
from archspec.errors import FormulaError, option
from archspec.render.markup import TexPrinter, bracket_size
from archspec.render.notation import Glyph
from archspec.render.order import product, sort_terms

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
_WIDTHS = {0.0: "mathrm text frac", 0.9: "lfloor rfloor lceil rceil", INDENT: "quad", 0.35: ",", 1.0: "_"}
_WIDTHS |= {0.2: "bigl bigr", 0.4: "Bigl Bigr", 0.7: "biggl biggr"}
_WIDTHS |= {1.4: "lnot", 1.45: "cdot", 2.4: "land", 3.8: "min", 4.0: "max"}
_COMMANDS = {command: wide for wide, commands in _WIDTHS.items() for command in commands.split()}
_WIDE = {"m": 1.8, "w": 1.5, "M": 2.1, "N": 1.85}


class Line(NamedTuple):
    """A line of a formula, its indentation, and the depth of its last bracket; ``starts`` a new line."""

    depth: int
    text: str
    level: int = 0
    starts: bool = False

    @property
    def width(self) -> float:
        """The approximate width when typeset."""
        return self.depth * INDENT + width(self.text)


def check_width(most: float | None) -> None:
    """Raise :class:`FormulaError` for an invalid line width."""
    if most is not None and not LEAST <= most <= WIDEST:
        whole = isinstance(most, float) and most.is_integer()
        shown = describe_value(int(most) if whole else most)
        message = f"{option('width')} must be from {LEAST} to {WIDEST:,}, not {shown}"
        help_ = f"pass {option('width', 48)} for a two-column layout, 69 for one column"
        raise FormulaError(message, help=help_)


def width(latex: str) -> float:
    r"""Return the approximate width of LaTeX when typeset."""
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
    """Return a sum in lines of at most a width, as far as there are signs to break at."""
    printer = TexPrinter(symbols)
    text = printer.terms(terms)
    if most is None or width(text) <= most:
        return [Line(0, text)]
    first, *pieces = _breakable_parts(printer, terms, most)
    lines = [first]
    for piece in pieces:
        line, space = lines[-1], "" if piece.text.startswith(_DOT) else " "
        joined = Line(line.depth, f"{line.text}{space}{piece.text}", piece.level)
        if line.level <= piece.level and not piece.starts and joined.width <= most:
            lines[-1] = joined
        else:
            lines.append(piece._replace(text=piece.text.lstrip()))
    return lines


def _breakable_parts(
    printer: TexPrinter, terms: Sequence[Any], most: float, level: int = 0, tail: str = ""
) -> list[Line]:
    """Return the parts between which a sum may be broken: a long term in its last bracket, or at dots.

    ``tail`` are the brackets that close after the last term.
    """
    found: list[Line] = []
    for index, term in enumerate(terms):
        negative, over, under = product(term)
        sign = ("- " if index else "-") if negative else "+ " if index else ""
        close = tail if index == len(terms) - 1 else ""
        text = printer._print(term).removeprefix("-")
        whole = Line(level, sign + text + close, level)
        if whole.width <= most or not over[-1].is_Add or under:
            found += _split(whole, most)
            continue
        *front, inner = over
        size = bracket_size(printer._print(inner))
        before = printer.factors(front) + printer.separator(front[-1], inner) if front else ""
        end = (f"{size[:-1]}r)" if size else ")") + close
        first, *others = _breakable_parts(printer, sort_terms(inner.args), most, level + 1, end)
        head = Line(level, f"{sign}{before}{size}(", level, starts=bool(index))
        joined = head._replace(text=head.text + first.text)
        found += [joined, *others] if joined.width <= most else [*_split(head, most), first, *others]
    return found


def _split(line: Line, most: float) -> list[Line]:
    r"""Return a line that is too wide, split before each `\cdot` outside of braces."""
    first, *others = line.text.split(_DOT) if line.width > most else [line.text]
    found = [first]
    for part in others:
        if found[-1].count("{") == found[-1].count("}"):
            found.append(_DOT + part)
        else:
            found[-1] += _DOT + part
    return [line._replace(text=found[0]), *(Line(line.depth + 1, one, line.level) for one in found[1:])]
