"""A config as plain data, and where its values came from: a message points at the line that gave them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from archspec.configs.json_text import locate, place_of
from archspec.errors import ConfigError, Place, Problem, Source
from archspec.typing_light import Any, NamedTuple


def merged(*groups: Mapping[str, Any] | None) -> dict[str, Any]:
    """Fields that are set in several places. Errors: :class:`ConfigError` for one that is set twice."""
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
    """Where a config came from, for messages: the file's name, its text, the path within it.

    ``overrides`` are the fields that were set from outside, by dotted path, as they were written; ``opened``
    the sub-configs that only they brought in. ``beside`` is the file next to the config that states its
    quantization, if one does.
    """

    name: str = "config"
    text: str = ""
    path: str = ""
    overrides: Mapping[str, str] = {}
    opened: Collection[str] = ()
    beside: Any = None  # an Origin

    def child(self, key: str) -> Origin:
        return self._replace(path=f"{self.path}{key}.")

    def overridden(self, field: str) -> bool:
        """Whether the field itself was set from outside."""
        return self.path + field in self.overrides

    def brought(self, field: str) -> bool:
        """Whether a sub-config is there only because a field inside it was set from outside."""
        return self.path + field in self.opened

    def problem(self, field: str, message: str, help_: str = "") -> Problem:
        """A problem with a field: at its line in the file, or at the nearest part around it that is there."""
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

    def blamed(self, field: str, problem: Problem) -> Problem:
        """A problem of a spec's line, said at a field of the file or of what was set from outside.

        Of plain data, which has no lines, it stays at the spec's.
        """
        if not self.text and not self.overridden(field):
            return problem
        said = [problem.help] if problem.help else []
        said += [f"said at {problem.place}"] if problem.place else []
        return self.problem(field, problem.message.removeprefix(f"{self.name}: "), "; ".join(said))


class RawConfig(NamedTuple):
    """A config as plain data, and where it came from."""

    raw: dict[str, Any]
    origin: Origin
