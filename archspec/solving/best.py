"""The best of many points: those that miss the goals by least, and of these the most usual in shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from archspec.solving.goals import Goal
from archspec.sweeping.axes import Axis
from archspec.sweeping.boxes import Array

_HELD = 1_000  # points are held, and more of them than are asked for, before the worst ones are let go


class Found(NamedTuple):
    """A point of the grid: the values of its fields, its sizes by the goals' quantities, and how far off."""

    values: dict[str, Any]
    sizes: tuple[int, ...]
    miss: Fraction


class Best:
    """The best ``most`` of the points that are offered; ``usual`` says what shape is.

    Points come as arrays: a size for each goal, and for each axis the number that stands for its value.
    """

    def __init__(
        self, axes: Sequence[Axis], goals: Sequence[Goal], most: int, usual: Mapping[str, int]
    ) -> None:
        self.axes, self.goals, self.most, self.usual = axes, goals, most, usual
        self.held: list[list[Array]] = []  # miss, sum of misses, distance of shape, codes, sizes
        self.worst: float = np.inf  # the miss that a point may have

    def offer(self, sizes: Sequence[Array], codes: Sequence[Array], valid: Array) -> Array:
        """Takes what is good enough of some points; gives which points are, had they been valid."""
        misses = []
        for goal, size in zip(self.goals, sizes, strict=True):
            if goal.low is not None:
                valid = valid & (size >= goal.low)
            if goal.high is not None:
                valid = valid & (size <= goal.high)
            if goal.target is not None:
                misses.append(np.abs(size - goal.target).astype(float) / goal.target)
        if misses:
            largest, total = reduce(np.maximum, misses), sum(misses)
        else:
            largest = total = np.broadcast_to(self._distance(codes), valid.shape)
        good: Array = largest <= self.worst
        chosen = np.flatnonzero(valid & good)
        if len(chosen):
            arrays = [largest, total, *codes, *sizes]
            picked = [np.broadcast_to(array, valid.shape).reshape(-1)[chosen] for array in arrays]
            shape = np.broadcast_to(self._distance(picked[2 : 2 + len(codes)]), len(chosen))
            self.held.append([*picked[:2], shape, *picked[2:]])
            if sum(len(columns[0]) for columns in self.held) > max(4 * self.most, _HELD):
                self._prune()
        return good

    def _distance(self, codes: Sequence[Array]) -> Any:
        """How far numeric fields are from their usual values, in factors."""
        total: Any = 0.0
        for axis, code in zip(self.axes, codes, strict=True):
            if axis.numeric and len(axis.values) > 1:
                total = total + np.abs(np.log(np.maximum(code, 0.5) / self.usual[axis.name]))
        return total

    def _prune(self) -> None:
        columns = [np.concatenate(parts) for parts in zip(*self.held, strict=True)]
        keys = columns[: 3 + len(self.axes)]
        order = np.lexsort(keys[::-1])[: self.most]
        self.held = [[column[order] for column in columns]]
        if len(order) == self.most:
            self.worst = float(self.held[0][0][-1])

    def found(self) -> list[Found]:
        """The best points, the best first; from here on misses are exact."""
        if not self.held:
            return []
        self._prune()
        ranked = []
        for _, _, shape, *row in zip(*(column.tolist() for column in self.held[0]), strict=True):
            codes, sizes = row[: len(self.axes)], row[len(self.axes) :]
            named = zip(self.axes, codes, strict=True)
            values = {axis.name: code if axis.numeric else axis.values[code] for axis, code in named}
            pairs = zip(self.goals, sizes, strict=True)
            misses = [goal.miss(size) for goal, size in pairs if goal.target is not None]
            found = Found(values, tuple(sizes), max(misses, default=Fraction(0)))
            ranked.append(((found.miss, sum(misses), shape, *codes), found))
        return [found for _, found in sorted(ranked)]
