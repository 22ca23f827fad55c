"""The terms of a closed form as text, and as exact integer expressions of Python, C and SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import sympy
from sympy.printing.str import StrPrinter

from archspec.errors import FormulaError
from archspec.render.order import product, sort_arguments, sort_terms
from archspec.symbolic.validity.checks import BITS

SCALE = 2**BITS  # fields of type float are multiples of its inverse
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_C_WORDS = (  # keywords that may be names of fields
    "asm auto bool break case char const continue default do double else enum extern false float for goto "
    "if inline int linux long NULL register restrict return short signed sizeof static strcmp struct switch "
    "true typedef typeof union unix unsigned void volatile while"
)
_SQL_WORDS = (
    "all and any array as asc between both case cast check column cross default desc distinct do else end "
    "except false for foreign freeze from full group having in initially inner intersect into is join "
    "lateral leading left like limit natural not null offset on only or order outer pivot primary qualify "
    "references right select semi show similar some summarize table then to trailing true union unique "
    "unpivot user using values variadic verbose when where window with"
)


class Language(NamedTuple):
    """The syntax of a language: templates with {placeholders}.

    ``size`` tests that a field is a whole number, ``fraction`` that it is a multiple of 1/1024. ``number``
    and ``scaled`` (times 1024) are the operands of such fields. ``reserved`` words are ``renamed``.
    """

    floor: str
    remainder: str
    minimum: str
    maximum: str
    number: str
    scaled: str
    size: str
    fraction: str
    reserved: str = ""
    renamed: str = ""


def _sql(integer: str, divide: str, renamed: str) -> Language:
    """Return a dialect with integers of 38 digits: 64 bits wrap around in Spark if its ANSI mode is off.

    A dividend is made divisible before the exact division, because Spark's DIV returns 64 bits.
    """
    remainder = "((({over} % {under}) + {under}) % {under})"
    return Language(
        floor=f"CAST(({{over}} - {remainder}) {divide} {{under}} AS {integer})",
        remainder=remainder,
        minimum="LEAST",
        maximum="GREATEST",
        number=f"CAST({{name}} AS {integer})",
        scaled=f"CAST({{name}}*{SCALE} AS {integer})",
        size="{name} >= 0 AND {name} = {operand}",
        fraction=f"{{name}} >= 0 AND {{name}}*{SCALE} = {{operand}}",
        reserved=_SQL_WORDS,
        renamed=renamed,
    )


LANGUAGES = {  # `sql` is DuckDB's; Python tests all sizes at once, and C fractions before it scales them
    "python": Language(
        *("({over} // {under})", "({over} % {under})", "min", "max", "{name}", f"int({{name}}*{SCALE})"),
        *("", f"{{name}} >= 0 and {{name}}*{SCALE} % 1 == 0"),
    ),
    "c": Language(
        *("div_(e_, {over}, {under})", "mod_(e_, {over}, {under})", "min_", "max_", "{name}"),
        *("{name}_scaled_", "{name} >= 0", "", _C_WORDS, "{name}_field"),
    ),
    "sql": _sql("HUGEINT", "//", '"{name}"'),
    "spark": _sql("DECIMAL(38, 0)", "/", "`{name}`"),
}


class TextPrinter(StrPrinter):  # type: ignore[misc]
    """Prints `L·(4·d^2 + 9·d) + V·d`, or with superscripts; ``names`` are the texts of symbols."""

    functions = {"min": "min", "max": "max"}  # noqa: RUF012

    def __init__(self, names: Mapping[str, str], unicode: bool = False) -> None:
        super().__init__({"order": "none"})  # terms are already in order
        self.names, self.unicode = names, unicode

    def add(self, terms: Iterable[Any]) -> str:
        """Return a sum of terms in their order."""
        return join_terms(self._print(term) for term in terms)

    def call(self, function: str, arguments: Iterable[str]) -> str:
        return f"{function}({', '.join(arguments)})"

    def _print_Symbol(self, expr: Any) -> str:
        return self.names.get(expr.name, str(expr.name))

    def _print_Add(self, expr: Any, order: Any = None) -> str:
        return self.add(sort_terms(expr.args))

    def _print_Mul(self, expr: Any) -> str:
        negative, over, under = product(expr)
        text, divisor = ("·".join(self.parenthesize(one, 50) for one in side) for side in (over, under))
        if under:
            text = f"{text}/({divisor})" if len(under) > 1 else f"{text}/{divisor}"
        return f"-{text}" if negative else text

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        base: str = self.parenthesize(expr.base, 60)
        if self.unicode and expr.exp.is_Integer and expr.exp > 0:
            return base + str(expr.exp).translate(_SUPERSCRIPT)
        if expr.exp.could_extract_minus_sign():
            return self._print_Mul(expr)
        return f"{base}^{self.parenthesize(expr.exp, 60)}"

    def _print_floor(self, expr: Any) -> str:
        return ("⌊{}⌋" if self.unicode else "floor({})").format(self._print(expr.args[0]))

    def _print_ceiling(self, expr: Any) -> str:
        return ("⌈{}⌉" if self.unicode else "ceil({})").format(self._print(expr.args[0]))

    def _print_Max(self, expr: Any) -> str:
        function = self.functions[type(expr).__name__.lower()]
        return self.call(function, map(self._print, sort_arguments(expr)))

    _print_Min = _print_Max


class CodePrinter(TextPrinter):
    """Prints exact integer expressions; ``operands`` are the texts of symbols not written by their names."""

    def __init__(self, language: str, operands: Mapping[str, str] | None = None) -> None:
        super().__init__(operands or {})
        self.language, self.syntax = language, LANGUAGES[language]
        self.functions = {"min": self.syntax.minimum, "max": self.syntax.maximum}

    def print_sum(self, terms: Sequence[Any]) -> str:
        """Return a sum of terms that may have fractional coefficients but is an integer."""
        over, under = fraction(terms)
        return self.add(terms) if under == 1 else self.floor(self._print(over), self._print(under))

    def compare(self, op: str, left: Any, right: Any) -> str:
        """Return a comparison of two expressions."""
        op = {"==": "=", "!=": "<>"}.get(op, op) if self.language in ("sql", "spark") else op
        return f"{self._print(left)} {op} {self._print(right)}"

    def floor(self, over: str, under: str) -> str:
        return self.syntax.floor.format(over=_bracket(over), under=_bracket(under))

    def _print_floor(self, expr: Any) -> str:
        over, under = sympy.together(expr.args[0]).as_numer_denom()
        return str(self._print(over)) if under == 1 else self.floor(self._print(over), self._print(under))

    def _print_ceiling(self, expr: Any) -> str:
        over, under = sympy.together(expr.args[0]).as_numer_denom()
        return self.floor(self._print(over + under - 1), self._print(under))

    def _print_Mod(self, expr: Any) -> str:
        left, right = (sympy.together(arg).as_numer_denom() for arg in expr.args)
        under = sympy.ilcm(left[1], right[1]) if (left[1] * right[1]).is_Integer else left[1] * right[1]
        over, by = (_bracket(self._print(sympy.expand(n * under / m))) for n, m in (left, right))
        found = self.syntax.remainder.format(over=over, under=by)
        return found if under == 1 else f"({found}/{self._print(under)})"

    def _print_Mul(self, expr: Any) -> str:
        negative, over, under = product(expr)
        text = "*".join(self.parenthesize(factor, 50) for factor in over)
        text += "".join(f"/{self.parenthesize(factor, 60)}" for factor in under)
        return f"-{text}" if negative else text

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        base = self.parenthesize(expr.base, 60)
        if self.language == "python":
            return f"{base}**{self.parenthesize(expr.exp, 60)}"
        return "*".join([base] * int(expr.exp))


class CPrinter(CodePrinter):
    """Prints calls of C functions that check each step for an overflow of 128 bits."""

    def add(self, terms: Iterable[Any]) -> str:
        first, *others = sorted(terms, key=lambda term: bool(term.could_extract_minus_sign()))
        text = str(self._print(first))
        for term in others:
            negative = term.could_extract_minus_sign()
            text = f"{'sub_' if negative else 'add_'}(e_, {text}, {self._print(-term if negative else term)})"
        return text

    def call(self, function: str, arguments: Iterable[str]) -> str:
        return reduce(lambda before, argument: f"{function}({before}, {argument})", arguments)

    def floor(self, over: str, under: str) -> str:
        return self.syntax.floor.format(over=over, under=under)

    def _multiply(self, factors: Iterable[str]) -> str:
        return reduce(lambda before, factor: f"mul_(e_, {before}, {factor})", factors)

    def _print_Mul(self, expr: Any) -> str:
        negative, over, under = product(expr)
        text = self._multiply([*["-1"] * negative, *map(self._print, over)])
        return reduce(self.floor, map(self._print, under), text)

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        return self._multiply([str(self._print(expr.base))] * int(expr.exp))

    def _print_Integer(self, expr: Any) -> str:
        value = int(expr)
        if abs(value) < 2**63:
            return str(value)
        if abs(value) >= 2**127:
            raise FormulaError("the formula has a number of more than 127 bits", help="choose another format")
        text = f"((wide_){abs(value) >> 64}ULL << 64 | {abs(value) % 2**64}ULL)"
        return text if value > 0 else f"-{text}"


def printer(language: str, operands: Mapping[str, str] | None = None) -> CodePrinter:
    """Return the printer of one of :data:`LANGUAGES`."""
    return (CPrinter if language == "c" else CodePrinter)(language, operands)


def join_terms(texts: Iterable[str]) -> str:
    """Return printed terms as a sum."""
    return " + ".join(texts).replace("+ -", "- ")


def fraction(terms: Sequence[Any]) -> tuple[Any, Any]:
    """Return a sum of terms as one fraction of expressions with whole coefficients."""
    total = sympy.expand(sympy.Add(*terms))
    if all(term.as_numer_denom()[1] == 1 for term in sympy.Add.make_args(total)):
        return total, sympy.Integer(1)
    over, under = sympy.together(total).as_numer_denom()
    return sympy.expand(over), under


def _bracket(text: str) -> str:
    """Return an operand, in brackets unless it is a name, a number or a call of CAST."""
    return text if re.fullmatch(r"[\w.]+|CAST\([\w.]+ AS [A-Z]+(\(38, 0\))?\)", text) else f"({text})"
