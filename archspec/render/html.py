"""A model as HTML for notebooks: its counts, and its modules as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from archspec.quantities import QUANTITIES
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
    rows = list(_rows(outline(root, tensors), params, 0, 1))
    left_out = len(rows) - _MAX_ROWS
    usual = {"parameters": params, "elements": 0}
    unusual = {name: one for name, one in QUANTITIES.items() if one.fact and counts[name] != usual[one.unit]}
    facts = [f"{number(counts[name])} {quantity.fact}" for name, quantity in unusual.items()]
    lines = [f"<b>{escape(architecture)}</b> ({escape(model_type)}): {number(params)} parameters"]
    lines += [f"<br>{', '.join(facts)}"] if facts else []
    lines.append(f"<table><thead><tr>{_HEAD}</tr></thead><tbody>{''.join(rows[:_MAX_ROWS])}</tbody></table>")
    lines += [f"<p>and {left_out} modules more</p>"] if left_out > 0 else []
    lines += [f"<p>{escape(note)}</p>" for note in (*tie_notes(tensors, params), *notes)]
    return f"<div>{''.join(lines)}</div>"


def _rows(item: Item, whole: int, level: int, copies: int) -> Iterator[str]:
    copies *= item.copies
    times = f"{item.copies} × " if item.copies > 1 else ""
    name = f"({item.name}): " if item.name else ""
    each = number(item.params // copies) if copies > 1 else ""
    indent = f' style="text-align:left;padding-left:{level + 0.5:g}em"'
    first = f"<td{indent}>{escape(f'{name}{times}{item.label}')}</td>"
    numbers = (number(item.params), share(item.params, whole), each, "; ".join(item.marks))
    yield f"<tr>{first}{''.join(f'<td{_RIGHT}>{escape(cell)}</td>' for cell in numbers)}</tr>"
    for child in item.children:
        yield from _rows(child, whole, level + 1, copies)
