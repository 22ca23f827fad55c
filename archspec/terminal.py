"""Tables for people: rich ones on a terminal, plain aligned text where the output is read by a program."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

Cells = Sequence[str]


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
    else:
        shown = [[name.lstrip(">") for name in names]] if header else []
        print_aligned([*shown, *listed], [name.startswith(">") for name in names])


def print_aligned(rows: Sequence[Cells], right: Sequence[bool]) -> None:
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(len(right))]
    for row in rows:
        cells = [cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(row, widths, right, strict=True)]
        print("  ".join(cells).rstrip())


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
