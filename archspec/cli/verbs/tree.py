"""`archspec tree`: the modules with their parameters, as print(model) shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from archspec.cli.arguments import add_model, load_model, natural, print_json
from archspec.terminal import number, share, table
from archspec.tree.outline import Item, outline

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--depth", type=natural, metavar="N", help="show N levels of modules only")


def run(args: argparse.Namespace) -> int:
    model = load_model(args)
    root = outline(model.tree, model.tensors())._replace(name="")
    if args.json:
        print_json(_as_json(root, args.depth))
        return 0
    rows = list(_rows(root, root.params, args.depth, 0, 1))
    caption = "params: of all copies of a layer; each: of one of them"
    table("module|>params|>share|>each|", rows, caption=caption)
    return 0


def _rows(item: Item, whole: int, depth: int | None, level: int, copies: int) -> Iterator[tuple[str, ...]]:
    copies *= item.copies
    name = f"({item.name}): " if item.name else ""
    times = f"{item.copies} x " if item.copies > 1 else ""
    own_buffers = item.buffers if not item.children else 0
    marks = [*item.marks, *([f"{number(own_buffers)} in buffers"] if own_buffers else [])]
    each = number(item.params // copies) if copies > 1 else ""
    text = f"{'  ' * level}{name}{times}{item.label}"
    yield text, number(item.params), share(item.params, whole), each, "; ".join(marks)
    if depth is None or level < depth:
        for child in item.children:
            yield from _rows(child, whole, depth, level + 1, copies)


def _as_json(item: Item, depth: int | None, level: int = 0) -> dict[str, Any]:
    found = item._asdict() | {"marks": list(item.marks)}
    found = {"module" if name == "label" else name: value for name, value in found.items()}
    del found["children"]
    if depth is None or level < depth:
        found["children"] = [_as_json(child, depth, level + 1) for child in item.children]
    return found
