"""The differences between a spec and the reference model for one config, tensor by tensor."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

from archspec.configs.scope import Scope
from archspec.errors import ArchspecError, Place
from archspec.reference import Refused, Row, Unavailable, spec_rows, transformers_rows
from archspec.specs.records import Spec
from archspec.tree.builder import Builder, Node
from archspec.tree.tensors import tensors
from archspec.verifying.blame import Config, Difference, blamed_places, refusing_places
from archspec.verifying.defaults import setting_differences
from archspec.verifying.undeclared import Other, code_texts, layer_lists, other_values

_COLUMNS = ("shape", "kind", "frozen", "tie", "embedding")


class ReferenceClass:
    """The class of transformers that a spec is compared with; a subclass answers for other code."""

    takes_nulls = True  # whether the config class checks types, so that nulls are worth a try

    def __init__(self, spec: Spec, architecture: str) -> None:
        self.spec, self.architecture = spec, architecture

    def rows(self, raw: Config) -> list[Row]:
        """Return the tensors of the model. Errors: :class:`Refused`, :class:`Unavailable`."""
        return transformers_rows(self.architecture, raw, self.spec.model_type)

    def may_differ(self, refusal: Refused, rows: list[Row]) -> bool:
        """Return True if a spec may count what the class refuses."""
        return False

    def code_texts(self) -> Mapping[str, list[str]]:
        return code_texts(self.spec)

    def other_values(self) -> list[Other]:
        return other_values(self.spec)

    def layer_lists(self) -> list[str]:
        return layer_lists(self.spec)

    def setting_differences(self) -> list[Difference]:
        """Return differences in defaults and names, which the first class of a spec reports."""
        return setting_differences(self.spec) if self.architecture == self.spec.architectures[0] else []


class Count(NamedTuple):
    """The rows and the tree that a spec gives for one config, or its error."""

    rows: list[Row]
    tree: Node | None
    error: ArchspecError | None


def tree_of(spec: Spec, architecture: str, raw: Config) -> Node:
    """Return the module tree that the spec gives. Errors: :class:`ArchspecError`."""
    scope = Scope(spec, raw)
    scope.validate()
    return Builder(scope).build(architecture)


def count(spec: Spec, architecture: str, raw: Config) -> Count:
    """Return the rows and the tree that the spec gives, or its error."""
    tree = None
    try:
        tree = tree_of(spec, architecture, raw)
        return Count(spec_rows(tensors(tree)), tree, None)
    except ArchspecError as error:  # with a tree: a tie of a tensor that does not exist
        return Count([], tree, error)


class Comparer:
    """Compares a spec's architecture with its reference class for one config after the other."""

    def __init__(self, spec: Spec, architecture: str, reference: ReferenceClass | None = None) -> None:
        self.spec, self.architecture = spec, architecture
        self.reference = reference or ReferenceClass(spec, architecture)

    def compare(self, raw: Config, ours: Count | None = None) -> tuple[list[Difference], str]:
        """Return the differences, and the reason if both sides reject it. Errors: :class:`Unavailable`."""
        theirs: list[Row] | Refused
        try:
            theirs = self.reference.rows(raw)
        except Refused as error:
            theirs = error
        try:
            ours = ours or count(self.spec, self.architecture, raw)
        except Exception:  # a bug of archspec is reported like any other difference
            return [self.difference(raw, "crash", "", "", traceback.format_exc(limit=-3), [])], ""
        if isinstance(theirs, Refused):
            if ours.error is not None or self.reference.may_differ(theirs, ours.rows):
                return [], str(theirs)[:160]
            places = blamed_places(self.spec, ours.tree, "accepted", "", theirs.owners)
            return [self.difference(raw, "accepted", "", str(theirs), "a count", places)], ""
        if ours.error is not None:
            places = refusing_places(self.spec, self.architecture, raw, ours.tree, ours.error)
            return [self.difference(raw, "rejected", "", "a model", str(ours.error), places)], ""
        return self._compare_tensors(raw, theirs, ours), ""

    def _compare_tensors(self, raw: Config, expected: list[Row], count: Count) -> list[Difference]:
        theirs, ours = {row.name: row for row in expected}, {row.name: row for row in count.rows}
        if theirs == ours:
            return []
        known = {prefix for name in theirs for prefix in _prefixes(name)}
        found = []

        def add(kind: str, name: str, one: Any, other: Any, detail: Any = None) -> None:
            places = blamed_places(self.spec, count.tree, kind, name, detail)
            found.append(self.difference(raw, kind, name, str(one), str(other), places))

        for name in sorted(theirs.keys() | ours.keys()):
            if name not in ours:
                add("missing", name, theirs[name].shape, "")
            elif name not in theirs:
                add("extra", name, "", ours[name].shape, missing_prefix(name, known))
            else:
                for column, one, other in zip(_COLUMNS, theirs[name][1:], ours[name][1:], strict=True):
                    if one != other:
                        add(column, name, one, other, other or one if column == "tie" else None)
        return found

    def differs(self, raw: Config) -> bool:
        """Return True if the sides differ, or both refuse the config."""
        differences, cause = self.compare(raw)
        return bool(differences or cause)

    def shrink(self, raw: Config, differences: list[Difference]) -> list[Difference]:
        """Return the same differences for the smallest config that shows all of them."""
        causes = {_cause(difference) for difference in differences}
        small = shrink_config(raw, lambda one: causes <= {_cause(found) for found in self.compare(one)[0]})
        return [found for found in self.compare(small)[0] if _cause(found) in causes]

    def difference(
        self, raw: Config, kind: str, name: str, expected: str, found: str, places: Iterable[Place]
    ) -> Difference:
        """Return a difference of this architecture."""
        return Difference(self.architecture, raw, kind, name, expected, found, tuple(map(str, places)))


def _cause(difference: Difference) -> tuple[str, tuple[str, ...]]:
    return difference.kind, difference.places[:1]


def shrink_config(raw: Config, shows: Callable[[Config], bool]) -> Config:
    """Return the config without the fields that are not needed to show something."""
    small = dict(raw)
    for name in [name for name in raw if name != "model_type"]:
        without = {key: value for key, value in small.items() if key != name}
        try:
            if shows(without):
                small = without
        except Unavailable:
            continue
    return small


def missing_prefix(name: str, known: set[str]) -> str:
    """Return the shortest prefix of a tensor's name under which the other side has nothing.

    >>> missing_prefix("layers.2.mlp.weight", {"layers", "layers.1", "layers.1.mlp", "layers.1.mlp.weight"})
    'layers.2'
    """
    return next((prefix for prefix in _prefixes(name) if prefix not in known), name)


def _prefixes(name: str) -> Iterable[str]:
    return accumulate(name.split("."), "{}.{}".format)
