"""A grid as a table of points, cut into boxes that are small enough for their arrays to stay in the cache.

The last axes, of at least 256 points together, are the table's columns, and the axes before them its rows. An
array over a box has two dimensions, with a length of 1 if it depends on the rows or on the columns alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

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
        self._codes = {
            number: np.array([axis.code(at) for at in range(len(axis.values))], np.int64)
            for number, axis in enumerate(axes)
            if not isinstance(axis.values, range)
        }

    def codes(self, number: int, positions: Array) -> Array:
        """Return the numbers that stand for an axis's values at some rows or columns."""
        end = self.split if number < self.split else len(self.axes)
        turn = prod(self.lengths[number + 1 : end])
        places = (positions // turn if turn > 1 else positions) % max(1, self.lengths[number])
        values = self.axes[number].values
        if isinstance(values, range):
            return places * values.step + values.start
        codes: Array = self._codes[number][places]
        return codes

    def point(self, row: int, column: int) -> tuple[int, ...]:
        """Return the position along each axis of one point."""
        position, found = row * self.shape[1] + column, []
        for length in reversed(self.lengths):
            position, place = divmod(position, length)
            found.append(place)
        return tuple(reversed(found))


class Box:
    """Some rows and columns of a grid, as their positions in ascending order."""

    def __init__(self, grid: Grid, rows: Array, columns: Array) -> None:
        self.grid, self.picks = grid, (rows, columns)
        self.shape = len(rows), len(columns)
        self.size = prod(self.shape)
        self.spans = [(int(one[0]), int(one[-1])) for one in self.picks]
        self.whole = [
            last - first + 1 == len(one) for (first, last), one in zip(self.spans, self.picks, strict=True)
        ]
        self._codes: dict[int, Array] = {}

    def axis(self, number: int) -> Array:
        """Return the numbers that stand for an axis's values in this box."""
        if number not in self._codes:
            side = number >= self.grid.split
            shape = (1, -1) if side else (-1, 1)
            self._codes[number] = self.grid.codes(number, self.picks[side]).reshape(shape)
        return self._codes[number]

    def points(self, axes: frozenset[int]) -> int:
        """Return the size of an array that depends on some axes."""
        split = self.grid.split
        rows, columns = any(axis < split for axis in axes), any(axis >= split for axis in axes)
        return (self.shape[0] if rows else 1) * (self.shape[1] if columns else 1)

    def key(self, axes: frozenset[int]) -> Any:
        """Return a key that boxes with the same values of some axes share; None if there are gaps."""
        sides = {axis >= self.grid.split for axis in axes}
        return (
            tuple((side, *self.spans[side]) for side in sides) if all(self.whole[s] for s in sides) else None
        )

    def point(self, row: int, column: int) -> tuple[int, ...]:
        """Return the position along each axis of the point at a place in this box."""
        return self.grid.point(int(self.picks[0][row]), int(self.picks[1][column]))

    def part(self, rows: Array, columns: Array) -> Box:
        """Return the box of some rows and columns of this one."""
        return Box(self.grid, self.picks[0][rows], self.picks[1][columns])


def boxes(grid: Grid, size: int = BOX) -> Iterator[Box]:
    """Yield the grid in boxes, in its order."""
    height, width = grid.shape
    down, across = _slab(height, max(1, size // width)), _slab(width, size)
    for row in range(0, height, down):
        rows = np.arange(row, min(row + down, height))
        for column in range(0, width, across):
            yield Box(grid, rows, np.arange(column, min(column + across, width)))


def _slab(length: int, most: int) -> int:
    """Return a length of about equal parts, each of at most some positions."""
    return -(-length // -(-length // most))
