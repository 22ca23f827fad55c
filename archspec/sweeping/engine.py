"""Evaluates the columns of a grid, box by box, in the region that each point belongs to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np

from archspec.errors import SweepError
from archspec.sweeping.evaluator import BOX, MAX_INT, Array, Box, Evaluator, Grid, boxes
from archspec.sweeping.subject import Region, Subject

MAX_REGIONS = 20_000
_FEW = 100  # combinations of lengths of a box
_DTYPES: dict[type, Any] = {bool: np.bool_, float: np.float64, int: np.int64}


class Batch(NamedTuple):
    """A box with its columns; ``valid`` marks the points that have a row (True: all)."""

    box: Box
    columns: list[Array]
    valid: Array | bool


class Asked(Protocol):
    """The part of a sweep that pictures and queries read."""

    subject: Subject
    asked: list[str]
    engine: Engine
    architecture: str

    def batches(self) -> Iterator[Any]: ...


class Engine:
    """Evaluates the grid of a subject; finds regions as it meets them."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.pinned_axes = subject.pinned_axes
        evaluated = prod(len(subject.axes[number].values) for number in self.pinned_axes)
        self.grid = Grid(subject.axes, BOX if evaluated <= _FEW else _FEW)
        self.max_regions = MAX_REGIONS + evaluated
        self.points = self.grid.shape[0] * self.grid.shape[1]
        self.evaluator = Evaluator(subject.space)
        self.regions: list[Region] = []
        self._regions_by_lengths: dict[tuple[int, ...], list[Region]] = {}  # by the codes of pinned axes
        self.refused: Counter[str] = Counter()
        self.filtered = 0

    def batches(self, size: int = 0) -> Iterator[Batch]:
        """Yield every box of the grid in order. Errors: :class:`SweepError` for too many regions."""
        for box in self._start_pass(size):
            yield self.batch(box)

    def _start_pass(self, size: int = 0) -> Iterator[Box]:
        """Return the boxes of the grid, and count points without a row from zero."""
        self.refused.clear()
        self.filtered = 0
        return boxes(self.grid, size)

    def region(self, point: tuple[int, ...]) -> Region:
        """Return the region of one point, given by its position along each axis."""
        row, column = divmod(int(np.ravel_multi_index(point, self.grid.lengths)), self.grid.shape[1])
        box = Box(self.grid, range(row, row + 1), range(column, column + 1))
        return next(self.assign_regions(box))[0]

    def first_refusal(self) -> SweepError:
        """Return the error for a grid whose configs are all invalid, with the reason at the first point."""
        region = self.subject.region((0,) * len(self.subject.axes))
        assert region.refusal is not None  # as at every point
        first, *others = region.refusal.problems
        at = ", ".join(f"{name} = {value}" for name, value in self.subject.values(region.point).items())
        message = f"no config in the sweep is valid; at {at}: {first.message}"
        return SweepError([first._replace(message=message), *others])

    def batch(self, box: Box, only: Sequence[int] | None = None, out: Array | None = None) -> Batch:
        """Evaluate the columns in a box, all or those with some numbers, one of them in ``out``."""
        numbers = range(len(self.subject.columns)) if only is None else only
        found = list(self.assign_regions(box))
        if len(found) == 1 and found[0][0].keep:
            columns = [self._column(found[0][0].values[number], box, out) for number in numbers]
            return Batch(box, columns, True)
        valid, filled = np.zeros(box.shape, bool), dict[int, Array]()
        for region, mask in found:
            if region.refusal is not None:
                self.refused[region.refusal.problems[0].message] += int(np.count_nonzero(mask))
            elif not region.keep:
                self.filtered += int(np.count_nonzero(mask))
            else:
                inner, place, mask = part_of(box, mask)
                valid[place] |= mask
                for number in numbers:
                    values = self._column(region.values[number], inner)
                    column = filled.get(number, np.zeros(box.shape, values.dtype))
                    if column.dtype != values.dtype:
                        column, values = column.astype(object), values.astype(object)
                    np.copyto(column[place], values, where=mask)
                    filled[number] = column
        columns = [filled.get(number, np.zeros(box.shape, np.int64)) for number in numbers]
        return Batch(box, columns, True if valid.all() else valid)

    def fill(self, number: int, dtype: Any = np.int64) -> Array:
        """Return one column over the whole grid, as objects if values have another type than ``dtype``.

        Errors: :class:`SweepError` if a point has no row.
        """
        whole: Array = np.empty(self.grid.shape, dtype=dtype)
        for box in self._start_pass():
            out = whole[box.place] if whole.dtype == np.int64 else None
            batch = self.batch(box, [number], out)
            if batch.valid is not True:
                message = "some configs of the grid have no row"
                raise SweepError(message, help="use rows(), or leave out values that are invalid")
            values = batch.columns[0]
            if values is not out:
                whole = whole if whole.dtype == values.dtype else whole.astype(object)
                whole[box.place] = values
        return whole

    def _column(self, value: Any, box: Box, out: Array | None = None) -> Array:
        """Return a column in a box: 64-bit integers, Python's if these overflow, floats, or objects."""
        with np.errstate(all="ignore"):  # a quotient by 0 is computed only outside its region
            found = self.evaluator.value(value, box, out)
        if not isinstance(found, np.ndarray | np.generic):
            is_huge = type(found) is int and abs(found) > MAX_INT
            found = np.asarray(found, object if is_huge else _DTYPES.get(type(found), object))
        return found if found.shape == box.shape else np.broadcast_to(found, box.shape)

    def assign_regions(self, box: Box) -> Iterator[tuple[Region, Array]]:
        """Yield the regions that have points in a box, each with its mask; they cover the box."""
        left = np.ones((1, 1), bool)
        known = self._known_regions(box)
        while left.any():
            region = next(known, None)
            is_new = region is None
            if region is None:
                # the last point: the decisions of a loop also hold for fewer turns
                row, column = np.argwhere(np.broadcast_to(left, box.shape))[-1]
                region = self._add(box.point(row, column))
            mask = self._mask(region, box, left)
            if mask is not None:
                yield region, np.broadcast_to(mask, box.shape)
                left = left & ~mask
            elif is_new:
                raise SweepError(f"a bug of archspec: the point {region.point} is not in its own region")

    def _known_regions(self, box: Box) -> Iterator[Region]:
        """Return the regions that can have points in a box."""
        codes = [
            np.broadcast_to(box.axis(number), box.shape).reshape(-1).tolist() for number in self.pinned_axes
        ]
        lengths = dict.fromkeys(zip(*codes, strict=True)) if codes else [()]
        return iter([region for one in lengths for region in self._regions_by_lengths.get(one, ())])

    def _mask(self, region: Region, box: Box, left: Array) -> Array | None:
        """Return a mask of those points of a box that are in a region; None if no point is."""
        for condition in region.conditions:
            with np.errstate(all="ignore"):
                left = left & self.evaluator.test(condition, box)
            if not left.any():
                return None
        return left

    def _add(self, point: tuple[int, ...]) -> Region:
        """Find the region of a point that is in none of those known."""
        if len(self.regions) >= self.max_regions:
            message = f"this grid needs more than {self.max_regions:,} closed forms"
            raise SweepError(message, help="sweep fewer values of the fields that add or remove modules")
        found = self.subject.region(point)
        lengths = tuple(self.subject.axes[number].code(point[number]) for number in self.pinned_axes)
        self._regions_by_lengths.setdefault(lengths, []).insert(0, found)
        self.regions.insert(0, found)
        return found


def part_of(box: Box, mask: Array) -> tuple[Box, Any, Array]:
    """Return the smallest box around a mask, its place in the first box, and the mask within it."""
    rows, columns = (
        slice(int(places[0]), int(places[-1]) + 1)
        for places in (np.flatnonzero(mask.any(axis)) for axis in (1, 0))
    )
    return Box(box.grid, box.rows[rows], box.columns[columns]), (rows, columns), mask[rows, columns]
