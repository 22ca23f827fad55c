"""A grid as a table of points, cut into boxes that are small enough for their arrays to stay in the cache.

The last axes, of at least 256 points together, are the table's columns, and the axes before them its rows. An
array over a box has two dimensions, with a length of 1 if it depends on the rows or on the columns alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from archspec.sweeping.axes import Axis

Array = np.ndarray[Any, Any]
BOX = 1 << 18  # points: two or three arrays of 64-bit integers stay in a core's cache
_LOOP = 256  # points: NumPy starts shorter loops more slowly than it runs them


class Grid:
    """The points of some axes, as rows and columns; the last axis varies fastest."""

    def __init__(self, axes: Sequence[Axis]) -> None:
        self.axes = tuple(axes)
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


def boxes(grid: Grid, size: int = BOX) -> Iterator[Box]:
    """Yield the grid in boxes, in its order."""
    height, width = grid.shape
    down, across = max(1, size // width), min(width, size)
    for row in range(0, height, down):
        for column in range(0, width, across):
            rows = range(row, min(row + down, height))
            yield Box(grid, rows, range(column, min(column + across, width)))
