"""A closed form as an exact integer expression of Python or SQL, or a function of C; divisions are exact.

What is no field, such as a number of layers that the formula counted, is its value at the config, held to the
fields that it was counted from: with others the code fails, in SQL gives null, and is never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sympy
from sympy.printing.str import StrPrinter

from archspec.render.notation import field_of, spelled
from archspec.render.order import arguments, ordered, product
from archspec.render.terms import joined
from archspec.symbolic.closed_form import ClosedForm

LANGUAGES = ("python", "c", "sql", "spark")  # `sql` is DuckDB's
# Integers of 38 digits in each dialect of SQL, beyond which there is an error, or NULL: nothing bounds the
# columns of a table that a formula is for, and 64 bits wrap around in Spark where ANSI mode is off.
INTEGERS = {"sql": "HUGEINT", "spark": "DECIMAL(38, 0)"}
_PRELUDE = {  # what C code uses -> where it comes from
    "assert(": "#include <assert.h>",
    "floor_div(": """\
static long long floor_div(long long a, long long b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
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
        return power if self.language == "python" else f"POWER({base}, {self._print(expr.exp)})"

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


def code(formula: ClosedForm, language: str, terms: Sequence[Any]) -> str:
    """An exact integer expression in one of :data:`LANGUAGES`, over the field names as identifiers."""
    return CodePrinter(language, _shown(formula, language)).whole(terms)


def c_source(formula: ClosedForm, parts: Iterable[tuple[str, Sequence[Any]]]) -> str:
    """A function of C for each part, over the fields that enter by their names' order, and what they call."""
    functions = [_c_function(formula, name, terms) for name, terms in parts]
    bodies = "\n".join(functions)
    prelude = [text for call, text in _PRELUDE.items() if re.search(rf"\b{re.escape(call)}", bodies)]
    return "\n".join([*prelude, *functions])


def _c_function(formula: ClosedForm, name: str, terms: Sequence[Any]) -> str:
    used = {symbol.name for term in terms for symbol in term.free_symbols}
    own = [symbol for symbol in formula.definitions if symbol in used]
    held = {field: value for symbol in own for field, value in counted_from(formula, symbol).items()}
    values = {field: formula.config_values[field] for field in sorted((used - {*own}) | held.keys())}
    kinds = {int: "long long", float: "double"}
    takes = ", ".join(f"{kinds[type(value)]} {identifier(field)}" for field, value in values.items())
    lines = [f"assert({identifier(field)} == {value!r});" for field, value in held.items()]
    for symbol in own:
        value, said = formula.symbols[symbol], formula.definitions[symbol]
        lines.append(f"const long long {identifier(symbol)} = {value};  /* {said} */")
    lines.append(f"return {code(formula, 'c', terms)};")
    body = "".join(f"  {line}\n" for line in lines)
    return f"long long {name}({takes or 'void'}) {{\n{body}}}"


def _shown(formula: ClosedForm, language: str) -> dict[str, str]:
    """How each symbol is written.

    SQL reads whole numbers as wide integers, whatever their column's type: a product of narrower ones may
    wrap around.
    """
    found = {}
    for name, value in formula.symbols.items():
        found[name] = identifier(name)
        if name in formula.definitions and language != "c":
            found[name] = _held(language, value, counted_from(formula, name))
        elif language in INTEGERS and isinstance(value, int):
            found[name] = f"CAST({found[name]} AS {INTEGERS[language]})"
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
