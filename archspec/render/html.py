"""A model as HTML for notebooks: its counts, and its modules as a table."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from archspec.terminal import number, share
from archspec.tree.counts import counted
from archspec.tree.outline import Item, outline
from archspec.tree.ties import tie_notes

if TYPE_CHECKING:
    from archspec.models.model import Model

_MAX_ROWS = 200
_LEFT = ' style="text-align:left"'
_RIGHT = ' style="text-align:right"'


def model_html(model: Model) -> str:
    """A table with a row per module, identical layers folded; every text is escaped.

    >>> import archspec
    >>> html = model_html(archspec.load("BertModel"))
    >>> "109,482,240" in html, "12 × BertLayer" in html
    (True, True)
    """
    tensors = model.tensors()
    counts = counted(tensors)
    root = outline(model.tree, tensors)._replace(name="")
    rows = list(_rows(root, counts["params"], 0, 1))
    left_out = len(rows) - _MAX_ROWS
    head = "".join(
        f"<th{_LEFT if not i else _RIGHT}>{name}</th>"
        for i, name in enumerate(("module", "params", "share", "each", ""))
    )
    lines = [
        f"<b>{escape(model.architecture)}</b> ({escape(model.model_type)}): {number(counts['params'])} parameters"
    ]
    kinds = {
        "trainable_params": "trainable",
        "active_params": "active on a token",
        "buffers": "in persistent buffers",
    }
    facts = [
        f"{number(counts[key])} {text}"
        for key, text in kinds.items()
        if counts[key] != (0 if key == "buffers" else counts["params"])
    ]
    lines += [f"<br>{', '.join(facts)}"] if facts else []
    lines.append(f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows[:_MAX_ROWS])}</tbody></table>")
    lines += [f"<p>and {left_out} modules more</p>"] if left_out > 0 else []
    lines += [f"<p>{escape(note)}</p>" for note in (*tie_notes(tensors, counts["params"]), *model.notes)]
    return f"<div>{''.join(lines)}</div>"


def _rows(item: Item, whole: int, level: int, copies: int) -> Iterator[str]:
    copies *= item.copies
    times = f"{item.copies} × " if item.copies > 1 else ""
    name = f"({item.name}): " if item.name else ""
    each = number(item.params // copies) if copies > 1 else ""
    first = f'<td style="text-align:left;padding-left:{level + 0.5:g}em">{escape(f"{name}{times}{item.label}")}</td>'
    numbers = (number(item.params), share(item.params, whole), each, "; ".join(item.marks))
    yield f"<tr>{first}{''.join(f'<td{_RIGHT}>{escape(cell)}</td>' for cell in numbers)}</tr>"
    for child in item.children:
        yield from _rows(child, whole, level + 1, copies)
