"""Tables and progress for people: rich ones on a terminal; what programs read is plain aligned text."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from archspec.typing_light import Any

Cells = Sequence[str]
PATIENCE = 1.0  # seconds before progress is worth a line


def table(
    columns: str, rows: Iterable[Cells], title: str = "", caption: str = "", header: bool = True
) -> None:
    """Prints rows under columns; a column that starts with `>` is aligned to the right.

    Piped, there are no title, caption or boxes, columns are two blanks apart, and `header=False` leaves out
    the names of the columns.
    """
    names = columns.split("|")
    listed = list(rows)
    if sys.stdout.isatty():
        _rich(names, listed, title, caption)
        return
    shown = [[name.lstrip(">") for name in names], *listed] if header else listed
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = zip(names, row, widths, strict=True)
        texts = [text.rjust(width) if name[:1] == ">" else text.ljust(width) for name, text, width in cells]
        print("  ".join(texts).rstrip())


def _rich(names: list[str], rows: list[Cells], title: str, caption: str) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=SIMPLE_HEAD, pad_edge=False, title=title or None, caption=caption or None)
    shown.title_justify = shown.caption_justify = "left"
    for name in names:
        justify: Any = "right" if name.startswith(">") else "left"
        shown.add_column(name.lstrip(">"), justify=justify, overflow="fold")
    for row in rows:
        shown.add_row(*(Text(cell) for cell in row))
    Console(highlight=False).print(shown)


@contextmanager
def progress(doing: str) -> Iterator[Callable[..., None]]:
    """A bar with the time left on a terminal, for what takes longer than a moment; nothing elsewhere.

    Gives a function that is told how many are done, of how many, and, where that changes, what is done now.
    """
    if not sys.stderr.isatty():
        yield lambda done, total, doing="": None
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), rich.MofNCompleteColumn())
    times = (rich.TimeElapsedColumn(), rich.TimeRemainingColumn())
    bar = rich.Progress(*columns, *times, console=Console(stderr=True), transient=True)
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
    """
    >>> number(109482240)
    '109,482,240'
    """
    return f"{value:,}"


def signed(value: int) -> str:
    """
    >>> signed(-590592), signed(1536), signed(0)
    ('-590,592', '+1,536', '0')
    """
    return f"{value:+,}" if value else "0"


def share(part: int, whole: int) -> str:
    """A part in per cent.

    >>> share(23837184, 109482240), share(0, 0)
    ('21.77%', '-')
    """
    return f"{100 * part / whole:.2f}%" if whole else "-"


def size(count: int) -> str:
    """Bytes in the binary unit that fits.

    >>> size(437928960), size(12)
    ('417.6 MiB', '12 B')
    """
    if count < 1024:
        return f"{count} B"
    power = min((count.bit_length() - 1) // 10, 6)
    return f"{count / 1024**power:.1f} {'KMGTPE'[power - 1]}iB"
