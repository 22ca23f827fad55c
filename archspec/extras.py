"""Packages that not every installation has: which extra brings each, as an error says it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from archspec.errors import MissingPackageError
from archspec.typing_light import Any

EXTRAS = {
    **dict.fromkeys(("numpy", "pyarrow", "matplotlib"), "sweep"),
    **dict.fromkeys(("torch", "transformers", "z3", "pebble"), "verify"),
    "argcomplete": "completion",
}
_INSTALLED_AS = {"z3": "z3-solver"}
_USERS_OWN = {"pandas", "polars"}  # no extra brings them: whoever asks for their tables has them


def missing_package(error: BaseException) -> MissingPackageError | None:
    """Return the error for a failed import of an optional package, or None for any other error.

    >>> print(missing_package(ModuleNotFoundError(name="pyarrow.parquet")))
    pyarrow is not installed
    help: run pip install "archspec-formulas[sweep]"
    """
    package = (getattr(error, "name", None) or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or package not in {*EXTRAS, *_USERS_OWN}:
        return None
    wanted = f'"archspec-formulas[{EXTRAS[package]}]"' if package in EXTRAS else package
    message = f"{_INSTALLED_AS.get(package, package)} is not installed"
    return MissingPackageError(message, help=f"run pip install {wanted}")


@contextmanager
def optional_import() -> Iterator[None]:
    """Raise :class:`MissingPackageError` for an optional package that is missing within the block."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_package(error) or error from None


def import_optional(module: str) -> Any:
    """Import a module of an optional package. Errors: :class:`MissingPackageError`."""
    with optional_import():
        return import_module(module)
