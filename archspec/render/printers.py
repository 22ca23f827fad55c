"""A closed form as text, Unicode, LaTeX, MathML, Python, C or SQL.

What is printed is a sum of terms in the order of the model, terms of one repetition factored out of
it: V·d + L·(4·d² + …). Integer division stays exact in every language.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter
from sympy.printing.mathml import MathMLPresentationPrinter
from sympy.printing.str import StrPrinter

from archspec.quantities import QUANTITIES
from archspec.render.notation import Glyph, chosen
from archspec.symbolic.closed_form import ClosedForm
from archspec.symbolic.repetitions import SymbolicTensor

C_PRELUDE = """static long long floor_div(long long a, long long b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
static long long min(long long a, long long b) { return a < b ? a : b; }
static long long max(long long a, long long b) { return a > b ? a : b; }
"""
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def _summed(terms: list[str]) -> str:
    return " + ".join(terms).replace("+ -", "- ")


def arranged(formula: ClosedForm, tensors: Iterable[SymbolicTensor] | None = None) -> list[Any]:
    """The terms in the model's order: what stands once, then each repetition times what it repeats.

    ``tensors`` are those to add up, where not all of the formula's.
    """
    share = QUANTITIES[formula.quantity].term
    groups: dict[Any, Any] = {}
    for tensor in formula.tensors if tensors is None else tensors:
        part = sympy.expand(share(tensor) * formula.scale)
        repetition = sympy.sympify(tensor.repetition)
        symbolic = (
            bool(repetition.free_symbols)
            and not sympy.cancel(part / repetition).as_numer_denom()[1].free_symbols
        )
        key = repetition if symbolic else sympy.Integer(1)
        groups[key] = groups.get(key, 0) + (sympy.cancel(part / repetition) if symbolic else part)
    terms = []
    for repetition, inner in groups.items():
        once = sympy.expand(formula.plain(sympy.expand(inner)).xreplace(formula.replacements))
        repetition = formula.plain(repetition).xreplace(formula.replacements)
        if once == 0:
            continue
        parts = ordered(once)
        if repetition == 1:
            terms += parts
        else:
            terms.append(sympy.Mul(repetition, once, evaluate=False) if len(parts) > 1 else repetition * once)
    return terms or [sympy.Integer(0)]


def ordered(expr: Any) -> list[Any]:
    """The terms of a sum, the highest degree first."""
    symbols = sorted(expr.free_symbols, key=lambda symbol: symbol.name)
    degree = {
        term: sum(sympy.degree(term, s) if term.is_polynomial(s) else 1 for s in symbols)
        for term in sympy.Add.make_args(expr)
    }
    return sorted(
        degree,
        key=lambda term: (term.could_extract_minus_sign(), -degree[term], sympy.default_sort_key(term)),
    )


class TextPrinter(StrPrinter):  # type: ignore[misc]
    """`V·d + L·(4·d^2 + 9·d)`, or with superscripts and brackets where Unicode has them."""

    def __init__(self, unicode: bool) -> None:
        super().__init__({"order": "none"})
        self.unicode = unicode

    def _print_Mul(self, expr: Any) -> str:
        numerator, denominator = (
            expr.as_numer_denom() if expr.has(sympy.Pow) or expr.args[0].is_Rational else (expr, 1)
        )
        if denominator != 1:
            return f"{self.parenthesize(numerator, 50)}/{self.parenthesize(denominator, 55)}"
        factors = sorted(expr.args, key=lambda f: (not f.is_number, isinstance(f, sympy.Add)))
        sign = ""
        if factors[0].is_number and factors[0] < 0:
            sign, factors = "-", [-factors[0], *factors[1:]] if factors[0] != -1 else factors[1:]
        return sign + "·".join(self._factor(factor) for factor in factors)

    def _factor(self, factor: Any) -> str:
        if isinstance(factor, sympy.Add):
            return f"({self._terms(ordered(factor))})"
        return str(self.parenthesize(factor, 50))

    def _print_Add(self, expr: Any, order: Any = None) -> str:
        return self._terms(ordered(expr))

    def _terms(self, terms: list[Any]) -> str:
        return _summed([str(self._print(term)) for term in terms])

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        base: str = self.parenthesize(expr.base, 60)
        if self.unicode and expr.exp.is_Integer:
            return base + str(expr.exp).translate(_SUPERSCRIPT)
        return f"{base}^{self.parenthesize(expr.exp, 60)}"

    def _print_floor(self, expr: Any) -> str:
        inner = self._print(expr.args[0])
        return f"⌊{inner}⌋" if self.unicode else f"floor({inner})"

    def _print_ceiling(self, expr: Any) -> str:
        inner = self._print(expr.args[0])
        return f"⌈{inner}⌉" if self.unicode else f"ceil({inner})"

    def _print_Max(self, expr: Any) -> str:
        return f"max({', '.join(map(self._print, expr.args))})"

    def _print_Min(self, expr: Any) -> str:
        return f"min({', '.join(map(self._print, expr.args))})"


class CodePrinter(StrPrinter):  # type: ignore[misc]
    """An exact integer expression of a programming language; `quotient` writes floor division.

    ``integers`` are the names that SQL reads as 64-bit numbers, whatever their column's type: a product of
    narrower ones may wrap around.
    """

    minimum, maximum = "min", "max"

    def __init__(self, language: str, integers: frozenset[str] = frozenset()) -> None:
        super().__init__({"order": "none"})
        self.language, self.integers = language, integers
        if language == "sql":
            self.minimum, self.maximum = "LEAST", "GREATEST"

    def _print_Symbol(self, expr: Any) -> str:
        wide = self.language == "sql" and expr.name in self.integers
        return f"CAST({expr.name} AS BIGINT)" if wide else str(expr.name)

    def whole(self, terms: list[Any]) -> str:
        """A sum of terms that may have fractional coefficients but is an integer."""
        expr = sympy.Add(*terms)
        denominator = sympy.ilcm(
            1, 1, *(term.as_coeff_Mul()[0].q for term in sympy.Add.make_args(sympy.expand(expr)))
        )
        if denominator == 1:
            return _summed([str(self._print(term)) for term in terms])
        return self.quotient(self._print(sympy.expand(expr * denominator)), str(denominator))

    def quotient(self, over: str, under: str) -> str:
        """Floor division. SQL has no common operator for it: what is divided is made divisible first."""
        if self.language == "python":
            return f"(({over}) // ({under}))"
        if self.language == "c":
            return f"floor_div({over}, {under})"
        return f"CAST((({over}) - ((({over}) % ({under})) + ({under})) % ({under})) / ({under}) AS BIGINT)"

    def _print_floor(self, expr: Any) -> str:
        over, under = sympy.together(expr.args[0]).as_numer_denom()
        return self.quotient(self._print(over), self._print(under))

    def _print_ceiling(self, expr: Any) -> str:
        over, under = sympy.together(expr.args[0]).as_numer_denom()
        return self.quotient(self._print(over + under - 1), self._print(under))

    def _print_Mod(self, expr: Any) -> str:
        return f"(({self._print(expr.args[0])}) % ({self._print(expr.args[1])}))"

    def _print_Mul(self, expr: Any) -> str:
        factors = sorted(expr.args, key=lambda f: not f.is_number)
        if factors[0] == -1 and len(factors) > 1:
            return "-" + "*".join(self.parenthesize(factor, 50) for factor in factors[1:])
        first = self._print(factors[0]) if factors[0].is_Integer else self.parenthesize(factors[0], 50)
        return "*".join([first, *(self.parenthesize(factor, 50) for factor in factors[1:])])

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        base = self.parenthesize(expr.base, 60)
        if self.language != "python" and expr.exp.is_Integer and 0 < expr.exp < 9:
            return "*".join([base] * int(expr.exp))
        power = f"{base}**{self.parenthesize(expr.exp, 60)}"
        return power if self.language == "python" else f"POWER({base}, {self._print(expr.exp)})"

    def _print_Min(self, expr: Any) -> str:
        return self._nested(self.minimum, [self._print(part) for part in expr.args])

    def _print_Max(self, expr: Any) -> str:
        return self._nested(self.maximum, [self._print(part) for part in expr.args])

    def _nested(self, function: str, parts: list[str]) -> str:
        if self.language != "c" or len(parts) < 3:
            return f"{function}({', '.join(parts)})"
        return f"{function}({parts[0]}, {self._nested(function, parts[1:])})"


def glyphs(formula: ClosedForm, own: dict[str, Glyph] | None = None) -> dict[str, Glyph]:
    """The symbols that a formula is written in."""
    return chosen([symbol.name for symbol in formula.expr.free_symbols], own)


def _renamed(terms: list[Any], names: dict[str, str]) -> list[Any]:
    table = {sympy.Symbol(old): sympy.Symbol(new) for old, new in names.items()}
    return [term.xreplace(table) for term in terms]


def text(
    formula: ClosedForm,
    unicode: bool = True,
    own: dict[str, Glyph] | None = None,
    terms: list[Any] | None = None,
) -> str:
    """
    >>> import archspec
    >>> archspec.formula("GPT2Model").text()
    'd·s + V·d + 2·d + L·(4·d² + 2·d·d_ff + 9·d + d_ff)'
    """
    names = {name: glyph.text for name, glyph in glyphs(formula, own).items()}
    return TextPrinter(unicode)._terms(_renamed(terms or arranged(formula), names))


def latex(formula: ClosedForm, own: dict[str, Glyph] | None = None, terms: list[Any] | None = None) -> str:
    """LaTeX without delimiters."""
    names = {sympy.Symbol(name): glyph.latex for name, glyph in glyphs(formula, own).items()}
    printer = LatexPrinter({"symbol_names": names, "order": "none", "mul_symbol": None})
    return _summed([str(printer.doprint(term)) for term in terms or arranged(formula)])


def mathml(formula: ClosedForm, own: dict[str, Glyph] | None = None, terms: list[Any] | None = None) -> str:
    """A MathML element with presentation markup."""
    names = {name: glyph.text for name, glyph in glyphs(formula, own).items()}
    body = "<mo>+</mo>".join(
        MathMLPresentationPrinter({"order": "none"}).doprint(term)
        for term in _renamed(terms or arranged(formula), names)
    )
    body = body.replace("&InvisibleTimes;", "&#8290;").replace(
        "<mo>+</mo><mrow><mo>-</mo>", "<mrow><mo>-</mo>"
    )
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML"><mrow>{body}</mrow></math>'


def identifier(name: str) -> str:
    """A field's name as an identifier: `text_config.hidden_size` -> `text_config_hidden_size`.

    >>> identifier("conv_dim[0]")
    'conv_dim_0'
    """
    from archspec.render.notation import _spelled

    return _spelled(name, "").text


def code(formula: ClosedForm, language: str, terms: list[Any] | None = None) -> str:
    """An exact integer expression in `python`, `c` or `sql`, over the field names as identifiers."""
    names = {symbol.name: identifier(symbol.name) for symbol in formula.expr.free_symbols}
    integers = frozenset(
        names[name] for name, value in formula.symbols.items() if name in names and isinstance(value, int)
    )
    return CodePrinter(language, integers).whole(_renamed(terms or arranged(formula), names))


def python(formula: ClosedForm, terms: list[Any] | None = None) -> str:
    """
    >>> import archspec
    >>> f = archspec.formula("GPT2Model")
    >>> eval(f.python(), {}, dict(f.symbols)) == f.evaluate()
    True
    """
    return code(formula, "python", terms)
