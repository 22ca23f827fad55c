"""Closed forms evaluated over boxes with NumPy.

An expression is an array of as many dimensions as the grid has, of size 1 along those that it does not depend
on; so whatever depends on few axes costs little, and is kept between boxes. Integers are 64 bits wide where
the bounds prove that no step leaves them, and Python's own where they do not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from archspec.sweeping.boxes import Array, Box
from archspec.symbolic.decisions import Condition
from archspec.symbolic.polynomials import Atom, Poly, Real, Space

MAX_INT = 2**63 - 1
_KEPT = 4_096  # arrays, and
_KEPT_NUMBERS = 1 << 18  # numbers in them, that are kept between boxes
_UFUNCS: dict[str, Any] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
_UFUNCS |= {"//": np.floor_divide, "%": np.remainder, "min": np.minimum, "max": np.maximum}
_ROUNDED: dict[str, Any] = {"trunc": np.trunc, "floor": np.floor, "ceil": np.ceil, "round": np.rint}


class Plan(NamedTuple):
    """How to evaluate a polynomial: what it costs in numbers computed, the atom to factor out first, and the
    coefficients of its powers, highest first.
    """

    cost: int
    atom: int
    parts: list[tuple[int, Poly]]


class Evaluator:
    """Evaluates the expressions of one space over boxes."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.kept: dict[Any, Any] = {}
        self.held = 0
        self.plans: dict[int, Plan] = {}
        self.fits: dict[int, bool] = {}
        self.box: Box | None = None  # the first: plans are made for boxes of its shape

    def value(self, node: Any, box: Box) -> Any:
        """The values of an expression: an array with a dimension for each axis, or a plain number."""
        if isinstance(node, Poly):
            return self.poly(node, box)
        return self.real(node, box) if isinstance(node, Real) else node

    def poly(self, poly: Poly, box: Box, out: Array | None = None) -> Any:
        """The values of a polynomial by Horner's scheme; into `out` where that is as large as the box."""
        if (constant := poly.constant) is not None:
            return constant
        if not self.narrow(poly, box):
            return self.keep("poly", poly, box, lambda: self.horner(poly, box, object, None))
        if box.points(poly.axes) == box.size > 1:
            return self.horner(poly, box, np.int64, np.empty(box.shape, np.int64) if out is None else out)
        return self.keep("poly", poly, box, lambda: self.horner(poly, box, np.int64, None))

    def keep(self, kind: str, node: Any, box: Box, make: Callable[[], Any]) -> Any:
        """What an expression comes to, made once for boxes that are alike where it depends on them."""
        key = (kind, node.number, box.key(node.axes))
        if key[2] is None:
            return make()
        if key not in self.kept:
            found = make()
            size = getattr(found, "size", 1)
            if len(self.kept) >= _KEPT or self.held + size > _KEPT_NUMBERS:
                self.kept.clear()
                self.held = 0
            self.kept[key] = found
            self.held += size
        return self.kept[key]

    def narrow(self, poly: Poly, box: Box) -> bool:
        """Whether no step of the evaluation leaves 64 bits: all over the grid, or at least in this box."""
        if poly.number not in self.fits:
            self.fits[poly.number] = self.space.magnitude(poly) <= MAX_INT
        if self.fits[poly.number]:
            return True

        def bound(atom: Atom) -> int:
            if atom.op != "axis":
                return int(max(abs(atom.low), abs(atom.high)))
            values = box.axis(atom.args[0])
            return max(abs(int(values.min())), abs(int(values.max())))

        return self.space.magnitude(poly, bound) <= MAX_INT

    def horner(self, poly: Poly, box: Box, dtype: Any, out: Array | None) -> Any:
        """Horner's scheme; what is as large as the box is put into `out`."""

        def step(ufunc: Any, left: Any, right: Any) -> Any:
            whole = out is not None and prod(np.broadcast_shapes(np.shape(left), np.shape(right))) == box.size
            return ufunc(left, right, out=out) if whole else ufunc(left, right)

        self.box = self.box or box
        plan = self.plan(poly)
        factor = _as(dtype, self.atom(self.space.atoms[plan.atom], box))
        power, first = plan.parts[0]
        total = _as(dtype, self.poly(first, box, out))
        for lower, coefficient in plan.parts[1:]:
            for _ in range(power - lower):
                total = factor if isinstance(total, int) and total == 1 else step(np.multiply, total, factor)
            if coefficient.terms:
                total = step(np.add, total, self.poly(coefficient, box))
            power = lower
        return total

    def plan(self, poly: Poly) -> Plan:
        """The cheapest way to evaluate a polynomial."""
        if poly.number not in self.plans:
            atoms = sorted({atom for monomial, _ in poly.terms for atom, _ in monomial}, key=self.extent)
            if len(atoms) > 6:
                atoms = atoms[-1:]  # the one that varies most within a box
            self.plans[poly.number] = min(
                (self.planned(poly, atom) for atom in atoms), default=Plan(0, -1, [])
            )
        return self.plans[poly.number]

    def planned(self, poly: Poly, atom: int) -> Plan:
        """What it costs to factor out one atom first."""
        parts = self.split(poly, atom)
        if parts[-1][0]:
            parts.append((0, self.space.constant(0)))
        cost, axes = self.plan(parts[0][1]).cost, parts[0][1].axes
        for (power, _), (lower, part) in pairwise(parts):
            axes |= self.space.atoms[atom].axes
            cost += (power - lower) * self.points(axes)
            if part.terms:
                axes |= part.axes
                cost += self.plan(part).cost + self.points(axes)
        return Plan(cost, atom, parts)

    def split(self, poly: Poly, atom: int) -> list[tuple[int, Poly]]:
        """The coefficients of the powers of an atom, highest first."""
        powers: dict[int, dict[Any, int]] = {}
        for monomial, coefficient in poly.terms:
            power = next((p for a, p in monomial if a == atom), 0)
            powers.setdefault(power, {})[tuple(part for part in monomial if part[0] != atom)] = coefficient
        return [(power, self.space.poly(powers[power])) for power in sorted(powers, reverse=True)]

    def extent(self, atom: int) -> int:
        return self.points(self.space.atoms[atom].axes)

    def points(self, axes: frozenset[int]) -> int:
        assert self.box is not None  # set before a plan is made
        return self.box.points(axes)

    def atom(self, atom: Atom, box: Box) -> Any:
        if atom.op == "axis":
            return box.axis(atom.args[0])
        return self.keep("atom", atom, box, lambda: self.operation(atom, box))

    def operation(self, atom: Atom, box: Box) -> Any:
        if atom.op == "below":
            return np.searchsorted(np.array(atom.args[1]), self.poly(atom.args[0], box)).astype(np.int64)
        if atom.op in _ROUNDED:
            return _ROUNDED[atom.op](self.real(atom.args[0], box)).astype(np.int64)
        values = [self.poly(arg, box) for arg in atom.args]
        if any(isinstance(value, int) and abs(value) > MAX_INT for value in values):
            values = [_as(object, value) for value in values]  # NumPy compares no such number to 64 bits
        return reduce(_UFUNCS[atom.op], values)

    def real(self, real: Real, box: Box) -> Any:
        if real.op == "float":
            return real.args[0]
        return self.keep("real", real, box, lambda: self.floats(real, box))

    def floats(self, real: Real, box: Box) -> Any:
        if real.op == "int":
            return _as(np.float64, self.poly(real.args[0], box))
        return _UFUNCS[real.op](*(self.real(arg, box) for arg in real.args))

    def holds(self, condition: Condition, box: Box) -> Any:
        """Where a condition holds: an array of bools, or one bool."""
        left = self.value(condition.left, box)
        right = 0 if condition.right is None else self.value(condition.right, box)
        found = left < right if condition.op == "<" else left == right
        return found if condition.holds else np.logical_not(found)


def _as(dtype: Any, found: Any) -> Any:
    return found.astype(dtype, copy=False) if isinstance(found, np.ndarray) else found
