"""`archspec list`: what is described."""

from __future__ import annotations

from archspec.cli.arguments import add_json, add_specs, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.models.catalogue import catalogue
from archspec.terminal import show


def add_arguments(takes: Arguments) -> None:
    takes.value("filter", "TEXT", "only names that contain this text", nargs="?", default="")
    add_specs(takes)
    add_json(takes)


def run(args: Values) -> int:
    found = catalogue(args.filter, args.specs)
    print_json(found.as_json()) if args.json else show(found.blocks())
    return 0
