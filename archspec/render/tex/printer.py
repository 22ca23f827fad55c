"""The terms of a closed form in LaTeX, in the usual symbols of its fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter

from archspec.render.notation import Glyph
from archspec.render.order import arguments, ordered, product
from archspec.render.terms import DOT, THIN_SPACE, between, joined

_ROUNDED = (sympy.floor, sympy.ceiling)
_BETWEEN = {"": " ", THIN_SPACE: r"\,", DOT: r" \cdot "}
_BRACKETS = (r"\biggl", r"\Biggl"), (r"\Bigl", r"\biggl"), (r"\bigl", r"\Bigl"), ("(", r"\bigl")


class TexPrinter(LatexPrinter):  # type: ignore[misc]
    r"""`L \bigl(4 d^2 + 9 d\bigr) + V\,d`: no `\left`, so that a line may break within a bracket."""

    def __init__(self, symbols: Mapping[str, Glyph]) -> None:
        super().__init__({"order": "none"})
        self.symbols = symbols

    def terms(self, terms: Sequence[Any]) -> str:
        return joined(str(self._print(term)) for term in terms)

    def _print_Symbol(self, expr: Any, style: str = "plain") -> str:
        return self.symbols[expr.name].latex if expr.name in self.symbols else super()._print_Symbol(expr)

    def _print_Add(self, expr: Any, order: Any = None) -> str:
        return self.terms(ordered(expr.args))

    def _print_Mul(self, expr: Any) -> str:
        negative, over, under = product(expr)
        text = self.factors(over)
        if under:
            text = rf"\frac{{{text}}}{{{self.factors(under)}}}"
        return f"-{text}" if negative else text

    def factors(self, factors: Sequence[Any]) -> str:
        text = ""
        for before, factor in zip([None, *factors], factors, strict=False):
            text += self.between(before, factor) if text else ""
            text += (
                bracketed(self._print(factor)) if factor.is_Add and len(factors) > 1 else self._print(factor)
            )
        return text

    def between(self, before: Any, after: Any) -> str:
        return _BETWEEN[between(before, after, self.symbols)]

    def _print_Pow(self, expr: Any) -> str:
        if expr.exp.could_extract_minus_sign():
            return self._print_Mul(expr)
        if not expr.exp.is_Integer:
            return str(super()._print_Pow(expr))
        base = self._print(expr.base)
        power = f"{expr.exp}" if expr.exp < 10 else f"{{{expr.exp}}}"
        closed = expr.base.is_Symbol or expr.base.is_Number or isinstance(expr.base, _ROUNDED)
        return f"{base if closed else bracketed(base)}^{power}"

    def _rounded(self, expr: Any, sides: str) -> str:
        """A quotient is written with a slash: it stands in a line of text height."""
        (inner,) = expr.args
        negative, over, under = product(inner)
        if inner.is_Add or negative or not under:
            return rf"\l{sides} {self._print(inner)} \r{sides}"
        divisor = self.factors(under)
        shown = bracketed(divisor) if len(under) > 1 or under[0].is_Add else divisor
        dividend = bracketed(self.factors(over)) if over[0].is_Add else self.factors(over)
        return rf"\l{sides} {dividend} / {shown} \r{sides}"

    def _print_floor(self, expr: Any, exp: Any = None) -> str:
        return self._rounded(expr, "floor")

    def _print_ceiling(self, expr: Any, exp: Any = None) -> str:
        return self._rounded(expr, "ceil")

    def _print_NthPrime(self, expr: Any, exp: Any = None) -> str:
        return rf"\operatorname{{prime}}{bracketed(', '.join(map(self._print, expr.args)))}"

    def _print_Max(self, expr: Any, exp: Any = None) -> str:
        return rf"\max{bracketed(', '.join(map(self._print, arguments(expr))))}"

    def _print_Min(self, expr: Any, exp: Any = None) -> str:
        return rf"\min{bracketed(', '.join(map(self._print, arguments(expr))))}"


def bracketed(text: str) -> str:
    """LaTeX in brackets that are larger than those within.

    >>> bracketed("a (b + c)")
    '\\\\bigl(a (b + c)\\\\bigr)'
    """
    size = bracket(text)
    return f"{size}({text}{size[:-1] + 'r' if size else ''})"


def bracket(text: str) -> str:
    r"""The size of a bracket around LaTeX: nothing, `\bigl`, …"""
    if r"\frac" in text and r"\bigg" not in text:
        return r"\biggl" if r"\Bigl" in text else r"\Bigl"
    return next((outer for inner, outer in _BRACKETS if inner in text), "")


def latex(terms: Sequence[Any], symbols: Mapping[str, Glyph]) -> str:
    """LaTeX without delimiters, in one line."""
    return TexPrinter(symbols).terms(terms)
