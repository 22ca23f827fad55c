"""A sweep's grid, box by box: which region every point is in, and the columns there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
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
    """A box with its columns; `valid` marks the points that are counted and asked for (True: all)."""

    box: Box
    columns: list[Array]
    valid: Array | bool


class Asked(Protocol):
    """What pictures and queries read of a sweep."""

    subject: Subject
    asked: list[str]
    engine: Engine
    architecture: str

    def batches(self) -> Iterator[Any]: ...


class Engine:
    """Works through the grid of a subject; finds regions as it meets them."""

    def __init__(self, subject: Subject, apart: int = 0) -> None:
        self.subject = subject
        self._grid = Grid(subject.axes, apart)
        self._tuned = apart > 0
        self.evaluator = Evaluator(subject.space)
        self.regions: list[Region] = []
        self.refused: Counter[str] = Counter()
        self.filtered = 0
        self.refusal: tuple[ArchspecError, tuple[int, ...]] | None = None

    def batches(self, size: int = BOX) -> Iterator[Batch]:
        """Every box of the grid in order. Errors: :class:`SweepError` for a grid of too many regions."""
        self.refused.clear()
        self.filtered = 0
        for box in boxes(self.grid, size):
            with np.errstate(all="ignore"):  # a quotient by 0 is computed only where it is not used
                batch = self.batch(box)
            yield batch

    @property
    def grid(self) -> Grid:
        """The grid, with those axes as one dimension together for which the arithmetic is fastest."""
        if not self._tuned:
            self._tuned = True
            region = self.visit(tuple(len(axis.values) - 1 for axis in self.subject.axes))
            if region.keep:
                sizes = [value for value in region.values if isinstance(value, Poly)]
                self._grid = min([self._grid, *self._grid.others()], key=lambda grid: self._cost(grid, sizes))
                self.evaluator = Evaluator(self.subject.space)
        return self._grid

    def _cost(self, grid: Grid, sizes: list[Poly]) -> float:
        """How long a point takes: steps of arithmetic, which are shorter in long loops."""
        evaluator = Evaluator(self.subject.space)
        box = evaluator.box = next(boxes(grid))
        return (
            sum(evaluator.plan(size).cost for size in sizes)
            / box.size
            * (1.0 if grid.shape[-1] < 1024 else 0.6)
        )

    @property
    def points(self) -> int:
        """The number of points of the grid, those without a count included."""
        return prod(len(axis.values) for axis in self.subject.axes)

    def visit(self, point: tuple[int, ...]) -> Region:
        """The region of one point."""
        with np.errstate(all="ignore"):
            return next(region for region, _ in self.assigned(self.grid.box(point)))

    def batch(self, box: Box) -> Batch:
        found = list(self.assigned(box))
        names = list(self.subject.columns)
        if len(found) == 1 and found[0][1] is True and found[0][0].keep:
            return Batch(box, [self.column(value, box) for value in found[0][0].values], True)
        valid = np.zeros(box.shape, dtype=bool)
        columns: list[Array | None] = [None] * len(names)
        for region, mask in found:
            inner, place, mask = part_of(box, mask)
            count = inner.size if mask is True else int(np.count_nonzero(np.broadcast_to(mask, inner.shape)))
            if region.refusal is not None:
                self.refused[region.refusal.problems[0].message] += count
                self.note_refusal(region)
                continue
            if not region.keep:
                self.filtered += count
                continue
            _put(valid, place, True, mask)
            for number, value in enumerate(region.values):
                values = self.column(value, inner)
                held = columns[number]
                if held is None:
                    held = np.zeros(box.shape, dtype=values.dtype)
                elif held.dtype != values.dtype:
                    held = held.astype(object)
                    values = values.astype(object)
                _put(held, place, values, mask)
                columns[number] = held
        whole = bool(valid.all())
        return Batch(
            box,
            [np.zeros(box.shape, np.int64) if held is None else held for held in columns],
            True if whole else valid,
        )

    def fill(self, number: int, dtype: Any = np.int64) -> Array:
        """One column over the whole grid, as objects where values have another type than ``dtype``.

        Errors: :class:`SweepError` where a point has no count.
        """
        whole: Array = np.empty(self.grid.shape, dtype=dtype)
        for box in boxes(self.grid):
            with np.errstate(all="ignore"):
                regions = list(self.assigned(box))
                if len(regions) == 1 and regions[0][0].keep and whole.dtype == np.int64:
                    values = self.column(regions[0][0].values[number], box, whole[box.picks])
                else:
                    batch = self.batch(box)
                    if batch.valid is not True:
                        message = "some points of the grid have no count"
                        raise SweepError(Problem(message, help="take the rows, or leave those points out"))
                    values = batch.columns[number]
            if values.base is not whole:
                whole = whole if whole.dtype == values.dtype else whole.astype(object)
                whole[box.picks] = values
        return whole

    def column(self, value: Any, box: Box, out: Array | None = None) -> Array:
        """A column over a box: 64-bit integers, Python's where they do not fit, floats, or objects."""
        if isinstance(value, Poly):
            out = np.empty(box.shape, dtype=np.int64) if out is None else out
            found: Any = self.evaluator.poly(value, box, out)
            if isinstance(found, np.ndarray) and found.dtype == object:
                wide: Array = np.array(np.broadcast_to(found, box.shape))
                return wide
            if found is not out:
                out[...] = found
            return out
        if isinstance(value, Real):
            real: Array = np.full(box.shape, self.evaluator.real(value, box), dtype=np.float64)
            return real
        kinds: dict[type, Any] = {
            bool: np.bool_,
            float: np.float64,
            int: np.int64 if isinstance(value, int) and abs(value) <= MAX_INT else object,
        }
        return np.full(box.shape, value, dtype=kinds.get(type(value), object))

    def note_refusal(self, region: Region) -> None:
        """Keeps the first refusal of a region, with its point."""
        if region.refusal is not None:
            self.refusal = self.refusal or (region.refusal, region.point)

    def assigned(self, box: Box) -> Iterator[tuple[Region, Any]]:
        """The regions that have points in a box, each with where; between them they cover it."""
        left: Any = True
        for region in self.regions:
            left, mask = self.taken(region, box, left)
            if mask is not False:
                yield region, mask
            if left is False:
                return
        while left is not False:
            # the last point: a trace of a loop holds for fewer turns, too
            index = tuple(size - 1 for size in box.shape) if left is True else _last(left, box.shape)
            if len(self.regions) >= MAX_REGIONS:
                raise SweepError(self.crowded())
            region = self.subject.region(box.position(index))
            self.regions.insert(0, region)
            before = left
            left, mask = self.taken(region, box, left)
            if mask is False or (mask is before and left is before):
                raise SweepError(f"a bug of archspec: the point {region.point} is not in its own region")
            yield region, mask

    def taken(self, region: Region, box: Box, left: Any) -> tuple[Any, Any]:
        """What a region leaves of the points left, and what it takes; False stands for none, True for all."""
        mask: Any = True
        for condition in region.conditions:
            held = self.evaluator.holds(condition, box)
            mask = held if mask is True else mask & held
            if not np.any(mask):
                return left, False
        hit = mask if left is True else left & mask
        if not np.any(hit):
            return left, False
        rest = False if mask is True else (~mask if left is True else left & ~mask)
        rest = rest if rest is not False and bool(np.any(rest)) else False
        return rest, True if left is True and rest is False else hit

    def crowded(self) -> Problem:
        """Which axis a sweep falls apart along."""
        axes: Counter[int] = Counter()
        for region in self.regions[:1000]:
            for condition in region.conditions:
                if condition.op == "==" and condition.holds and len(condition.left.axes) == 1:
                    axes[next(iter(condition.left.axes))] += 1
        names = " and ".join(self.subject.axes[axis].name for axis, _ in axes.most_common(2))
        help_ = f"the count has one for each value of {names}: sweep fewer of them" if names else ""
        return Problem(f"this grid needs more than {MAX_REGIONS:,} closed forms", help=help_)


def _last(mask: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The last index at which a mask holds; the last of all along dimensions that it does not depend on."""
    found = np.argwhere(mask)[-1]
    return tuple(shape[axis] - 1 if mask.shape[axis] == 1 else int(i) for axis, i in enumerate(found))


def part_of(box: Box, mask: Any) -> tuple[Box, Any, Any]:
    """The smallest box around a mask, where it lies within the first, and what is left of the mask there."""
    if mask is True:
        return box, (slice(None),) * len(box.shape), True
    mask = np.asarray(mask)
    chosen: list[Array | None] = []
    for axis in range(mask.ndim):
        others = tuple(other for other in range(mask.ndim) if other != axis)
        hit = np.flatnonzero(mask.any(axis=others))
        chosen.append(None if len(hit) == mask.shape[axis] else hit)
    inner = box.part(chosen)
    for axis, wanted in enumerate(chosen):
        if wanted is not None:
            mask = mask.take(wanted, axis)
    rows = [
        np.arange(size) if wanted is None else wanted for size, wanted in zip(box.shape, chosen, strict=True)
    ]
    place: Any
    if all(len(row) == int(row[-1]) - int(row[0]) + 1 for row in rows):
        place = tuple(slice(int(row[0]), int(row[-1]) + 1) for row in rows)
    else:
        place = np.ix_(*rows)
    return inner, place, True if bool(mask.all()) else mask


def _put(target: Array, place: Any, values: Any, mask: Any) -> None:
    if mask is True:
        target[place] = values
        return
    view = target[place]
    np.copyto(view, values, where=np.broadcast_to(mask, view.shape))
    target[place] = view
