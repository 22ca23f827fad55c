"""One axis of a grid solved for: along it the sizes are polynomials that nowhere fall.

So at each combination of the other axes' values the nearest sizes lie around one root, and those that keep
their bounds between two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import count
from typing import Any

import numpy as np

from archspec.solving.proportions import Shape, end_of
from archspec.solving.searching.best import Best
from archspec.sweeping.boxes import Array, Box, boxes
from archspec.sweeping.engine import Engine, part_of
from archspec.sweeping.evaluator import MAX_INT
from archspec.sweeping.subject import Region, Subject
from archspec.symbolic.polynomials import Poly

Along = Callable[[Array], Array]  # something at positions along the first axis, in a box of the others


class Unsolvable(Exception):
    """A field that cannot be solved for, and why."""


class FirstAxis:
    """The first axis of a subject, whose columns are the goals' quantities.

    Errors: :class:`Unsolvable` for values that are no range.
    """

    def __init__(self, subject: Subject, best: Best) -> None:
        self.subject, self.best = subject, best
        self.engine = Engine(subject, apart=1)
        values = subject.axes[0].values
        if not isinstance(values, range):
            raise Unsolvable("is no range")
        self.steps = values
        self.turns = best.most + 1
        if best.by_shape and (kind := best.shape.round.get(subject.axes[0].name)):
            self.turns *= kind.full  # a round number may be as many steps away

    def solve(self) -> None:
        """Offers the best points. Errors: :class:`Unsolvable` where sizes are no such polynomials."""
        engine, lengths = self.engine, [len(axis.values) for axis in self.subject.axes]
        self._check(engine.visit(tuple(length - 1 for length in lengths)))
        self._check(engine.visit(tuple(0 for _ in lengths)))
        with np.errstate(all="ignore"):
            for box in boxes(engine.grid, shape=(1, *engine.grid.shape[1:])):
                for region, mask in engine.assigned(box):
                    self._check(region)
                    engine.note_refusal(region)
                    if region.keep:
                        inner, _, mask = part_of(box, mask)
                        self._nearest(region, inner, np.broadcast_to(mask, inner.shape))

    def _check(self, region: Region) -> None:
        """Whether conditions leave the axis alone, and sizes grow along it as polynomials."""
        for condition in region.conditions:
            for side in (condition.left, condition.right):
                if side is not None and 0 in side.axes:
                    raise Unsolvable("decides on what is built, or on whether transformers takes it")
        atoms = self.subject.space.atoms
        for size in region.values:
            for monomial, coefficient in size.terms if isinstance(size, Poly) else ():
                along = [number for number, _ in monomial if 0 in atoms[number].axes]
                if along not in ([], [0]):
                    raise Unsolvable("enters by a quotient or a remainder")
                if along and (coefficient < 0 or any(atoms[number].low < 0 for number, _ in monomial)):
                    raise Unsolvable("does not only make it larger")

    def _nearest(self, region: Region, box: Box, mask: Array) -> None:
        """Offers, at each point of a box, the positions that come nearest the goals."""
        sizes = [self._size(size, box) for size in region.values]
        codes = [box.axis(number) for number in range(1, len(self.subject.axes))]
        low, high = np.zeros(box.shape, np.int64), np.full(box.shape, len(self.steps) - 1)
        for goal, size in zip(self.best.goals, sizes, strict=True):
            if goal.high is not None:
                high = np.minimum(high, self._reached(size, goal.high + 1, box) - 1)
            if goal.low is not None:
                low = np.maximum(low, self._reached(size, goal.low, box))
        possible = mask & (low <= high)
        high = np.maximum(low, high)
        if self.best.by_shape:
            start = self._usual(codes, low, high)
        else:
            start = np.clip(self._root(sizes, box), low, high)
        for down in (True, False):
            open_ = possible
            for turn in range(self.turns):
                at = start - 1 - turn if down else start + turn
                open_ = open_ & (at >= low) & (at <= high)
                if not open_.any():
                    break
                here = self.steps.start + at * self.steps.step
                open_ = open_ & self.best.offer([size(at) for size in sizes], [here, *codes], open_)

    def _usual(self, codes: Sequence[Array], low: Array, high: Array) -> Array:
        """The position whose shape is nearest the usual one: every size within the bounds is as good."""
        first, *others = self.subject.axes
        named = {axis.name: code for axis, code in zip(others, codes, strict=True)}
        ends = [self.steps.start + at * self.steps.step for at in (low, high)]
        return (preferred(self.best.shape, first.name, named, *ends) - self.steps.start) // self.steps.step

    def _size(self, size: Any, box: Box) -> Along:
        """A size along the axis, by Horner's scheme with the coefficients that it has in a box."""
        if not isinstance(size, Poly):
            return lambda at: np.full(at.shape, size)
        evaluator = self.engine.evaluator
        parts = {power: evaluator.poly(part, box) for power, part in evaluator.split(size, 0)}
        coefficients = [parts.get(power, 0) for power in range(max(parts), -1, -1)]
        wide = evaluator.space.magnitude(size) > MAX_INT

        def along(at: Array) -> Array:
            x = self.steps.start + (at.astype(object) if wide else at) * self.steps.step
            first, *rest = coefficients
            return np.asarray(reduce(lambda total, values: total * x + values, rest, first + 0 * x))

        return along

    def _reached(self, size: Along, bound: int, box: Box) -> Array:
        """The first position where a size is at least a bound."""
        return self._first(lambda at: _above(size(at), bound), box)

    def _root(self, sizes: list[Along], box: Box) -> Array:
        """Where the largest miss is first one of too much: the best position is there, or a step before."""
        targets = [(goal.target, size) for goal, size in zip(self.best.goals, sizes, strict=True)]
        wanted = [(target, size) for target, size in targets if target is not None]

        def over(at: Array) -> Array:
            off = [_above(size(at), target) / target for target, size in wanted]
            return np.asarray(reduce(np.minimum, off) + reduce(np.maximum, off))

        return self._first(over, box)

    def _first(self, rising: Along, box: Box) -> Array:
        """The first position where a rising function is not negative; the axis's length where there is none.

        Where the function is a line, a guess is right but for rounding; where not, halving goes on from it.
        """
        low, last = np.zeros(box.shape, np.int64), np.full(box.shape, len(self.steps) - 1)
        high = last + 1
        start = rising(low)
        guess = np.ceil(-start / (rising(last) - start) * last).astype(np.int64)
        for turn in count():
            open_ = low < high
            if not open_.any():
                break
            at = np.clip(guess + turn - 1, low, high - 1) if turn < 3 else (low + high) // 2
            met = rising(at) >= 0
            high = np.where(open_ & met, at, high)
            low = np.where(open_ & ~met, at + 1, low)
        return low


def _above(size: Array, bound: int) -> Array:
    """How much larger sizes are: exact before it is rounded, so that its sign is right."""
    return np.asarray(size - bound).astype(float)


def preferred(shape: Shape, name: str, codes: Mapping[str, Any], low: Array, high: Array) -> Array:
    """The value of one field between two at which the distance is least, the others being given."""
    usual = shape.usual.get(name)
    ends = [low, high] if usual is None else [low, high, np.full(low.shape, usual)]
    for above, below, own in shape.proportions:
        if above == name:
            ends.append(np.rint(own * end_of(below, codes, np)).astype(np.int64))
        elif below == name:
            ends.append(np.rint(end_of(above, codes, np) / own).astype(np.int64))
    tried = np.stack([np.clip(np.broadcast_to(end, low.shape), low, high) for end in ends])
    distances = [np.broadcast_to(shape.distance({**codes, name: one}), low.shape) for one in tried]
    best = np.argmin(np.stack(distances), axis=0)
    return np.asarray(np.take_along_axis(tried, best[None], axis=0)[0])
