"""Boxes of a grid: products of some values of each axis, small enough that their arrays stay in the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from random import Random
from typing import Any

import numpy as np

from archspec.sweeping.axes import Axis

Array = np.ndarray[Any, Any]
Pick = slice | Array
BOX = 1 << 18  # points: two or three arrays of 64-bit integers stay in a core's cache
LOOP = 256  # points: shorter loops cost more to start than to run


class Grid:
    """The axes as dimensions of arrays. Short last axes share one dimension, or NumPy's loops are short."""

    def __init__(self, axes: Sequence[Axis], apart: int = 0) -> None:
        """The first ``apart`` axes keep one dimension each."""
        self.axes = tuple(axes)
        lengths = [len(axis.values) for axis in axes]
        first = len(axes)
        while first > apart and prod(lengths[first:]) < LOOP:
            first -= 1
        self.groups = [(number,) for number in range(first)] + [tuple(range(first, len(axes)))]
        self.dimension = {axis: number for number, group in enumerate(self.groups) for axis in group}
        self.shape = tuple(prod(lengths[axis] for axis in group) for group in self.groups)

    def codes(self, axis: int, pick: Pick) -> Array:
        """Return the numbers that stand for an axis's values at some positions of its dimension."""
        positions = np.arange(pick.start, pick.stop) if isinstance(pick, slice) else pick
        others = [other for other in self.groups[self.dimension[axis]] if other > axis]
        positions = positions // prod(len(self.axes[other].values) for other in others)
        one = self.axes[axis]
        positions = positions % max(1, len(one.values))
        if not one.numeric:
            return positions
        if isinstance(one.values, range):
            return positions * one.values.step + one.values.start
        return np.array(one.values, dtype=np.int64)[positions]

    def box(self, point: Sequence[int]) -> Box:
        """Return the box of one point, given by its position along each axis."""
        starts = []
        for group in self.groups:
            lengths = [len(self.axes[axis].values) for axis in group]
            position = np.ravel_multi_index([point[axis] for axis in group], lengths) if group else 0
            starts.append(int(position))
        return Box(self, [slice(start, start + 1) for start in starts])

    def point(self, positions: Sequence[int]) -> tuple[int, ...]:
        """Return the position along each axis, from those along each dimension."""
        found: list[int] = []
        for group, position in zip(self.groups, positions, strict=True):
            lengths = [len(self.axes[axis].values) for axis in group]
            found += [int(i) for i in np.unravel_index(position, lengths)] if lengths else []
        return tuple(found)


class Box:
    """Some positions of each dimension of a grid: slices, or lists of positions."""

    def __init__(self, grid: Grid, picks: Sequence[Pick]) -> None:
        self.grid, self.picks = grid, tuple(picks)
        self.shape = tuple(
            pick.stop - pick.start if isinstance(pick, slice) else len(pick) for pick in self.picks
        )
        self.size = prod(self.shape)
        self.values: dict[int, Array] = {}
        self._dimensions: dict[frozenset[int], list[int]] = {}

    def axis(self, number: int) -> Array:
        """Return the numbers that stand for an axis's values in this box."""
        if number not in self.values:
            dimension = self.grid.dimension[number]
            shape = [-1 if other == dimension else 1 for other in range(len(self.shape))]
            self.values[number] = self.grid.codes(number, self.picks[dimension]).reshape(shape)
        return self.values[number]

    def dimensions(self, axes: frozenset[int]) -> list[int]:
        """Return the dimensions that hold some axes."""
        if axes not in self._dimensions:
            self._dimensions[axes] = sorted({self.grid.dimension[axis] for axis in axes})
        return self._dimensions[axes]

    def key(self, axes: frozenset[int]) -> tuple[tuple[int, int], ...] | None:
        """Return what boxes share that have the same values of some axes; None for lists of positions."""
        picks = [self.picks[dimension] for dimension in self.dimensions(axes)]
        keys = tuple((pick.start, pick.stop) for pick in picks if isinstance(pick, slice))
        return keys if len(keys) == len(picks) else None

    def points(self, axes: frozenset[int]) -> int:
        """Return the size of an array that depends on some axes."""
        return prod([self.shape[dimension] for dimension in self.dimensions(axes)])

    def position(self, index: Sequence[int]) -> tuple[int, ...]:
        """Return the point of the grid at an index within the box."""
        pairs = zip(self.picks, index, strict=True)
        return self.grid.point(
            [pick.start + i if isinstance(pick, slice) else int(pick[i]) for pick, i in pairs]
        )

    def part(self, chosen: Sequence[Array | None]) -> Box:
        """Return the box of some indices along each dimension; None selects all."""
        picks: list[Pick] = []
        for pick, wanted in zip(self.picks, chosen, strict=True):
            if wanted is None:
                picks.append(pick)
            elif isinstance(pick, slice) and int(wanted[-1]) - int(wanted[0]) + 1 == len(wanted):
                picks.append(slice(pick.start + int(wanted[0]), pick.start + int(wanted[-1]) + 1))
            else:
                picks.append(wanted + pick.start if isinstance(pick, slice) else pick[wanted])
        return Box(self.grid, picks)


def scattered_box(grid: Grid, size: int) -> Box:
    """Return a box of about a size whose positions are a random sample of each dimension."""
    random, picks = Random(0), dict[int, Pick]()
    left = len(grid.shape)
    for dimension in sorted(range(left), key=lambda number: grid.shape[number]):  # the longest take the rest
        length = grid.shape[dimension]
        most = min(length, max(1, round(size ** (1 / left))))
        picks[dimension] = np.array(sorted(random.sample(range(length), most)))
        size, left = size // most, left - 1
    return Box(grid, [picks[dimension] for dimension in range(len(grid.shape))])


def boxes(grid: Grid, size: int = BOX, shape: tuple[int, ...] | None = None) -> Iterator[Box]:
    """Yield the grid in boxes, or only the first ``shape`` of it; the last axis varies fastest."""
    lengths = shape or grid.shape
    cut = len(lengths) - 1  # the dimension that is cut into slabs; those after it are in a box in full
    while cut > 0 and prod(lengths[cut:]) <= size:
        cut -= 1
    slab = max(1, size // prod(lengths[cut + 1 :]))
    slab = -(-lengths[cut] // -(-lengths[cut] // slab))  # slabs of about one size
    for outer in np.ndindex(*lengths[:cut]):
        for start in range(0, lengths[cut], slab):
            picks: list[Pick] = [slice(i, i + 1) for i in outer]
            picks.append(slice(start, min(start + slab, lengths[cut])))
            yield Box(grid, [*picks, *(slice(0, length) for length in lengths[cut + 1 :])])
