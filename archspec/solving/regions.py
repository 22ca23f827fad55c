"""The regions of a grid, with their conditions and sizes compiled to Python functions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from math import inf, nan
from typing import Any

from archspec.errors import ArchspecError, SweepError
from archspec.solving.budgets import Goal
from archspec.sweeping.subject import Region, Subject
from archspec.symbolic.expressions import CALLS, PYTHON, Operation, Poly
from archspec.symbolic.polynomials import Space

_NAMES: dict[str, Any] = {**CALLS, "below": bisect_left, "inf": inf, "nan": nan}


class Compiled:
    """A region with its conditions and sizes as functions of the codes of a point."""

    def __init__(self, region: Region, space: Space) -> None:
        self.region, self.space, self.keep = region, space, region.keep
        code = _Code(space)
        for one in region.conditions:
            operator = one.op if one.holds else {"<": ">=", "==": "!="}[one.op]
            left, right = code.name(one.left), code.name(one.right or 0)
            code.lines.append(f"if not {left} {operator} {right}: return 0")
        self._met = code.function("1")
        self.sizes = [_Code(space).function(value) for value in region.values] if region.keep else []

    def excludes(self, codes: Sequence[int]) -> bool:
        """Return True if a point is not in the region."""
        try:
            return not self._met(codes)
        except ArithmeticError:  # a quotient that an earlier condition guards
            return True

    def is_rising(self, axis: int, goals: Sequence[Goal]) -> bool:
        """Return True if the region is an interval along an axis, on which the sizes with targets rise."""
        for one in self.region.conditions:
            is_monotone = one.op == "<" and one.right is None and self._slope(one.left, axis) is not None
            if axis in one.axes and not is_monotone:
                return False
        slopes = [self._slope(value, axis) for value in self.region.values] if self.keep else []
        pairs = zip(goals, slopes, strict=False)
        return all(slope == 1 or (slope == 0 and goal.target is None) for goal, slope in pairs)

    def _slope(self, value: Any, axis: int) -> int | None:
        """Return 1 for a polynomial that rises along an axis, -1 if it falls, 0 if constant, else None."""
        if not isinstance(value, Operation | Poly) or axis not in value.axes:
            return 0
        signs = set[bool]()
        for monomial, coefficient in value.terms if isinstance(value, Poly) else ():
            atoms = [self.space.atoms[number] for number, _ in monomial]
            if along := [atom.number for atom in atoms if axis in atom.axes]:
                if along != [axis] or any(atom.low < 0 for atom in atoms):
                    return None
                signs.add(coefficient > 0)
        return (1 if signs.pop() else -1) if len(signs) == 1 else None


class _Code:
    """The code of a function of the codes ``x`` of a point.

    It consists of numbers and of the names of operations: no text of a config, spec or option enters it.
    """

    def __init__(self, space: Space) -> None:
        self.space, self.lines, self.names = space, list[str](), dict[int, str]()

    def name(self, value: Any) -> str:
        """Return the name of the value of an expression, or a literal."""
        if not isinstance(value, Poly | Operation):
            assert not isinstance(value, str)
            return repr(value)
        if id(value) not in self.names:
            text = self._text(value)
            self.names[id(value)] = f"v{len(self.names)}"
            self.lines.append(f"{self.names[id(value)]} = {text}")
        return self.names[id(value)]

    def _text(self, value: Poly | Operation) -> str:
        if isinstance(value, Poly):
            factors = (
                [str(coefficient), *(f"{self.name(self.space.atoms[n])}**{power}" for n, power in monomial)]
                for monomial, coefficient in value.terms
            )
            return " + ".join(map("*".join, factors)) or "0"
        if value.op == "axis":
            return f"x[{value.args[0]}]"
        if value.op == "float":
            return repr(value.args[0])
        args = [self.name(arg) for arg in value.args]
        if value.op in PYTHON:
            return f"{args[0]} {value.op} {args[1]}"
        assert value.op in _NAMES
        return f"{value.op}({', '.join(args[::-1] if value.op == 'below' else args)})"

    def function(self, result: Any) -> Callable[[Sequence[int]], Any]:
        """Return the function that evaluates the lines so far, and then a result."""
        name = self.name(result) if isinstance(result, Poly | Operation) else str(result)
        body, found = "".join(f"    {line}\n" for line in self.lines), dict[str, Any](_NAMES)
        exec(f"def function(x):\n{body}    return {name}", found)
        function: Callable[[Sequence[int]], Any] = found["function"]
        return function


class Regions:
    """The regions of a subject's grid, found as points are looked up."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.found: list[Compiled] = []
        self.refusal: ArchspecError | None = None

    def find(self, codes: Sequence[int]) -> Compiled:
        """Return the region of a point, given by the code of its value along each axis."""
        for number, region in enumerate(self.found):
            if not region.excludes(codes):
                if number:  # its neighbors come next
                    self.found.insert(0, self.found.pop(number))
                return region
        pairs = zip(self.subject.axes, codes, strict=True)
        point = tuple(axis.values.index(code) if axis.numeric else code for axis, code in pairs)
        found = self.subject.region(point)
        region = Compiled(found, self.subject.space)
        if region.excludes(codes):
            raise SweepError(f"a bug of archspec: the point {[*codes]} is not in its own region")
        self.found.insert(0, region)
        self.refusal = self.refusal or found.refusal
        return region
