"""The parameters of a processor: defaults of its class, a user's file, arguments of the calling processor.

Values are checked as a rule reads them, so it computes with valid numbers only.
"""

from __future__ import annotations

from collections.abc import Mapping

from archspec.errors import ConfigError, to_printable
from archspec.typing_light import Any, NoReturn

FILE = "preprocessor_config.json"
MOST = 10**12  # of any number in a file, so that no result overflows a float
_LEAST = 1e-6  # of a factor
_WIDTH = 60  # characters of a value in a message
Size = tuple[int, int]  # height and width
_KEYS = (  # of a size, as transformers accepts them
    *({"height", "width"}, {"shortest_edge"}, {"shortest_edge", "longest_edge"}, {"longest_edge"}),
    *({"max_height", "max_width"}, {"min_pixels", "max_pixels"}),
)
_SIZE_HELP = 'write an object such as {"height": 224, "width": 224} or {"shortest_edge": 224}'


class Parameters:
    """The parameters of one processor; ``call`` are arguments that the model's processor passes to it.

    Null stands for the default. Errors: :class:`ConfigError` that names the key.
    """

    def __init__(
        self,
        name: str,
        defaults: Mapping[str, Any],
        given: Mapping[str, Any],
        call: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        call = {key: value for key, value in (call or {}).items() if value is not None}
        set_ = {key: value for key, value in given.items() if value is not None}
        self.values, self.given, self.call = {**defaults, **set_, **call}, set_, call
        self.overridden = [key for key in call if key in set_ and set_[key] != call[key]]

    def refuse(self, key: str, message: str, help_: str = "") -> NoReturn:
        raise ConfigError(f"{FILE}: {key} {message}", help=help_ or f"correct {key}, or remove it")

    def get(self, key: str) -> Any:
        """Return a value that is not checked; None if it is missing."""
        return self.values.get(key)

    def _refuse_value(self, key: str, expected: str, value: Any, help_: str = "") -> NoReturn:
        shown = "null" if value is None else to_printable(repr(value), _WIDTH)
        self.refuse(key, f"must be {expected}, not {shown}", help_)

    def flag(self, key: str) -> bool:
        value = self.get(key)
        if value is not None and type(value) is not bool:
            self._refuse_value(key, "true or false", value)
        return bool(value)

    def integer(self, key: str, least: int = 1, most: int = MOST) -> int:
        value = self.get(key)
        if type(value) is not int or not least <= value <= most:
            self._refuse_value(key, f"an integer from {least:,} to {most:,}", value)
        return int(value)

    def number(self, key: str, least: float = _LEAST, most: float = 1 / _LEAST) -> float:
        value = self.get(key)
        if type(value) not in (int, float) or not least <= value <= most:  # NaN is not between them
            self._refuse_value(key, f"a number from {least:g} to {most:g}", value)
        return float(value) if type(value) is float else int(value)

    def choice(self, key: str, *allowed: Any) -> Any:
        value = self.get(key)
        if not any(type(value) is type(one) and value == one for one in allowed):
            names = ", ".join("null" if one is None else str(one) for one in allowed)
            self._refuse_value(key, f"one of {names}", value)
        return value

    def size(self, key: str = "size", longest: int | None = None) -> dict[str, int]:
        """Return a size as an object: transformers accepts an integer or a list for it, too.

        Args:
            key: The parameter.
            longest: The longest edge if the file has an integer.
        """
        value = self.get(key)
        if type(value) is int and (key != "size" or self.square_by_default()):
            value = {"height": value, "width": value}
        elif type(value) is int:
            value = {"shortest_edge": value, **({} if longest is None else {"longest_edge": longest})}
        elif isinstance(value, list | tuple) and len(value) == 2:
            value = {"height": value[0], "width": value[1]}
        if not isinstance(value, Mapping) or {*value} not in _KEYS:
            self._refuse_value(key, "a size", value, _SIZE_HELP)
        for one, edge in value.items():
            if type(edge) is not int or not 0 < edge <= MOST:
                self._refuse_value(f"{key}.{one}", f"an integer from 1 to {MOST:,}", edge)
        return dict(value)

    def square_by_default(self) -> bool:
        """Return True if an integer as size stands for a square, not for the shortest edge."""
        return self.get("default_to_square") is None or self.flag("default_to_square")

    def edges(self, key: str, *names: str, longest: int | None = None) -> tuple[int, ...]:
        """Return some edges of a size, which must have them all."""
        size = self.size(key, longest)
        if missing := [name for name in names if name not in size]:
            self.refuse(key, f"has no {missing[0]}, which {self.name} needs", f"add {missing[0]} to {key}")
        return tuple(size[name] for name in names)

    def sides(self, key: str = "size") -> Size:
        height, width = self.edges(key, "height", "width")
        return height, width

    def square(self, key: str = "size") -> int:
        """Return the side of a square."""
        height, width = self.sides(key)
        if height != width:
            self.refuse(key, f"must be a square for {self.name}", "write the same height and width")
        return height
