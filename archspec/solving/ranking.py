"""The ranking of configs: by their distance to the goals, and by their shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from archspec.errors import ArchspecError
from archspec.solving.goals import Goal
from archspec.solving.shape import Shape
from archspec.sweeping.axes import Axis


class Found(NamedTuple):
    """A config of the grid: its fields, its sizes by goal, the largest relative miss, the shape's strain."""

    values: dict[str, Any]
    sizes: tuple[int, ...]
    miss: Fraction
    strain: float


Ranked = tuple[tuple[Any, ...], Found]  # a config with the key by which configs are sorted


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
        """Return True if the strain is the first key."""
        return self.by_shape or all(goal.target is None for goal in self.goals)

    def rank(self, axes: Sequence[Axis], codes: Sequence[int], sizes: Sequence[int], strain: float) -> Ranked:
        """The config that codes stand for, with its exact key."""
        named = zip(axes, codes, strict=True)
        values = {axis.name: code if axis.numeric else axis.values[code] for axis, code in named}
        pairs = zip(self.goals, sizes, strict=True)
        misses = [goal.miss(size) for goal, size in pairs if goal.target is not None]
        found = Found(values, tuple(sizes), max(misses, default=Fraction(0)), strain)
        exact = (found.miss, sum(misses))
        return (strain, *exact, *codes) if self.shape_first else (*exact, strain, *codes), found

    def best(self, ranked: Iterable[Ranked]) -> list[Found]:
        """The first configs of a sorted series that differ in the distinct fields."""
        best = dict[Any, Found]()
        for number, (_, found) in enumerate(ranked):
            best.setdefault(tuple(found.values[name] for name in self.distinct) or number, found)
            if len(best) == self.most:
                break
        return [*best.values()]


class Searched(NamedTuple):
    """The best configs, the best first, and why an invalid config is invalid, if there is one."""

    found: list[Found]
    refusal: ArchspecError | None
