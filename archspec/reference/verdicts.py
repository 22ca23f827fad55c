"""What it means that transformers raises: it refuses the config, or nothing can be had here."""

from __future__ import annotations

from types import TracebackType

_NO_MEMORY = ("out of memory", "can't allocate memory", "cannot allocate memory")
_NO_META = ("meta tensor", "meta device", "on meta", "Meta device")


class Refused(Exception):
    """transformers does not build this class from this config.

    ``owners`` are the classes whose constructors were under way, the innermost first.
    """

    def __init__(self, message: str, owners: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.owners = owners


class Unavailable(Exception):
    """No verdict can be had here: a package, a file or memory is missing. This is no refusal."""


def verdict(error: Exception) -> Refused | Unavailable:
    """Whether an exception is about the config, or about this machine."""
    import torch

    text = told(error)
    if isinstance(error, ImportError | MemoryError | OSError | torch.OutOfMemoryError):
        return Unavailable(text)
    if isinstance(error, RuntimeError) and any(mark in text for mark in (*_NO_MEMORY, *_NO_META)):
        return Unavailable(text)
    return Refused(text, _owners(error.__traceback__))


def told(error: Exception) -> str:
    """An exception in one line."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines)[:400]}"


def _owners(trace: TracebackType | None) -> tuple[str, ...]:
    """The classes of modules whose constructors are on the way to an exception, the innermost first.

    Of each the class that is made and the one that its constructor is written in: a subclass may have none of
    its own.
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
