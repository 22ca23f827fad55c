"""A model's modules as the rows of a table, and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from archspec.reports import Block, Table
from archspec.tables.quantities import QUANTITIES
from archspec.terminal import number, share
from archspec.tree.counts import quantities_of
from archspec.tree.node import Node
from archspec.tree.outline import Item, outline
from archspec.tree.tensors import Tensor
from archspec.tree.ties import tie_notes

_MAX_ROWS = 200
_LEFT = ' style="text-align:left"'
_RIGHT = ' style="text-align:right"'
_HEAD = f"<th{_LEFT}>module</th>" + "".join(
    f"<th{_RIGHT}>{name}</th>" for name in ("params", "share", "each", "")
)


def module_rows(root: Item, depth: int | None = None, times: str = "×") -> Iterator[tuple[int, list[str]]]:
    """The level of each module, with the cells of its row: module, params, share, each copy's, marks."""

    def below(item: Item, level: int, copies: int) -> Iterator[tuple[int, list[str]]]:
        copies *= item.copies
        name = f"({item.name}): " if item.name else ""
        layers = f"{item.copies} {times} " if item.copies > 1 else ""
        each = number(item.params // copies) if copies > 1 else ""
        marks = [*item.marks]
        if item.buffers and not item.children:
            marks.append(f"{number(item.buffers)} in buffers")
        numbers = [number(item.params), share(item.params, root.params), each]
        yield level, [f"{name}{layers}{item.label}", *numbers, "; ".join(marks)]
        for child in item.children if depth is None or level < depth else ():
            yield from below(child, level + 1, copies)

    return below(root, 0, 1)


def model_html(
    architecture: str, model_type: str, root: Node, tensors: list[Tensor], notes: Sequence[str]
) -> str:
    """A table with a row per module, identical layers folded; every text is escaped.

    >>> import archspec
    >>> html = archspec.load("BertModel")._repr_html_()
    >>> "109,482,240" in html, "12 × BertLayer" in html
    (True, True)
    """
    counts = quantities_of(tensors)
    params = counts["params"]
    usual = {"parameters": params, "elements": 0}
    unusual = {name: one for name, one in QUANTITIES.items() if one.fact and counts[name] != usual[one.unit]}
    facts = [f"{number(counts[name])} {quantity.fact}" for name, quantity in unusual.items()]
    lines = [f"<b>{escape(architecture)}</b> ({escape(model_type)}): {number(params)} parameters"]
    lines += [f"<br>{', '.join(facts)}"] if facts else []
    lines.append(modules_html(outline(root, tensors)))
    lines += [f"<p>{escape(note)}</p>" for note in (*tie_notes(tensors, params), *notes)]
    return f"<div>{''.join(lines)}</div>"


def modules_html(root: Item, depth: int | None = None) -> str:
    """The table of :func:`model_html`: the first 200 modules, and how many more there are."""
    rows = [_row(level, cells) for level, cells in module_rows(root, depth)]
    left_out = len(rows) - _MAX_ROWS
    shown = f"<table><thead><tr>{_HEAD}</tr></thead><tbody>{''.join(rows[:_MAX_ROWS])}</tbody></table>"
    return shown + (f"<p>and {left_out} modules more</p>" if left_out > 0 else "")


def _row(level: int, cells: list[str]) -> str:
    name, *numbers = (escape(cell) for cell in cells)
    first = f'<td style="text-align:left;padding-left:{level + 0.5:g}em">{name}</td>'
    return f"<tr>{first}{''.join(f'<td{_RIGHT}>{cell}</td>' for cell in numbers)}</tr>"


def blocks_html(blocks: Iterable[Block]) -> str:
    """A report of tables and lines; every text is escaped.

    >>> blocks_html([Table("a|>b", [("x", "1")], header=False), "note: <y>"])
    '<div><table><tbody><tr><td style="text-align:left">x</td><td style="text-align:right">1</td></tr>\
</tbody></table><p>note: &lt;y&gt;</p></div>'
    """
    shown = (_table(one) if isinstance(one, Table) else _line(one) for one in blocks)
    return f"<div>{''.join(shown)}</div>"


def _line(text: str) -> str:
    """Sentences as paragraphs; lines with indented ones among them, code and carets for one, as they stand.

    >>> _line("one\\ntwo"), _line("a: 1\\n  ^"), _line("\\n")
    ('<p>one</p><p>two</p>', '<pre>a: 1\\n  ^</pre>', '')
    """
    lines = [line for line in text.strip("\n").split("\n") if line.strip()]
    if any(line.startswith(" ") for line in lines[1:]):
        return f"<pre>{escape(text.strip(chr(10)))}</pre>"
    return "".join(f"<p>{escape(line.strip())}</p>" for line in lines)


def _table(table: Table) -> str:
    names = table.columns.split("|")
    sides = [_RIGHT if name.startswith(">") else _LEFT for name in names]

    def row(kind: str, cells: Sequence[str]) -> str:
        shown = (f"<{kind}{side}>{escape(cell)}</{kind}>" for side, cell in zip(sides, cells, strict=True))
        return f"<tr>{''.join(shown)}</tr>"

    head = f"<thead>{row('th', [name.lstrip('>') for name in names])}</thead>" if table.header else ""
    return f"<table>{head}<tbody>{''.join(row('td', cells) for cells in table.rows)}</tbody></table>"
