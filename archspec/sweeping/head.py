"""The first rows of a sweep as a report, and its notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from archspec.configs.overrides import idle_fields, override_notes
from archspec.formats.stated import assumed_note
from archspec.reports import Block, Table
from archspec.sweeping.costs import BYTES
from archspec.sweeping.engine import Engine

_EXAMPLES = 4  # regions that are examined for a note on their FLOPs


class Head(NamedTuple):
    """The first ``rows`` under the ``names`` of their columns; ``more`` and ``remarks`` are notes."""

    names: Sequence[str]
    rows: list[dict[str, Any]]
    more: str
    remarks: Sequence[str]

    def table(self) -> Table:
        """Return the rows as they are printed."""
        rows = [[_cell(value) for value in row.values()] for row in self.rows]
        return Table("|".join(f">{name}" for name in self.names), rows)

    def blocks(self) -> Iterator[Block]:
        """Yield the table and the lines below it."""
        yield self.table()
        yield from filter(None, [self.more, *self.remarks])


def notes_of(engine: Engine) -> Iterator[str]:
    """Yield notes on fields without effect, an assumed dtype, sequence lengths, and excess FLOPs."""
    subject = engine.subject
    fields = [*(axis.name for axis in subject.axes), *subject.ties]
    config = subject.make_config(subject.with_ties(subject.values([0] * len(subject.axes))))
    idle = idle_fields if subject.costs.names else override_notes
    yield from idle(subject.spec, fields, config).values()
    if subject.dtype is None and subject.names & BYTES:
        yield from filter(None, [assumed_note(subject.config)])
    kept = [region for region in engine.regions if region.keep]
    if subject.costs.names and kept:
        yield subject.costs.lengths_note({region.tokens for region in kept})
        points = [region.point for region in kept[:_EXAMPLES]]
        names = [", ".join(f"{name} = {value}" for name, value in subject.values(p).items()) for p in points]
        yield from subject.costs.excess_notes(dict(zip(names, map(subject.model, points), strict=True)))


def _cell(value: Any) -> str:
    if type(value) in (int, Decimal):
        return f"{value:,}"
    return f"{value:.6g}" if type(value) is float else str(value)
