"""The inputs of a formula's code and the conditions that it checks, in terms that every language has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sympy

from archspec.render.notation import spell_name
from archspec.render.printers import LANGUAGES, SCALE, fraction, printer
from archspec.symbolic.closed_form import ClosedForm
from archspec.symbolic.fields import exact_number
from archspec.symbolic.validity.checks import Check

Parts = Sequence[tuple[str, Sequence[Any]]]
SHORT = 8  # the longest list whose items are separate conditions
_KINDS = (sympy.Symbol, sympy.Rational, sympy.Add, sympy.Mul, sympy.floor, sympy.ceiling)


class Code(NamedTuple):
    """A formula as code can express it.

    ``parts`` are labelled terms over whole numbers; the symbols of ``floats`` are 1024 times the field.
    ``checks`` and ``flags`` must hold. ``inputs`` are all fields read, with their values for the config; the
    ``optional`` ones only decide, and keep the config's values by default.
    """

    parts: tuple[tuple[str, tuple[Any, ...]], ...]
    checks: tuple[Check, ...]
    flags: dict[str, Any]
    whole: tuple[str, ...]
    floats: tuple[str, ...]
    inputs: dict[str, Any]
    optional: tuple[str, ...]

    @property
    def fields(self) -> set[str]:
        """The fields that the inputs belong to."""
        return set(map(_field, self.inputs))

    def identifiers(self, language: str = "python") -> dict[str, str]:
        """Return each input's identifier in a language."""
        return {name: identifier(name, language) for name in self.inputs}

    def operands(self, language: str) -> dict[str, str]:
        """Return each numeric input as an operand of whole numbers."""
        names, syntax = self.identifiers(language), LANGUAGES[language]
        numbers = {name: syntax.number.format(name=names[name]) for name in self.whole}
        return numbers | {name: syntax.scaled.format(name=names[name]) for name in self.floats}

    def tests(self, language: str) -> list[str]:
        """Return the conditions as expressions of a language."""
        names, operands, syntax = self.identifiers(language), self.operands(language), LANGUAGES[language]
        prints = printer(language, operands)
        sizes = [syntax.size.format(name=names[name], operand=operands[name]) for name in self.whole]
        if language == "python" and self.whole:
            fields = ", ".join(names[name] for name in self.whole)
            sizes = [f"all(type(n) is int and n >= 0 for n in ({fields},))"]
        scaled = [syntax.fraction.format(name=names[name], operand=operands[name]) for name in self.floats]
        checks = [prints.compare(*check) for check in self.checks]
        flags = [_flag(language, names[name], value) for name, value in self.flags.items()]
        return [*sizes, *flags, *checks] if language == "c" else [*sizes, *scaled, *checks, *flags]


class _Conditions:
    """The conditions of a formula; more are added as fields become constants."""

    def __init__(self, formula: ClosedForm) -> None:
        self.formula, valid = formula, formula.validity
        self.values = {**valid.numbers, **formula.config_values, **formula.symbols}
        self.constants = {
            sympy.Symbol(name): exact_number(formula.symbols[name]) for name in formula.definitions
        }
        floats = [sympy.Symbol(name) for name, value in self.values.items() if isinstance(value, float)]
        self.scaled = {symbol: symbol / SCALE for symbol in floats}
        self.flags = dict(valid.flags)
        self.pinned: dict[str, None] = {}
        used = {symbol.name.partition("[")[0] for symbol in formula.expr.free_symbols}
        for name in [name for name in self.flags if name.startswith("len(")]:
            self._merge_list(name[4:-1], self.flags[name], used)
        self.fix_fields(check.left for check in valid.checks if _fixes_value(check))
        self.fix_fields(sympy.Symbol(name) for name, value in self.flags.items() if isinstance(value, float))
        self.checks = [self.check(*check) for check in valid.checks if not _fixes_value(check)]
        for replaced, expr in formula.replacements.items():
            over, under = sympy.together(expr).as_numer_denom()
            if under != 1:
                self.checks.append(self.check("==", sympy.Mod(over, under), sympy.Integer(0)))
            if expr.free_symbols and not isinstance(self.values.get(replaced.name), float):
                self.checks.append(self.check(">=", expr, sympy.Integer(0)))

    def _merge_list(self, name: str, length: int, used: set[str]) -> None:
        """Make a long list one flag if its items only decide."""
        items = [f"{name}[{index}]" for index in range(length)]
        if length > SHORT and name not in used and all(item in self.values for item in items):
            del self.flags[f"len({name})"]
            self.flags[name] = [self.values[item] for item in items]
            self.constants |= {sympy.Symbol(item): exact_number(self.values[item]) for item in items}

    def check(self, op: str, left: Any, right: Any) -> Check:
        """Return a condition with the formula's replacements made, over whole numbers."""
        return Check(op, self.express(left, whole=True), self.express(right, whole=True))

    def express(self, expr: Any, whole: bool = False) -> Any:
        """Return what every language has; other parts (everything, if ``whole``) become constants."""
        expr = sympy.sympify(expr).xreplace(self.formula.replacements).xreplace(self.constants)
        scaled = expr.xreplace(self.scaled)
        if _is_expressible(scaled):
            return scaled
        if not whole and isinstance(expr, sympy.Add | sympy.Mul):
            return expr.func(*map(self.express, expr.args), evaluate=False)
        self.fix_fields(expr.free_symbols)
        table = {symbol: exact_number(self.values[symbol.name]) for symbol in expr.free_symbols}
        return sympy.sympify(self.formula.number(expr.xreplace(table))).doit()

    def fix_fields(self, symbols: Iterable[Any]) -> None:
        """Make fields constants, which is a condition."""
        for symbol in sorted(symbols, key=str):
            if symbol in self.formula.replacements:
                self.fix_fields(self.formula.replacements[symbol].free_symbols)
                continue
            self.pinned[symbol.name] = None
            self.constants[symbol] = exact_number(self.values[symbol.name])


def prepare(formula: ClosedForm, parts: Parts | None = None) -> Code:
    """Return a formula, or its parts, with everything that its code must check."""
    parts = [("", [formula.expr])] if parts is None else parts
    found = _Conditions(formula)
    expressed = [(label, [*map(found.express, terms)]) for label, terms in parts]
    table = {one: value * (SCALE if one in found.scaled else 1) for one, value in found.constants.items()}
    labelled = [(label, tuple(term.xreplace(table) for term in terms)) for label, terms in expressed]
    checks = [
        _clear_denominators(op, *(side.xreplace(table) for side in sides)) for op, *sides in found.checks
    ]
    for _, terms in labelled:
        over, under = fraction(terms)
        if under != 1:
            checks.append(Check("==", sympy.Mod(over, under), sympy.Integer(0)))
    checks = _simplify(checks)
    positive = {check.left for check in checks if check.op == ">" and check.right == 0}
    checks = [check for check in checks if check.op != "!=" or check.right != 0 or check.left not in positive]
    flags = found.flags | {name: found.values[name] for name in found.pinned}
    exprs = [term for _, terms in labelled for term in terms] + [side for one in checks for side in one[1:]]
    names = sorted({symbol.name for expr in exprs for symbol in expr.free_symbols})
    floats = tuple(name for name in names if isinstance(found.values[name], float))
    whole = tuple(name for name in names if name not in floats)
    inputs = dict(sorted(({name: found.values[name] for name in names} | flags).items()))
    needed = {symbol.name for _, terms in parts for term in terms for symbol in term.free_symbols}
    optional = [n for n in inputs if n not in needed and _field(n) not in formula.validity.computed]
    return Code(tuple(labelled), tuple(checks), flags, whole, floats, inputs, tuple(optional))


def identifier(name: str, language: str = "python") -> str:
    """Return a field's name as an identifier; reserved words are quoted in SQL and get a suffix in C.

    >>> identifier("conv_dim[0]"), identifier("_attn_mode"), identifier("asm", "c")
    ('conv_dim_0', '_attn_mode', 'asm_field')
    """
    text = "_" * name.startswith("_") + spell_name(name).text
    word, syntax = text if language == "c" else text.lower(), LANGUAGES[language]
    return syntax.renamed.format(name=text) if word in syntax.reserved.split() else text


def literal(language: str, value: Any) -> str:
    """Return a plain value; in SQL and C, mappings and lists of mixed types are JSON texts."""
    if language == "python":
        return repr(value)
    if isinstance(value, bool | None):
        return str(value).upper().replace("NONE", "NULL")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if language == "c" else f"CAST('{value!r}' AS DOUBLE)"
    kinds = {type(item) for item in value} if isinstance(value, list) else set()
    if language != "c" and len(kinds) == 1 and kinds <= {bool, int, str}:
        items = ", ".join(literal(language, item) for item in value)
        return f"array({items})" if language == "spark" else f"[{items}]"
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    if language == "spark":
        return json.dumps(text)
    return _c_text(text) if language == "c" else "'" + text.replace("'", "''") + "'"


def _c_text(text: str) -> str:
    plain = {ord(sign): sign for sign in map(chr, range(32, 127)) if sign not in '"\\?'}
    return '"' + "".join(plain.get(byte, f"\\{byte:03o}") for byte in text.encode()) + '"'


def _flag(language: str, name: str, value: Any) -> str:
    text, is_word = literal(language, value), value is None or isinstance(value, bool)
    if language == "python":
        return f"{name} {'is' if is_word else '=='} {text}"
    if language != "c":
        return f"{name} {'IS' if value is None else '='} {text}"
    if is_word:
        return name if value else f"!{name}"
    return f"{name} == {text}" if isinstance(value, int | float) else f"text_is_({name}, {text})"


def _field(name: str) -> str:
    """Return the field of an input: `depths` for `len(depths)` and `depths[0]`."""
    return name.removeprefix("len(").rstrip(")").partition("[")[0]


def _fixes_value(check: Check) -> bool:
    return bool(check.op == "==" and check.left.is_Symbol and check.right.is_Integer)


def _simplify(checks: Iterable[Check]) -> list[Check]:
    """Drop constants and duplicates; of several upper bounds of one expression, keep the lowest."""
    found: dict[Any, Check] = {}
    for op, left, right in checks:
        if not left.free_symbols | right.free_symbols:
            continue
        if op == ">=" and not right.is_Integer:
            op, left, right = "<=", right, left
        if right == 0 and left.as_coeff_Mul()[0].is_positive:
            left = left.as_coeff_Mul()[1]
        key: Any = (op, left, right)
        if op == "<=" and right.is_Integer and left.as_coeff_Mul()[0].is_positive:
            times, left = left.as_coeff_Mul()
            right = sympy.floor(right / times)
            key = (op, left)
            right = min(right, found[key].right) if key in found else right
        found[key] = Check(op, left, right)
    return list(found.values())


def _clear_denominators(op: str, left: Any, right: Any) -> Check:
    divisors = (sympy.together(side).as_numer_denom()[1] for side in (left, right))
    times = sympy.ilcm(1, *(divisor for divisor in divisors if divisor.is_Integer))
    return Check(op, *(side if times == 1 else sympy.expand(side * times) for side in (left, right)))


def _is_expressible(expr: Any) -> bool:
    """Return True for arithmetic of whole numbers that every language has, or a fraction of such."""
    if isinstance(expr, sympy.Pow):
        return expr.exp in (-1, *range(1, 65)) and _is_expressible(expr.base)
    if isinstance(expr, sympy.Min | sympy.Max | sympy.Mod):
        return all(_is_expressible(arg) and fraction([arg])[1] == 1 for arg in expr.args)
    return isinstance(expr, _KINDS) and all(map(_is_expressible, expr.args))
