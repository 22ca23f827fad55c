"""Checks of the options of a training step."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from archspec.costs.records import KERNELS
from archspec.costs.training.parallel import Ranks
from archspec.errors import ArchspecError, option
from archspec.typing_light import Any

DTYPES = ("float32", "bfloat16", "float16")  # of trained weights


def check_options(dtype: str, attention: str) -> None:
    """Raise :class:`ArchspecError` for a dtype or an attention kernel that is not supported."""
    if dtype not in DTYPES:
        message = f"training with weights in {dtype} is not supported"
        raise ArchspecError(message, help=f"choose from: {', '.join(DTYPES)}")
    if attention not in KERNELS:
        help_ = f"choose {' or '.join(KERNELS)} (for sdpa, use flash)"
        raise ArchspecError(f"unknown attention kernel {attention!r}", help=help_)


def check_counts(given: Mapping[str, Any]) -> None:
    """Raise :class:`ArchspecError` for lengths and numbers of ranks that are not positive integers."""
    for name, value in given.items():
        if type(value) is not int or value < 1:
            message = f"{option(name)} must be an integer of at least 1, not {value!r}"
            raise ArchspecError(message, help=f"pass {option(name, 1)} or more")


def states_are_whole(optimizer: str, zero: int) -> ArchspecError:
    """Return the error for an optimizer whose states cannot be sharded."""
    help_ = f"choose another {option('optimizer')}"
    help_ += f", or leave out {option('zero')}" if zero else ""
    return ArchspecError(f"the states of {optimizer} cannot be sharded", help=help_)


def check_whole_model(items: Collection[str], ranks: Ranks) -> None:
    """Raise :class:`ArchspecError` for a step with images, videos or audio on parts of a model."""
    if not ranks.hold_whole_model:
        message = f"{' and '.join(items)} with model parallelism are not supported"
        raise ArchspecError(message, help=f"leave out {option('tensor_parallel')} and the other degrees")
