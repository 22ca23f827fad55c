"""Tables and lines of reports, as values, plain text and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from archspec.errors import to_printable
from archspec.typing_light import NamedTuple

_SHORT = 4  # lists of at most so many values are printed in full
Cells = Sequence[str]
GAP = 2  # blanks between columns
_ESCAPES = str.maketrans({sign: f"\\{sign}" for sign in r"\|*_<`[]~"})  # special characters of Markdown


class Table(NamedTuple):
    """Rows under columns, named by one string: `module|>params`, where `>` aligns to the right."""

    columns: str
    rows: Sequence[Cells]
    title: str = ""  # on a terminal
    caption: str = ""  # on a terminal
    header: bool = True  # if false, only a terminal shows the names


Block = Table | str


def to_text(blocks: Iterable[Block]) -> str:
    """Return a report as text.

    >>> print(to_text([Table("module|>params", [("lm_head", "5")]), "note: tied"]))
    module   params
    lm_head       5
    note: tied
    """
    texts = ("\n".join(lines(one)) if isinstance(one, Table) else escape_controls(one) for one in blocks)
    return "\n".join(texts)


def escape_controls(text: str) -> str:
    """Return a text with escaped control characters; it may have several lines."""
    return text if text.isprintable() else "\n".join(to_printable(line) for line in text.split("\n"))


def markdown(blocks: Iterable[Block]) -> str:
    """Return a report as GitHub's Markdown: tables and paragraphs.

    >>> print(markdown([Table("module|>params", [("h.*.mlp", "5")]), "note: tied"]))
    | module | params |
    | --- | ---: |
    | h.\\*.mlp | 5 |
    <BLANKLINE>
    note: tied
    """
    texts = (
        "\n".join(_in_markdown(one)) if isinstance(one, Table) else _escape_markdown(escape_controls(one))
        for one in blocks
    )
    return "\n\n".join(text for text in texts if text)


def _in_markdown(table: Table) -> Iterator[str]:
    names = table.columns.split("|")
    heads = [name.lstrip(">").strip() if table.header else "" for name in names]
    rule = ["---:" if name.startswith(">") else "---" for name in names]
    for cells in (heads, rule, *([in_cell(cell) for cell in row] for row in table.rows)):
        yield f"| {' | '.join(cells)} |"


def in_cell(text: str) -> str:
    """Return a text for a cell of a Markdown table, which has one line."""
    return _escape_markdown(to_printable(text))


def _escape_markdown(text: str) -> str:
    return text.strip().translate(_ESCAPES)


def lines(table: Table) -> Iterator[str]:
    """Return the lines of a table, with two blanks between columns."""
    names = table.columns.split("|")
    rows = [[to_printable(cell) for cell in row] for row in table.rows]
    shown = [[name.lstrip(">") for name in names], *rows] if table.header else rows
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return (align_row(names, row, widths) for row in shown)


def assignments(values: Mapping[str, object]) -> list[str]:
    """Return names and values as text; items of a list are part of the list.

    >>> assignments({"kinds": ["a", "b"], "kinds[0]": "a", "kinds[1]": "b", "bias": True})
    ["kinds = ['a', 'b']", 'bias = True']
    """
    lists = tuple(f"{name}[" for name, value in values.items() if isinstance(value, list))
    alone = {name: value for name, value in values.items() if not name.startswith(lists)}
    return [f"{n} = {short_list(v) if isinstance(v, list) else repr(v)}" for n, v in alone.items()]


def short_list(values: Sequence[object]) -> str:
    """Return a list on one line; repeated values are written once.

    >>> short_list([1, 2, 3]), short_list(["a", "a", "b"] * 4 + ["a"])
    ('[1, 2, 3]', "('a' × 2, 'b') × 4, 'a'")
    """
    if len(values) <= _SHORT:
        return repr(list(values))
    size = len(values)
    periods = (n for n in range(1, size // 2 + 1) if all(values[i] == values[i + n] for i in range(size - n)))
    period = next(periods, size)
    times, rest = size // period, _list_runs(values[size - size % period :])
    block = _list_runs(values[:period])
    if times > 1:
        block = f"({block}) × {times}" if period > 1 else f"{values[0]!r} × {size}"
    return ", ".join(filter(None, [block, rest]))


def _list_runs(values: Sequence[object]) -> str:
    runs = [(key, len(list(same))) for key, same in groupby(values)]
    return ", ".join(f"{key!r} × {times}" if times > 1 else repr(key) for key, times in runs)


def align_row(names: Sequence[str], row: Cells, widths: Sequence[int]) -> str:
    """Return a row with cells of given widths, aligned to the right if the column's name starts with `>`."""
    cells = zip(names, row, widths, strict=True)
    texts = [text.rjust(width) if name[:1] == ">" else text.ljust(width) for name, text, width in cells]
    return (" " * GAP).join(texts).rstrip()
