"""A config as plain data with its origin, so that a message points at the line that gave a value."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping

from archspec.configs.json_text import locate, place_of
from archspec.errors import OVERRIDE, ConfigError, Place, Problem, Source, option
from archspec.specs.files import is_shipped
from archspec.typing_light import Any, NamedTuple

_PREDICATES = r"(is|must|has|needs|names|belongs|does|cannot)\b"  # a message whose subject is the field


def merge_overrides(*groups: Mapping[str, Any] | None) -> dict[str, Any]:
    """Merge mappings of overrides. Errors: :class:`ConfigError` for a field that is set twice."""
    found: dict[str, Any] = {}
    for group in groups:
        for path, value in (group or {}).items():
            if path in found:
                raise ConfigError(f"{path} is set twice", help="keep one of the two")
            found[path] = value
    return found


def spec_line(place: Place | None) -> str:
    """Return the end of a message that names the line of a custom spec; nothing for a shipped one."""
    return f" ({place})" if place is not None and not is_shipped(place.source.name) else ""


class Origin(NamedTuple):
    """The origin of a config: the file's name, its text, and the dotted path within it."""

    name: str = "config"
    text: str = ""
    path: str = ""
    overrides: Mapping[str, str] = {}  # dotted path -> text
    opened: Collection[str] = ()  # sub-configs that only overrides added
    quantization: Any = None  # the Origin of a quantization in another file of the folder

    @property
    def label(self) -> str:
        """The beginning of a message about the whole config: the file's name, if there is one."""
        return f"{self.name}: " if self.name != "config" else ""

    def child(self, key: str) -> Origin:
        return self._replace(path=f"{self.path}{key}.")

    def is_overridden(self, field: str) -> bool:
        return self.path + field in self.overrides

    def is_opened(self, field: str) -> bool:
        """Return True if a sub-config exists only because an override sets a field in it."""
        return self.path + field in self.opened

    def problem(self, field: str, message: str, help_: str = "") -> Problem:
        """Return a problem with a field, at its line or that of the nearest part around it."""
        path = (self.path + field).removesuffix(".")
        is_predicate = re.match(_PREDICATES, message) is not None
        text = f"{path} {message}" if is_predicate and path else f"{path}: {message}" if path else message
        if path in self.overrides:
            place = Place(Source(OVERRIDE, self.overrides[path]), 1, 1, len(path))
            return Problem(text if is_predicate else message, place, help=help_)
        if not self.text:
            return Problem(f"{self.label}{text}", help=help_)
        parts = path.split(".")
        outwards = (parts[:end] for end in range(len(parts), 0, -1))
        offset, width = next((found for part in outwards if (found := locate(self.text, part))), (0, 1))
        place = place_of(Source(self.name, self.text), offset, width)
        return Problem(text, place, help=help_)

    def setting(self, field: str, value: Any) -> str:
        """Return a field with a value as its user writes it: in the file, or as an override.

        >>> Origin(text="{}").setting("hidden_size", 64), Origin().setting("hidden_size", 64)
        ('"hidden_size": 64', "set={'hidden_size': 64}")
        """
        path = self.path + field
        if path in self.overrides or not self.text:
            return option("set", {path: value})
        return f'"{field}": {json.dumps(value, default=str)}'

    def blame(self, field: str, problem: Problem) -> Problem:
        """Move a problem from a spec's line to a field of the file or an override, if there is one."""
        if not self.text and not self.is_overridden(field):
            return problem
        message = problem.message.removeprefix(self.label)
        return self.problem(field, f"{message}{spec_line(problem.place)}", problem.help)


class RawConfig(NamedTuple):
    """A config as plain data, with its origin."""

    raw: dict[str, Any]
    origin: Origin
