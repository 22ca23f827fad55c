"""Tables, notes and progress for people: fitted to a terminal; what programs read is plain aligned text."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from archspec.errors import printable
from archspec.reports import GAP, Block, Cells, Table, aligned, lines, safe
from archspec.typing_light import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

PATIENCE = 1.0  # seconds before progress is worth a line
_NARROW = 10  # characters that a column of names keeps, however narrow the terminal
_JOINT = r"(?<=[._/,])(?<!\d[.,](?=\d))|(?<=[a-z])(?=[A-Z])"  # where a long name goes on in the next line
_NUMBER = r"\d(?:[\d.,]*\d)?%?"


def show(blocks: Iterable[Block]) -> None:
    """Prints a report."""
    for block in blocks:
        table(*block) if isinstance(block, Table) else say(block)


def table(
    columns: str, rows: Iterable[Cells], title: str = "", caption: str = "", header: bool = True
) -> None:
    """Prints rows under columns; a column that starts with `>` is aligned to the right.

    On a terminal they keep to its width: names go on in the next line, numbers are never broken in two, and
    where not even they fit, each row is a list of its own. Piped, there are no title, caption or rules, and
    `header=False` leaves out the names of the columns.
    """
    names, listed = columns.split("|"), [[printable(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for line in lines(Table(columns, listed, header=header)):
            print(line)
        return
    if title:
        say(f"{title}\n")
    widths = _widths(names, listed, _columns())
    if widths:
        _print_ruled(names, listed, widths)
    else:
        _print_lists([name.lstrip(">") for name in names], listed, _columns())
    if caption:
        say(f"\n{caption}")


def say(text: str, stream: TextIO | None = None) -> None:
    """Prints a sentence; on a terminal, in lines that break between words and never within a number."""
    stream, text = stream or sys.stdout, safe(text)
    if stream.isatty():
        text = "\n".join(line for given in text.split("\n") for line in _folded(given, _columns()))
    print(text, file=stream)


def _columns() -> int:
    """The terminal's width."""
    import shutil

    return max(shutil.get_terminal_size((80, 24)).columns, 2 * _NARROW)


def _print_aligned(names: list[str], rows: list[list[str]], widths: list[int]) -> None:
    for row in rows:
        print(aligned(names, row, widths))


def _print_ruled(names: list[str], rows: list[list[str]], widths: list[int]) -> None:
    """The names of the columns, a rule, and the rows, with cells folded to the widths."""
    bold, plain = ("\x1b[1m", "\x1b[0m") if _styled() else ("", "")
    print(bold, end="")
    _print_aligned(names, _lines([name.lstrip(">") for name in names], widths), widths)
    print(plain + _rule(sum(widths) + GAP * (len(widths) - 1)))
    for row in rows:
        _print_aligned(names, _lines(row, widths), widths)


def _print_lists(names: list[str], rows: list[list[str]], room: int) -> None:
    """Each row as lines of `name  value`, for a terminal too narrow to have them side by side.

    Where not even a number has room beside its name, it stands below it.
    """
    first = max(map(len, names))
    left = room - first - GAP
    beside = left >= max((_least("", row) for row in rows), default=0)
    for row in rows:
        print(_rule(room))
        for name, cell in zip(names, row, strict=True):
            if cell and beside:
                _print_aligned(["", ""], _lines([name, cell], [first, left]), [first, left])
            elif cell:
                print("\n".join([*_folded(name, room), *_folded(" " * GAP + cell, room)]))


def _lines(row: list[str], widths: list[int]) -> list[list[str]]:
    """A row as the lines that its cells take."""
    cells = [_folded(text, width) for text, width in zip(row, widths, strict=True)]
    height = max(map(len, cells))
    return [list(line) for line in zip(*(cell + [""] * (height - len(cell)) for cell in cells), strict=True)]


def _widths(names: list[str], rows: list[list[str]], room: int) -> list[int]:
    """How wide each column is; none where the numbers and the least of the names do not fit side by side."""
    listed = [[name.lstrip(">"), *cells] for name, cells in zip(names, _transposed(names, rows), strict=True)]
    widths = [max(map(len, column)) for column in listed]
    comfortable = [max(_longest_piece(text) for text in column) for column in listed]
    room -= GAP * (len(names) - 1)
    bare = [_least(name, column) for name, column in zip(names, listed, strict=True)]
    for floor in (list(map(max, comfortable, bare)), bare):
        while sum(widths) > room and any(map(int.__gt__, widths, floor)):
            wide = max((i for i, least in enumerate(floor) if widths[i] > least), key=widths.__getitem__)
            widths[wide] -= 1
    return widths if sum(widths) <= room else []


def _transposed(names: list[str], rows: list[list[str]]) -> list[list[str]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in names]


def _least(name: str, column: list[str]) -> int:
    """The least width of a column: all of a cell with a number, the longest number in others."""
    import re

    if name[:1] == ">":
        return max(map(len, column[1:]), default=0) or 1
    numbers = [len(found) for text in column for found in re.findall(_NUMBER, text)]
    return max([min(_NARROW, max(map(len, column))), *numbers, 1])


def _longest_piece(text: str) -> int:
    import re

    return max(len(piece) for word in text.split() for piece in re.split(_JOINT, word)) if text.strip() else 0


def _folded(text: str, width: int) -> list[str]:
    """A text in lines of a width at most, each as deep as the first: broken at blanks, and within long words.

    >>> _folded("encoder.layer.0.attention.self.query.weight", 24)
    ['encoder.layer.0.', 'attention.self.query.', 'weight']
    >>> _folded("  counting it again gives 132,955,194", 30)
    ['  counting it again gives', '  132,955,194']
    """
    if len(text) <= width:
        return [text]
    indent = " " * min(len(text) - len(text.lstrip()), width // 2)
    lines = [indent]
    for word in text.split():
        blank = " " if lines[-1].strip() else ""
        fits = len(indent + word) <= width
        for piece in [word] if fits else _pieces(word, width - len(indent)):
            if len(lines[-1] + blank + piece) <= width:
                lines[-1] += blank + piece
            else:
                lines.append(indent + piece)
            blank = ""
    return lines


def _pieces(word: str, width: int) -> list[str]:
    """The pieces of a word, each no longer than a width: cut where it has joints, else not within a number.

    >>> _pieces("BertForSequenceClassification", 20)
    ['Bert', 'For', 'Sequence', 'Classification']
    """
    import re

    found = []
    for piece in re.split(_JOINT, word):
        while len(piece) > width:
            cut = _cut(piece, width)
            found.append(piece[:cut])
            piece = piece[cut:]
        found.append(piece)
    return found


def _cut(word: str, width: int) -> int:
    """Where a word that is too long is cut: not between two digits, if that can be."""
    cuts = range(width, 0, -1)
    return next((cut for cut in cuts if not (word[cut - 1 : cut + 1].isdecimal() and cut < len(word))), width)


def _rule(width: int) -> str:
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    return ("─" if encoding.startswith("utf") else "-") * width


def _styled() -> bool:
    """Whether the terminal takes more than plain text, and its user wants it (https://no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@contextmanager
def progress(doing: str) -> Iterator[Callable[..., None]]:
    """A bar with the time left on a terminal, for what takes longer than a moment; nothing elsewhere.

    Gives a function that is told how many are done, of how many, and, where that changes, what is done now.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda done, total, doing="": None
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), rich.MofNCompleteColumn())
    times = (rich.TimeElapsedColumn(), rich.TimeRemainingColumn())
    bar = rich.Progress(
        *columns, *times, console=Console(stderr=True, no_color=not _styled()), transient=True
    )
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
