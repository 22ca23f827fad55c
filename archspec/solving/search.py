"""The search of a grid for the best configs: over arrays with NumPy, else one point after another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, product
from math import prod
from operator import itemgetter
from typing import Any

from archspec.errors import ArchspecError, SweepError
from archspec.extras import missing
from archspec.solving.goals import Goal
from archspec.solving.ranking import Ranked, Ranking, Searched
from archspec.sweeping.subject import Region, Subject
from archspec.symbolic.decisions import value_at
from archspec.symbolic.polynomials import Poly, Real

MOST_POINTS = 1_000_000  # searched without NumPy, in a few seconds


def search(subject: Subject, ranking: Ranking) -> Searched:
    """The best configs of a subject's grid, whose columns are the goals' quantities.

    Errors: :class:`SweepError` for a grid that is too large, :class:`MissingPackageError` for one that is
    too large without NumPy.
    """
    try:
        from archspec.solving.arrays import search_arrays
    except ModuleNotFoundError as error:
        if prod(len(axis.values) for axis in subject.axes) > MOST_POINTS or missing(error) is None:
            raise missing(error) or error from None
        return _search_points(subject, ranking)
    return search_arrays(subject, ranking)


def _search_points(subject: Subject, ranking: Ranking) -> Searched:
    regions, axes = Regions(subject), subject.axes
    positions = [range(len(axis.values)) for axis in axes]
    codes = [[*map(axis.code, along)] for axis, along in zip(axes, positions, strict=True)]
    points = (
        (ranking.shape.strain({axis.name: code for axis, code in zip(axes, own, strict=True)}), point, own)
        for point, own in zip(product(*positions), product(*codes), strict=True)
    )

    def ranked(group: Iterable[tuple[float, tuple[int, ...], tuple[int, ...]]]) -> list[Ranked]:
        found = []
        for strain, point, own in group:
            sizes = regions.sizes(point, own)
            if sizes is not None and all(map(_within, ranking.goals, sizes)):
                found.append(ranking.rank(axes, own, sizes, strain))
        return sorted(found, key=itemgetter(0))

    if ranking.shape_first:  # in this order few points need a size
        groups = groupby(sorted(points), key=itemgetter(0))
        best = ranking.best(one for _, group in groups for one in ranked(group))
    else:
        best = ranking.best(ranked(points))
    return Searched(best, regions.refusal)


def _within(goal: Goal, size: int) -> bool:
    return (goal.low is None or size >= goal.low) and (goal.high is None or size <= goal.high)


class Regions:
    """The regions of a subject's grid, found point by point and evaluated with Python's numbers."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.found: list[Region] = []
        self.refusal: ArchspecError | None = None

    def region(self, point: tuple[int, ...], codes: Sequence[int] = ()) -> Region:
        """The region of a point, given by its position along each axis."""
        codes = codes or [axis.code(at) for axis, at in zip(self.subject.axes, point, strict=True)]
        known = dict(enumerate(codes))
        for region in self.found:
            if self._holds(region, known):
                return region
        region = self.subject.region(point)
        if not self._holds(region, known):
            raise SweepError(f"a bug of archspec: the point {point} is not in its own region")
        self.found.insert(0, region)  # its neighbors come next
        self.refusal = self.refusal or region.refusal
        return region

    def sizes(self, point: tuple[int, ...], codes: Sequence[int]) -> list[int] | None:
        """The columns at a point, None for an invalid config or one that a condition excludes."""
        region, known = self.region(point, codes), dict(enumerate(codes))
        if not region.keep:
            return None
        space, exprs = self.subject.space, (Poly, Real)
        return [value_at(space, one, known) if isinstance(one, exprs) else one for one in region.values]

    def _holds(self, region: Region, known: Mapping[Any, int]) -> bool:
        try:
            return all(condition.met(self.subject.space, known) for condition in region.conditions)
        except ArithmeticError:  # a quotient that an earlier condition guards
            return False
