"""The keys of a quantization config, checked as they are read; what may change the bytes is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from archspec.configs.origin import RawConfig
from archspec.formats.stated import key_problem, unquantized_help
from archspec.typing_light import Any, NoReturn

Fold = Callable[[str], str]


class Keys:
    """The keys of one mapping in a config's quantization, and its dotted path.

    Each method checks one key and returns its value; :meth:`finish` refuses keys that were not read.
    Errors: :class:`ConfigError` at the key.
    """

    def __init__(
        self, config: RawConfig, path: str, given: Mapping[str, Any], method: str = "a quantization config"
    ) -> None:
        self.config, self.path, self.given, self.method = config, path, given, method
        self.known = {"quant_method"}

    def refuse(self, key: str, message: str, help: str = "") -> NoReturn:
        at_top = key == "expert_dtype" and key in self.config.raw
        help_ = "; ".join(filter(None, (help, unquantized_help())))
        raise key_problem(self.config, key if at_top else f"{self.path}.{key}", message, help_)

    def choice(
        self, key: str, *allowed: Any, default: Any = None, empty: bool = False, fold: Fold | None = None
    ) -> Any:
        """Return a value from a list. With ``empty``, null and "" stand for the default."""
        self.known.add(key)
        value = self.given.get(key, default)
        value = default if empty and not value else value
        value = fold(str(value)) if fold is not None else value
        if not any(type(value) is type(one) and value == one for one in allowed):
            names = ", ".join("null" if one is None else str(one) for one in allowed)
            wrong = "is missing" if key not in self.given else f"{value!r} is not supported"
            self.refuse(key, wrong, f"choose from: {names}")
        return value

    def value(self, key: str, default: Any, holds: Callable[[Any], bool], what: str) -> Any:
        """Return a value with a property; null stands for the default. Lists become tuples."""
        self.known.add(key)
        value = default if self.given.get(key) is None else self.given[key]
        if not holds(value):
            self.refuse(key, f"must be {what}, not {value!r}", f"write {what}")
        return tuple(value) if isinstance(value, list) else value

    def flag(self, key: str, default: bool = False) -> bool:
        return bool(self.value(key, default, lambda value: type(value) is bool, "true or false"))

    def positive_int(self, key: str, default: int) -> int:
        return int(self.value(key, default, lambda v: type(v) is int and v > 0, "a positive integer"))

    def names(self, key: str) -> tuple[str, ...] | None:
        found: tuple[str, ...] | None = self.value(
            key, None, lambda value: value is None or _is_list_of(str, value), "a list of module names"
        )
        return found

    def pair(self, key: str) -> tuple[int, int]:
        """Return two positive integers."""

        def is_pair(value: Any) -> bool:
            return _is_list_of(int, value) and len(value) == 2 and min(value) > 0

        found: tuple[int, int] = self.value(key, None, is_pair, "a pair of positive integers")
        return found

    def read_mapping(self, key: str) -> Keys:
        """Return the keys of a mapping."""
        value = self.value(key, None, lambda value: isinstance(value, Mapping) and bool(value), "a mapping")
        return Keys(self.config, f"{self.path}.{key}", value)

    def read_mappings(self, key: str, needed: bool = False) -> list[Keys]:
        """Return the keys of each mapping in a mapping; without ``needed``, none if it is absent."""
        self.known.add(key)
        found = self.read_mapping(key) if needed or self.given.get(key) else None
        return [found.read_mapping(name) for name in found.given] if found is not None else []

    def refuse_keys(self, keys: str) -> None:
        """Refuse keys that change the bytes in an unsupported way."""
        self.known.update(keys.split())
        for key in keys.split():
            if self.given.get(key):
                self.refuse(key, f"{self.method} with {key} is not supported")

    def ignore(self, keys: str) -> None:
        """Accept keys that do not change the bytes."""
        self.known.update(keys.split())

    def finish(self) -> None:
        """Refuse keys that were not read."""
        for key in (key for key in self.given if key not in self.known):
            help_ = f"supported keys: {', '.join(sorted(self.known))}"
            self.refuse(key, f"{key} is not a supported key of {self.method}", help_)


def _is_list_of(kind: type, value: Any) -> bool:
    return isinstance(value, list | tuple) and all(type(one) is kind for one in value)
