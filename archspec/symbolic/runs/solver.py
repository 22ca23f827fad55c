"""Other small numbers for the fields of a config, for which the path conditions come out as wanted.

z3 is asked, because fields bound each other: heads divide widths, and experts are chosen from experts.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from math import prod
from typing import Any

import z3

from archspec.configs.checks import may_be_negative
from archspec.symbolic.expressions import Condition, Operation, Poly, value_at
from archspec.symbolic.runs.record import LENGTH, FieldPath, Run

DEEP = ("layer", "depth", "block")
WIDE = "image_size"  # kept small: code may build tables with an entry for every patch in Python
_WORK = 400_000  # z3's steps: unlike seconds, they give the same configs on every machine
_WIDEST, _DEEPEST, _LONGEST, _LOWEST = 200, 6, 12, -200


def is_deep(name: str) -> bool:
    """Return True if a field with this name counts layers."""
    return any(part in name for part in DEEP)


def _make_extreme(better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def extreme(found: Any, *others: Any) -> Any:
        for other in others:
            found = z3.If(better(found, other), found, other)
        return found

    return extreme


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "%": operator.mod,
    "/": operator.truediv,
    "//": operator.truediv,  # z3 rounds a quotient of whole numbers down
    "==": operator.eq,
    "<": operator.lt,
    "int": z3.ToReal,
    "trunc": z3.ToInt,
    "floor": z3.ToInt,
    "ceil": lambda number: -z3.ToInt(-number),
    "min": _make_extreme(operator.le),
    "max": _make_extreme(operator.ge),
}


class Solver:
    """Looks for other numbers of one run's fields."""

    def __init__(self, run: Run) -> None:
        self.run, self.values = run, run.values

    @cached_property
    def context(self) -> Any:
        """A separate z3 context, so that earlier queries do not change results."""
        return z3.Context()

    def solve(
        self,
        wanted: Condition,
        before: Iterable[Condition],
        held: Iterable[Condition],
        free: Collection[FieldPath],
    ) -> dict[FieldPath, float] | None:
        """Return values of free fields for which all conditions hold while the other fields stay, or None.

        ``held`` conditions without a free field are left out, and conditions of runs ``before`` that read
        other fields. Numbers of one or more are tried before zeros.
        """
        loose = self.values.keys() & free
        if wanted.axes.isdisjoint(loose):
            return None
        self.free = {path: self.variable(path) for path in sorted(loose, key=str)}
        self.known: dict[Operation, Any] = {}
        asked = [wanted, *(one for one in before if one.axes <= self.free.keys())]
        asked += [one for one in held if not one.axes.isdisjoint(self.free)]
        try:
            formulas = [self.formula(one) for one in asked]
        except (z3.Z3Exception, ArithmeticError, TypeError, KeyError):  # an operation that z3 lacks
            return None
        for least in (1, None):
            solver = z3.Solver(ctx=self.context)
            solver.set("rlimit", _WORK)
            solver.add(*(bound for path in self.free for bound in self.bounds(path, least)), *formulas)
            if solver.check() == z3.sat:
                model = solver.model()
                found = {path: _number(model.eval(name, True)) for path, name in self.free.items()}
                return {path: value for path, value in found.items() if value != self.values[path]}
        return None

    def variable(self, path: FieldPath) -> Any:
        kind = z3.Real if isinstance(self.values[path], float) else z3.Int
        return kind(".".join(map(str, path)), self.context)

    def bounds(self, path: FieldPath, least: int | None) -> list[Any]:
        """Return the range of a field: no larger than its value, if that is large."""
        name, known, value = str(path[-1]), self.run.fields.get(path), self.values[path]
        negative = known is not None and known.field is not None and may_be_negative(known.field)
        low = _LOWEST if negative else 0 if least is None else min(least, value)
        most = _LONGEST if name == LENGTH else 0 if name == WIDE else _DEEPEST if is_deep(name) else _WIDEST
        return [self.free[path] >= low, self.free[path] <= max(most, value)]

    def formula(self, condition: Condition) -> Any:
        right = 0 if condition.right is None else self.number(condition.right)
        found = _OPERATIONS[condition.op](self.number(condition.left), right)
        return found if condition.holds else z3.Not(found, self.context)

    def number(self, expr: Poly | Operation) -> Any:
        """Return an expression for z3; its value if all its fields are fixed."""
        atoms = self.run.space.atoms
        if expr.axes.isdisjoint(self.free):
            value = value_at(atoms, expr, self.values)
            return (z3.RealVal if isinstance(value, float) else z3.IntVal)(value, self.context)
        if isinstance(expr, Poly):
            return sum(
                coefficient * prod(self.number(atoms[n]) for n, power in monomial for _ in range(power))
                for monomial, coefficient in expr.terms
            )
        if expr.op == "field":
            return self.free[expr.args[0]]
        if expr not in self.known:
            self.known[expr] = _OPERATIONS[expr.op](*map(self.number, expr.args))
        return self.known[expr]


def _number(found: Any) -> float:
    return found.as_long() if z3.is_int_value(found) else float(found.as_fraction())
