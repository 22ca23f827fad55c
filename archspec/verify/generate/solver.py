"""Path conditions given to z3: other small numbers for the fields of a config, which take another path."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable
from typing import Any

import z3

from archspec.configs.checks import may_be_negative
from archspec.verify.generate.drawing import WIDE, is_deep
from archspec.verify.generate.recording import Run
from archspec.verify.generate.traced import LENGTH, Condition, Path, Term

_WORK = 400_000  # z3's own steps, and not its seconds, so that a seed gives the same configs everywhere
_WIDEST, _DEEPEST, _LONGEST, _LOWEST = 200, 6, 12, -200


def _real(number: Any) -> Any:
    return z3.ToReal(number) if z3.is_expr(number) and z3.is_int(number) else number


def _floor(number: Any) -> Any:
    return number if z3.is_int(number) else z3.ToInt(number)


_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "%": operator.mod,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "floor": _floor,
    "ceil": lambda a: -_floor(-a),
    "/": lambda a, b: _real(a) / _real(b),
    "//": operator.truediv,  # of z3's whole numbers it rounds down
    "**": lambda a, b: a * a * a if b == 3 else a * a if b == 2 else a if b else 1,
}


class Solver:
    """Asks for other numbers of one run's fields."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.context = z3.Context()  # of its own: what was asked before changes no answer

    def solve(
        self, wanted: Iterable[Condition], held: Iterable[Condition], free: Collection[Path]
    ) -> dict[Path, float] | None:
        """Values for free fields for which all conditions come out so; the others stay. Else None.

        ``held`` are left out where no free field decides them. Numbers of one or more are tried before zeros.
        """
        self.known: dict[Term, Any] = {}
        here = (path for path in sorted(free, key=str) if ("field", (tuple, path)) in self.run.trace.terms)
        self.free = {path: self.variable(path) for path in here}
        decides = self.run.trace.path
        asked = [*wanted, *(one for one in held if not decides[one].isdisjoint(self.free))]
        try:
            formulas = [self.formula(one) for one in asked]
        except (z3.Z3Exception, ZeroDivisionError, TypeError):  # beyond what z3's numbers say
            return None
        if any(one is False for one in formulas):
            return None
        for least in (1, None):
            solver = z3.Solver(ctx=self.context)
            solver.set("rlimit", _WORK)
            solver.add(*(bound for path in self.free for bound in self.bounds(path, least)))
            solver.add(*(one for one in formulas if one is not True))
            if solver.check() == z3.sat:
                model = solver.model()
                found = {path: _number(model.eval(name, True)) for path, name in self.free.items()}
                return {path: value for path, value in found.items() if value != self.current(path)}
        return None

    def variable(self, path: Path) -> Any:
        kind = z3.Real if isinstance(self.current(path), float) else z3.Int
        return kind(".".join(map(str, path)), self.context)

    def current(self, path: Path) -> float:
        return self.run.trace.terms["field", (tuple, path)].value

    def bounds(self, path: Path, least: int | None) -> list[Any]:
        """How small and how large a field may become: no larger than it is, where that is large."""
        name, known = str(path[-1]), self.run.fields.get(path)
        negative = known is not None and known.field is not None and may_be_negative(known.field)
        low = _LOWEST if negative else 0 if least is None else min(least, self.current(path))
        most = _LONGEST if name == LENGTH else 0 if name == WIDE else _DEEPEST if is_deep(name) else _WIDEST
        return [self.free[path] >= low, self.free[path] <= max(most, self.current(path))]

    def formula(self, condition: Condition) -> Any:
        found = _OPERATORS[condition.operator](self.term(condition.left), self.term(condition.right))
        if isinstance(found, bool):
            return found == condition.outcome
        return found if condition.outcome else z3.Not(found)

    def term(self, term: Any) -> Any:
        """A term for z3; where no free field is in it, its value."""
        if not isinstance(term, Term):
            return term
        if term.fields.isdisjoint(self.free):
            return z3.RealVal(term.value, self.context) if isinstance(term.value, float) else term.value
        if term not in self.known:
            field = term.operator == "field"
            arguments = [] if field else [self.term(part) for part in term.arguments]
            self.known[term] = (
                self.free[term.arguments[0]] if field else _OPERATORS[term.operator](*arguments)
            )
        return self.known[term]


def _number(found: Any) -> float:
    return found.as_long() if z3.is_int_value(found) else float(found.as_fraction())
