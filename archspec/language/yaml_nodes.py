"""YAML nodes: texts, lists and mappings with their places in the file."""

from __future__ import annotations

from archspec.errors import Place
from archspec.typing_light import NamedTuple

MAX_DEPTH = 32


class Scalar(NamedTuple):
    """A text; ``raw`` is the slice of the file, so that columns inside it are right."""

    text: str
    place: Place
    quoted: bool
    raw: str

    @property
    def empty(self) -> bool:
        return not self.quoted and not self.text


class Sequence(NamedTuple):
    items: list[Node]
    place: Place


class Mapping(NamedTuple):
    items: dict[str, Node]
    keys: dict[str, Place]
    place: Place


Node = Scalar | Sequence | Mapping
