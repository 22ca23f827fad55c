"""The points of a grid that come nearest to given sizes.

Where the grid is small enough, every point is looked at. Where it is not, one field is solved for: along it
the sizes are polynomials with coefficients that are nowhere negative, so that the nearest values lie around
one root.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

import numpy as np

from archspec.errors import Problem, SweepError
from archspec.solving.first_axis import FirstAxis
from archspec.solving.goals import Goal
from archspec.sweeping.boxes import Array, Box, boxes
from archspec.sweeping.engine import Engine, part_of
from archspec.sweeping.subject import Region, Subject
from archspec.symbolic.polynomials import Poly

MAX_POINTS = 200_000_000  # that are looked at one by one
MAX_SOLVED = 50_000_000  # that a field is solved for


class Found(NamedTuple):
    """A point of the grid: the values of its fields, and its sizes by the goals' quantities."""

    values: dict[str, int]
    sizes: tuple[int, ...]
    miss: Fraction
    rank: tuple[Any, ...]


class Unsolvable(Exception):
    """A field that cannot be solved for, and why."""


class Search:
    """The best points of a subject's grid, whose columns are the goals' quantities."""

    def __init__(self, subject: Subject, goals: Sequence[Goal], most: int, usual: dict[str, int]) -> None:
        self.subject, self.goals, self.most, self.usual = subject, list(goals), most, usual
        self.pool: list[tuple[Array, ...]] = []  # columns: miss, total miss, distance of shape, codes, sizes
        self.worst: float = np.inf
        self.held = 0
        self.met = 0  # points that keep the bounds
        self.engine = Engine(subject)

    def run(self) -> list[Found]:
        """The best points, the best first.

        Errors: :class:`SweepError` for a grid that is too large to look at, and has no field to solve for.
        """
        axes = self.subject.axes
        points = prod(len(axis.values) for axis in axes)
        reasons: list[str] = []
        if len(axes) == 1 or points > MAX_POINTS:
            for axis in sorted(axes, key=lambda axis: -len(axis.values)):
                if points // len(axis.values) > MAX_SOLVED:
                    reasons.append(f"leaves {points // len(axis.values):,} combinations of the others")
                    continue
                try:
                    self.forget()
                    self.solve(axis.name)
                    return self.best()
                except Unsolvable as reason:
                    reasons.append(f"{axis.name} {reason}")
        if points > MAX_POINTS:
            sizes = " x ".join(f"{axis.name}: {len(axis.values):,}" for axis in axes)
            message = (
                f"the search has {points:,} points ({sizes}), and no field to solve for: {'; '.join(reasons)}"
            )
            raise SweepError(
                Problem(
                    message, help="narrow it: --multiple field=128, --set field=first:last, fewer free fields"
                )
            )
        self.forget()
        for batch in self.engine.batches():
            valid = np.broadcast_to(batch.valid, batch.box.shape)
            codes = [batch.box.axis(number) for number in range(len(axes))]
            self.offer(batch.columns, codes, valid)
        return self.best()

    def forget(self) -> None:
        self.pool, self.worst, self.held, self.met = [], np.inf, 0, 0

    def offer(self, columns: Sequence[Array], codes: Sequence[Array], valid: Array) -> Array:
        """Takes what is good enough of some points; gives which points are, had they been valid."""
        keeps = valid
        for goal, sizes in zip(self.goals, columns, strict=True):
            if goal.low is not None:
                keeps = keeps & (sizes >= goal.low)
            if goal.high is not None:
                keeps = keeps & (sizes <= goal.high)
        miss, total = self.missed(columns, codes)
        good = np.asarray(miss <= self.worst)
        keeps = np.broadcast_to(keeps, good.shape)
        self.met += int(np.count_nonzero(keeps))
        chosen = np.flatnonzero((keeps & good).reshape(-1))
        if not len(chosen):
            return good
        picked = [
            np.broadcast_to(array, good.shape).reshape(-1)[chosen]
            for array in [miss, total, *codes, *columns]
        ]
        shape = self.distance(picked[2 : 2 + len(codes)])
        self.pool.append((picked[0], picked[1], np.broadcast_to(shape, len(chosen)), *picked[2:]))
        self.held += len(chosen)
        if self.held > max(4 * self.most, 1_000):
            self.prune()
        return good

    def missed(self, columns: Sequence[Array], codes: Sequence[Array]) -> tuple[Array, Array]:
        """The largest relative miss of the targets, and the sum of all; else how unusual the shape is."""
        misses = [
            np.abs(sizes - goal.target).astype(float) / goal.target
            for goal, sizes in zip(self.goals, columns, strict=True)
            if goal.target is not None
        ]
        if not misses:
            shape = np.broadcast_to(
                self.distance(codes), np.broadcast_shapes(*(size.shape for size in columns))
            )
            return shape, shape
        largest, total = misses[0], misses[0]
        for miss in misses[1:]:
            largest, total = np.maximum(largest, miss), total + miss
        return largest, total

    def distance(self, codes: Sequence[Array]) -> Any:
        """How far numeric fields are from their usual values, in factors."""
        total: Any = 0.0
        for axis, code in zip(self.subject.axes, codes, strict=True):
            if axis.numeric and len(axis.values) > 1:
                total = total + np.abs(np.log(np.maximum(code, 0.5).astype(float) / self.usual[axis.name]))
        return total

    def prune(self) -> None:
        columns = [np.concatenate(parts) for parts in zip(*self.pool, strict=True)]
        codes = columns[3 : 3 + len(self.subject.axes)]
        order = np.lexsort(
            (*reversed([code.astype(np.int64) for code in codes]), columns[2], columns[1], columns[0])
        )[: self.most]
        self.pool = [tuple(column[order] for column in columns)]
        self.held = len(order)
        if self.held == self.most:
            self.worst = float(self.pool[0][0][-1])

    def best(self) -> list[Found]:
        if not self.pool:
            return []
        self.prune()
        rows = zip(*(column.tolist() for column in self.pool[0]), strict=True)
        found = [self.found(row) for row in rows]
        return sorted(found, key=lambda one: one.rank)

    def found(self, row: tuple[Any, ...]) -> Found:
        axes = self.subject.axes
        pairs_of = zip(axes, row[3:], strict=False)
        values = {axis.name: int(code) if axis.numeric else axis.values[int(code)] for axis, code in pairs_of}
        sizes = tuple(int(size) for size in row[3 + len(axes) :])
        pairs = [
            (size, goal.target)
            for size, goal in zip(sizes, self.goals, strict=True)
            if goal.target is not None
        ]
        misses = [Fraction(abs(size - target), target) for size, target in pairs]
        miss = max(misses, default=Fraction(0))
        return Found(values, sizes, miss, (miss, sum(misses, Fraction(0)), row[2], *row[3 : 3 + len(axes)]))

    def solve(self, name: str) -> None:
        """Solves for one field at every combination of the others."""
        axes = sorted(self.subject.axes, key=lambda axis: axis.name != name)
        if not isinstance(axes[0].values, range):
            raise Unsolvable("is no range")
        self.subject = self.subject.over(axes)
        self.engine = engine = Engine(self.subject, apart=1)
        for last in (True, False):
            point = tuple(len(axis.values) - 1 if last else 0 for axis in axes)
            self.check(engine.visit(point))
        with np.errstate(all="ignore"):
            for box in boxes(engine.grid, shape=(1, *engine.grid.shape[1:])):
                for region, mask in engine.assigned(box):
                    self.check(region)
                    if region.keep:
                        inner, _, mask = part_of(box, mask)
                        self.nearest(region, inner, np.broadcast_to(mask, inner.shape))

    def check(self, region: Region) -> None:
        """Whether conditions leave the first axis alone, and sizes grow along it as polynomials."""
        sides = [
            side
            for condition in region.conditions
            for side in (condition.left, condition.right)
            if side is not None
        ]
        if any(0 in side.axes for side in sides):
            raise Unsolvable("decides on what is built, or on whether transformers takes it")
        atoms = self.subject.space.atoms
        for size in region.values:
            for monomial, coefficient in size.terms if isinstance(size, Poly) else ():
                along = [number for number, _ in monomial if 0 in atoms[number].axes]
                if along not in ([], [0]):
                    raise Unsolvable("enters by a quotient or a remainder")
                if along and (coefficient < 0 or any(atoms[number].low < 0 for number, _ in monomial)):
                    raise Unsolvable("does not only make it larger")

    def nearest(self, region: Region, box: Box, mask: Array) -> None:
        """Offers, at each point of a box, the values of the first axis that come nearest the goals."""
        steps = self.subject.axes[0].values
        assert isinstance(steps, range)
        first = FirstAxis(steps, self.goals, self.engine.evaluator)
        parts = [first.parts(size, box) for size in region.values]
        codes = [box.axis(number) for number in range(1, len(self.subject.axes))]
        low, high = np.zeros(box.shape, np.int64), np.full(box.shape, len(steps) - 1)
        for goal, part in zip(self.goals, parts, strict=True):
            if goal.high is not None:
                high = np.minimum(high, first.reached(part, goal.high + 1, box) - 1)
            if goal.low is not None:
                low = np.maximum(low, first.reached(part, goal.low, box))
        possible = mask & (low <= high)
        if any(goal.target is not None for goal in self.goals):
            root = first.root(parts, box)
        else:  # every size that keeps the bounds is as good: the usual shape decides
            root = np.full(box.shape, (self.usual[self.subject.axes[0].name] - steps.start) // steps.step)
        start = np.clip(root, low, np.maximum(low, high))
        for step in (-1, 1):
            at = start - 1 if step < 0 else start
            open_ = possible
            while True:
                inside = open_ & (at >= low) & (at <= high)
                if not inside.any():
                    break
                sizes = [first.size(part, at) for part in parts]
                good = self.offer(sizes, [steps.start + at * steps.step, *codes], inside)
                open_ = inside & good
                at = at + step
                if abs(int((at - start).flat[0])) > self.most:
                    break
