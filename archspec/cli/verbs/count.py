"""`archspec count`: the exact counts of one architecture at one config."""

from __future__ import annotations

from archspec.cli.arguments import add_dtype, add_model, loaded, natural, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.terminal import show


def add_arguments(takes: Arguments) -> None:
    add_model(takes)
    add_dtype(takes)
    about_depth = "all modules down to level N (default: those that show where the parameters are)"
    takes.value("--depth", "N", about_depth, type=natural)


def run(args: Values) -> int:
    model = loaded(args.model, args.architecture, args.set, args.specs)
    found = model.counts(args.dtype, args.depth)
    print_json(found.as_json()) if args.json else show(found.blocks())
    return 0
