"""The terms of a closed form as text, Unicode, LaTeX or MathML, in the standard symbols of its fields."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter
from sympy.printing.mathml import MathMLPresentationPrinter
from sympy.printing.str import StrPrinter

from archspec.render.notation import Glyph
from archspec.render.order import product, sort_arguments, sort_terms
from archspec.render.terms import DOT, THIN_SPACE, join_terms, separator

_MINUS = "\N{MINUS SIGN}"
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_LATEX_SEPARATORS = {"": " ", THIN_SPACE: r"\,", DOT: r" \cdot "}
_BRACKETS = (r"\biggl", r"\Biggl"), (r"\Bigl", r"\biggl"), (r"\bigl", r"\Bigl"), ("(", r"\bigl")
_ORDER = {"order": "none"}  # terms are already in order


class TextPrinter(StrPrinter):  # type: ignore[misc]
    """Prints `L·(4·d^2 + 9·d) + V·d`, or superscripts and brackets of Unicode."""

    def __init__(self, symbols: Mapping[str, Glyph], unicode: bool) -> None:
        super().__init__(_ORDER)
        self.symbols, self.unicode = symbols, unicode

    def terms(self, terms: Sequence[Any]) -> str:
        return join_terms(str(self._print(term)) for term in terms)

    def _print_Symbol(self, expr: Any) -> str:
        return self.symbols[expr.name].text if expr.name in self.symbols else str(expr.name)

    def _print_Add(self, expr: Any, order: Any = None) -> str:
        return self.terms(sort_terms(expr.args))

    def _print_Mul(self, expr: Any) -> str:
        negative, over, under = product(expr)
        text = self._factors(over)
        if under:
            divisor = self._factors(under)
            text = f"{text}/{f'({divisor})' if len(under) > 1 else divisor}"
        return f"-{text}" if negative else text

    def _factors(self, factors: Sequence[Any]) -> str:
        return "·".join(self.parenthesize(factor, 50) for factor in factors)

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        base: str = self.parenthesize(expr.base, 60)
        if self.unicode and expr.exp.is_Integer and expr.exp > 0:
            return base + str(expr.exp).translate(_SUPERSCRIPT)
        if expr.exp.could_extract_minus_sign():
            return self._print_Mul(expr)
        return f"{base}^{self.parenthesize(expr.exp, 60)}"

    def _print_floor(self, expr: Any) -> str:
        return f"⌊{self._print(expr.args[0])}⌋" if self.unicode else f"floor({self._print(expr.args[0])})"

    def _print_ceiling(self, expr: Any) -> str:
        return f"⌈{self._print(expr.args[0])}⌉" if self.unicode else f"ceil({self._print(expr.args[0])})"

    def _print_Max(self, expr: Any) -> str:
        return f"{type(expr).__name__.lower()}({', '.join(map(self._print, sort_arguments(expr)))})"

    _print_Min = _print_Max


class TexPrinter(LatexPrinter):  # type: ignore[misc]
    r"""Prints `L \bigl(4 d^2 + 9 d\bigr) + V\,d`: without `\left`, so that a line may break in a bracket."""

    def __init__(self, symbols: Mapping[str, Glyph]) -> None:
        super().__init__(_ORDER)
        self.symbols = symbols

    def terms(self, terms: Sequence[Any]) -> str:
        return join_terms(str(self._print(term)) for term in terms)

    def separator(self, before: Any, after: Any) -> str:
        return _LATEX_SEPARATORS[separator(before, after, self.symbols)]

    def factors(self, factors: Sequence[Any]) -> str:
        text = ""
        for before, factor in zip([None, *factors], factors, strict=False):
            text += self.separator(before, factor) if text else ""
            shown = self._print(factor)
            text += enclose(shown) if factor.is_Add and len(factors) > 1 else shown
        return text

    def _print_Symbol(self, expr: Any, style: str = "plain") -> str:
        return self.symbols[expr.name].latex if expr.name in self.symbols else super()._print_Symbol(expr)

    def _print_Add(self, expr: Any, order: Any = None) -> str:
        return self.terms(sort_terms(expr.args))

    def _print_Mul(self, expr: Any) -> str:
        negative, over, under = product(expr)
        text = self.factors(over)
        text = rf"\frac{{{text}}}{{{self.factors(under)}}}" if under else text
        return f"-{text}" if negative else text

    def _print_Pow(self, expr: Any) -> str:
        if expr.exp.could_extract_minus_sign():
            return self._print_Mul(expr)
        if not expr.exp.is_Integer:
            return str(super()._print_Pow(expr))
        base = self._print(expr.base)
        power = f"{expr.exp}" if expr.exp < 10 else f"{{{expr.exp}}}"
        kinds = (sympy.Symbol, sympy.Number, sympy.floor, sympy.ceiling)
        return f"{base if isinstance(expr.base, kinds) else enclose(base)}^{power}"

    def _print_floor(self, expr: Any, exp: Any = None) -> str:
        """A rounding of a quotient with a slash, to keep the height of a line of text."""
        sides, (inner,) = "floor" if isinstance(expr, sympy.floor) else "ceil", expr.args
        negative, over, under = product(inner)
        if inner.is_Add or negative or not under:
            return rf"\l{sides} {self._print(inner)} \r{sides}"
        divisor, dividend = self.factors(under), self.factors(over)
        divisor = enclose(divisor) if len(under) > 1 or under[0].is_Add else divisor
        dividend = enclose(dividend) if over[0].is_Add else dividend
        return rf"\l{sides} {dividend} / {divisor} \r{sides}"

    _print_ceiling = _print_floor

    def _print_NthPrime(self, expr: Any, exp: Any = None) -> str:
        return rf"\operatorname{{prime}}{enclose(', '.join(map(self._print, expr.args)))}"

    def _print_Max(self, expr: Any, exp: Any = None) -> str:
        name = type(expr).__name__.lower()
        return rf"\{name}{enclose(', '.join(map(self._print, sort_arguments(expr))))}"

    _print_Min = _print_Max


class MathPrinter(MathMLPresentationPrinter):  # type: ignore[misc]
    """Prints presentation MathML: a symbol with its subscript, a name as a word."""

    def __init__(self, symbols: Mapping[str, Glyph]) -> None:
        super().__init__(_ORDER)
        self.symbols = symbols

    def terms(self, terms: Sequence[Any]) -> Any:
        row = self._element("mrow")
        for index, term in enumerate(terms):
            negative = product(term).negative
            if negative or index:
                row.appendChild(self._element("mo", _MINUS if negative else "+"))
            row.appendChild(self._positive(term) if negative else self._print(term))
        return row

    def _element(self, name: str, *children: Any) -> Any:
        element = self.dom.createElement(name)
        for child in children:
            element.appendChild(self.dom.createTextNode(child) if isinstance(child, str) else child)
        return element

    def _print_Symbol(self, expr: Any, style: str = "plain") -> Any:
        glyph = self.symbols.get(expr.name, Glyph(expr.name, "", ""))
        stem, _, below = glyph.text.partition("_")
        if glyph.latex.startswith(f"\\{stem}"):
            stem = _greek_letter(stem)
        if below and not glyph.named:
            below = below.replace("_", ",")
            return self._element("msub", self._element("mi", stem), self._element("mtext", below))
        word = self._element("mi", glyph.text if glyph.named else stem)
        if len(word.firstChild.data) > 1:
            word.setAttribute("mathvariant", "normal")
        return word

    def _print_Add(self, expr: Any, order: Any = None) -> Any:
        return self.terms(sort_terms(expr.args))

    def _print_Mul(self, expr: Any) -> Any:
        shown = self._positive(expr)
        return self._element("mrow", self._element("mo", _MINUS), shown) if product(expr).negative else shown

    def _positive(self, term: Any) -> Any:
        _, over, under = product(term)
        shown = self._factors(over)
        return self._element("mfrac", shown, self._factors(under)) if under else shown

    def _factors(self, factors: Sequence[Any]) -> Any:
        row = self._element("mrow")
        for before, factor in zip([None, *factors], factors, strict=False):
            if before is not None:
                sign = separator(before, factor, self.symbols)
                times = self._element("mo", DOT if sign == DOT else "\N{INVISIBLE TIMES}")
                if sign == THIN_SPACE:
                    times.setAttribute("rspace", "0.17em")
                row.appendChild(times)
            row.appendChild(self.parenthesize(factor, 50))
        return row

    def _print_Max(self, expr: Any) -> Any:
        parts: list[Any] = []
        for argument in sort_arguments(expr):
            parts += [self._element("mo", ","), self._print(argument)]
        name = self._element("mi", type(expr).__name__.lower())
        return self._element("mrow", name, self._element("mo", "("), *parts[1:], self._element("mo", ")"))

    _print_Min = _print_Max


def enclose(text: str) -> str:
    """LaTeX in brackets that are larger than those within."""
    size = bracket_size(text)
    return f"{size}({text}{size[:-1] + 'r' if size else ''})"


def bracket_size(text: str) -> str:
    r"""The size of a bracket around LaTeX: empty, `\bigl`, …"""
    if r"\frac" in text and r"\bigg" not in text:
        return r"\biggl" if r"\Bigl" in text else r"\Bigl"
    return next((outer for inner, outer in _BRACKETS if inner in text), "")


def latex(terms: Sequence[Any], symbols: Mapping[str, Glyph]) -> str:
    """LaTeX without delimiters, in one line."""
    return TexPrinter(symbols).terms(terms)


def mathml(terms: Sequence[Any], symbols: Mapping[str, Glyph]) -> str:
    """A MathML element with presentation markup."""
    body = MathPrinter(symbols).terms(terms).toxml()
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML">{body}</math>'


def _greek_letter(name: str) -> str:
    """A Greek letter by its LaTeX name; other names unchanged."""
    try:
        return unicodedata.lookup(f"GREEK SMALL LETTER {name}")
    except KeyError:
        return name
