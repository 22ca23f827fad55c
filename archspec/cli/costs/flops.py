"""`archspec flops`: the FLOPs of one call, by module."""

from __future__ import annotations

from archspec.cli.arguments import add_model, load_model, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.cli.costs.lengths import add_lengths
from archspec.terminal import show


def add_arguments(takes: Arguments) -> None:
    add_model(takes)
    add_lengths(takes)


def run(args: Values) -> int:
    found = load_model(args).flops(args.batch, args.tokens, args.past, args.encoder_tokens)
    print_json(found.as_json()) if args.json else show(found.blocks())
    return 0
