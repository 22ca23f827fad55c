"""`archspec tree`: the modules with their parameters, as print(model) shows them."""

from __future__ import annotations

from archspec.cli.arguments import add_model, load_model, natural, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.terminal import show


def add_arguments(takes: Arguments) -> None:
    add_model(takes)
    takes.value("--depth", "N", "show N levels of modules only", type=natural)


def run(args: Values) -> int:
    tree = load_model(args).tree
    print_json(tree.as_json(args.depth)) if args.json else show([tree.table(args.depth)])
    return 0
