"""Checks of the keys of a quantization config; a key or value that may change the bytes is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from archspec.errors import ArchspecError
from archspec.typing_light import Any

Given = Mapping[str, Any]
Check = Callable[[Given, str, str], Any]  # of the keys, the name of one, and the path of the mapping


class KeyProblem(ArchspecError):
    """An unsupported key of a quantization config; ``key`` is its path in the config."""

    def __init__(self, key: str, message: str, help: str = "") -> None:
        super().__init__(message, help=help)
        self.key = key


def read(given: Given, checks: Mapping[str, Check], unused: str = "", where: str = "") -> dict[str, Any]:
    """Return the checked value of each key of ``checks``; keys of ``unused`` do not change the bytes.

    An ``unused`` of `*` leaves all other keys to the caller.

    Errors: :class:`KeyProblem` for an unknown key, and for an unsupported value.
    """
    names = {*checks, *unused.split(), "quant_method"}
    for key in given:
        if key not in names and unused != "*":
            what = given.get("quant_method") or "a quantization config"
            help_ = f"supported keys: {', '.join(sorted(names))}"
            raise KeyProblem(where + key, f"{key} is not a supported key of {what}", help_)
    return {key: check(given, key, where) for key, check in checks.items()}


def choice(
    *allowed: Any, default: Any = None, empty: bool = False, fold: Callable[[str], str] | None = None
) -> Check:
    """A value from a list. With ``empty``, null and "" stand for the default; ``fold`` normalizes a text."""

    def check(given: Given, key: str, where: str) -> Any:
        value = given.get(key, default)
        value = default if empty and not value else value
        value = fold(str(value)) if fold is not None else value
        if not any(type(value) is type(one) and value == one for one in allowed):
            names = ", ".join("null" if one is None else str(one) for one in allowed)
            raise KeyProblem(where + key, f"{key} {value!r} is not supported", f"choose one of: {names}")
        return value

    return check


def unset(keys: str) -> dict[str, Check]:
    """Keys that change the bytes in an unsupported way."""

    def check(given: Given, key: str, where: str) -> None:
        if given.get(key):
            message = f"{given.get('quant_method') or 'a quantization config'} with {key} is not supported"
            raise KeyProblem(where + key, message)

    return dict.fromkeys(keys.split(), check)


def anything(given: Given, key: str, where: str) -> Any:
    """A value that is checked elsewhere."""
    return given.get(key)


def group_size(given: Given, key: str, where: str) -> int:
    """The inputs that share a scale: 128 by default; 0 stands for all (-1 in the config)."""
    return 0 if given.get(key) == -1 else positive(128)(given, key, where)


def positive(default: int) -> Check:
    """A positive integer."""

    def check(given: Given, key: str, where: str) -> int:
        value = default if given.get(key) is None else given[key]
        if type(value) is not int or value < 1:
            raise KeyProblem(where + key, f"{key} {value!r} is not a positive integer")
        return value

    return check


def pair(given: Given, key: str, where: str) -> tuple[int, int]:
    """Two positive integers."""
    value = given.get(key)
    sizes = value if isinstance(value, list | tuple) else ()
    if len(sizes) != 2 or not all(type(size) is int and size > 0 for size in sizes):
        raise KeyProblem(where + key, f"{key} is not a pair of positive integers")
    return sizes[0], sizes[1]


def flag(default: bool = False) -> Check:
    """True or false."""

    def check(given: Given, key: str, where: str) -> bool:
        value = default if given.get(key) is None else given[key]
        if type(value) is not bool:
            raise KeyProblem(where + key, f"{key} {value!r} is not true or false")
        return value

    return check


def names(given: Given, key: str, where: str) -> tuple[str, ...] | None:
    """A list of module names; None for null."""
    value = given.get(key)
    if value is None:
        return None
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise KeyProblem(where + key, f"{key} is not a list of module names")
    return tuple(value)


def either(other: str, check: Check) -> Check:
    """A key that some tools write under another name."""

    def read_one(given: Given, key: str, where: str) -> Any:
        return check(given, key if key in given or other not in given else other, where)

    return read_one
