"""Where sizes reach a bound along the first axis of a grid: there they are polynomials that nowhere fall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from archspec.solving.goals import Goal
from archspec.sweeping.boxes import Array, Box
from archspec.sweeping.evaluator import MAX_INT, Evaluator
from archspec.symbolic.polynomials import Poly

Parts = list[
    tuple[int, Any]
]  # the powers of the first axis, highest first, with their coefficients over a box


class FirstAxis:
    """The first axis of a grid, whose values are a range."""

    def __init__(self, steps: range, goals: Sequence[Goal], evaluator: Evaluator) -> None:
        self.steps, self.goals, self.evaluator = steps, list(goals), evaluator

    def parts(self, size: Any, box: Box) -> Parts:
        """The coefficients of the powers of the first axis, highest first."""
        if not isinstance(size, Poly):
            return [(0, size)]
        wide = self.evaluator.space.magnitude(size) > MAX_INT
        found = []
        for power, coefficient in self.evaluator.split(size, 0):
            values = self.evaluator.poly(coefficient, box)
            found.append((power, np.asarray(values, dtype=object) if wide else values))
        return found

    def size(self, parts: Parts, at: Array) -> Array:
        """A size where the first axis is at some positions, by Horner's scheme."""
        steps = self.steps
        x: Any = at * steps.step + steps.start
        if any(isinstance(values, np.ndarray) and values.dtype == object for _, values in parts):
            x = x.astype(object)
        (power, total), rest = parts[0], parts[1:]
        for next_power, values in [*rest, (0, 0)]:
            for _ in range(power - next_power):
                total = total * x
            total, power = total + values, next_power
        return np.asarray(total + 0 * x)

    def reached(self, part: Parts, bound: int, box: Box) -> Array:
        """The first position where a size is at least `bound`; the axis's length where it never is."""
        if len(part) > 2 or part[0][0] > 1:
            return self.first(lambda at: self.size(part, at) >= bound, box)
        steps = self.steps
        slope, rest = (part[0][1], part[1][1] if len(part) > 1 else 0) if part[0][0] == 1 else (0, part[0][1])
        short = np.asarray(bound - rest - slope * steps.start)  # at the first position
        rise = np.asarray(slope * steps.step)
        found = np.where(
            rise > 0, -(-short // np.where(rise > 0, rise, 1)), np.where(short > 0, len(steps), 0)
        )
        return np.broadcast_to(np.clip(found, 0, len(steps)).astype(np.int64), box.shape)

    def root(self, parts: Sequence[Parts], box: Box) -> Array:
        """Where the largest miss is first one of too much: the best position is there, or a step before."""
        pairs = [
            (part, goal.target)
            for part, goal in zip(parts, self.goals, strict=True)
            if goal.target is not None
        ]
        if len(pairs) == 1:
            return self.reached(*pairs[0], box)

        def over(at: Array) -> Array:
            relative = [(self.size(part, at) - target).astype(float) / target for part, target in pairs]
            return np.asarray(np.minimum.reduce(relative) + np.maximum.reduce(relative) >= 0)

        if len(pairs) > 2 or any(power > 1 for part, _ in pairs for power, _ in part):
            return self.first(over, box)
        steps = self.steps
        zero = np.zeros(box.shape, np.int64)
        start = sum((self.size(part, zero) - target).astype(float) / target for part, target in pairs)
        rise = sum(
            (self.size(part, zero + 1) - self.size(part, zero)).astype(float) / target
            for part, target in pairs
        )
        found = np.where(
            rise > 0,
            np.ceil(-np.asarray(start) / np.where(rise > 0, rise, 1)),
            np.where(np.asarray(start) < 0, len(steps), 0),
        )
        return np.clip(found, 0, len(steps)).astype(np.int64)

    def first(self, holds: Any, box: Box) -> Array:
        """The first position from which a condition holds; the axis's length where it never does."""
        low, high = np.zeros(box.shape, np.int64), np.full(box.shape, len(self.steps))
        while bool(np.any(low < high)):
            middle = (low + high) // 2
            met = np.asarray(holds(np.minimum(middle, len(self.steps) - 1)), dtype=bool) & (
                middle < len(self.steps)
            )
            high = np.where(met & (low < high), middle, high)
            low = np.where(~met & (low < high), middle + 1, low)
        return low
