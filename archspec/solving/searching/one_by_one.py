"""The points of a grid that come nearest to given sizes, one point after another: what needs no NumPy.

Where shape decides, points come in the order of their shape, so that few of them need a size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, product
from operator import itemgetter

from archspec.solving.goals import Goal
from archspec.solving.searching.order import Found, Order, Placed, Searched, placed
from archspec.solving.searching.regions import Point, Regions
from archspec.sweeping.subject import Subject


def one_by_one(subject: Subject, goals: Sequence[Goal], order: Order) -> Searched:
    """The best points of a subject's grid, whose columns are the goals' quantities."""
    walk = _Walk(subject, goals, order)
    return Searched(walk.best(), walk.regions.refusal)


class _Walk:
    def __init__(self, subject: Subject, goals: Sequence[Goal], order: Order) -> None:
        self.axes, self.goals, self.order = subject.axes, goals, order
        self.regions, self.by_shape = Regions(subject), order.shape_first(goals)

    def best(self) -> list[Found]:
        """The best points; of those that are alike in their distinct fields the first."""
        found, seen = list[Found](), set[tuple[object, ...]]()
        for one in self._in_order():
            told = tuple(one.values[name] for name in self.order.distinct)
            if self.order.distinct and told in seen:
                continue
            seen.add(told)
            found.append(one)
            if len(found) == self.order.most:
                break
        return found

    def _in_order(self) -> Iterator[Found]:
        strained = self._strained()
        if not self.by_shape:
            yield from self._sorted(strained)
            return
        for _, alike in groupby(sorted(strained, key=itemgetter(0)), key=itemgetter(0)):
            yield from self._sorted(alike)

    def _strained(self) -> Iterator[tuple[float, Point]]:
        """All points, with how far their shape is from the usual one."""
        names = [axis.name for axis in self.axes]
        strain = self.order.shape.strain
        lengths = [range(len(axis.values)) for axis in self.axes]
        codes = [
            [axis.code(position) for position in length]
            for axis, length in zip(self.axes, lengths, strict=True)
        ]
        for point, own in zip(product(*lengths), product(*codes), strict=True):
            yield strain(dict(zip(names, own, strict=True))), point

    def _sorted(self, strained: Iterator[tuple[float, Point]]) -> Iterator[Found]:
        """Those points that keep all bounds, the best first."""
        kept = (self._placed(strain, point) for strain, point in strained)
        for one in sorted((one for one in kept if one is not None), key=lambda one: one.place):
            yield one.found

    def _placed(self, strain: float, point: Point) -> Placed | None:
        """A point with its place; None where it has no size, or one that is out of bounds."""
        sizes = self.regions.sizes(point)
        if sizes is None or not all(map(_within, self.goals, sizes)):
            return None
        return placed(self.axes, self.goals, self.regions.codes(point), sizes, strain, self.by_shape)


def _within(goal: Goal, size: int) -> bool:
    above = goal.low is None or size >= goal.low
    return above and (goal.high is None or size <= goal.high)
