"""The inputs of a formula's code, the conditions that it checks, and terms that every language has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sympy

from archspec.render.code.printer import CodePrinter, fraction, identifier, written_name
from archspec.symbolic.closed_form import ClosedForm
from archspec.symbolic.validity.checks import Check, exactly
from archspec.symbolic.validity.floats import BITS

SHORT = 8  # items of a list that are conditions of their own
_SAID = (sympy.Symbol, sympy.Rational, sympy.Add, sympy.Mul, sympy.floor, sympy.ceiling)


class Ready(NamedTuple):
    """A formula as code can say it.

    ``parts`` are terms over whole numbers, by their labels. Of ``floats`` the symbols stand for 1024 times
    the field. ``checks`` and ``flags`` are what has to hold; ``inputs`` are all fields that are read, by
    their names, with their values at the config. ``optional`` of them only decide, and stay as they are
    in the config where other fields are set.
    """

    parts: tuple[tuple[str, tuple[Any, ...]], ...]
    checks: tuple[Check, ...]
    flags: dict[str, Any]
    whole: tuple[str, ...]
    floats: tuple[str, ...]
    inputs: dict[str, Any]
    optional: tuple[str, ...]

    @property
    def about(self) -> set[str]:
        """The fields that the inputs are about."""
        return set(map(_base, self.inputs))

    def identifiers(self, language: str = "python") -> dict[str, str]:
        """Each input's identifier in a language."""
        return {name: written_name(language, name) for name in self.inputs}


class _Conditions:
    """The conditions of a formula; more come up as parts of it are made constants."""

    def __init__(self, formula: ClosedForm) -> None:
        self.formula, valid = formula, formula.validity
        self.values = {**valid.numbers, **formula.config_values, **formula.symbols}
        self.constants = {sympy.Symbol(name): exactly(formula.symbols[name]) for name in formula.definitions}
        self.scaled = {
            sympy.Symbol(name): sympy.Symbol(name) / 2**BITS
            for name, value in self.values.items()
            if isinstance(value, float)
        }
        self.flags = dict(valid.flags)
        self.pinned: dict[str, None] = {}
        entering = {symbol.name.partition("[")[0] for symbol in formula.expr.free_symbols}
        for name in [name for name in self.flags if name.startswith("len(")]:
            self._list(name[4:-1], self.flags[name], entering)
        self.pin(check.left for check in valid.checks if _is_value(check))
        self.pin(sympy.Symbol(name) for name, value in self.flags.items() if isinstance(value, float))
        self.checks = [self.said(check) for check in valid.checks if not _is_value(check)]
        for replaced, expr in formula.replacements.items():
            over, under = sympy.together(expr).as_numer_denom()
            if under != 1:
                self.checks.append(self.said(Check("==", sympy.Mod(over, under), sympy.Integer(0))))
            if expr.free_symbols and not isinstance(self.values.get(replaced.name), float):
                self.checks.append(self.said(Check(">=", expr, sympy.Integer(0))))

    def _list(self, name: str, length: int, entering: set[str]) -> None:
        """A long list whose items only decide is one flag."""
        items = [f"{name}[{index}]" for index in range(length)]
        if length > SHORT and name not in entering and all(item in self.values for item in items):
            del self.flags[f"len({name})"]
            self.flags[name] = [self.values[item] for item in items]
            self.constants |= {sympy.Symbol(item): exactly(self.values[item]) for item in items}

    def said(self, check: Check) -> Check:
        """A condition under what the formula replaces, over whole numbers."""
        return Check(check.op, self.expr(check.left, True), self.expr(check.right, True))

    def expr(self, expr: Any, constant: bool = False) -> Any:
        """An expression that every language can say exactly: what none can say is a constant."""
        expr = sympy.sympify(expr).xreplace(self.formula.replacements).xreplace(self.constants)
        scaled = expr.xreplace(self.scaled)
        if sayable(scaled):
            return scaled
        if not constant and isinstance(expr, sympy.Add | sympy.Mul):
            inner = [self.expr(arg) for arg in expr.args]
            return expr.func(*inner, evaluate=False)
        self.pin(expr.free_symbols)
        table = {symbol: exactly(self.values[symbol.name]) for symbol in expr.free_symbols}
        return sympy.sympify(self.formula.number(expr.xreplace(table))).doit()

    def pin(self, symbols: Iterable[Any]) -> None:
        """Makes fields constants, which is a condition."""
        for symbol in sorted(symbols, key=str):
            if symbol in self.formula.replacements:
                self.pin(self.formula.replacements[symbol].free_symbols)
                continue
            self.pinned[symbol.name] = None
            self.constants[symbol] = exactly(self.values[symbol.name])


def _is_value(check: Check) -> bool:
    return bool(check.op == "==" and check.left.is_Symbol and check.right.is_Integer)


def ready(formula: ClosedForm, parts: Sequence[tuple[str, Sequence[Any]]]) -> Ready:
    """The parts of a formula with all that their code has to check."""
    found = _Conditions(formula)
    listed_terms = [(label, list(map(found.expr, listed))) for label, listed in parts]
    table = {
        symbol: value * 2 ** (BITS * (symbol in found.scaled)) for symbol, value in found.constants.items()
    }
    terms = [(label, tuple(term.xreplace(table) for term in listed)) for label, listed in listed_terms]
    checks = [_cleared(Check(op, *(side.xreplace(table) for side in sides))) for op, *sides in found.checks]
    for _, listed in terms:
        over, under = fraction(listed)
        if under != 1:
            checks.append(Check("==", sympy.Mod(over, under), sympy.Integer(0)))
    checks = _tidy(checks)
    positive = {check.left for check in checks if check.op == ">" and check.right == 0}
    checks = [check for check in checks if check.op != "!=" or check.right != 0 or check.left not in positive]
    for name in found.pinned:
        found.flags[name] = found.values[name]
    exprs = [*(term for _, listed in terms for term in listed), *(side for one in checks for side in one[1:])]
    names = sorted({symbol.name for expr in exprs for symbol in expr.free_symbols})
    floats = tuple(name for name in names if isinstance(found.values[name], float))
    entering = {symbol.name for _, listed in parts for term in listed for symbol in term.free_symbols}
    inputs = {**{name: found.values[name] for name in names}, **found.flags}
    return Ready(
        tuple(terms),
        tuple(checks),
        found.flags,
        tuple(name for name in names if name not in floats),
        floats,
        dict(sorted(inputs.items())),
        tuple(
            name for name in inputs if name not in entering and _base(name) not in formula.validity.computed
        ),
    )


def _base(name: str) -> str:
    """The field that an input is about: `len(depths)` and `depths[0]` are about `depths`."""
    return name.removeprefix("len(").rstrip(")").partition("[")[0]


def _tidy(checks: Iterable[Check]) -> list[Check]:
    """Conditions without constants and doubles; of limits of one expression, the lowest."""
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


def _cleared(check: Check) -> Check:
    """A comparison without fractions of 1024: both sides times it."""
    op, left, right = check
    times = sympy.Integer(1)
    for side in (left, right):
        under = sympy.together(side).as_numer_denom()[1]
        times = sympy.ilcm(times, under) if under.is_Integer else times
    return check if times == 1 else Check(op, sympy.expand(left * times), sympy.expand(right * times))


def sayable(expr: Any) -> bool:
    """Return True for arithmetic of whole numbers that every language has, or for a fraction of such."""
    if isinstance(expr, sympy.Pow):
        exponent = expr.exp
        return bool(exponent.is_Integer) and -1 <= exponent <= 64 and exponent != 0 and sayable(expr.base)
    if isinstance(expr, sympy.Min | sympy.Max | sympy.Mod):
        return all(sayable(arg) and fraction([arg])[1] == 1 for arg in expr.args)
    return isinstance(expr, _SAID) and all(map(sayable, expr.args))


def conditions(formula: ClosedForm) -> list[str]:
    """The conditions of a formula as Python expressions over the identifiers of its fields."""
    return python_conditions(ready(formula, [("", [formula.expr])]))


def python_conditions(found: Ready) -> list[str]:
    """The conditions that Python code checks, as texts."""
    names = found.identifiers()
    shown = {**names, **{name: f"int({names[name]}*{2**BITS})" for name in found.floats}}
    printer = CodePrinter("python", shown)
    texts = []
    if found.whole:
        sizes = ", ".join(names[name] for name in found.whole)
        texts.append(f"all(type(n) is int and n >= 0 for n in ({sizes},))")
    texts += [f"{names[name]} >= 0 and {names[name]}*{2**BITS} % 1 == 0" for name in found.floats]
    texts += [printer.compared(*check) for check in found.checks]
    return texts + [_flag(names[name], value) for name, value in found.flags.items()]


def _flag(name: str, value: Any) -> str:
    return f"{name} is {value}" if value is None or isinstance(value, bool) else f"{name} == {value!r}"


def inputs_of(formula: ClosedForm) -> dict[str, Any]:
    """The identifiers that code of a formula reads, with their values at the config."""
    found = ready(formula, [("", [formula.expr])])
    return {identifier(name): value for name, value in found.inputs.items()}
