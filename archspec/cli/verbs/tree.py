"""`archspec tree`: the module tree with its parameters, as print(model) shows it."""

from __future__ import annotations

from archspec.cli.command_line import Values
from archspec.cli.run import load_model, print_idle_fields, print_json
from archspec.terminal import show


def run(args: Values) -> int:
    """Print the tree, as JSON if asked for."""
    model = load_model(args)
    print_idle_fields(model)
    print_json(model.tree.as_json(args.depth)) if args.json else show([model.tree.table(args.depth)])
    return 0
