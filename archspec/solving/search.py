"""The search of a grid for the best configs.

Sizes are closed forms over regions of the grid. For each combination of the other fields, the search goes
along one field. If sizes rise along it, the best values lie around a root, which is found by bisection;
otherwise each point is evaluated. Either way the result is exact.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import inf, prod
from operator import lt
from typing import Any, NamedTuple, NoReturn

from archspec.errors import ArchspecError, SweepError, option
from archspec.solving.budgets import Goal
from archspec.solving.regions import Compiled, Regions
from archspec.solving.shape import Shape
from archspec.sweeping.subject import Subject

MAX_POINTS = 1_000_000  # combinations of fields that are evaluated
_ROUNDING = 1e-9  # of distances, which are floats


class Found(NamedTuple):
    """A config of the grid: its fields, its sizes by goal, the largest relative miss, the shape's strain."""

    values: dict[str, Any]
    sizes: tuple[int, ...]
    miss: Fraction
    strain: float


class Searched(NamedTuple):
    """The best configs, the best first, and why an invalid config is invalid, if there is one."""

    found: list[Found]
    refusal: ArchspecError | None


class Ranking(NamedTuple):
    """The order of configs, and how many are wanted.

    Configs keep the goals' bounds. They are sorted by the largest relative miss, then the sum of misses, then
    the shape's strain, then their values; with ``by_shape``, or without a target, the strain comes first.
    No two results have the same values of the ``distinct`` fields.
    """

    goals: Sequence[Goal]
    most: int
    shape: Shape
    by_shape: bool
    distinct: tuple[str, ...]

    @property
    def shape_first(self) -> bool:
        """True if the strain is the first key."""
        return self.by_shape or all(goal.target is None for goal in self.goals)


def search(subject: Subject, ranking: Ranking) -> Searched:
    """Return the best configs of a subject's grid, whose columns are the goals' quantities.

    Errors: :class:`SweepError` for a grid that is too large.
    """
    return _Search(subject, ranking).run()


class _Search:
    """A search of a grid, along one of its axes for each combination of the others.

    ``point`` has the codes of the point that is looked at. ``held`` are the best points so far with their
    keys, by the values of the distinct fields; a first key above ``worst`` is not one of the best.
    """

    def __init__(self, subject: Subject, ranking: Ranking) -> None:
        self.axes, self.ranking, self.shape = subject.axes, ranking, ranking.shape
        self.goals, self.regions = ranking.goals, Regions(subject)
        self.codes = [axis.values if axis.numeric else range(len(axis.values)) for axis in self.axes]
        self.point = [codes[-1] for codes in self.codes]
        self.held: dict[Any, tuple[tuple[Any, ...], Found]] = {}
        self.worst, self.visited = inf, 0
        self.along, self.ascends = self._axis()
        self.rising = dict[Compiled, bool]()

    def _axis(self) -> tuple[int, bool]:
        """Return the longest axis along which sizes rise, else the longest one, and if it ascends."""
        samples = [[codes[int(share * (len(codes) - 1))] for codes in self.codes] for share in (1, 0, 0.5)]
        regions = [self.regions.find(sample) for sample in samples]
        axes = sorted(range(len(self.axes)), key=lambda number: -len(self.codes[number]))
        rising = [n for n in axes if all(region.is_rising(n, self.goals) for region in regions)]
        listed = {n: () if isinstance(codes, range) else codes for n, codes in enumerate(self.codes)}
        ascending = [n for n in rising if all(map(lt, listed[n], listed[n][1:]))]
        points = prod(map(len, self.codes))
        if points > MAX_POINTS and (not ascending or points // len(self.codes[ascending[0]]) > MAX_POINTS):
            self._refuse(f"the search has too many configs, {points:,}")
        return (ascending or axes)[0], bool(ascending)

    def _refuse(self, message: str) -> NoReturn:
        sizes = " x ".join(f"{axis.name}: {len(axis.values):,}" for axis in self.axes)
        multiple, values = option("multiple", {"FIELD": 128}), option("set", {"FIELD": "FIRST:LAST"})
        help_ = f"narrow it with {multiple}, {values}, or fewer fields in {option('free')}"
        raise SweepError(f"{message} ({sizes})", help=help_)

    def run(self) -> Searched:
        """Search all combinations of the other fields; return the best configs."""
        length = len(self.codes[self.along])
        for codes in self._rows():
            self.point, start = [*codes], 0
            while start < length:
                region, end = self.regions.find(self._move_to(start)), start + 1
                if region not in self.rising:
                    self.rising[region] = self.ascends and region.is_rising(self.along, self.goals)
                if self.rising[region]:
                    end = self._bisect(region.excludes, True, end, length)
                if region.keep:
                    self._offer_interval(region, start, end)
                start = end
                self._count()
        self._prune()
        return Searched([found for _, found in self.held.values()], self.regions.refusal)

    def _count(self) -> None:
        self.visited += 1
        if self.visited > 4 * MAX_POINTS:
            self._refuse(f"the search takes more than {4 * MAX_POINTS:,} steps")

    def _rows(self) -> Iterator[tuple[int, ...]]:
        """Yield the combinations of the other fields, those with the best shape first if it is ranked by."""
        others = product(*(codes[:1] if n == self.along else codes for n, codes in enumerate(self.codes)))
        if not self.ranking.shape_first:
            yield from others
            return
        partial = self.shape.without_field(self.axes[self.along].name)
        for least, codes in sorted((partial.strain(self._by_name(codes)), codes) for codes in others):
            if least > self.worst + _ROUNDING:
                return
            yield codes

    def _by_name(self, codes: Sequence[int]) -> dict[str, int]:
        return {axis.name: code for axis, code in zip(self.axes, codes, strict=True)}

    def _move_to(self, position: int) -> list[int]:
        """Move the point to a position along the axis."""
        self.point[self.along] = self.codes[self.along][position]
        return self.point

    def _bisect(self, rising: Callable[[Sequence[int]], Any], bound: Any, low: int, high: int) -> int:
        """Return the first position in a range at which a rising function reaches a bound, else its end."""
        return bisect_left(range(high), bound, low, high, key=lambda place: rising(self._move_to(place)))

    def _offer_interval(self, region: Compiled, low: int, high: int) -> None:
        """Offer the positions of an interval: outward from the best one, as long as they can be good."""
        targets = list[tuple[int, Callable[[Sequence[int]], int]]]()
        for goal, size in zip(self.goals, region.sizes, strict=True):
            low = low if goal.low is None else self._bisect(size, goal.low, low, high)
            high = high if goal.high is None else self._bisect(size, goal.high + 1, low, high)
            if goal.target is not None:
                targets.append((goal.target, size))
        if low >= high:
            return

        def distance(position: int) -> float:
            codes = self._move_to(position)
            if self.ranking.shape_first:
                return self.shape.distance(self._by_name(codes))
            return max(abs(size(codes) - target) / target for target, size in targets)

        def is_past(position: int) -> bool:
            if self.ranking.shape_first:
                return position + 1 == high or distance(position + 1) >= distance(position)
            codes = self._move_to(position)
            misses = [(size(codes) - target) / target for target, size in targets]
            return min(misses) + max(misses) >= 0

        best = bisect_left(range(high), True, low, high, key=is_past)
        for positions in (range(best - 1, low - 1, -1), range(best, high)):
            for position in positions:
                if distance(position) > self.worst + _ROUNDING:
                    break
                self._offer(region, self._move_to(position))
                self._count()

    def _offer(self, region: Compiled, codes: Sequence[int]) -> None:
        sizes = tuple(size(codes) for size in region.sizes)
        strain = self.shape.strain(self._by_name(codes))
        pairs = [(goal.target, size) for goal, size in zip(self.goals, sizes, strict=True)]
        misses = [Fraction(abs(size - target), target) for target, size in pairs if target is not None]
        miss, total = max(misses, default=Fraction(0)), sum(misses)
        key = (strain, miss, total, *codes) if self.ranking.shape_first else (miss, total, strain, *codes)
        named = zip(self.axes, codes, strict=True)
        values = {axis.name: code if axis.numeric else axis.values[code] for axis, code in named}
        which = tuple(values[name] for name in self.ranking.distinct) or key
        if which not in self.held or key < self.held[which][0]:
            self.held[which] = key, Found(values, sizes, miss, strain)
            if len(self.held) > 2 * self.ranking.most:
                self._prune()

    def _prune(self) -> None:
        best = sorted(self.held.items(), key=lambda item: item[1][0])[: self.ranking.most]
        self.held = dict(best)
        if len(best) == self.ranking.most:
            self.worst = float(best[-1][1][0][0])
