"""A closed form as an exact integer expression of Python or SQL, or a function of C; divisions are exact.

What is no field, such as a number of layers that the formula counted, is its value at the config, held to the
fields that it was counted from: with others the code fails, in SQL gives null, and is never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sympy
from sympy.printing.str import StrPrinter

from archspec.render.notation import field_of, spelled
from archspec.render.order import arguments, ordered, product
from archspec.render.terms import joined
from archspec.symbolic.closed_form import ClosedForm
from archspec.symbolic.fields import NthPrime

LANGUAGES = ("python", "c", "sql", "spark")  # `sql` is DuckDB's
# Integers of 38 digits in each dialect of SQL, beyond which there is an error, or NULL: nothing bounds the
# columns of a table that a formula is for, and 64 bits wrap around in Spark where ANSI mode is off.
INTEGERS = {"sql": "HUGEINT", "spark": "DECIMAL(38, 0)"}
_UNCODED = (sympy.log, sympy.Piecewise, sympy.Sum, NthPrime)  # what no language has as exactly
_AS_IT_IS: dict[Any, dict[str, bool]] = {sympy.Add: {"evaluate": False}, sympy.Mul: {"evaluate": False}}
_PRELUDE = {  # what C code uses -> where it comes from
    "assert(": "#include <assert.h>",
    "floor_div(": """\
static long long floor_div(long long a, long long b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}""",
    "power(": """\
static long long power(long long a, long long n) {
  return n > 0 ? a * power(a, n - 1) : 1;
}""",
    "min(": "static long long min(long long a, long long b) { return a < b ? a : b; }",
    "max(": "static long long max(long long a, long long b) { return a > b ? a : b; }",
}


class CodePrinter(StrPrinter):  # type: ignore[misc]
    """An exact integer expression of a programming language; `quotient` writes floor division.

    ``shown`` is how some symbols are written, where not by their names.
    """

    def __init__(self, language: str, shown: Mapping[str, str] | None = None) -> None:
        super().__init__({"order": "none"})
        self.language, self.shown = language, shown or {}

    def _print_Symbol(self, expr: Any) -> str:
        return self.shown.get(expr.name, str(expr.name))

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
            return f"({_grouped(over)} // {_grouped(under)})"
        if self.language == "c":
            return f"floor_div({over}, {under})"
        over, under = _grouped(over), _grouped(under)
        rest = f"(({over} % {under}) + {under}) % {under}"
        operator = "//" if self.language == "sql" else "/"
        return f"CAST(({over} - {rest}) {operator} {under} AS {INTEGERS[self.language]})"

    def _print_floor(self, expr: Any) -> str:
        over, under = sympy.together(expr.args[0]).as_numer_denom()
        return self.quotient(self._print(over), self._print(under))

    def _print_ceiling(self, expr: Any) -> str:
        over, under = sympy.together(expr.args[0]).as_numer_denom()
        return self.quotient(self._print(over + under - 1), self._print(under))

    def _print_Mod(self, expr: Any) -> str:
        return f"(({self._print(expr.args[0])}) % ({self._print(expr.args[1])}))"

    def _print_Mul(self, expr: Any) -> str:
        negative, over, under = product(expr)
        text = "*".join(self.parenthesize(factor, 50) for factor in over)
        text += "".join(f"/{self.parenthesize(factor, 60)}" for factor in under)
        return f"-{text}" if negative else text

    def _print_Add(self, expr: Any, order: Any = None) -> str:
        return joined(self._print(term) for term in ordered(expr.args))

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        base = self.parenthesize(expr.base, 60)
        if self.language != "python" and expr.exp.is_Integer and 0 < expr.exp < 9:
            return "*".join([base] * int(expr.exp))
        power = f"{base}**{self.parenthesize(expr.exp, 60)}"
        if self.language == "python":
            return power
        return f"{'power' if self.language == 'c' else 'POWER'}({base}, {self._print(expr.exp)})"

    def _print_Min(self, expr: Any) -> str:
        return self._nested("LEAST" if self.language in INTEGERS else "min", arguments(expr))

    def _print_Max(self, expr: Any) -> str:
        return self._nested("GREATEST" if self.language in INTEGERS else "max", arguments(expr))

    def _nested(self, function: str, args: Sequence[Any]) -> str:
        """A call; C's functions take two numbers."""
        if self.language != "c" or len(args) < 3:
            return f"{function}({', '.join(map(self._print, args))})"
        return f"{function}({self._print(args[0])}, {self._nested(function, args[1:])})"


def _grouped(text: str) -> str:
    """An operand: in brackets where it is not a name, a number or a call of CAST."""
    return text if re.fullmatch(r"[\w.]+|CAST\([\w.]+ AS [A-Z]+(\(38, 0\))?\)", text) else f"({text})"


class Held(NamedTuple):
    """What code has as a number: its value at the config, the fields that it is of, and what it is."""

    value: int | float
    given: dict[str, int | float]
    said: str


def code(formula: ClosedForm, language: str, terms: Sequence[Any]) -> str:
    """An exact integer expression in one of :data:`LANGUAGES`, over the field names as identifiers."""
    plain, held = _coded(formula, terms)
    return CodePrinter(language, _shown(formula, language, held)).whole(plain)


def _coded(formula: ClosedForm, terms: Sequence[Any]) -> tuple[list[Any], dict[str, Held]]:
    """Terms with a symbol for each part that no language has; what is held: these, and what is no field."""
    held = {
        name: Held(formula.symbols[name], counted_from(formula, name), formula.definitions[name])
        for name in formula.definitions
        if any(symbol.name == name for term in terms for symbol in term.free_symbols)
    }

    def plain(expr: Any) -> Any:
        if not expr.has(*_UNCODED):
            return expr
        inner = expr.func(*map(plain, expr.args), **_AS_IT_IS.get(expr.func, {}))
        if not inner.has(*_UNCODED):
            return inner
        value = formula.number(expr).doit()
        if not value.is_Integer:
            return inner
        given = {symbol.name: formula.symbols[symbol.name] for symbol in expr.free_symbols}
        held[str(expr)] = Held(int(value), given, str(expr))
        return sympy.Symbol(str(expr))

    return [plain(term) for term in terms], held


def c_source(formula: ClosedForm, parts: Iterable[tuple[str, Sequence[Any]]]) -> str:
    """A function of C for each part, over the fields that enter by their names' order, and what they call."""
    functions = [_c_function(formula, name, terms) for name, terms in parts]
    bodies = "\n".join(functions)
    prelude = [text for call, text in _PRELUDE.items() if re.search(rf"\b{re.escape(call)}", bodies)]
    return "\n".join([*prelude, *functions])


def _c_function(formula: ClosedForm, name: str, terms: Sequence[Any]) -> str:
    plain, held = _coded(formula, terms)
    given = {field: value for one in held.values() for field, value in one.given.items()}
    used = {symbol.name for term in plain for symbol in term.free_symbols} - held.keys()
    values = {field: formula.config_values[field] for field in sorted(used | given.keys())}
    kinds = {int: "long long", float: "double"}
    takes = ", ".join(f"{kinds[type(value)]} {identifier(field)}" for field, value in values.items())
    lines = [f"assert({identifier(field)} == {value!r});" for field, value in given.items()]
    for symbol, one in held.items():
        lines.append(f"const long long {identifier(symbol)} = {one.value};  /* {one.said} */")
    lines.append(f"return {CodePrinter('c', _shown(formula, 'c', held)).whole(plain)};")
    body = "".join(f"  {line}\n" for line in lines)
    return f"long long {name}({takes or 'void'}) {{\n{body}}}"


def _shown(formula: ClosedForm, language: str, held: Mapping[str, Held]) -> dict[str, str]:
    """How each symbol is written.

    SQL reads whole numbers as wide integers, whatever their column's type: a product of narrower ones may
    wrap around.
    """
    found = {name: identifier(name) for name in [*formula.symbols, *held]}
    if language in INTEGERS:
        whole = [name for name, value in formula.symbols.items() if isinstance(value, int)]
        found |= {name: f"CAST({found[name]} AS {INTEGERS[language]})" for name in whole}
    if language != "c":
        found |= {name: _held(language, one.value, one.given) for name, one in held.items()}
    return found


def counted_from(formula: ClosedForm, name: str) -> dict[str, int | float]:
    """The fields that a symbol's definition names, with their values."""
    words = set(re.findall(r"[A-Za-z_]\w*", formula.definitions[name]))
    values = formula.config_values.items()
    return {n: value for n, value in values if n not in formula.definitions and field_of(n) in words}


def _held(language: str, value: int | float, given: Mapping[str, int | float]) -> str:
    """A number that holds at the given values of some fields."""
    if not given:
        return repr(value)
    names = [identifier(name) for name in given]
    if language in INTEGERS:
        test = " AND ".join(f"{name} = {given!r}" for name, given in zip(names, given.values(), strict=True))
        return f"(CASE WHEN {test} THEN {value!r} END)"
    keys = ", ".join(map(repr, given.values()))
    return f"{{{keys if len(names) == 1 else f'({keys})'}: {value!r}}}[{', '.join(names)}]"


def identifier(name: str) -> str:
    """A field's name as an identifier: `text_config.hidden_size` -> `text_config_hidden_size`.

    >>> identifier("conv_dim[0]")
    'conv_dim_0'
    """
    return spelled(name, "").text
