"""Evaluates the columns of a grid, box by box, in the region that each point belongs to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np

from archspec.errors import ArchspecError, Problem, SweepError
from archspec.sweeping.boxes import BOX, Array, Box, Grid, boxes
from archspec.sweeping.evaluator import MAX_INT, Evaluator
from archspec.sweeping.subject import Region, Subject
from archspec.symbolic.polynomials import Poly, Real

MAX_REGIONS = 20_000


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

    def __init__(self, subject: Subject, apart: int = 0) -> None:
        """The first ``apart`` axes keep one dimension each."""
        self.subject = subject
        self.grid = Grid(subject.axes, apart)
        self.evaluator = Evaluator(subject.space)
        self.regions: list[Region] = []
        self.refused: Counter[str] = Counter()
        self.filtered = 0
        self.refusal: tuple[ArchspecError, tuple[int, ...]] | None = None  # the first one, with its point

    @property
    def points(self) -> int:
        """Number of points of the grid, with or without a row."""
        return prod(self.grid.shape)

    def batches(self, size: int = BOX) -> Iterator[Batch]:
        """Yield every box of the grid in order. Errors: :class:`SweepError` for too many regions."""
        self.refused.clear()
        self.filtered = 0
        for box in boxes(self.grid, size):
            yield self.batch(box)

    def visit(self, point: tuple[int, ...]) -> Region:
        """Return the region of one point."""
        return next(region for region, _ in self.assigned(self.grid.box(point)))

    def batch(self, box: Box, only: Sequence[int] | None = None) -> Batch:
        """Evaluate the columns in a box, all or those with some numbers."""
        numbers = range(len(self.subject.columns)) if only is None else only
        found = list(self.assigned(box))
        if len(found) == 1 and found[0][1] is True and found[0][0].keep:
            return Batch(box, [self._column(found[0][0].values[number], box) for number in numbers], True)
        valid = np.zeros(box.shape, dtype=bool)
        columns: list[Array | None] = [None for _ in numbers]
        for region, mask in found:
            inner, place, mask = part_of(box, mask)
            count = inner.size if mask is True else int(np.count_nonzero(np.broadcast_to(mask, inner.shape)))
            if region.refusal is not None:
                self.refused[region.refusal.problems[0].message] += count
                self.note_refusal(region)
            elif not region.keep:
                self.filtered += count
            else:
                _put(valid, place, True, mask)
                for index, number in enumerate(numbers):
                    values, column = self._column(region.values[number], inner), columns[index]
                    if column is None:
                        column = np.zeros(box.shape, dtype=values.dtype)
                    elif column.dtype != values.dtype:
                        column, values = column.astype(object), values.astype(object)
                    _put(column, place, values, mask)
                    columns[index] = column
        filled = [np.zeros(box.shape, np.int64) if column is None else column for column in columns]
        return Batch(box, filled, True if valid.all() else valid)

    def fill(self, number: int, dtype: Any = np.int64) -> Array:
        """Return one column over the whole grid, as objects if values have another type than ``dtype``.

        Errors: :class:`SweepError` if a point has no row.
        """
        whole: Array = np.empty(self.grid.shape, dtype=dtype)
        for box in boxes(self.grid):
            batch = self.batch(box, [number])
            if batch.valid is not True:
                message = "some points of the grid have no row"
                raise SweepError(message, help="take the rows, or leave those points out")
            values = batch.columns[0]
            whole = whole if whole.dtype == values.dtype else whole.astype(object)
            whole[box.picks] = values
        return whole

    def _column(self, value: Any, box: Box) -> Array:
        """Return a column in a box: 64-bit integers, Python's if these overflow, floats, or objects."""
        if isinstance(value, Poly):
            out = np.empty(box.shape, dtype=np.int64)
            with np.errstate(all="ignore"):  # a quotient by 0 is computed only outside its region
                found: Any = self.evaluator.poly(value, box, out)
            if isinstance(found, np.ndarray) and found.dtype == object:
                return np.array(np.broadcast_to(found, box.shape))
            if found is not out:
                out[...] = found
            return out
        if isinstance(value, Real):
            with np.errstate(all="ignore"):
                return np.full(box.shape, self.evaluator.real(value, box), dtype=np.float64)
        kinds: dict[type, Any] = {bool: np.bool_, float: np.float64}
        if type(value) is int and abs(value) <= MAX_INT:
            kinds[int] = np.int64
        return np.full(box.shape, value, dtype=kinds.get(type(value), object))

    def note_refusal(self, region: Region) -> None:
        """Keep the first refusal, with its point."""
        if region.refusal is not None:
            self.refusal = self.refusal or (region.refusal, region.point)

    def assigned(self, box: Box) -> Iterator[tuple[Region, Any]]:
        """Yield the regions that have points in a box, each with its mask; together they cover the box."""
        left: Any = True
        for region in self.regions:
            left, mask = self._take(region, box, left)
            if mask is not False:
                yield region, mask
            if left is False:
                return
        while left is not False:
            # the last point: the decisions of a loop also hold for fewer turns
            index = tuple(size - 1 for size in box.shape) if left is True else _last(left, box.shape)
            if len(self.regions) >= MAX_REGIONS:
                raise SweepError(self._crowded())
            region = self.subject.region(box.position(index))
            self.regions.insert(0, region)
            before = left
            left, mask = self._take(region, box, left)
            if mask is False or (mask is before and left is before):
                raise SweepError(f"a bug of archspec: the point {region.point} is not in its own region")
            yield region, mask

    def _take(self, region: Region, box: Box, left: Any) -> tuple[Any, Any]:
        """Return the points left after a region, and those it takes; False: none, True: all."""
        mask: Any = True
        for condition in region.conditions:
            with np.errstate(all="ignore"):
                holds = self.evaluator.holds(condition, box)
            mask = holds if mask is True else mask & holds
            if not np.any(mask):
                return left, False
        hit = mask if left is True else left & mask
        if not np.any(hit):
            return left, False
        rest = False if mask is True else (~mask if left is True else left & ~mask)
        rest = rest if rest is not False and bool(np.any(rest)) else False
        return rest, True if left is True and rest is False else hit

    def _crowded(self) -> Problem:
        """Return the problem of too many regions, with the axes that cause it."""
        axes: Counter[int] = Counter()
        for region in self.regions[:1000]:
            for condition in region.conditions:
                if condition.op == "==" and condition.holds and len(condition.left.axes) == 1:
                    axes[next(iter(condition.left.axes))] += 1
        names = " and ".join(self.subject.axes[axis].name for axis, _ in axes.most_common(2))
        help_ = f"each value of {names} needs its own: sweep fewer of them" if names else ""
        return Problem(f"this grid needs more than {MAX_REGIONS:,} closed forms", help=help_)


def _last(mask: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the last index at which a mask that is broadcast to a shape holds."""
    found = np.argwhere(mask)[-1]
    return tuple(shape[axis] - 1 if mask.shape[axis] == 1 else int(i) for axis, i in enumerate(found))


def part_of(box: Box, mask: Any) -> tuple[Box, Any, Any]:
    """Return the smallest box around a mask, its place in the first box, and the mask within it."""
    if mask is True:
        return box, (slice(None),) * len(box.shape), True
    mask = np.asarray(mask)
    chosen: list[Array | None] = []
    for axis in range(mask.ndim):
        hit = np.flatnonzero(mask.any(axis=tuple(other for other in range(mask.ndim) if other != axis)))
        chosen.append(None if len(hit) == mask.shape[axis] else hit)
    inner = box.part(chosen)
    rows = []
    for axis, (size, wanted) in enumerate(zip(box.shape, chosen, strict=True)):
        rows.append(np.arange(size) if wanted is None else wanted)
        mask = mask if wanted is None else mask.take(wanted, axis)
    place: Any = np.ix_(*rows)
    if all(len(row) == int(row[-1]) - int(row[0]) + 1 for row in rows):
        place = tuple(slice(int(row[0]), int(row[-1]) + 1) for row in rows)
    return inner, place, True if bool(mask.all()) else mask


def _put(target: Array, place: Any, values: Any, mask: Any) -> None:
    if mask is True:
        target[place] = values
        return
    view = target[place]
    np.copyto(view, values, where=np.broadcast_to(mask, view.shape))
    target[place] = view
