"""The lengths of a call on a command line, and what its verbs share."""

from __future__ import annotations

from archspec.cli.command_line import Arguments

USUAL = "(default: 2048, or as many as it has positions for)"
MEMORY_HELP = "positions of the encoder that are attended to, of an architecture that has one"


def add_lengths(takes: Arguments) -> None:
    """`--batch`, `--tokens`, `--past` and `--memory`."""
    takes.value("--batch", "B", "sequences (default: 1)", type=int, default=1)
    takes.value("--tokens", "N", f"positions that the call computes {USUAL}", type=int)
    takes.value("--past", "P", "positions in the cache before the call (default: 0)", type=int, default=0)
    takes.value("--encoder-tokens", "M", MEMORY_HELP, type=int)


def add_weights(takes: Arguments) -> None:
    """`--weights`."""
    from archspec.formats.table import NAMES

    about = f"weight format: {', '.join(NAMES)} (default: the config's)"
    takes.value("--weights", "FORMAT", about)
