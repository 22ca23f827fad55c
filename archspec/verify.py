"""Specs held to transformers: tensor for tensor, at the default config and at random ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from archspec.errors import ArchspecError
from archspec.library import load
from archspec.oracle import Refused, Row, spec_rows, transformers_rows
from archspec.sampling import Sampler
from archspec.scope import Scope
from archspec.tensors import tensors
from archspec.tree import Builder


class Difference(NamedTuple):
    """One way in which a spec and transformers disagree for one config."""

    architecture: str
    config: dict[str, Any]
    kind: str  # missing, extra, shape, tie, frozen, kind, refused, accepted
    name: str
    expected: str
    found: str


class Outcome(NamedTuple):
    """How one architecture did: configs compared, configs both refuse, and the differences."""

    architecture: str
    model_type: str
    compared: int
    refused: int
    differences: tuple[Difference, ...]


def counted_rows(model_type: str, architecture: str, raw: dict[str, Any]) -> list[Row]:
    """The rows that the spec gives."""
    scope = Scope(load(model_type), raw)
    scope.validate()
    return spec_rows(tensors(Builder(scope).build(architecture)))


def verify(model_type: str, architecture: str, samples: int = 20, seed: int = 0) -> Outcome:
    """Compares an architecture at its default config and at `samples` random valid configs."""
    sampler = Sampler(load(model_type), seed)
    compared = refused = 0
    differences: list[Difference] = []
    for raw in _configs(sampler, samples):
        expected: list[Row] | str
        try:
            expected = transformers_rows(architecture, raw, model_type)
        except Refused as error:
            expected = str(error)
        found: list[Row] | str
        try:
            found = counted_rows(model_type, architecture, raw)
        except ArchspecError as error:
            found = str(error)
        if isinstance(expected, str) and isinstance(found, str):
            refused += 1
        elif isinstance(expected, str):
            differences.append(Difference(architecture, raw, "accepted", "", expected, "a count"))
        elif isinstance(found, str):
            differences.append(Difference(architecture, raw, "refused", "", "a model", found))
        else:
            compared += 1
            differences += compare(architecture, raw, expected, found)
        if compared > samples or len(differences) > 200:
            break
    return Outcome(architecture, model_type, compared, refused, tuple(differences))


def _configs(sampler: Sampler, samples: int) -> Iterator[dict[str, Any]]:
    yield {"model_type": sampler.spec.model_type}
    for _ in range(25 * samples):
        yield sampler.sample()


def compare(architecture: str, raw: dict[str, Any], expected: list[Row], found: list[Row]) -> list[Difference]:
    """The differences between what transformers builds and what the spec says, by tensor name."""
    differences = []
    theirs, ours = {row[0]: row for row in expected}, {row[0]: row for row in found}
    columns = ("shape", "kind", "frozen", "tie")
    for name in theirs.keys() | ours.keys():
        if name not in ours:
            differences.append(Difference(architecture, raw, "missing", name, str(theirs[name][1]), ""))
        elif name not in theirs:
            differences.append(Difference(architecture, raw, "extra", name, "", str(ours[name][1])))
        else:
            for column, one, other in zip(columns, theirs[name][1:], ours[name][1:], strict=True):
                if one != other:
                    differences.append(Difference(architecture, raw, column, name, str(one), str(other)))
    return sorted(differences, key=lambda difference: difference.name)
