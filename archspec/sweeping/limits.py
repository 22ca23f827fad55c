"""What a sweep takes of time, disk and memory, measured on a sample of it before it starts.

What is past a minute, or past the disk or the memory that is free, is refused unless it is asked for.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Any, NamedTuple

from archspec.errors import SweepError
from archspec.sweeping.boxes import scattered_box
from archspec.sweeping.files import bytes_of
from archspec.sweeping.table import Table
from archspec.terminal import size

MINUTE = 60.0  # seconds
SOON = 1 << 22  # points that every format writes within a minute
_SAMPLE = 1 << 18  # points, from the whole grid, that are counted and written for an estimate
_MOMENT, _TURNS = 1.0, 4  # seconds and boxes after which a rate says something: the first finds closed forms
_HELP = "--yes (yes=True) goes ahead; larger steps make fewer points"


class Estimate(NamedTuple):
    """What all points of a sweep take."""

    points: int
    seconds: float
    bytes: int


def estimate(table: Table, sink: Callable[[Any], int]) -> Estimate:
    """Estimate what it takes to put all rows into a sink, from a sample of points from the whole grid.

    ``sink`` takes a record batch and returns the number of its bytes.
    """
    engine = table.engine
    box = scattered_box(engine.grid, _SAMPLE)
    first = table.record(engine.batch(box))  # finds the closed forms, which takes long but is done once
    if first is not None:
        sink(first.slice(0, 1))  # imports what it needs
    start = time.perf_counter()
    record = table.record(engine.batch(box))
    written = 0 if record is None else sink(record)
    seconds = time.perf_counter() - start
    points = engine.points
    return Estimate(points, points * seconds / box.size, points * written // box.size)


def check(expected: Estimate, what: str, free: int | None) -> None:
    """Errors: :class:`SweepError` for what takes more than a minute, or more bytes than are free of a thing.

    >>> check(Estimate(10**10, 1500.0, 2**40), "rows.csv", 2**37)
    Traceback (most recent call last):
    archspec.errors.SweepError: 10,000,000,000 points: rows.csv takes about 1.0 TiB, where 128.0 GiB are \
free, and about 25 minutes
    help: --yes (yes=True) goes ahead; larger steps make fewer points
    """
    reasons = []
    if free is not None and expected.bytes > free:
        reasons.append(f"about {size(expected.bytes)}, where {size(free)} are free")
    if expected.seconds > MINUTE:
        reasons.append(f"about {duration(expected.seconds)}")
    if reasons:
        raise SweepError(f"{expected.points:,} points: {what} takes {', and '.join(reasons)}", help=_HELP)


def check_writing(table: Table, ending: str, target: str | int, what: str) -> None:
    """Holds a sweep that is to be written to a path or a descriptor to a minute and the disk.

    Errors: those of :func:`check`.
    """
    if table.engine.points > SOON:
        swept = [axis.name for axis in table.axes]
        sink = partial(bytes_of, schema=table.schema, swept=swept, ending=ending)
        check(estimate(table, sink), what, free_disk(target))


def check_memory(table: Table) -> None:
    """Holds a sweep whose rows are to be held in memory to a minute and to what is free. Errors: as above."""
    if table.engine.points > SOON:
        check(estimate(table, lambda record: record.nbytes), "a table in memory", free_memory())


def patient(batches: Iterator[tuple[Any, int]], points: int, help_: str = _HELP) -> Iterator[tuple[Any, int]]:
    """Record batches, each with how many points were looked at by then, while at most a minute is to come.

    Errors: :class:`SweepError` where the rest of the points takes longer, at the best rate until now.
    """
    begin = last = time.monotonic()
    rows = before = 0
    pace = inf
    for turn, (record, looked) in enumerate(batches, 1):
        yield record, looked
        rows += 0 if record is None else record.num_rows
        now = time.monotonic()
        pace = min(pace, (now - last) / (looked - before))
        last, before = now, looked
        left = pace * (points - looked)
        if turn >= _TURNS and now - begin > _MOMENT and left > MINUTE:
            seen = f"{rows:,} rows are among the first {looked:,} of {points:,} points"
            raise SweepError(f"{seen}, and to look at the others takes about {duration(left)}", help=help_)


def free_disk(target: str | int) -> int | None:
    """The bytes that are free where a file is, or is to be: a path, or a descriptor; None for a pipe."""
    if isinstance(target, str):
        target = os.path.dirname(os.path.abspath(target))
    elif not os.path.isfile(f"/proc/self/fd/{target}"):
        return None
    try:
        return shutil.disk_usage(target).free
    except OSError:
        return None  # a folder that is not there is for the writer to say


def free_memory() -> int | None:
    """The bytes of memory that are free for programs, where the system tells."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            kibibytes = dict(line.split()[:2] for line in file)["MemAvailable:"]
    except (OSError, KeyError):
        return None
    return int(kibibytes) * 1024


def duration(seconds: float) -> str:
    """
    >>> duration(75), duration(1500), duration(10_000), duration(10**6)
    ('75 seconds', '25 minutes', '2.8 hours', '11.6 days')
    """
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"
