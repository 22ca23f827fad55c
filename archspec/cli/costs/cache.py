"""`archspec cache`: the tensors that a call keeps for the next one, and what of them a budget holds."""

from __future__ import annotations

from archspec.cli.arguments import add_dtype, add_model, load_model, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.cli.costs.lengths import MEMORY_HELP, USUAL, add_weights
from archspec.terminal import show


def add_arguments(takes: Arguments) -> None:
    add_model(takes)
    add_dtype(takes)
    add_weights(takes)
    takes.value("--batch", "B", "sequences (default: 1)", type=int, default=1)
    takes.value("--tokens", "N", f"positions in the cache {USUAL}", type=int)
    takes.value("--encoder-tokens", "M", MEMORY_HELP, type=int)
    takes.value("--budget", "BYTES", "say what this many bytes hold beside the weights: 80GiB")


def run(args: Values) -> int:
    lengths = (args.batch, args.tokens, args.encoder_tokens)
    found = load_model(args).cache(*lengths, args.dtype, args.weights, args.budget)
    print_json(found.as_json()) if args.json else show(found.blocks())
    return 0
