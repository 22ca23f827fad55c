"""A model's modules as rows of a table, and reports as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from archspec.reports import Block, Table
from archspec.tables.quantities import QUANTITIES
from archspec.terminal import number, share
from archspec.tree.node import Node
from archspec.tree.outline import Item, outline
from archspec.tree.tensors import Tensor, quantities_of, tie_notes

_MAX_ROWS = 200
_INDENT = "\N{NO-BREAK SPACE}" * 4


def module_rows(
    item: Item, depth: int | None = None, times: str = "×", level: int = 0, copies: int = 1, total: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Yield the level and the cells of each module: module, params, share, params of one copy, marks."""
    copies, total = copies * item.copies, total or item.params
    name = f"({item.name}): " if item.name else ""
    layers = f"{item.copies} {times} " if item.copies > 1 else ""
    each = number(item.params // copies) if copies > 1 else ""
    buffers = [f"{number(item.buffers)} in buffers"] if item.buffers and not item.children else []
    numbers = [number(item.params), share(item.params, total), each]
    yield level, [f"{name}{layers}{item.label}", *numbers, "; ".join([*item.marks, *buffers])]
    for child in item.children if depth is None or level < depth else ():
        yield from module_rows(child, depth, times, level + 1, copies, total)


def model_html(
    architecture: str, model_type: str, root: Node, tensors: list[Tensor], notes: Sequence[str]
) -> str:
    """Return a model as HTML: its counts, its modules with identical layers folded, its notes."""
    counts = quantities_of(tensors)
    params = counts["params"]
    usual = {"parameters": params, "elements": 0}
    facts = [
        f"{number(counts[name])} {one.fact}"
        for name, one in QUANTITIES.items()
        if one.fact and counts[name] != usual[one.unit]
    ]
    head = [f"{architecture} ({model_type}): {number(params)} parameters", ", ".join(facts)]
    modules = module_blocks(outline(root, tensors))
    return blocks_html([*head, *modules, *tie_notes(tensors, params), *notes])


def module_blocks(root: Item, depth: int | None = None) -> list[Block]:
    """Return a table of the first 200 modules, and the number of the remaining ones."""
    rows = [(_INDENT * level + name, *cells) for level, (name, *cells) in module_rows(root, depth)]
    more = [f"and {len(rows) - _MAX_ROWS} more modules"] if len(rows) > _MAX_ROWS else []
    return [Table("module|>params|>share|>per copy|>", rows[:_MAX_ROWS]), *more]


def blocks_html(blocks: Iterable[Block]) -> str:
    """Return a report of tables and lines as HTML; every text is escaped.

    >>> blocks_html([Table("a|>b", [("x", "1")], header=False), "note: <y>", "a: 1\\n  ^"])
    '<div><table><tbody><tr><td style="text-align:left">x</td><td style="text-align:right">1</td></tr>\
</tbody></table><p>note: &lt;y&gt;</p><pre>a: 1\\n  ^</pre></div>'
    """
    return f"<div>{''.join(_table(one) if isinstance(one, Table) else _lines(one) for one in blocks)}</div>"


def _lines(text: str) -> str:
    """Return lines as paragraphs; if some are indented, as preformatted text."""
    lines = [line for line in text.strip("\n").split("\n") if line.strip()]
    if any(line.startswith(" ") for line in lines[1:]):
        return f"<pre>{escape(text.strip(chr(10)))}</pre>"
    return "".join(f"<p>{escape(line.strip())}</p>" for line in lines)


def _table(table: Table) -> str:
    names = table.columns.split("|")
    sides = ["right" if name.startswith(">") else "left" for name in names]

    def row(kind: str, cells: Sequence[str]) -> str:
        styled = zip(sides, cells, strict=True)
        shown = (f'<{kind} style="text-align:{side}">{escape(cell)}</{kind}>' for side, cell in styled)
        return f"<tr>{''.join(shown)}</tr>"

    head = f"<thead>{row('th', [name.lstrip('>') for name in names])}</thead>" if table.header else ""
    return f"<table>{head}<tbody>{''.join(row('td', cells) for cells in table.rows)}</tbody></table>"
