"""A closed form as an exact integer expression of Python, C or SQL; integer division stays exact in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from sympy.printing.str import StrPrinter

from archspec.render.notation import spelled
from archspec.render.terms import joined, renamed
from archspec.symbolic.closed_form import ClosedForm

C_PRELUDE = """\
static long long floor_div(long long a, long long b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static long long min(long long a, long long b) { return a < b ? a : b; }
static long long max(long long a, long long b) { return a > b ? a : b; }
"""
# Integers of 38 digits in each dialect of SQL, beyond which there is an error, or NULL: nothing bounds the
# columns of a table that a formula is for, and 64 bits wrap around in Spark where ANSI mode is off.
INTEGERS = {"sql": "HUGEINT", "spark": "DECIMAL(38, 0)"}


class CodePrinter(StrPrinter):  # type: ignore[misc]
    """An exact integer expression of a programming language; `quotient` writes floor division.

    ``integers`` are the names that SQL reads as wide integers, whatever their column's type: a product of
    narrower ones may wrap around.
    """

    def __init__(self, language: str, integers: frozenset[str] = frozenset()) -> None:
        super().__init__({"order": "none"})
        self.language, self.integers = language, integers

    def _print_Symbol(self, expr: Any) -> str:
        wide = self.language in INTEGERS and expr.name in self.integers
        return f"CAST({expr.name} AS {INTEGERS[self.language]})" if wide else str(expr.name)

    def whole(self, terms: Sequence[Any]) -> str:
        """A sum of terms that may have fractional coefficients but is an integer."""
        expr = sympy.expand(sympy.Add(*terms))
        coefficients = (term.as_coeff_Mul()[0] for term in sympy.Add.make_args(expr))
        denominator = sympy.ilcm(1, 1, *(coefficient.q for coefficient in coefficients))
        if denominator == 1:
            return joined(str(self._print(term)) for term in terms)
        return self.quotient(self._print(sympy.expand(expr * denominator)), str(denominator))

    def quotient(self, over: str, under: str) -> str:
        """Floor division. In SQL what is divided is made divisible first; then `//` of DuckDB, and `/` of
        Spark's decimals, which its DIV makes 64 bits of, are exact.
        """
        if self.language == "python":
            return f"(({over}) // ({under}))"
        if self.language == "c":
            return f"floor_div({over}, {under})"
        rest = f"((({over}) % ({under})) + ({under})) % ({under})"
        operator = "//" if self.language == "sql" else "/"
        return f"CAST((({over}) - {rest}) {operator} ({under}) AS {INTEGERS[self.language]})"

    def _print_floor(self, expr: Any) -> str:
        over, under = sympy.together(expr.args[0]).as_numer_denom()
        return self.quotient(self._print(over), self._print(under))

    def _print_ceiling(self, expr: Any) -> str:
        over, under = sympy.together(expr.args[0]).as_numer_denom()
        return self.quotient(self._print(over + under - 1), self._print(under))

    def _print_Mod(self, expr: Any) -> str:
        return f"(({self._print(expr.args[0])}) % ({self._print(expr.args[1])}))"

    def _print_Mul(self, expr: Any) -> str:
        first, *rest = sorted(expr.args, key=lambda factor: not factor.is_number)
        others = [self.parenthesize(factor, 50) for factor in rest]
        if first == -1 and others:
            return "-" + "*".join(others)
        return "*".join([self._print(first) if first.is_Integer else self.parenthesize(first, 50), *others])

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        base = self.parenthesize(expr.base, 60)
        if self.language != "python" and expr.exp.is_Integer and 0 < expr.exp < 9:
            return "*".join([base] * int(expr.exp))
        power = f"{base}**{self.parenthesize(expr.exp, 60)}"
        return power if self.language == "python" else f"POWER({base}, {self._print(expr.exp)})"

    def _print_Min(self, expr: Any) -> str:
        return self._nested("LEAST" if self.language in INTEGERS else "min", expr.args)

    def _print_Max(self, expr: Any) -> str:
        return self._nested("GREATEST" if self.language in INTEGERS else "max", expr.args)

    def _nested(self, function: str, args: Sequence[Any]) -> str:
        """A call; C's functions take two numbers."""
        if self.language != "c" or len(args) < 3:
            return f"{function}({', '.join(map(self._print, args))})"
        return f"{function}({self._print(args[0])}, {self._nested(function, args[1:])})"


def code(formula: ClosedForm, language: str, terms: Sequence[Any]) -> str:
    """An exact integer expression in `python`, `c`, `sql` (DuckDB's) or `spark` (Spark's SQL), over the field
    names as identifiers.
    """
    names = {symbol.name: identifier(symbol.name) for symbol in formula.expr.free_symbols}
    whole = [name for name, value in formula.symbols.items() if isinstance(value, int) and name in names]
    return CodePrinter(language, frozenset(names[name] for name in whole)).whole(renamed(terms, names))


def identifier(name: str) -> str:
    """A field's name as an identifier: `text_config.hidden_size` -> `text_config_hidden_size`.

    >>> identifier("conv_dim[0]")
    'conv_dim_0'
    """
    return spelled(name, "").text
