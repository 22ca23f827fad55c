"""A grid cut into boxes, products of some values of each axis, whose arrays stay in the cache."""

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
LOOP = 32  # points: shorter loops cost more to start than to run
LONG = 1 << 14  # points: longer loops gain nothing


class Grid:
    """The axes as dimensions of arrays; short last axes are one together, or NumPy's loops would be short."""

    def __init__(self, axes: Sequence[Axis], apart: int = 0, first: int | None = None) -> None:
        """The first `apart` axes stay dimensions of their own, those from `first` on are one together."""
        self.axes = tuple(axes)
        lengths = [len(axis.values) for axis in axes]
        if first is None:
            first = len(axes)
            while first > apart and prod(lengths[first:]) < LOOP:
                first -= 1
        self.groups = [(number,) for number in range(first)] + [tuple(range(first, len(axes)))]
        self.dimension = {axis: number for number, group in enumerate(self.groups) for axis in group}
        self.shape = tuple(prod(lengths[axis] for axis in group) for group in self.groups)
        self._dimensions: dict[frozenset[int], tuple[int, ...]] = {}

    def dimensions(self, axes: frozenset[int]) -> tuple[int, ...]:
        """The dimensions that some axes are, in order."""
        if axes not in self._dimensions:
            self._dimensions[axes] = tuple(sorted({self.dimension[axis] for axis in axes}))
        return self._dimensions[axes]

    def others(self) -> Iterator[Grid]:
        """The same axes with more of the last ones as one dimension, as long as that makes loops longer."""
        lengths = [len(axis.values) for axis in self.axes]
        for first in range(len(self.groups) - 2, -1, -1):
            if prod(lengths[first:]) > LONG:
                return
            yield Grid(self.axes, first=first)

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
        self.shape = tuple(
            pick.stop - pick.start if isinstance(pick, slice) else len(pick) for pick in self.picks
        )
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

    def key(self, axes: frozenset[int]) -> Any:
        """What tells this box from others, as far as some axes go; None for lists of positions."""
        keys = tuple([self.keys[dimension] for dimension in self.grid.dimensions(axes)])
        return None if None in keys else keys

    def points(self, axes: frozenset[int]) -> int:
        return prod([self.shape[dimension] for dimension in self.grid.dimensions(axes)])

    def position(self, index: Sequence[int]) -> tuple[int, ...]:
        """The point of the grid at an index within the box."""
        pairs = zip(self.picks, index, strict=True)
        return self.grid.point(
            [pick.start + i if isinstance(pick, slice) else int(pick[i]) for pick, i in pairs]
        )

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


def box_at(grid: Grid, share: float, size: int) -> Box:
    """A box of about a size at a share of the way along each dimension: 0 the first, 1 the last."""
    first = next(boxes(grid, size))
    picks: list[Pick] = []
    for length, width in zip(grid.shape, first.shape, strict=True):
        start = int(share * (length - width))
        picks.append(slice(start, start + width))
    return Box(grid, picks)


def scattered_box(grid: Grid, size: int) -> Box:
    """A box of about a size whose positions along each dimension lie all over it, at random."""
    random, picks = Random(0), list[Pick]()
    left = len(grid.shape)
    for length in sorted(grid.shape):  # what a short dimension has not, the longer ones may have more of
        most = max(1, round(size ** (1 / left)))
        chosen = sorted(random.sample(range(length), min(most, length)))
        picks.append(np.array(chosen))
        size, left = size // len(chosen), left - 1
    order = np.argsort(np.argsort(grid.shape, kind="stable"), kind="stable")
    return Box(grid, [picks[place] for place in order])


def boxes(grid: Grid, size: int = BOX, shape: tuple[int, ...] | None = None) -> Iterator[Box]:
    """The grid, or as much of it as `shape` says, in boxes; the last axis varies fastest."""
    lengths = shape or grid.shape
    inner = len(lengths)
    while inner > 0 and prod(lengths[inner - 1 :]) <= size:
        inner -= 1
    if inner == 0:
        yield Box(grid, [slice(0, length) for length in lengths])
        return
    cut = (
        inner - 1
    )  # this dimension is cut into slabs, those after it are whole, of those before it one value is in a box
    slab = max(1, size // prod(lengths[inner:]))
    slab = -(-lengths[cut] // -(-lengths[cut] // slab))  # slabs of about one size
    for outer in np.ndindex(*lengths[:cut]):
        for start in range(0, lengths[cut], slab):
            picks: list[Pick] = [slice(i, i + 1) for i in outer]
            picks.append(slice(start, min(start + slab, lengths[cut])))
            yield Box(grid, [*picks, *(slice(0, length) for length in lengths[inner:])])
