"""The meaning of an exception of transformers: it refuses the config, or this machine cannot build it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

_NO_MEMORY = ("out of memory", "can't allocate memory", "cannot allocate memory")
_NO_META = ("meta tensor", "meta device", "on meta", "Meta device")


class Refused(Exception):
    """transformers does not build this class from this config.

    ``owners`` are the classes whose constructors were running, the innermost first.
    """

    def __init__(self, message: str, owners: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.owners = owners


class Unavailable(Exception):
    """This machine cannot decide: a package, a file or memory is missing. The config is not rejected."""


def verdict(error: Exception) -> Refused | Unavailable:
    """Return what an exception means: a refusal of the config, or a limit of this machine."""
    import torch

    text = one_line(error)
    if isinstance(error, ImportError | MemoryError | OSError | torch.OutOfMemoryError):
        return Unavailable(text)
    if isinstance(error, RuntimeError) and any(mark in text for mark in (*_NO_MEMORY, *_NO_META)):
        return Unavailable(text)
    return Refused(text, _owners(error.__traceback__))


def one_line(error: Exception) -> str:
    """Return an exception as one line."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines)[:400]}"


@contextmanager
def measuring_errors() -> Iterator[None]:
    """Raise Unavailable for a call that fails on meta, which says nothing about its costs."""
    try:
        yield
    except Exception as error:
        raise Unavailable(one_line(error)) from None


def _owners(trace: TracebackType | None) -> tuple[str, ...]:
    """Return the classes of modules whose constructors raised an exception, the innermost first.

    A subclass without a constructor is followed by the class that has it.
    """
    import torch

    owners: list[str] = []
    while trace is not None:
        code, own = trace.tb_frame.f_code, trace.tb_frame.f_locals.get("self")
        if code.co_name == "__init__" and isinstance(own, torch.nn.Module):
            for name in (type(own).__name__, code.co_qualname.rpartition(".__init__")[0]):
                if name not in owners[:2]:
                    owners.insert(0, name)
        trace = trace.tb_next
    return tuple(owners)
