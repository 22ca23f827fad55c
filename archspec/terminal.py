"""Tables, notes and progress, fitted to a terminal; into a pipe they are plain aligned text."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest

from archspec.errors import to_printable
from archspec.reports import GAP, Block, Cells, Table, align_row, escape_controls, lines
from archspec.typing_light import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

PATIENCE = 1.0  # seconds before progress is worth a line
_NARROW = 10  # characters that a column of names keeps on a narrow terminal
_BREAKS = r"(\s+)|(?<=[._/,])(?<!\d[.,](?=\d))|(?<=[a-z])(?=[A-Z])"  # places to break a line
_NUMBER = r"\d(?:[\d.,]*\d)?%?"


def print_report(blocks: Iterable[Block]) -> None:
    """Print a report."""
    for block in blocks:
        table(*block) if isinstance(block, Table) else print_sentence(block)


def table(
    columns: str, rows: Iterable[Cells], title: str = "", caption: str = "", header: bool = True
) -> None:
    """Print rows under columns; a column that starts with `>` is aligned to the right.

    On a terminal names continue on the next line if a row is too wide. A pipe gets no title, caption or
    rule, and with `header=False` no names of columns.
    """
    listed = [[to_printable(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        print(*lines(Table(columns, listed, header=header)), sep="\n")
        return
    if title:
        print_sentence(f"{title}\n")
    names, room = columns.split("|"), _columns()
    heads = [name.lstrip(">") for name in names]
    widths = _widths(names, [heads, *listed], room - GAP * (len(names) - 1))
    bold, normal = ("\x1b[1m", "\x1b[0m") if _is_styled() else ("", "")
    print(bold + "\n".join(_row(names, heads, widths)))
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    rule = "─" if encoding.startswith("utf") else "-"
    print(normal + rule * min(room, sum(widths) + GAP * (len(widths) - 1)))
    for row in listed:
        print("\n".join(_row(names, row, widths)))
    if caption:
        print_sentence(f"\n{caption}")


def print_sentence(text: str, stream: TextIO | None = None) -> None:
    """Print a sentence; on a terminal, in lines that break between words."""
    stream, text = stream or sys.stdout, escape_controls(text)
    if stream.isatty():
        text = "\n".join(line for given in text.split("\n") for line in _fold(given, _columns()))
    print(text, file=stream)


def _columns() -> int:
    import shutil

    return max(shutil.get_terminal_size((80, 24)).columns, 2 * _NARROW)


def _row(names: Sequence[str], row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Return the lines of a row with its cells folded to the widths."""
    lines_of_cells = map(_fold, row, widths)
    return (align_row(names, line, widths) for line in zip_longest(*lines_of_cells, fillvalue=""))


def _widths(names: list[str], rows: list[list[str]], room: int) -> list[int]:
    """Return the widths of the columns: those of names shrink to fit, numbers stay whole."""
    columns = [*zip(*rows, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    least = [_least_width(name, column) for name, column in zip(names, columns, strict=True)]
    while sum(widths) > room and any(map(int.__gt__, widths, least)):
        widest = max((i for i, floor in enumerate(least) if widths[i] > floor), key=widths.__getitem__)
        widths[widest] -= 1
    return widths


def _least_width(name: str, column: Sequence[str]) -> int:
    """Return the least width of a column: that of its numbers, and some characters of its names."""
    if name[:1] == ">":
        return max(map(len, column[1:]), default=1)
    numbers = [len(found) for text in column for found in re.findall(_NUMBER, text)]
    return max([min(_NARROW, max(map(len, column))), *numbers, 1])


def _fold(text: str, width: int) -> list[str]:
    """Return lines of at most a width, indented like the first; they end at blanks and joints of names.

    >>> _fold("encoder.layer.0.attention.self.query.weight", 24)
    ['encoder.layer.0.', 'attention.self.query.', 'weight']
    >>> _fold("  counting it again gives 132,955,194", 30)
    ['  counting it again gives', '  132,955,194']
    """
    if len(text) <= width:
        return [text]
    from textwrap import TextWrapper

    wrapper = TextWrapper(width, subsequent_indent=" " * min(len(text) - len(text.lstrip()), width // 2))
    wrapper.wordsep_re = re.compile(_BREAKS)
    return wrapper.wrap(text)


def _is_styled() -> bool:
    """Return True if the terminal takes more than plain text, and its user wants it (https://no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@contextmanager
def progress(doing: str) -> Iterator[Callable[..., None]]:
    """Show a bar with the remaining time on a terminal after a second; nothing elsewhere.

    Yields a function of the number that is done, of the total, and of a new description.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda done, total, doing="": None
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), rich.MofNCompleteColumn())
    times = (rich.TimeElapsedColumn(), rich.TimeRemainingColumn())
    console = Console(stderr=True, no_color=not _is_styled())
    bar = rich.Progress(*columns, *times, console=console, transient=True)
    task, start = bar.add_task(doing), time.monotonic()

    def show(done: int, total: int, doing: str = doing) -> None:
        bar.update(task, completed=done, total=total or None, description=doing)
        if time.monotonic() - start > PATIENCE:
            bar.start()

    try:
        yield show
    finally:
        if bar.live.is_started:
            bar.stop()


def number(value: int) -> str:
    """Return a number with thousands separators."""
    return f"{value:,}"


def with_sign(value: int) -> str:
    """Return a number with its sign and thousands separators.

    >>> with_sign(-590592), with_sign(1536), with_sign(0)
    ('-590,592', '+1,536', '0')
    """
    return f"{value:+,}" if value else "0"


def share(part: int, whole: int) -> str:
    """Return a part in percent.

    >>> share(23837184, 109482240), share(0, 0)
    ('21.77%', '-')
    """
    return f"{100 * part / whole:.2f}%" if whole else "-"


def size(count: int, is_bound: bool = False) -> str:
    """Return bytes in a binary unit; a lower bound is rounded down.

    >>> size(437928960), size(12), size(2102965760), size(2102965760, is_bound=True)
    ('417.6 MiB', '12 bytes', '2.0 GiB', '1.9 GiB')
    """
    if count < 1024:
        return f"{count} bytes"
    power = min((count.bit_length() - 1) // 10, 6)
    value = 10 * count // 1024**power / 10 if is_bound else count / 1024**power
    return f"{value:.1f} {'KMGTPE'[power - 1]}iB"
