"""Path conditions given to z3: other small numbers for the fields of a config, which take another path."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from typing import Any

import z3

from archspec.configs.checks import may_be_negative
from archspec.verifying.generate.field_kinds import WIDE, is_deep
from archspec.verifying.generate.runs import Run
from archspec.verifying.generate.traced import LENGTH, Condition, Path, Term

_WORK = 400_000  # z3's own steps, and not its seconds, so that a seed gives the same configs everywhere
_WIDEST, _DEEPEST, _LONGEST, _LOWEST = 200, 6, 12, -200


def _floor(number: Any) -> Any:
    return number if z3.is_int(number) else z3.ToInt(number)


def _divided(above: Any, below: Any) -> Any:
    return (z3.ToReal(above) if z3.is_expr(above) and z3.is_int(above) else above) / below


_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "%": operator.mod,
    "==": operator.eq,
    "<": operator.lt,
    "floor": _floor,
    "ceil": lambda number: -_floor(-number),
    "/": _divided,
    "//": operator.truediv,  # of z3's whole numbers it rounds down
    "**": lambda base, power: base * base * base if power == 3 else base * base if power == 2 else base,
}


class Solver:
    """Asks for other numbers of one run's fields."""

    def __init__(self, run: Run) -> None:
        self.run = run
        terms = run.trace.terms.values()
        self.fields = {term.arguments[0]: term for term in terms if term.operator == "field"}

    @cached_property
    def context(self) -> Any:
        """Of its own: what was asked before changes no answer. It takes milliseconds to make."""
        return z3.Context()

    def solve(
        self,
        wanted: Condition,
        before: Iterable[Condition],
        held: Iterable[Condition],
        free: Collection[Path],
    ) -> dict[Path, float] | None:
        """Values for free fields for which all conditions come out so; the others stay. Else None.

        ``held`` are left out where no free field decides them, and those of runs ``before`` where others do.
        Numbers of one or more are tried before zeros.
        """
        loose = self.fields.keys() & free
        if wanted.fields.isdisjoint(loose):
            return None  # it stays as it is
        self.known: dict[Term, Any] = {}
        self.free = {path: self.variable(path) for path in sorted(loose, key=str)}
        asked = [wanted, *(one for one in before if one.fields <= self.free.keys())]
        asked += [one for one in held if not one.fields.isdisjoint(self.free)]
        try:
            formulas = [self.formula(one) for one in asked]
        except (z3.Z3Exception, ZeroDivisionError, TypeError):  # beyond what z3's numbers say
            return None
        for least in (1, None):
            solver = z3.Solver(ctx=self.context)
            solver.set("rlimit", _WORK)
            solver.add(*(bound for path in self.free for bound in self.bounds(path, least)), *formulas)
            if solver.check() == z3.sat:
                model = solver.model()
                found = {path: _number(model.eval(name, True)) for path, name in self.free.items()}
                return {path: value for path, value in found.items() if value != self.fields[path].value}
        return None

    def variable(self, path: Path) -> Any:
        kind = z3.Real if isinstance(self.fields[path].value, float) else z3.Int
        return kind(".".join(map(str, path)), self.context)

    def bounds(self, path: Path, least: int | None) -> list[Any]:
        """How small and how large a field may become: no larger than it is, where that is large."""
        name, known, value = str(path[-1]), self.run.fields.get(path), self.fields[path].value
        negative = known is not None and known.field is not None and may_be_negative(known.field)
        low = _LOWEST if negative else 0 if least is None else min(least, value)
        most = _LONGEST if name == LENGTH else 0 if name == WIDE else _DEEPEST if is_deep(name) else _WIDEST
        return [self.free[path] >= low, self.free[path] <= max(most, value)]

    def formula(self, condition: Condition) -> Any:
        found = _OPERATORS[condition.operator](self.term(condition.left), self.term(condition.right))
        return found if condition.outcome else z3.Not(found, self.context)

    def term(self, term: Term) -> Any:
        """A term for z3; where no free field is in it, its value."""
        if term in self.known:
            return self.known[term]
        if term.fields.isdisjoint(self.free):
            found = z3.RealVal(term.value, self.context) if isinstance(term.value, float) else term.value
        elif term.operator == "field":
            found = self.free[term.arguments[0]]
        else:
            found = _OPERATORS[term.operator](*map(self.term, term.arguments))
        self.known[term] = found
        return found


def _number(found: Any) -> float:
    return found.as_long() if z3.is_int_value(found) else float(found.as_fraction())
