"""Closed forms evaluated over boxes with NumPy.

An expression is an array of as many dimensions as the grid has, of size 1 along those that it does not depend
on; so whatever depends on few axes costs little, and is kept between boxes. Integers are 64 bits wide where
the bounds prove that no step leaves them, and Python's own where they do not.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from archspec.sweeping.boxes import Array, Box
from archspec.symbolic.path_conditions import Condition
from archspec.symbolic.polynomials import Atom, Poly, Real, Space

MAX_INT = 2**63 - 1
_KEPT = 4_096  # arrays, and
_KEPT_NUMBERS = 1 << 18  # numbers in them, that are kept between boxes
_UFUNCS: dict[str, Any] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
_UFUNCS |= {"//": np.floor_divide, "%": np.remainder}
_ROUNDED: dict[str, Any] = {"trunc": np.trunc, "floor": np.floor, "ceil": np.ceil, "round": np.rint}


class Evaluator:
    """Evaluates the expressions of one space over boxes."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.kept: dict[Any, Any] = {}
        self.held = 0
        self.plans: dict[int, tuple[int, list[tuple[int, Poly]]]] = {}
        self.costs: dict[int, tuple[int, int]] = {}
        self.fits: dict[int, bool] = {}
        self.box: Box | None = None  # the first: plans are made for boxes of its shape

    def keep(self, kind: str, number: int, box: Box, axes: frozenset[int]) -> Any:
        key = box.key(axes)
        return None if key is None else (kind, number, key)

    def value(self, node: Any, box: Box, out: Array | None = None) -> Any:
        """The values of an expression: an array with a dimension for each axis, or a plain number."""
        if isinstance(node, Poly):
            return self.poly(node, box, out)
        return self.real(node, box) if isinstance(node, Real) else node

    def poly(self, poly: Poly, box: Box, out: Array | None = None) -> Any:
        """The values of a polynomial by Horner's scheme; into `out` where that is as large as the box."""
        constant = poly.constant
        if constant is not None:
            return constant
        key = None
        if box.points(poly.axes) < box.size or box.size == 1:
            key = self.keep("poly", poly.number, box, poly.axes)
            if key in self.kept:
                return self.kept[key]
        wide = not self.narrow(poly, box)
        found = self.horner(poly, box, wide, out if not wide and key is None else None)
        return self.kept_as(key, found)

    def kept_as(self, key: Any, found: Any) -> Any:
        if key is not None:
            size = getattr(found, "size", 1)
            if len(self.kept) >= _KEPT or self.held + size > _KEPT_NUMBERS:
                self.kept.clear()
                self.held = 0
            self.kept[key] = found
            self.held += size
        return found

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

    def horner(self, poly: Poly, box: Box, wide: bool, out: Array | None) -> Any:
        atom, parts = self.plan(poly, box)
        if out is not None and box.points(poly.axes) < box.size:
            out = None
        (power, first), rest = parts[0], parts[1:]
        total = self.poly(first, box, out)
        if wide and isinstance(total, np.ndarray):
            total = total.astype(object)
        owned = total is out and out is not None
        for next_power, coefficient in [*rest, (0, None)] if parts[-1][0] else rest:
            factor = self.atom(self.space.atoms[atom], box)
            if wide and isinstance(factor, np.ndarray):
                factor = factor.astype(object)
            for _ in range(power - next_power):
                if isinstance(total, int) and total == 1:
                    total, owned = factor, False
                    continue
                total, owned = self.apply(np.multiply, total, factor, box, out, owned)
            if coefficient is not None:
                added = self.poly(coefficient, box)
                total, owned = self.apply(np.add, total, added, box, out, owned)
            power = next_power
        return total

    def apply(
        self, ufunc: Any, left: Any, right: Any, box: Box, out: Array | None, owned: bool
    ) -> tuple[Any, bool]:
        """left op right, in place where left is a whole box of our own, into `out` where that is free."""
        if owned:
            return ufunc(left, right, out=left), True
        if out is not None and prod(np.broadcast_shapes(np.shape(left), np.shape(right))) == box.size:
            return ufunc(left, right, out=out), True
        found = ufunc(left, right)
        return found, isinstance(found, np.ndarray) and found.size == box.size

    def plan(self, poly: Poly, box: Box) -> tuple[int, list[tuple[int, Poly]]]:
        """The atom to factor out first, and the coefficients of its powers, highest first."""
        if self.box is None:
            self.box = box
        if poly.number not in self.plans:
            atom = self.cheapest(poly)[1]
            self.plans[poly.number] = (atom, self.split(poly, atom))
        return self.plans[poly.number]

    def split(self, poly: Poly, atom: int) -> list[tuple[int, Poly]]:
        powers: dict[int, dict[Any, int]] = {}
        for monomial, coefficient in poly.terms:
            power = next((p for a, p in monomial if a == atom), 0)
            powers.setdefault(power, {})[tuple(part for part in monomial if part[0] != atom)] = coefficient
        return [(power, self.space.poly(powers[power])) for power in sorted(powers, reverse=True)]

    def cheapest(self, poly: Poly) -> tuple[int, int]:
        """The cost of a polynomial in numbers computed, and the atom to factor out first for it."""
        if poly.constant is not None:
            return 0, -1
        if poly.number in self.costs:
            return self.costs[poly.number]
        atoms = sorted({atom for monomial, _ in poly.terms for atom, _ in monomial}, key=self.extent)
        if len(atoms) > 6:
            atoms = atoms[-1:]  # the one that varies most within a box
        best = min((self.cost(poly, atom), atom) for atom in atoms)
        self.costs[poly.number] = best
        return best

    def cost(self, poly: Poly, atom: int) -> int:
        parts = self.split(poly, atom)
        total, axes, power = 0, frozenset[int](), parts[0][0]
        for place, (next_power, part) in enumerate([*parts, (0, None)] if parts[-1][0] else parts):
            if place:
                axes |= self.space.atoms[atom].axes
                total += (power - next_power) * self.extents(axes)
            power = next_power
            if part is not None:
                axes |= part.axes
                total += self.cheapest(part)[0] + (self.extents(axes) if place else 0)
        return total

    def extent(self, atom: int) -> int:
        return self.extents(self.space.atoms[atom].axes)

    def extents(self, axes: frozenset[int]) -> int:
        assert self.box is not None  # set before a plan is made
        return self.box.points(axes)

    def atom(self, atom: Atom, box: Box) -> Any:
        if atom.op == "axis":
            return box.axis(atom.args[0])
        key = self.keep("atom", atom.number, box, atom.axes)
        if key is not None and key in self.kept:
            return self.kept[key]
        if atom.op == "below":
            found = np.searchsorted(np.array(atom.args[1]), self.poly(atom.args[0], box)).astype(np.int64)
        elif atom.op in ("//", "%"):
            left, right = (self.poly(arg, box) for arg in atom.args)
            found = _UFUNCS[atom.op](left, right)
        else:
            found = _ROUNDED[atom.op](self.real(atom.args[0], box)).astype(np.int64)
        return self.kept_as(key, found)

    def real(self, real: Real, box: Box) -> Any:
        if real.op == "float":
            return real.args[0]
        key = self.keep("real", real.number, box, real.axes)
        if key is not None and key in self.kept:
            return self.kept[key]
        if real.op == "int":
            whole = self.poly(real.args[0], box)
            found = whole.astype(np.float64) if isinstance(whole, np.ndarray) else float(whole)
        else:
            found = _UFUNCS[real.op](*(self.real(arg, box) for arg in real.args))
        return self.kept_as(key, found)

    def holds(self, condition: Condition, box: Box) -> Any:
        """Where a condition holds: an array of bools, or one bool."""
        left, right = (
            self.value(condition.left, box),
            0 if condition.right is None else self.value(condition.right, box),
        )
        found = left < right if condition.op == "<" else left == right
        return np.logical_not(found) if not condition.holds else found
