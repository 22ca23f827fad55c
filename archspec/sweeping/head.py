"""The first rows of a sweep, for people, and what is to be said of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from archspec.configs.overrides import idle_fields, override_notes
from archspec.formats.stated import assumed_note
from archspec.reports import Block, Table
from archspec.sweeping.costs import BYTES
from archspec.sweeping.engine import Engine

_EXAMPLES = 4  # rows that are looked at for a note on their FLOPs


class Head(NamedTuple):
    """The first ``rows``, as many as were asked for, under the ``names`` of their columns.

    ``remarks`` say what has no row, and why.
    On the way to them ``looked`` of all ``points`` were looked at; ``found`` of these have rows.
    """

    names: Sequence[str]
    rows: list[dict[str, Any]]
    points: int
    looked: int
    found: int
    remarks: Sequence[str]

    @property
    def more(self) -> str:
        """That there are more rows than these; nothing where these are all."""
        if self.looked < self.points:
            return f"the first {len(self.rows):,} rows of a grid of {self.points:,} points"
        left = self.found - len(self.rows)
        return f"{left:,} more rows" if left else ""

    def table(self) -> Table:
        """The rows as they are shown."""
        rows = [[shown(value) for value in row.values()] for row in self.rows]
        return Table("|".join(f">{name}" for name in self.names), rows)

    def blocks(self) -> Iterator[Block]:
        """All of it as a report."""
        yield self.table()
        if self.more:
            yield self.more
        yield from self.remarks


def notes_of(engine: Engine) -> Iterator[str]:
    """The lengths of the calls, fields without effect, an assumed dtype, and FLOPs in excess."""
    subject = engine.subject
    fields = [*(axis.name for axis in subject.axes), *subject.ties]
    config = subject.configured(subject.settled(subject.values([0] * len(subject.axes))))
    idle = idle_fields if subject.costs.names else override_notes
    yield from idle(subject.spec, fields, config).values()
    if subject.dtype is None and subject.names & BYTES:
        yield from filter(None, [assumed_note(subject.config)])
    yield from cost_notes(engine)


def cost_notes(engine: Engine) -> list[str]:
    """The lengths of the calls whose costs are given, and FLOPs in excess of what is expected of one."""
    subject, kept = engine.subject, [region for region in engine.regions if region.keep]
    if not subject.costs.names or not kept:
        return []
    rows = {}
    for region in kept[:_EXAMPLES]:
        values = subject.values(region.point).items()
        rows[", ".join(f"{name} = {value}" for name, value in values)] = subject.model(region.point)
    lengths = subject.costs.lengths_note({region.tokens for region in kept})
    return [lengths, *subject.costs.excess_notes(rows)]


def remarks(points: int, looked: int, filtered: int, refused: Mapping[str, int]) -> Iterator[str]:
    """How many of the points that were looked at have no row, and why.

    >>> list(remarks(100, 50, 3, {"hidden_size: no": 7}))
    ['3 of the first 50 points are left out by --where', \
'7 of the first 50 points are refused; most of them as here: hidden_size: no']
    """
    whole = looked == points
    if filtered:
        yield f"{filtered:,}{'' if whole else f' of the first {looked:,}'} points are left out by --where"
    if total := sum(refused.values()):
        among = f"{points:,}" if whole else f"the first {looked:,}"
        reason = max(refused, key=lambda text: refused[text])
        yield f"{total:,} of {among} points are refused; most of them as here: {reason}"


def plainly(value: Any) -> Any:
    """A value as JSON has it: a decimal is an integer of any length."""
    return int(value) if type(value) is Decimal else value


def shown(value: Any) -> str:
    """
    >>> shown(124439808), shown(0.15508216), shown(None)
    ('124,439,808', '0.155082', 'None')
    """
    if type(value) in (int, Decimal):
        return f"{value:,}"
    return f"{value:.6g}" if type(value) is float else str(value)
