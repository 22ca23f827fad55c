"""The terms of a closed form as LaTeX and as MathML, in the symbols of its fields."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter
from sympy.printing.mathml import MathMLPresentationPrinter

from archspec.render.notation import Glyph
from archspec.render.order import product, sort_arguments, sort_terms
from archspec.render.printers import join_terms

_MINUS, _DOT, _SPACE = "\N{MINUS SIGN}", "\N{DOT OPERATOR}", "\N{THIN SPACE}"
_TEX_SIGNS = {"": " ", _SPACE: r"\,", _DOT: r" \cdot "}
_BRACKETS = (r"\biggl", r"\Biggl"), (r"\Bigl", r"\biggl"), (r"\bigl", r"\Bigl"), ("(", r"\bigl")
_ORDER = {"order": "none"}  # terms are already in order


class TexPrinter(LatexPrinter):  # type: ignore[misc]
    r"""Prints `L \bigl(4 d^2 + 9 d\bigr) + V\,d`: without `\left`, so that a line may break in a bracket."""

    def __init__(self, symbols: Mapping[str, Glyph]) -> None:
        super().__init__(_ORDER)
        self.symbols = symbols

    def terms(self, terms: Sequence[Any]) -> str:
        return join_terms(str(self._print(term)) for term in terms)

    def separator(self, before: Any, after: Any) -> str:
        return _TEX_SIGNS[_separator(before, after, self.symbols)]

    def factors(self, factors: Sequence[Any]) -> str:
        shown = [self._print(factor) for factor in factors]
        if len(factors) > 1:
            shown = [enclose(text) if one.is_Add else text for one, text in zip(factors, shown, strict=True)]
        signs = ["", *(self.separator(*pair) for pair in pairwise(factors))]
        return "".join(sign + text for sign, text in zip(signs, shown, strict=True))

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
        """Return a rounding of a quotient with a slash, to keep the height of a line of text."""
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
            row.appendChild(self._print_positive(term) if negative else self._print(term))
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
        if below and not glyph.is_word:
            below = below.replace("_", ",")
            return self._element("msub", self._element("mi", stem), self._element("mtext", below))
        word = self._element("mi", glyph.text if glyph.is_word else stem)
        if len(word.firstChild.data) > 1:
            word.setAttribute("mathvariant", "normal")
        return word

    def _print_Add(self, expr: Any, order: Any = None) -> Any:
        return self.terms(sort_terms(expr.args))

    def _print_Mul(self, expr: Any) -> Any:
        shown = self._print_positive(expr)
        return self._element("mrow", self._element("mo", _MINUS), shown) if product(expr).negative else shown

    def _print_positive(self, term: Any) -> Any:
        _, over, under = product(term)
        shown = self._factors(over)
        return self._element("mfrac", shown, self._factors(under)) if under else shown

    def _factors(self, factors: Sequence[Any]) -> Any:
        row = self._element("mrow", self.parenthesize(factors[0], 50))
        for before, factor in pairwise(factors):
            sign = _separator(before, factor, self.symbols)
            times = self._element("mo", _DOT if sign == _DOT else "\N{INVISIBLE TIMES}")
            if sign == _SPACE:
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


def latex(terms: Sequence[Any], symbols: Mapping[str, Glyph]) -> str:
    """Return LaTeX without delimiters, in one line."""
    return TexPrinter(symbols).terms(terms)


def mathml(terms: Sequence[Any], symbols: Mapping[str, Glyph]) -> str:
    """Return a MathML element with presentation markup."""
    body = MathPrinter(symbols).terms(terms).toxml()
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML">{body}</math>'


def enclose(text: str) -> str:
    """Return LaTeX in brackets that are larger than those within."""
    size = bracket_size(text)
    return f"{size}({text}{size[:-1] + 'r' if size else ''})"


def bracket_size(text: str) -> str:
    r"""Return the size of a bracket around LaTeX: empty, `\bigl`, …"""
    if r"\frac" in text and r"\bigg" not in text:
        return r"\biggl" if r"\Bigl" in text else r"\Bigl"
    return next((outer for inner, outer in _BRACKETS if inner in text), "")


def _separator(before: Any, after: Any, symbols: Mapping[str, Glyph]) -> str:
    """Return the sign between factors: none at a bracket, a dot next to a spelled-out name, or a space."""
    if before.is_Number:
        return _DOT if after.is_Number or (after.is_Pow and after.base.is_Number) else ""
    for factor in (before, after):
        base = factor.base if factor.is_Pow else factor
        if base.is_Symbol and base.name in symbols and symbols[base.name].is_word:
            return _DOT
    return "" if before.is_Add or after.is_Add else _SPACE


def _greek_letter(name: str) -> str:
    try:
        return unicodedata.lookup(f"GREEK SMALL LETTER {name}")
    except KeyError:
        return name
