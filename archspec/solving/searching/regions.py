"""The regions of a subject's grid, met point by point and evaluated with Python's own numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archspec.errors import ArchspecError, SweepError
from archspec.sweeping.subject import Region, Subject
from archspec.symbolic.decisions import value_at
from archspec.symbolic.polynomials import Poly, Real

Point = tuple[int, ...]  # the position along each axis


class Regions:
    """The regions of a subject, each found where the first of its points is visited."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.found: list[Region] = []
        self.refusal: ArchspecError | None = None

    def visit(self, point: Point) -> Region:
        """The region of a point."""
        known = self._known(point)
        for region in self.found:
            if self._holds(region, known):
                return region
        region = self.subject.region(point)
        if not self._holds(region, known):
            raise SweepError(f"a bug of archspec: the point {point} is not in its own region")
        self.found.insert(0, region)  # its neighbours come next
        self.refusal = self.refusal or region.refusal
        return region

    def sizes(self, point: Point) -> list[int] | None:
        """The columns at a point; None where there is no count, or it is not asked for."""
        region = self.visit(point)
        if not region.keep:
            return None
        space, known = self.subject.space, self._known(point)
        exprs = (Poly, Real)
        return [value_at(space, one, known) if isinstance(one, exprs) else one for one in region.values]

    def codes(self, point: Point) -> list[int]:
        """The numbers that stand for the values of the axes at a point."""
        return [axis.code(position) for axis, position in zip(self.subject.axes, point, strict=True)]

    def _known(self, point: Point) -> Mapping[Any, int]:
        return dict(enumerate(self.codes(point)))

    def _holds(self, region: Region, known: Mapping[Any, int]) -> bool:
        try:
            return all(condition.met(self.subject.space, known) for condition in region.conditions)
        except ArithmeticError:  # a quotient that conditions before it would have kept from being looked at
            return False
