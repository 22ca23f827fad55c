"""Exact integer expressions of Python, C and SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import sympy
from sympy.printing.str import StrPrinter

from archspec.errors import FormulaError
from archspec.render.notation import spelled
from archspec.render.order import arguments, ordered, product
from archspec.render.terms import joined

LANGUAGES = ("python", "c", "sql", "spark")  # `sql` is DuckDB's
# Integers of 38 digits in each dialect of SQL, beyond which there is an error, or NULL: nothing bounds the
# columns of a table that a formula is for, and 64 bits wrap around in Spark where ANSI mode is off.
INTEGERS = {"sql": "HUGEINT", "spark": "DECIMAL(38, 0)"}
_SIGNS = {"==": "=", "!=": "<>"}
_C_WORDS = (  # reserved words of C that may be names of fields, in lines that are split
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


class CodePrinter(StrPrinter):  # type: ignore[misc]
    """An exact integer expression of Python or SQL; `quotient` writes floor division.

    ``shown`` is how some symbols are written, where not by their names.
    """

    def __init__(self, language: str, shown: Mapping[str, str] | None = None) -> None:
        super().__init__({"order": "none"})
        self.language, self.shown = language, shown or {}

    def _print_Symbol(self, expr: Any) -> str:
        return self.shown.get(expr.name, str(expr.name))

    def whole(self, terms: Sequence[Any]) -> str:
        """A sum of terms that may have fractional coefficients but is an integer."""
        over, under = fraction(terms)
        if under == 1:
            return joined(str(self._print(term)) for term in terms)
        return self.quotient(self._print(over), self._print(under))

    def compared(self, op: str, left: Any, right: Any) -> str:
        """A comparison of two expressions."""
        op = _SIGNS.get(op, op) if self.language in INTEGERS else op
        return f"{self._print(left)} {op} {self._print(right)}"

    def quotient(self, over: str, under: str) -> str:
        """Floor division. In SQL what is divided is made divisible first; then `//` of DuckDB, and `/` of
        Spark's decimals, which its DIV makes 64 bits of, are exact.
        """
        over, under = _grouped(over), _grouped(under)
        if self.language == "python":
            return f"({over} // {under})"
        operator = "//" if self.language == "sql" else "/"
        return f"CAST(({over} - {self.rest(over, under)}) {operator} {under} AS {INTEGERS[self.language]})"

    def rest(self, over: str, under: str) -> str:
        """A remainder with the sign of what it is divided by."""
        if self.language == "python":
            return f"({over} % {under})"
        return f"((({over} % {under}) + {under}) % {under})"

    def _print_floor(self, expr: Any) -> str:
        over, under = sympy.together(expr.args[0]).as_numer_denom()
        if under == 1:
            return str(self._print(over))
        return self.quotient(self._print(over), self._print(under))

    def _print_ceiling(self, expr: Any) -> str:
        over, under = sympy.together(expr.args[0]).as_numer_denom()
        return self.quotient(self._print(over + under - 1), self._print(under))

    def _print_Mod(self, expr: Any) -> str:
        left, right = (sympy.together(arg).as_numer_denom() for arg in expr.args)
        under = sympy.ilcm(left[1], right[1]) if (left[1] * right[1]).is_Integer else left[1] * right[1]
        over = (self._print(sympy.expand(side[0] * under / side[1])) for side in (left, right))
        found = self.rest(*map(_grouped, over))
        return found if under == 1 else f"({found}/{self._print(under)})"

    def _print_Mul(self, expr: Any) -> str:
        negative, over, under = product(expr)
        text = "*".join(self.parenthesize(factor, 50) for factor in over)
        text += "".join(f"/{self.parenthesize(factor, 60)}" for factor in under)
        return f"-{text}" if negative else text

    def _print_Add(self, expr: Any, order: Any = None) -> str:
        return joined(self._print(term) for term in ordered(expr.args))

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        base = self.parenthesize(expr.base, 60)
        if self.language == "python":
            return f"{base}**{self.parenthesize(expr.exp, 60)}"
        return "*".join([base] * int(expr.exp))

    def _print_Min(self, expr: Any) -> str:
        return self._called("LEAST" if self.language in INTEGERS else "min", arguments(expr))

    def _print_Max(self, expr: Any) -> str:
        return self._called("GREATEST" if self.language in INTEGERS else "max", arguments(expr))

    def _called(self, function: str, args: Sequence[Any]) -> str:
        return f"{function}({', '.join(map(self._print, args))})"


class CPrinter(CodePrinter):
    """Calls of functions of C that check each step for an overflow of 128 bits."""

    def __init__(self, shown: Mapping[str, str] | None = None) -> None:
        super().__init__("c", shown)

    def whole(self, terms: Sequence[Any]) -> str:
        over, under = fraction(terms)
        if under == 1:
            return self._sum(terms)
        return self.quotient(self._print(over), self._print(under))

    def quotient(self, over: str, under: str) -> str:
        return f"div_(e_, {over}, {under})"

    def rest(self, over: str, under: str) -> str:
        return f"mod_(e_, {over}, {under})"

    def _sum(self, terms: Sequence[Any]) -> str:
        ahead = sorted(terms, key=lambda term: bool(term.could_extract_minus_sign()))
        text = str(self._print(ahead[0]))
        for term in ahead[1:]:
            negative = term.could_extract_minus_sign()
            text = f"{'sub_' if negative else 'add_'}(e_, {text}, {self._print(-term if negative else term)})"
        return text

    def _print_Add(self, expr: Any, order: Any = None) -> str:
        return self._sum(ordered(expr.args))

    def _print_Mul(self, expr: Any) -> str:
        negative, over, under = product(expr)
        factors = [self._print(factor) for factor in over] or ["1"]
        if negative:
            factors.insert(0, "-1")
        text = str(factors[0])
        for factor in factors[1:]:
            text = f"mul_(e_, {text}, {factor})"
        for factor in under:
            text = self.quotient(text, self._print(factor))
        return text

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        base = text = str(self._print(expr.base))
        for _ in range(int(expr.exp) - 1):
            text = f"mul_(e_, {text}, {base})"
        return text

    def _print_Integer(self, expr: Any) -> str:
        value = int(expr)
        if abs(value) < 2**63:
            return str(value)
        if abs(value) >= 2**127:
            raise FormulaError("the formula has a number of more than 127 bits", help="choose another format")
        text = f"((wide_){abs(value) >> 64}ULL << 64 | {abs(value) % 2**64}ULL)"
        return text if value > 0 else f"-{text}"

    def _called(self, function: str, args: Sequence[Any]) -> str:
        text = str(self._print(args[0]))
        for arg in args[1:]:
            text = f"{function}_({text}, {self._print(arg)})"
        return text


def printer(language: str, shown: Mapping[str, str] | None = None) -> CodePrinter:
    """The printer of one of :data:`LANGUAGES`."""
    return CPrinter(shown) if language == "c" else CodePrinter(language, shown)


def fraction(terms: Sequence[Any]) -> tuple[Any, Any]:
    """A sum of terms as one fraction of expressions with whole coefficients."""
    total = sympy.expand(sympy.Add(*terms))
    if all(term.as_numer_denom()[1] == 1 for term in sympy.Add.make_args(total)):
        return total, sympy.Integer(1)
    over, under = sympy.together(total).as_numer_denom()
    return sympy.expand(over), under


def _grouped(text: str) -> str:
    """An operand: in brackets where it is not a name, a number or a call of CAST."""
    return text if re.fullmatch(r"[\w.]+|CAST\([\w.]+ AS [A-Z]+(\(38, 0\))?\)", text) else f"({text})"


def literal(language: str, value: Any) -> str:
    """A plain value in Python or SQL; in SQL, a mapping or a list of several kinds is its JSON text."""
    if language == "python":
        return repr(value)
    if value is None or isinstance(value, bool):
        return str(value).upper().replace("NONE", "NULL")
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    if isinstance(value, int):
        return str(value)
    kinds = {type(item) for item in value} if isinstance(value, list) else set()
    if len(kinds) == 1 and kinds <= {bool, int, str}:
        items = ", ".join(literal(language, item) for item in value)
        return f"array({items})" if language == "spark" else f"[{items}]"
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    if language == "spark":
        return json.dumps(text)
    return "'" + text.replace("'", "''") + "'"


def written_name(language: str, name: str) -> str:
    """A field's identifier in a language: reserved words are quoted in SQL, and longer in C.

    >>> written_name("c", "asm"), written_name("sql", "freeze"), written_name("spark", "n_embd")
    ('asm_field', '"freeze"', 'n_embd')
    """
    text = identifier(name)
    if language == "c":
        return f"{text}_field" if text in _C_WORDS.split() else text
    quote = {"sql": '"', "spark": "`"}.get(language, "") if text.lower() in _SQL_WORDS.split() else ""
    return f"{quote}{text}{quote}"


def identifier(name: str) -> str:
    """A field's name as an identifier: `text_config.hidden_size` -> `text_config_hidden_size`.

    >>> identifier("conv_dim[0]"), identifier("_attn_mode")
    ('conv_dim_0', '_attn_mode')
    """
    return ("_" if name.startswith("_") else "") + spelled(name, "").text
