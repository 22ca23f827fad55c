"""Which of two points comes first, and what is known of one that was found."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from archspec.errors import ArchspecError
from archspec.solving.goals import Goal
from archspec.solving.proportions import Shape
from archspec.sweeping.axes import Axis


class Found(NamedTuple):
    """A point of the grid: the values of its fields, its sizes by the goals' quantities, how far off they
    are, and how far its shape is from the usual one.
    """

    values: dict[str, Any]
    sizes: tuple[int, ...]
    miss: Fraction
    strain: float


class Order(NamedTuple):
    """Which points come first, and how many are wanted: those that miss the goals by least.

    ``by_shape``: those whose shape strains least, whatever they miss the goals by within their bounds.
    ``distinct`` are fields of which no two points have the same values: of these the best one stays.
    """

    most: int
    shape: Shape
    by_shape: bool = False
    distinct: tuple[str, ...] = ()

    def shape_first(self, goals: Sequence[Goal]) -> bool:
        """Whether points come by their shape: also where no goal has a size to come near."""
        return self.by_shape or all(goal.target is None for goal in goals)


class Placed(NamedTuple):
    """A point and its place among others: the one whose place is least comes first."""

    place: tuple[Any, ...]
    found: Found


def placed(
    axes: Sequence[Axis],
    goals: Sequence[Goal],
    codes: Sequence[int],
    sizes: Sequence[int],
    strain: float,
    by_shape: bool,
) -> Placed:
    """The point that codes stand for, with its place; misses are exact."""
    named = zip(axes, codes, strict=True)
    values = {axis.name: code if axis.numeric else axis.values[code] for axis, code in named}
    pairs = zip(goals, sizes, strict=True)
    misses = [goal.miss(size) for goal, size in pairs if goal.target is not None]
    found = Found(values, tuple(sizes), max(misses, default=Fraction(0)), strain)
    exact = (found.miss, sum(misses))
    return Placed((strain, *exact, *codes) if by_shape else (*exact, strain, *codes), found)


class Searched(NamedTuple):
    """The best points, the best first, and why transformers refuses a point, if it does."""

    found: list[Found]
    refusal: ArchspecError | None
