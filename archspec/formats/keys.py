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


def typed(holds: Callable[[Any], bool], what: str, default: Any = None) -> Check:
    """A value with a property; null stands for the default. Lists become tuples."""

    def check(given: Given, key: str, where: str) -> Any:
        value = default if given.get(key) is None else given[key]
        if not holds(value):
            raise KeyProblem(where + key, f"{key} {value!r} is not {what}")
        return tuple(value) if isinstance(value, list) else value

    return check


def positive(default: int) -> Check:
    return typed(lambda value: type(value) is int and value > 0, "a positive integer", default)


def flag(default: bool = False) -> Check:
    return typed(lambda value: type(value) is bool, "true or false", default)


def unset(keys: str) -> dict[str, Check]:
    """Keys that change the bytes in an unsupported way."""

    def check(given: Given, key: str, where: str) -> None:
        if given.get(key):
            message = f"{given.get('quant_method') or 'a quantization config'} with {key} is not supported"
            raise KeyProblem(where + key, message)

    return dict.fromkeys(keys.split(), check)


def group_size(given: Given, key: str, where: str) -> int:
    """The inputs that share a scale: 128 by default; 0 stands for all (-1 in the config)."""
    size: int = 0 if given.get(key) == -1 else positive(128)(given, key, where)
    return size


def either(other: str, check: Check) -> Check:
    """A key that some tools write under another name."""
    return lambda given, key, where: check(given, key if key in given or other not in given else other, where)


def _is_list_of(kind: type, value: Any) -> bool:
    return isinstance(value, list | tuple) and all(type(one) is kind for one in value)


def _is_pair(value: Any) -> bool:
    return _is_list_of(int, value) and len(value) == 2 and min(value) > 0


anything = typed(lambda value: True, "")
names = typed(lambda value: value is None or _is_list_of(str, value), "a list of module names")
pair = typed(_is_pair, "a pair of positive integers")
mapping = typed(lambda value: isinstance(value, Mapping) and bool(value), "a mapping")
