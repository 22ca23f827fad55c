"""The lengths of a call on a command line, and what its verbs share."""

from __future__ import annotations

from archspec.cli.command_line import Arguments
from archspec.errors import ArchspecError

MEMORY_HELP = "positions of the encoder that are attended to, of an architecture that has one"


def add_lengths(takes: Arguments) -> None:
    """`--batch`, `--tokens`, `--past` and `--memory`."""
    takes.value("--batch", "B", "sequences (default: 1)", type=int, default=1)
    takes.value("--tokens", "N", "positions that the call computes (default: 2048)", type=int, default=2048)
    takes.value("--past", "P", "positions in the cache before the call (default: 0)", type=int, default=0)
    takes.value("--memory", "M", MEMORY_HELP, type=int)


def add_weights(takes: Arguments) -> None:
    """`--weights`."""
    about = "how weights are stored: int8, int4, nf4, fp4, mxfp4, or a dtype (default: as the config says)"
    takes.value("--weights", "FORMAT", about)


def natural_size(text: str) -> int:
    """Bytes as people write them. Errors: :class:`ArchspecError`.

    >>> natural_size("80GiB")
    85899345920
    """
    from archspec.solving.goals import size_of

    try:
        return size_of(text, "bytes")
    except ArchspecError:
        raise ArchspecError(f"{text} is no number of bytes", help="write 80GiB or 24e9") from None
