"""The points of a grid that come nearest to given sizes.

Where the grid is small enough, every point is looked at. Where it is not, one field is solved for.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from archspec.errors import SweepError
from archspec.solving.goals import Goal
from archspec.solving.searching.best import Best
from archspec.solving.searching.first_axis import FirstAxis, Unsolvable
from archspec.solving.searching.order import Order, Searched
from archspec.sweeping.engine import Engine
from archspec.sweeping.subject import Subject

MAX_POINTS = 200_000_000  # that are looked at one by one
MAX_SOLVED = 50_000_000  # that a field is solved for


def over_arrays(subject: Subject, goals: Sequence[Goal], order: Order) -> Searched:
    """The best points of a subject's grid, whose columns are the goals' quantities.

    Errors: :class:`SweepError` for a grid that is too large to look at, and has no field to solve for.
    """
    axes = subject.axes
    points = prod(len(axis.values) for axis in axes)
    to_solve_for = sorted(axes, key=lambda axis: -len(axis.values))
    reasons = []
    for axis in to_solve_for if len(axes) == 1 or points > MAX_POINTS else ():
        others = points // len(axis.values)
        if others > MAX_SOLVED:
            reasons.append(f"{axis.name} leaves {others:,} combinations of the others")
            continue
        try:
            return _solved(subject, axis.name, goals, order)
        except Unsolvable as reason:
            reasons.append(f"{axis.name} {reason}")
    if points > MAX_POINTS:
        sizes = " x ".join(f"{axis.name}: {len(axis.values):,}" for axis in axes)
        message = (
            f"the search has {points:,} points ({sizes}), and no field to solve for: {'; '.join(reasons)}"
        )
        help_ = "narrow it: --multiple field=128, --set field=first:last, fewer free fields"
        raise SweepError(message, help=help_)
    best, engine = Best(axes, goals, order), Engine(subject)
    for batch in engine.batches():
        codes = [batch.box.axis(number) for number in range(len(axes))]
        best.offer(batch.columns, codes, np.broadcast_to(batch.valid, batch.box.shape))
    return _searched(best, engine)


def _solved(subject: Subject, name: str, goals: Sequence[Goal], order: Order) -> Searched:
    """Solves for one field at every combination of the others."""
    axes = sorted(subject.axes, key=lambda axis: axis.name != name)
    best = Best(axes, goals, order)
    solving = FirstAxis(subject.over(axes), best)
    solving.solve()
    return _searched(best, solving.engine)


def _searched(best: Best, engine: Engine) -> Searched:
    return Searched(best.found(), engine.refusal[0] if engine.refusal is not None else None)
