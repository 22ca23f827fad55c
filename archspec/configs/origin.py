"""A config as plain data with its origin, so that a message points at the line that gave a value."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from archspec.configs.json_text import locate, place_of
from archspec.errors import ConfigError, Place, Problem, Source
from archspec.typing_light import Any, NamedTuple


def merge_overrides(*groups: Mapping[str, Any] | None) -> dict[str, Any]:
    """Merge mappings of overrides. Errors: :class:`ConfigError` for a field that is set twice."""
    found: dict[str, Any] = {}
    for group in groups:
        if group is not None and not isinstance(group, Mapping):
            message = f"{type(group).__name__} is not a mapping of fields to values"
            raise ConfigError(message, help='write set={"hidden_size": 64}')
        for path, value in (group or {}).items():
            if path in found:
                raise ConfigError(f"{path} is set twice", help="keep one of the two")
            found[path] = value
    return found


class Origin(NamedTuple):
    """The origin of a config: the file's name, its text, and the dotted path within it.

    ``overrides`` maps the dotted path of each override to its text, ``opened`` has the sub-configs that only
    overrides added. ``quantization`` is the origin of a quantization in another file of the folder.
    """

    name: str = "config"
    text: str = ""
    path: str = ""
    overrides: Mapping[str, str] = {}
    opened: Collection[str] = ()
    quantization: Any = None  # an Origin

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
        if path in self.overrides:
            place = Place(Source("override", self.overrides[path]), 1, 1, len(path))
            return Problem(f"{path}: {message}", place, help=help_)
        if not self.text:
            return Problem(f"{self.name}: {path}: {message}", help=help_)
        parts = path.split(".")
        outwards = (parts[:end] for end in range(len(parts), 0, -1))
        offset, width = next((found for part in outwards if (found := locate(self.text, part))), (0, 1))
        place = place_of(Source(self.name, self.text), offset, width)
        return Problem(f"{path}: {message}" if path else message, place, help=help_)

    def blame(self, field: str, problem: Problem) -> Problem:
        """Move a problem from a spec's line to a field of the file or an override, if there is one."""
        if not self.text and not self.is_overridden(field):
            return problem
        helps = [problem.help, f"see {problem.place}" if problem.place else ""]
        help_ = "; ".join(filter(None, helps))
        return self.problem(field, problem.message.removeprefix(f"{self.name}: "), help_)


class RawConfig(NamedTuple):
    """A config as plain data, with its origin."""

    raw: dict[str, Any]
    origin: Origin
