"""The terms of a closed form as text, Unicode or MathML, in the usual symbols of its fields."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from sympy.printing.mathml import MathMLPresentationPrinter
from sympy.printing.str import StrPrinter

from archspec.render.notation import Glyph
from archspec.render.order import arguments, ordered, product
from archspec.render.terms import DOT, THIN_SPACE, between, joined

_MINUS = "\N{MINUS SIGN}"
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class TextPrinter(StrPrinter):  # type: ignore[misc]
    """`L·(4·d^2 + 9·d) + V·d`, or with superscripts and brackets where Unicode has them."""

    def __init__(self, symbols: Mapping[str, Glyph], unicode: bool) -> None:
        super().__init__({"order": "none"})
        self.symbols, self.unicode = symbols, unicode

    def terms(self, terms: Sequence[Any]) -> str:
        return joined(str(self._print(term)) for term in terms)

    def _print_Symbol(self, expr: Any) -> str:
        return self.symbols[expr.name].text if expr.name in self.symbols else str(expr.name)

    def _print_Mul(self, expr: Any) -> str:
        negative, over, under = product(expr)
        text = self._factors(over)
        if under:
            divisor = self._factors(under)
            text = f"{text}/{f'({divisor})' if len(under) > 1 else divisor}"
        return f"-{text}" if negative else text

    def _factors(self, factors: Sequence[Any]) -> str:
        return "·".join(self.parenthesize(factor, 50) for factor in factors)

    def _print_Add(self, expr: Any, order: Any = None) -> str:
        return self.terms(ordered(expr.args))

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        base: str = self.parenthesize(expr.base, 60)
        if self.unicode and expr.exp.is_Integer and expr.exp > 0:
            return base + str(expr.exp).translate(_SUPERSCRIPT)
        if expr.exp.could_extract_minus_sign():
            return self._print_Mul(expr)
        return f"{base}^{self.parenthesize(expr.exp, 60)}"

    def _call(self, name: str, expr: Any) -> str:
        return f"{name}({', '.join(map(self._print, arguments(expr)))})"

    def _print_floor(self, expr: Any) -> str:
        return f"⌊{self._print(expr.args[0])}⌋" if self.unicode else self._call("floor", expr)

    def _print_ceiling(self, expr: Any) -> str:
        return f"⌈{self._print(expr.args[0])}⌉" if self.unicode else self._call("ceil", expr)

    def _print_Max(self, expr: Any) -> str:
        return self._call("max", expr)

    def _print_Min(self, expr: Any) -> str:
        return self._call("min", expr)


class MathPrinter(MathMLPresentationPrinter):  # type: ignore[misc]
    """Presentation MathML: a symbol with its subscript, a name as a word."""

    def __init__(self, symbols: Mapping[str, Glyph]) -> None:
        super().__init__({"order": "none"})
        self.symbols = symbols

    def _element(self, name: str, *children: Any) -> Any:
        element = self.dom.createElement(name)
        for child in children:
            element.appendChild(self.dom.createTextNode(child) if isinstance(child, str) else child)
        return element

    def _print_Symbol(self, expr: Any, style: str = "plain") -> Any:
        glyph = self.symbols.get(expr.name, Glyph(expr.name, "", ""))
        stem, _, below = glyph.text.partition("_")
        if glyph.latex.startswith(f"\\{stem}"):
            stem = _greek(stem)
        if not below or glyph.named:
            word = self._element("mi", glyph.text if glyph.named else stem)
            if len(word.firstChild.data) > 1:
                word.setAttribute("mathvariant", "normal")
            return word
        return self._element(
            "msub", self._element("mi", stem), self._element("mtext", below.replace("_", ","))
        )

    def terms(self, terms: Sequence[Any]) -> Any:
        row = self._element("mrow")
        for index, term in enumerate(terms):
            negative = product(term).negative
            if negative or index:
                row.appendChild(self._element("mo", _MINUS if negative else "+"))
            row.appendChild(self._positive(term) if negative else self._print(term))
        return row

    def _print_Add(self, expr: Any, order: Any = None) -> Any:
        return self.terms(ordered(expr.args))

    def _print_Mul(self, expr: Any) -> Any:
        shown = self._positive(expr)
        return self._element("mrow", self._element("mo", _MINUS), shown) if product(expr).negative else shown

    def _positive(self, term: Any) -> Any:
        _, over, under = product(term)
        shown = self._factors(over)
        return self._element("mfrac", shown, self._factors(under)) if under else shown

    def _call(self, name: str, expr: Any) -> Any:
        row = self._element("mrow", self._element("mi", name), self._element("mo", "("))
        for index, part in enumerate(arguments(expr)):
            if index:
                row.appendChild(self._element("mo", ","))
            row.appendChild(self._print(part))
        row.appendChild(self._element("mo", ")"))
        return row

    def _print_Max(self, expr: Any) -> Any:
        return self._call("max", expr)

    def _print_Min(self, expr: Any) -> Any:
        return self._call("min", expr)

    def _factors(self, factors: Sequence[Any]) -> Any:
        row = self._element("mrow")
        for before, factor in zip([None, *factors], factors, strict=False):
            if before is not None:
                row.appendChild(self._times(between(before, factor, self.symbols)))
            row.appendChild(self.parenthesize(factor, 50))
        return row

    def _times(self, shown: str) -> Any:
        if shown == DOT:
            return self._element("mo", DOT)
        times = self._element("mo", "\N{INVISIBLE TIMES}")
        if shown == THIN_SPACE:
            times.setAttribute("rspace", "0.17em")
        return times


def _greek(name: str) -> str:
    """A Greek letter by its name in LaTeX; other names as they are."""
    try:
        return unicodedata.lookup(f"GREEK SMALL LETTER {name}")
    except KeyError:
        return name


def text(terms: Sequence[Any], symbols: Mapping[str, Glyph], unicode: bool) -> str:
    return TextPrinter(symbols, unicode).terms(terms)


def mathml(terms: Sequence[Any], symbols: Mapping[str, Glyph]) -> str:
    """A MathML element with presentation markup."""
    body = MathPrinter(symbols).terms(terms).toxml()
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML">{body}</math>'
