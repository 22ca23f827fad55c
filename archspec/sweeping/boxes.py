"""Boxes of a grid, and closed forms evaluated over them with NumPy.

A box is a product of some values of each axis, small enough for its arrays to stay in the cache. An expression is an
array with one dimension an axis, of size 1 along the axes that it does not depend on; so whatever depends on few axes
costs little, and is kept between boxes. Integers are 64 bits wide where the bounds prove that no step leaves them, and
Python's own where they do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from archspec.sweeping.algebra import Atom, Poly, Real, Space
from archspec.sweeping.axes import Axis
from archspec.sweeping.number import Condition

Array = np.ndarray[Any, Any]
Pick = slice | Array
BOX = 1 << 17  # points: two or three arrays of 64-bit integers stay in a core's cache
LOOP = 512  # points: shorter loops cost more to start than to run
MAX_INT = 2**63 - 1
_KEPT = 4_096
_UFUNCS: dict[str, Any] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
_UFUNCS |= {"//": np.floor_divide, "%": np.remainder}
_ROUNDED: dict[str, Any] = {"trunc": np.trunc, "floor": np.floor, "ceil": np.ceil, "round": np.rint}


class Grid:
    """The axes as dimensions of arrays: short last axes are one dimension together, or NumPy's loops would be short."""

    def __init__(self, axes: Sequence[Axis]) -> None:
        self.axes = tuple(axes)
        lengths = [len(axis.values) for axis in axes]
        first = len(axes)
        while first > 0 and prod(lengths[first:]) < LOOP:
            first -= 1
        self.groups = [(number,) for number in range(first)] + [tuple(range(first, len(axes)))]
        self.dimension = {axis: number for number, group in enumerate(self.groups) for axis in group}
        self.shape = tuple(prod(lengths[axis] for axis in group) for group in self.groups)

    def codes(self, axis: int, pick: Pick) -> Array:
        """The numbers that stand for an axis's values at some positions of its dimension."""
        group = self.groups[self.dimension[axis]]
        inner = prod(len(self.axes[other].values) for other in group if other > axis)
        length = len(self.axes[axis].values)
        if not isinstance(pick, slice):
            return _codes(self.axes[axis], pick // inner % length)
        if group == (axis,):
            return _codes(self.axes[axis], np.arange(pick.start, pick.stop))
        rows = np.arange(pick.start // inner, -(-pick.stop // inner)) % length
        found = np.repeat(_codes(self.axes[axis], rows), inner)
        return found[pick.start % inner : pick.start % inner + pick.stop - pick.start]

    def box(self, point: Sequence[int]) -> Box:
        """The box of one point, given by its position along each axis."""
        picks: list[Pick] = []
        for group in self.groups:
            start = 0
            for axis in group:
                start = start * len(self.axes[axis].values) + point[axis]
            picks.append(slice(start, start + 1))
        return Box(self, picks)

    def point(self, positions: Sequence[int]) -> tuple[int, ...]:
        """The position along each axis, from those along each dimension."""
        found: list[int] = []
        for group, position in zip(self.groups, positions, strict=True):
            lengths = [len(self.axes[axis].values) for axis in group]
            found += [int(i) for i in np.unravel_index(position, lengths)] if lengths else []
        return tuple(found)


def _codes(axis: Axis, positions: Array) -> Array:
    if not axis.numeric:
        return positions
    if isinstance(axis.values, range):
        return positions * axis.values.step + axis.values.start
    return np.array(axis.values, dtype=np.int64)[positions]


class Box:
    """Some positions of each dimension of a grid: slices, or lists of positions."""

    def __init__(self, grid: Grid, picks: Sequence[Pick]) -> None:
        self.grid, self.picks = grid, tuple(picks)
        self.shape = tuple(pick.stop - pick.start if isinstance(pick, slice) else len(pick) for pick in self.picks)
        self.size = prod(self.shape)
        self.keys = [(pick.start, pick.stop) if isinstance(pick, slice) else None for pick in self.picks]
        self.values: dict[int, Array] = {}

    def axis(self, number: int) -> Array:
        """The numbers that stand for an axis's values here."""
        if number not in self.values:
            dimension = self.grid.dimension[number]
            shape = [-1 if other == dimension else 1 for other in range(len(self.shape))]
            self.values[number] = self.grid.codes(number, self.picks[dimension]).reshape(shape)
        return self.values[number]

    def dimensions(self, axes: frozenset[int]) -> set[int]:
        return {self.grid.dimension[axis] for axis in axes}

    def key(self, axes: frozenset[int]) -> Any:
        """What tells this box from others, as far as some axes go; None for lists of positions."""
        keys = tuple(self.keys[dimension] for dimension in sorted(self.dimensions(axes)))
        return None if None in keys else keys

    def points(self, axes: frozenset[int]) -> int:
        return prod(self.shape[dimension] for dimension in self.dimensions(axes))

    def position(self, index: Sequence[int]) -> tuple[int, ...]:
        """The point of the grid at an index within the box."""
        pairs = zip(self.picks, index, strict=True)
        return self.grid.point([pick.start + i if isinstance(pick, slice) else int(pick[i]) for pick, i in pairs])

    def part(self, chosen: Sequence[Array | None]) -> Box:
        """The box of some of the indices along each dimension; None stands for all."""
        picks: list[Pick] = []
        for pick, wanted in zip(self.picks, chosen, strict=True):
            if wanted is None:
                picks.append(pick)
            elif isinstance(pick, slice) and int(wanted[-1]) - int(wanted[0]) + 1 == len(wanted):
                picks.append(slice(pick.start + int(wanted[0]), pick.start + int(wanted[-1]) + 1))
            else:
                picks.append(wanted + pick.start if isinstance(pick, slice) else pick[wanted])
        return Box(self.grid, picks)


def boxes(grid: Grid, size: int = BOX) -> Iterator[Box]:
    """The grid in boxes, in the order of its points: the last axis varies fastest."""
    lengths = grid.shape
    inner = len(lengths)
    while inner > 0 and prod(lengths[inner - 1 :]) <= size:
        inner -= 1
    if inner == 0:
        yield Box(grid, [slice(0, length) for length in lengths])
        return
    cut = inner - 1  # this dimension is cut into slabs, those after it are whole, of those before it one value is in a box
    slab = max(1, size // prod(lengths[inner:]))
    slab = -(-lengths[cut] // -(-lengths[cut] // slab))  # slabs of about one size
    for outer in np.ndindex(*lengths[:cut]):
        for start in range(0, lengths[cut], slab):
            picks: list[Pick] = [slice(i, i + 1) for i in outer]
            picks.append(slice(start, min(start + slab, lengths[cut])))
            yield Box(grid, [*picks, *(slice(0, length) for length in lengths[inner:])])


class Evaluator:
    """Evaluates the expressions of one space over boxes."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.kept: dict[Any, Any] = {}
        self.plans: dict[int, tuple[int, list[tuple[int, Poly]]]] = {}
        self.costs: dict[int, tuple[int, int]] = {}
        self.fits: dict[int, bool] = {}
        self.box: Box | None = None  # the first: plans are made for boxes of its shape

    def keep(self, kind: str, number: int, box: Box, axes: frozenset[int]) -> Any:
        key = box.key(axes)
        return None if key is None else (kind, number, key)

    def value(self, node: Any, box: Box, out: Array | None = None) -> Any:
        """The values of an expression: an array of as many dimensions as there are axes, or a plain number."""
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
            if len(self.kept) >= _KEPT:
                self.kept.clear()
            self.kept[key] = found
        return found

    def narrow(self, poly: Poly, box: Box) -> bool:
        """Whether no step of the evaluation leaves 64 bits: all over the grid, or at least in this box."""
        if poly.number not in self.fits:
            self.fits[poly.number] = self.space.magnitude(poly) <= MAX_INT
        if self.fits[poly.number]:
            return True

        def bound(atom: Atom) -> int:
            if atom.op != "axis":
                return max(abs(atom.low), abs(atom.high))
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

    def apply(self, ufunc: Any, left: Any, right: Any, box: Box, out: Array | None, owned: bool) -> tuple[Any, bool]:
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
        if atom.op in ("//", "%"):
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
        left, right = self.value(condition.left, box), 0 if condition.right is None else self.value(condition.right, box)
        found = left < right if condition.op == "<" else left == right
        return np.logical_not(found) if not condition.holds else found
