"""What a spec gives for one config, and how that differs from what transformers builds, tensor by tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from archspec.configs.scope import Scope
from archspec.errors import ArchspecError, Place
from archspec.reference import Row, spec_rows
from archspec.specs.records import Spec
from archspec.tree.builder import Builder, Node
from archspec.tree.tensors import tensors

Config = dict[str, Any]


class Difference(NamedTuple):
    """One way in which a spec and transformers disagree for one config.

    ``kind`` is missing, extra, shape, kind, frozen, tie or embedding for a tensor; refused or accepted for a
    config that only the spec or only transformers refuses; unmentioned for a field that changes the layout
    but is not in the spec; default, alias or readonly for a config field; few where too few valid configs
    were found; crash for a bug of archspec. ``places`` are the lines of the spec, the nearest first.
    """

    architecture: str
    config: Config
    kind: str
    name: str
    expected: str
    found: str
    places: tuple[str, ...] = ()


class Count(NamedTuple):
    """What a spec gives for one config: its rows and tree, or what it refuses the config with."""

    rows: list[Row]
    tree: Node | None
    error: ArchspecError | None


def tree_of(spec: Spec, architecture: str, raw: Config) -> Node:
    """The module tree that the spec gives. Errors: :class:`ArchspecError`."""
    scope = Scope(spec, raw)
    scope.validate()
    return Builder(scope).build(architecture)


def counted(spec: Spec, architecture: str, raw: Config) -> Count:
    """What the spec gives; errors are part of the answer."""
    try:
        tree = tree_of(spec, architecture, raw)
    except ArchspecError as error:
        return Count([], None, error)
    try:
        return Count(spec_rows(tensors(tree)), tree, None)
    except ArchspecError as error:  # a tie of nothing
        return Count([], tree, error)


Blame = Callable[[str, str, Any], list[Place]]


def compare(
    architecture: str, raw: Config, expected: list[Row], found: list[Row], blame: Blame | None = None
) -> list[Difference]:
    """The differences between what transformers builds and what the spec says, by tensor name."""
    theirs, ours = {row[0]: row for row in expected}, {row[0]: row for row in found}
    columns = ("shape", "kind", "frozen", "tie", "embedding")
    if theirs == ours:
        return []
    known = _prefixes(theirs)
    differences = []

    def add(kind: str, name: str, one: str, other: str, detail: Any) -> None:
        places = tuple(map(str, blame(kind, name, detail))) if blame else ()
        differences.append(Difference(architecture, raw, kind, name, one, other, places))

    for name in theirs.keys() | ours.keys():
        if name not in ours:
            add("missing", name, str(theirs[name][1]), "", name)
        elif name not in theirs:
            add("extra", name, "", str(ours[name][1]), top_missing(name, known))
        else:
            for column, one, other in zip(columns, theirs[name][1:], ours[name][1:], strict=True):
                if one != other:
                    add(column, name, str(one), str(other), other or one if column == "tie" else name)
    return sorted(differences, key=lambda difference: difference.name)


def top_missing(name: str, known: set[str]) -> str:
    """The shortest prefix of a tensor's name that the other side has nothing under.

    >>> top_missing("layers.2.mlp.weight", {"layers", "layers.1", "layers.1.mlp", "layers.1.mlp.weight"})
    'layers.2'
    """
    parts = name.split(".")
    prefixes = (".".join(parts[:end]) for end in range(1, len(parts) + 1))
    return next((prefix for prefix in prefixes if prefix not in known), name)


def _prefixes(all_names: Iterable[str]) -> set[str]:
    """Every name and every dotted beginning of one."""
    found: set[str] = set()
    for name in all_names:
        while name and name not in found:
            found.add(name)
            name = name.rpartition(".")[0]
    return found
