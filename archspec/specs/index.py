"""The index entries of specs, the record of their costs, and digests of the keys that counts depend on.

`python -m tools.release` writes the index into the compiled specs, `archspec verify --costs --coverage`
writes costs.json.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping

from archspec.errors import ArchspecError
from archspec.language.yaml_reader import Node, Scalar, Sequence, parse
from archspec.specs.files import read
from archspec.specs.records import UNCOUNTED, Spec, model_types
from archspec.typing_light import Any, NamedTuple

_UNVALIDATED = "not validated against transformers"
_FURTHER = ("masked", "static", "working_set")


class Entry(NamedTuple):
    """The index entry of a spec file: a model type's, or a shared part's."""

    architectures: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # what it extends or uses, and the default model types of its sub-configs


def entry_of(spec: Spec) -> Entry:
    """Return the index entry of a parsed file."""
    needs = {one.rpartition("/")[2] for one in (spec.extends, *spec.uses) if one}
    calls = (field.sub_config for field in spec.fields.values())
    needs |= {model_type for call in calls if call for model_type in model_types(call)}
    return Entry(spec.architectures, tuple(sorted(needs)))


def dependents(names: set[str], found: Mapping[str, Entry]) -> set[str]:
    """Return some files and all that extend, use or contain them, directly or through others."""
    within = set(names)
    while more := {name for name, entry in found.items() if within.intersection(entry.needs)} - within:
        within |= more
    return within


class CostRecord(NamedTuple):
    """The classes of a model type whose costs are validated against torch."""

    exact: Collection[str] = ()  # for every forward pass
    gaps: Mapping[str, str] = {}  # why other classes are not; never changed
    training: Collection[str] = ()  # also in their gradients
    activations: Mapping[str, Collection[str]] = {}  # never changed
    masked: Collection[str] = ()
    static: Collection[str] = ()
    working_set: Collection[str] = ()
    media_training: Collection[str] = ()  # in their gradients with images, videos and audio
    text: Collection[str] = ()  # other classes, for a text without images, videos and audio
    without: Mapping[str, Collection[str]] = {}  # of the exact classes, modalities that were not measured

    def gap(self, architecture: str, training: bool = False, items: Collection[str] = ()) -> str | None:
        """Return why the costs of a class, or of its ``training``, are not reported; None if they are.

        ``items`` are the modalities of a call's items.
        """
        if architecture not in self.exact and (items or architecture not in self.text):
            return self.gaps.get(architecture, _UNVALIDATED)
        if missing := [modality for modality in self.without.get(architecture, ()) if modality in items]:
            return f"its costs with {' and '.join(missing)} were not validated"
        is_gap = training and architecture not in (self.media_training if items else self.training)
        return "its gradients were not validated against torch" if is_gap else None

    def activations_gap(self, architecture: str, kind: str, items: Collection[str] = ()) -> str | None:
        """Return why a class's activations in a kind of training are not reported; None if they are."""
        is_exact = architecture in self.activations.get(kind, ())
        missing = self.gap(architecture, items=items)
        return missing if is_exact else missing or _UNVALIDATED

    def validated_figures(self, architecture: str) -> tuple[str, ...]:
        """Return which of `archspec.costs.forward.HELD` are validated for a class."""
        return tuple(name for name in _FURTHER if architecture in getattr(self, name))


def recorded_costs(path: str) -> dict[str, CostRecord]:
    """Return the costs records of a file, by model type; nothing if it is missing."""
    if not os.path.isfile(path):
        return {}
    with open(path, encoding="utf-8") as file:
        lines: dict[str, dict[str, Any]] = json.load(file)["types"]
    known = CostRecord._fields
    found = {name: {key: line[key] for key in known if key in line} for name, line in lines.items()}
    return {name: CostRecord(**line) for name, line in found.items()}


def whole_digests(
    found: Mapping[str, Entry], files: Mapping[str, str], texts: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return a digest of the keys that counts and costs depend on, in each file and all that it needs.

    Comments and the keys in :data:`UNCOUNTED` are left out. ``texts`` count where their names occur.
    """
    import hashlib  # takes longer to import than a count does

    contents = {name: _counted_content(path) for name, path in files.items()}
    whole = {}
    for name in found:
        needed = {name}
        while more := {need for one in needed for need in found[one].needs if need in found} - needed:
            needed |= more
        joined = "\0".join(f"{one}\0{contents[one]}" for one in sorted(needed))
        named = (text for word, text in (texts or {}).items() if word in joined)
        whole[name] = hashlib.sha256("\0".join((joined, *named)).encode()).hexdigest()[:12]
    return whole


def _counted_content(path: str) -> str:
    try:
        source, document = read(path)
        found = plain_data(document or parse(source))
    except ArchspecError:  # reported when the spec is loaded
        return ""
    if isinstance(found, dict):
        found = {key: value for key, value in found.items() if key not in UNCOUNTED}
    return json.dumps(found)


def plain_data(node: Node) -> Any:
    """Return a YAML node as plain data, without places."""
    if isinstance(node, Scalar):
        text = " ".join(node.text.split())
        return [text] if node.quoted else text
    if isinstance(node, Sequence):
        return {"items": [plain_data(item) for item in node.items]}
    return {key: plain_data(value) for key, value in node.items.items()}
