"""The search of a grid: over arrays, or without NumPy one point after another, where the grid is small."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from archspec.extras import missing
from archspec.solving.goals import Goal
from archspec.solving.searching.one_by_one import one_by_one
from archspec.solving.searching.order import Order, Searched
from archspec.sweeping.subject import Subject

MOST_POINTS = 1_000_000  # that are looked at without NumPy: of a shape a few seconds


def search(subject: Subject, goals: Sequence[Goal], order: Order) -> Searched:
    """The best points of a subject's grid, whose columns are the goals' quantities.

    Errors: :class:`SweepError` for a grid that is too large, :class:`MissingPackageError` for one that is
    too large without NumPy.
    """
    try:
        from archspec.solving.searching.over_arrays import over_arrays
    except ModuleNotFoundError as error:
        if prod(len(axis.values) for axis in subject.axes) > MOST_POINTS or missing(error) is None:
            raise missing(error) or error from None
        return one_by_one(subject, goals, order)
    return over_arrays(subject, goals, order)
