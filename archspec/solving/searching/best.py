"""The best of many points: those that miss the goals by least, and of these the most usual in shape."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from archspec.solving.goals import Goal
from archspec.solving.searching.order import Found, Order, placed
from archspec.sweeping.axes import Axis
from archspec.sweeping.boxes import Array

_KEYS = 3  # by which points are ordered: the strain of the shape, the largest miss, the sum of misses
_HELD = 1_000  # points are held, and more of them than are asked for, before the worst ones are let go


class Best:
    """The best of the points that are offered.

    Points come as arrays: a size for each goal, and for each axis the number that stands for its value.
    """

    def __init__(self, axes: Sequence[Axis], goals: Sequence[Goal], order: Order) -> None:
        self.axes, self.goals, self.most, self.shape = axes, goals, order.most, order.shape
        self.by_shape = order.shape_first(goals)
        self.distinct = [number for number, axis in enumerate(axes) if axis.name in order.distinct]
        self.held: list[list[Array]] = []  # the keys of the order, codes, sizes
        self.worst: float = np.inf  # the first key that a point may have

    def offer(self, sizes: Sequence[Array], codes: Sequence[Array], valid: Array) -> Array:
        """Takes what is good enough of some points; gives which points are, had they been valid."""
        for goal, size in zip(self.goals, sizes, strict=True):
            if goal.low is not None:
                valid = valid & (size >= goal.low)
            if goal.high is not None:
                valid = valid & (size <= goal.high)
        good: Array
        if self.by_shape:
            good = np.broadcast_to(self.shape.distance(self._named(codes)) <= self.worst, valid.shape)
        else:
            good = self._misses(sizes)[0] <= self.worst
        chosen = np.flatnonzero(valid & good)
        if len(chosen):
            columns = [np.broadcast_to(one, valid.shape).reshape(-1)[chosen] for one in (*codes, *sizes)]
            self.held.append([*self._keys(columns), *columns])
            if sum(len(columns[0]) for columns in self.held) > max(4 * self.most, _HELD):
                self._prune()
        return good

    def _misses(self, sizes: Sequence[Array]) -> tuple[Any, Any]:
        """The largest relative miss of each point, and their sum."""
        wanted = [(goal.target, size) for goal, size in zip(self.goals, sizes, strict=True)]
        misses = [np.abs(size - one).astype(float) / one for one, size in wanted if one is not None]
        return (reduce(np.maximum, misses), sum(misses)) if misses else (0.0, 0.0)

    def _keys(self, columns: Sequence[Array]) -> list[Array]:
        codes, sizes = columns[: len(self.axes)], columns[len(self.axes) :]
        misses, strain = self._misses(sizes), self.shape.strain(self._named(codes))
        keys = [strain, *misses] if self.by_shape else [*misses, strain]
        return [np.broadcast_to(key, len(columns[0])) for key in keys]

    def _named(self, codes: Sequence[Array]) -> dict[str, Array]:
        return {axis.name: code for axis, code in zip(self.axes, codes, strict=True)}

    def _prune(self) -> None:
        columns = [np.concatenate(parts) for parts in zip(*self.held, strict=True)]
        keys = columns[: _KEYS + len(self.axes)]
        order = np.lexsort(keys[::-1])
        if self.distinct:
            told = np.stack([columns[_KEYS + number][order] for number in self.distinct])
            firsts = np.unique(told, axis=1, return_index=True)[1]
            order = order[np.sort(firsts)]
        order = order[: self.most]
        self.held = [[column[order] for column in columns]]
        if len(order) == self.most:
            self.worst = float(self.held[0][0][-1])

    def found(self) -> list[Found]:
        """The best points, the best first; from here on misses are exact."""
        if not self.held:
            return []
        self._prune()
        ranked = []
        for first, *rest in zip(*(column.tolist() for column in self.held[0]), strict=True):
            row = rest[_KEYS - 1 :]
            strain = first if self.by_shape else rest[_KEYS - 2]
            codes, sizes = row[: len(self.axes)], row[len(self.axes) :]
            ranked.append(placed(self.axes, self.goals, codes, sizes, strain, self.by_shape))
        return [one.found for one in sorted(ranked, key=lambda one: one.place)]
