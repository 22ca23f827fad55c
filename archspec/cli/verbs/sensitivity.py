"""`archspec sensitivity`: how a count answers to each field at a config, and which fields do not enter."""

from __future__ import annotations

from archspec.cli.arguments import add_model, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.cli.verbs.formula import add_quantity, chosen_formula
from archspec.terminal import show


def add_arguments(takes: Arguments) -> None:
    add_model(takes, "ARCH|CONFIG")
    add_quantity(takes)


def run(args: Values) -> int:
    from archspec.models.fields import Sensitivities

    found = Sensitivities(chosen_formula(args))
    print_json(found.as_json()) if args.json else show(found.blocks())
    return 0
