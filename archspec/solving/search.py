"""The points of a grid that come nearest to given sizes.

Where the grid is small enough, every point is looked at. Where it is not, one field is solved for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from archspec.errors import SweepError
from archspec.solving.best import Best, Found
from archspec.solving.first_axis import FirstAxis, Unsolvable
from archspec.solving.goals import Goal
from archspec.sweeping.engine import Engine
from archspec.sweeping.subject import Subject

MAX_POINTS = 200_000_000  # that are looked at one by one
MAX_SOLVED = 50_000_000  # that a field is solved for


class Search:
    """The best points of a subject's grid, whose columns are the goals' quantities."""

    def __init__(self, subject: Subject, goals: Sequence[Goal], most: int, usual: Mapping[str, int]) -> None:
        self.subject, self.goals, self.most, self.usual = subject, goals, most, usual
        self.engine = Engine(subject)

    def run(self) -> list[Found]:
        """The best points, the best first.

        Errors: :class:`SweepError` for a grid that is too large to look at, and has no field to solve for.
        """
        axes = self.subject.axes
        points = prod(len(axis.values) for axis in axes)
        if len(axes) > 1 and points <= MAX_POINTS:
            return self._each()
        reasons = []
        for axis in sorted(axes, key=lambda axis: -len(axis.values)):
            others = points // len(axis.values)
            if others > MAX_SOLVED:
                reasons.append(f"{axis.name} leaves {others:,} combinations of the others")
                continue
            try:
                return self._solved(axis.name)
            except Unsolvable as reason:
                reasons.append(f"{axis.name} {reason}")
        if points <= MAX_POINTS:
            return self._each()
        sizes = " x ".join(f"{axis.name}: {len(axis.values):,}" for axis in axes)
        message = (
            f"the search has {points:,} points ({sizes}), and no field to solve for: {'; '.join(reasons)}"
        )
        help_ = "narrow it: --multiple field=128, --set field=first:last, fewer free fields"
        raise SweepError(message, help=help_)

    def _each(self) -> list[Found]:
        """Looks at every point."""
        best = Best(self.subject.axes, self.goals, self.most, self.usual)
        for batch in self.engine.batches():
            codes = [batch.box.axis(number) for number in range(len(self.subject.axes))]
            best.offer(batch.columns, codes, np.broadcast_to(batch.valid, batch.box.shape))
        return best.found()

    def _solved(self, name: str) -> list[Found]:
        """Solves for one field at every combination of the others."""
        axes = sorted(self.subject.axes, key=lambda axis: axis.name != name)
        best = Best(axes, self.goals, self.most, self.usual)
        solving = FirstAxis(self.subject.over(axes), best)
        self.engine = solving.engine
        solving.solve()
        return best.found()
