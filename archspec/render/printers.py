"""The terms of a closed form as text, Unicode, LaTeX or MathML, in the usual symbols of its fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter
from sympy.printing.mathml import MathMLPresentationPrinter
from sympy.printing.str import StrPrinter

from archspec.render.notation import Glyph
from archspec.render.terms import joined, ordered, renamed

_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class TextPrinter(StrPrinter):  # type: ignore[misc]
    """`V·d + L·(4·d^2 + 9·d)`, or with superscripts and brackets where Unicode has them."""

    def __init__(self, unicode: bool) -> None:
        super().__init__({"order": "none"})
        self.unicode = unicode

    def terms(self, terms: Sequence[Any]) -> str:
        return joined(str(self._print(term)) for term in terms)

    def _print_Mul(self, expr: Any) -> str:
        fraction = expr.has(sympy.Pow) or expr.args[0].is_Rational
        numerator, denominator = expr.as_numer_denom() if fraction else (expr, 1)
        if denominator != 1:
            return f"{self.parenthesize(numerator, 50)}/{self.parenthesize(denominator, 55)}"
        factors = sorted(expr.args, key=lambda f: (not f.is_number, isinstance(f, sympy.Add)))
        sign = ""
        if factors[0].is_number and factors[0] < 0:
            sign, factors = "-", [-factors[0], *factors[1:]] if factors[0] != -1 else factors[1:]
        return sign + "·".join(self.parenthesize(factor, 50) for factor in factors)

    def _print_Add(self, expr: Any, order: Any = None) -> str:
        return self.terms(ordered(expr))

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        base: str = self.parenthesize(expr.base, 60)
        if self.unicode and expr.exp.is_Integer:
            return base + str(expr.exp).translate(_SUPERSCRIPT)
        return f"{base}^{self.parenthesize(expr.exp, 60)}"

    def _call(self, name: str, expr: Any) -> str:
        return f"{name}({', '.join(map(self._print, expr.args))})"

    def _print_floor(self, expr: Any) -> str:
        return f"⌊{self._print(expr.args[0])}⌋" if self.unicode else self._call("floor", expr)

    def _print_ceiling(self, expr: Any) -> str:
        return f"⌈{self._print(expr.args[0])}⌉" if self.unicode else self._call("ceil", expr)

    def _print_Max(self, expr: Any) -> str:
        return self._call("max", expr)

    def _print_Min(self, expr: Any) -> str:
        return self._call("min", expr)


def text(terms: Sequence[Any], symbols: Mapping[str, Glyph], unicode: bool) -> str:
    names = {name: glyph.text for name, glyph in symbols.items()}
    return TextPrinter(unicode).terms(renamed(terms, names))


def latex(terms: Sequence[Any], symbols: Mapping[str, Glyph]) -> str:
    """LaTeX without delimiters."""
    names = {sympy.Symbol(name): glyph.latex for name, glyph in symbols.items()}
    printer = LatexPrinter({"symbol_names": names, "order": "none", "mul_symbol": None})
    return joined(str(printer.doprint(term)) for term in terms)


def mathml(terms: Sequence[Any], symbols: Mapping[str, Glyph]) -> str:
    """A MathML element with presentation markup."""
    names = {name: glyph.text for name, glyph in symbols.items()}
    printer = MathMLPresentationPrinter({"order": "none"})
    body = "<mo>+</mo>".join(map(printer.doprint, renamed(terms, names)))
    body = body.replace("&InvisibleTimes;", "&#8290;")
    body = body.replace("<mo>+</mo><mrow><mo>-</mo>", "<mrow><mo>-</mo>")
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML"><mrow>{body}</mrow></math>'
