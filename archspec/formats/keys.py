"""The keys of a quantization config: which ones a reader knows, and errors that name the wrong one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from archspec.errors import ArchspecError
from archspec.typing_light import Any

Given = Mapping[str, Any]


class KeyProblem(ArchspecError):
    """A key of a quantization config that is not supported; ``key`` is its path in the config."""

    def __init__(self, key: str, message: str, help: str = "") -> None:
        super().__init__(message, help=help)
        self.key = key


def check_keys(given: Given, known: str, where: str = "") -> None:
    """Errors: :class:`KeyProblem` for a key that is not known, which may change the bytes."""
    names = {*known.split(), "quant_method"}
    for key in given:
        if key not in names:
            message = (
                f"{key} is not a supported key of {given.get('quant_method') or 'a quantization config'}"
            )
            raise KeyProblem(where + key, message, f"supported keys: {', '.join(sorted(names))}")


def refuse_set(given: Given, *keys: str) -> None:
    """Errors: :class:`KeyProblem` for keys that change the bytes in a way that is not supported."""
    for key in keys:
        if given.get(key):
            raise KeyProblem(key, f"{given.get('quant_method')} with {key} is not supported")


def one_of(given: Given, key: str, default: Any, allowed: Iterable[Any], where: str = "") -> Any:
    """The value of a key. Errors: :class:`KeyProblem` for a value that is not allowed."""
    value = given.get(key, default)
    allowed = list(allowed)
    if not any(type(value) is type(one) and value == one for one in allowed):
        listed = ", ".join("null" if one is None else str(one) for one in allowed)
        raise KeyProblem(where + key, f"{key} {value!r} is not supported", f"supported: {listed}")
    return value


def positive(given: Given, key: str, default: int, where: str = "") -> int:
    """A positive int. Errors: :class:`KeyProblem` for anything else."""
    value = given.get(key)
    value = default if value is None else value
    if type(value) is not int or value < 1:
        raise KeyProblem(where + key, f"{key} {value!r} is not a positive integer")
    return value


def pair(given: Given, key: str, where: str = "") -> tuple[int, int]:
    """Two positive ints. Errors: :class:`KeyProblem` for anything else."""
    value = given.get(key)
    sizes = value if isinstance(value, list | tuple) else ()
    if len(sizes) != 2 or not all(type(size) is int and size > 0 for size in sizes):
        raise KeyProblem(where + key, f"{key} is not two positive integers")
    return sizes[0], sizes[1]


def flag(given: Given, key: str, default: bool = False, where: str = "") -> bool:
    """A bool. Errors: :class:`KeyProblem` for anything else."""
    value = given.get(key)
    value = default if value is None else value
    if type(value) is not bool:
        raise KeyProblem(where + key, f"{key} {value!r} is not true or false")
    return value


def listed(given: Given, key: str) -> tuple[str, ...] | None:
    """A list of names, None for none. Errors: :class:`KeyProblem` for anything else."""
    value = given.get(key)
    if value is None:
        return None
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise KeyProblem(key, f"{key} is not a list of module names")
    return tuple(value)
