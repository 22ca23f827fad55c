"""`archspec tree`: the modules with their parameters, as print(model) shows them."""

from __future__ import annotations

from archspec.cli.arguments import add_model, load_model, natural, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.render.html import module_rows
from archspec.terminal import table
from archspec.tree.outline import Item, outline
from archspec.typing_light import Any


def add_arguments(takes: Arguments) -> None:
    add_model(takes)
    takes.value("--depth", "N", "show N levels of modules only", type=natural)


def run(args: Values) -> int:
    model = load_model(args)
    root = outline(model.tree, model.tensors())._replace(name="")
    if args.json:
        print_json(_as_json(root, args.depth))
        return 0
    rows = [("  " * level + name, *cells) for level, (name, *cells) in module_rows(root, args.depth, "x")]
    caption = "params: of all copies of a layer; each: of one of them"
    table("module|>params|>share|>each|", rows, caption=caption)
    return 0


def _as_json(item: Item, depth: int | None, level: int = 0) -> dict[str, Any]:
    found = item._asdict() | {"marks": list(item.marks)}
    found = {"module" if name == "label" else name: value for name, value in found.items()}
    del found["children"]
    if depth is None or level < depth:
        found["children"] = [_as_json(child, depth, level + 1) for child in item.children]
    return found
