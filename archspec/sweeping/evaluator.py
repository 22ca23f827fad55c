"""NumPy evaluates symbolic expressions over boxes: parts of a grid whose arrays stay in the cache.

The last axes of a grid, of at least 256 points together, are its columns, and the axes before them its rows.
An array over a box has two dimensions, with a length of 1 if it depends on the rows or on the columns alone;
such a small one is cached between boxes. Integers are 64 bits wide if the bounds prove that no step overflows
on the whole grid; otherwise they are Python's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from functools import reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np

from archspec.sweeping.axes import Axis
from archspec.symbolic.expressions import Atom, Condition, Monomial, Poly, Real
from archspec.symbolic.polynomials import Space

Array = np.ndarray[Any, Any]
BOX = 1 << 18  # points: two or three arrays of 64-bit integers stay in a core's cache
_LOOP = 256  # points: NumPy starts shorter loops more slowly than it runs them
MAX_INT = 2**63 - 1
_KEPT = 1 << 18  # numbers of the arrays that are cached between boxes
_UFUNCS: dict[str, Any] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
_UFUNCS |= {"//": np.floor_divide, "%": np.remainder, "min": np.minimum, "max": np.maximum}
_ROUNDED: dict[str, Any] = {"trunc": np.trunc, "floor": np.floor, "ceil": np.ceil, "round": np.rint}
_Products = list[tuple[Atom | Poly, Poly]]


class Grid:
    """The points of some axes, as rows and columns; the last axis varies fastest. ``box`` is a box's size."""

    def __init__(self, axes: Sequence[Axis], box: int = BOX) -> None:
        self.axes, self.box = tuple(axes), box
        self.lengths = [len(axis.values) for axis in axes]
        self.split = len(axes)  # the first axis of the columns
        while self.split and prod(self.lengths[self.split :]) < _LOOP:
            self.split -= 1
        self.shape = prod(self.lengths[: self.split]), prod(self.lengths[self.split :])
        self._codes = [
            axis.values
            if isinstance(axis.values, range)
            else np.array([*map(axis.code, range(len(axis.values)))], np.int64)
            for axis in axes
        ]

    def codes(self, number: int, positions: Array) -> Array:
        """Return the codes of an axis's values at some rows or columns."""
        end = self.split if number < self.split else len(self.axes)
        places = positions // prod(self.lengths[number + 1 : end]) % self.lengths[number]
        codes = self._codes[number]
        return places * codes.step + codes.start if isinstance(codes, range) else codes[places]


class Box(NamedTuple):
    """Some consecutive rows and columns of a grid."""

    grid: Grid
    rows: range
    columns: range

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    @property
    def size(self) -> int:
        return len(self.rows) * len(self.columns)

    @property
    def place(self) -> tuple[slice, slice]:
        """The index of this box in an array over the grid."""
        return slice(self.rows.start, self.rows.stop), slice(self.columns.start, self.columns.stop)

    def axis(self, number: int) -> Array:
        """Return the codes of an axis's values in this box."""
        if number < self.grid.split:
            return self.grid.codes(number, np.arange(self.rows.start, self.rows.stop))[:, np.newaxis]
        return self.grid.codes(number, np.arange(self.columns.start, self.columns.stop))[np.newaxis, :]

    def sides(self, axes: frozenset[int]) -> tuple[range | None, range | None]:
        """Return the rows and the columns that some axes depend on; None if they do not."""
        on_rows, on_columns = (any((axis >= self.grid.split) == side for axis in axes) for side in (0, 1))
        return self.rows if on_rows else None, self.columns if on_columns else None

    def point(self, row: int, column: int) -> tuple[int, ...]:
        """Return the position along each axis of the point at a place in this box."""
        position = self.rows[row] * self.grid.shape[1] + self.columns[column]
        return tuple(int(place) for place in np.unravel_index(position, self.grid.lengths))


def boxes(grid: Grid, size: int = 0) -> Iterator[Box]:
    """Yield the grid in boxes, in its order."""
    size, (height, width) = size or grid.box, grid.shape
    down, across = max(1, size // width), min(width, size)
    for row in range(0, height, down):
        for column in range(0, width, across):
            rows = range(row, min(row + down, height))
            yield Box(grid, rows, range(column, min(column + across, width)))


class Evaluator:
    """Evaluates the expressions of one space over boxes."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._kept: dict[Any, Any] = {}
        self._kept_numbers = 0
        self._scratch: Array = np.empty(0, np.int64)
        self._plans: dict[int, _Products] = {}
        self._wide: dict[int, bool] = {}

    def value(self, node: Any, box: Box, out: Array | None = None) -> Any:
        """Return the values of an expression: an array, in ``out`` if it can be, or a number."""
        if isinstance(node, Poly):
            return self.evaluate_poly(node, box, out=out)
        return self._evaluate_real(node, box) if isinstance(node, Real) else node

    def test(self, condition: Condition, box: Box) -> Any:
        """Return where a condition holds: an array of bools, or one bool."""
        left = self.value(condition.left, box)
        right = 0 if condition.right is None else self.value(condition.right, box)
        found = left < right if condition.op == "<" else left == right
        return found if condition.holds else np.logical_not(found)

    def evaluate_poly(self, poly: Poly, box: Box, wide: bool = False, out: Array | None = None) -> Any:
        """Return the values of a polynomial, as Python's integers if a step can overflow 64 bits.

        Values that fill the box are in ``out`` if it is given; smaller arrays are cached.
        """
        if (constant := poly.constant) is not None:
            return constant
        wide = wide or self._is_wide(poly)
        rows, columns = box.sides(poly.axes)
        if not wide and len(rows or (0,)) == box.shape[0] and len(columns or (0,)) == box.shape[1]:
            return self._sum(poly, box, False, np.empty(box.shape, np.int64) if out is None else out)
        return self._evaluate_once((poly.number, wide), poly, box, self._sum, wide, None)

    def _is_wide(self, poly: Poly) -> bool:
        """Return True if a step of the evaluation can overflow 64 bits somewhere on the grid."""
        if poly.number not in self._wide:
            self._wide[poly.number] = self.space.magnitude(poly) > MAX_INT
        return self._wide[poly.number]

    def _sum(self, poly: Poly, box: Box, wide: bool, out: Array | None) -> Any:
        def step(ufunc: Any, left: Any, right: Any, out: Array | None) -> Any:
            fills = out is not None and np.broadcast_shapes(np.shape(left), np.shape(right)) == out.shape
            return ufunc(left, right, out=out) if fills else ufunc(left, right)

        total: Any = None
        for factor, inner in self._products(poly, box):
            free = out if total is None else self._scratch_like(out)  # later, out has the total
            if isinstance(factor, Atom):
                value = self._evaluate_once(("atom", factor.number), factor, box, self._operation)
                term = value.astype(object if wide else np.int64, copy=False)
            else:
                term = self.evaluate_poly(factor, box, wide)
            if inner.constant != 1:
                value = self.evaluate_poly(inner, box, wide, out if total is None else None)
                term = step(np.multiply, value, term, free)
            total = term if total is None else step(np.add, total, term, out)
        return total

    def _scratch_like(self, out: Array | None) -> Array | None:
        """Return an array for a term, which is used again: a new one for each box costs as much as a sum."""
        if out is not None and out.shape != self._scratch.shape:
            self._scratch = np.empty(out.shape, np.int64)
        return None if out is None else self._scratch

    def _products(self, poly: Poly, box: Box) -> _Products:
        """Return products whose sum is the polynomial, few of which are of arrays that fill a box."""
        if poly.number not in self._plans:
            powers: Counter[int] = Counter()
            for monomial, _ in poly.terms:
                powers |= Counter(dict(monomial))
            sides = {number: box.sides(self.space.atoms[number].axes) for number in powers}
            mixed = [number for number, side in sides.items() if None not in side]
            if not mixed and len({*sides.values()}) == 2:
                on_rows = {number for number, side in sides.items() if side[1] is None}
                plans = (self._group(poly, on_rows), self._group(poly, powers.keys() - on_rows))
                self._plans[poly.number] = min(plans, key=len)
            else:
                self._plans[poly.number] = self._horner(poly, min(mixed or powers, key=powers.__getitem__))
        return self._plans[poly.number]

    def _group(self, poly: Poly, common: Set[int]) -> _Products:
        """Return products of a monomial in some atoms and a polynomial in the others."""
        groups: dict[Monomial, dict[Monomial, int]] = {}
        for monomial, coefficient in poly.terms:
            factor = tuple(part for part in monomial if part[0] in common)
            rest = tuple(part for part in monomial if part[0] not in common)
            groups.setdefault(factor, {})[rest] = coefficient
        alone = {factor: terms[()] for factor, terms in groups.items() if [*terms] == [()]}
        found: _Products = [
            (self.space.make_poly({factor: 1}), self.space.make_poly(terms))
            for factor, terms in groups.items()
            if factor not in alone
        ]
        return found + [(self.space.make_poly(alone), self.space.constant(1))] * bool(alone)

    def _horner(self, poly: Poly, chosen: int) -> _Products:
        """Return the multiple of an atom, and the rest."""
        inner, rest = {}, {}
        for monomial, coefficient in poly.terms:
            left = dict(monomial)
            if chosen in left:
                left[chosen] -= 1
                inner[tuple((number, power) for number, power in left.items() if power)] = coefficient
            else:
                rest[monomial] = coefficient
        found: _Products = [(self.space.atoms[chosen], self.space.make_poly(inner))]
        return found + [(self.space.make_poly(rest), self.space.constant(1))] * bool(rest)

    def _operation(self, atom: Atom, box: Box) -> Any:
        if atom.op == "axis":
            return box.axis(atom.args[0])
        if atom.op == "below":
            places = np.searchsorted(np.array(atom.args[1]), self.evaluate_poly(atom.args[0], box))
            return places.astype(np.int64)
        if atom.op in _ROUNDED:
            return _ROUNDED[atom.op](self._evaluate_real(atom.args[0], box)).astype(np.int64)
        wide = any(map(self._is_wide, atom.args))
        values = [self.evaluate_poly(arg, box, wide) for arg in atom.args]
        if wide and atom.op in ("//", "%") and isinstance(values[1], np.ndarray):
            outside = values[1] == 0  # Python's integers raise outside the region
            return np.where(outside, 0, _UFUNCS[atom.op](values[0], np.where(outside, 1, values[1])))
        return reduce(_UFUNCS[atom.op], values)

    def _evaluate_real(self, real: Real, box: Box) -> Any:
        if real.op == "float":
            return real.args[0]
        if real.op == "int":
            return np.asarray(self.evaluate_poly(real.args[0], box)).astype(np.float64)
        args = [self._evaluate_real(arg, box) for arg in real.args]
        return self._evaluate_once(("real", real.number), real, box, lambda *_: _UFUNCS[real.op](*args))

    def _evaluate_once(self, name: Any, node: Any, box: Box, make: Callable[..., Any], *more: Any) -> Any:
        """Return a value that is made once for all boxes with the same values of its axes."""
        key = (name, box.grid, box.sides(node.axes))
        if key not in self._kept:
            found = make(node, box, *more)
            self._kept_numbers += np.size(found)
            if self._kept_numbers > _KEPT:
                self._kept.clear()
                self._kept_numbers = np.size(found)
            self._kept[key] = found
        return self._kept[key]
