"""The index of specs, the record of their costs, and digests of the keys that counts depend on.

`python -m tools.release` writes the index into the compiled specs, `archspec verify --costs --coverage`
writes costs.json.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping

from archspec.errors import ArchspecError
from archspec.language.yaml_reader import Node, Scalar, Sequence, parse
from archspec.specs.files import Index, compiled, folder, read
from archspec.specs.records import UNCOUNTED, Spec, model_types
from archspec.typing_light import Any, NamedTuple

_UNVALIDATED = "they were not validated against transformers"
_FURTHER = ("masked", "static", "working_set")


class Entry(NamedTuple):
    """The index entry of a spec file: a model type's, or a shared part's.

    ``needs`` are the files that it extends or uses, and those of its sub-configs' default model types.
    """

    architectures: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


Entries = Mapping[str, Entry]


class CostRecord(NamedTuple):
    """The classes of a model type whose costs are validated against torch.

    ``exact`` classes agree at every call, those of ``training`` in their gradients too; ``gaps`` say why the
    others do not.
    """

    exact: Collection[str] = ()
    gaps: Mapping[str, str] = {}  # never changed
    training: Collection[str] = ()
    activations: Mapping[str, Collection[str]] = {}  # never changed
    masked: Collection[str] = ()
    static: Collection[str] = ()
    working_set: Collection[str] = ()

    def gap(self, architecture: str, training: bool = False) -> str | None:
        """Return why the costs of a class, or of its ``training``, are not reported; None if they are."""
        if architecture not in self.exact:
            return self.gaps.get(architecture, _UNVALIDATED)
        is_gap = training and architecture not in self.training
        return "its gradients were not validated against torch" if is_gap else None

    def activations_gap(self, architecture: str, kind: str) -> str | None:
        """Return why a class's activations in a kind of training are not reported; None if they are."""
        exact = self.activations.get(kind, ())
        return None if architecture in exact else self.gap(architecture) or _UNVALIDATED

    def held(self, architecture: str) -> tuple[str, ...]:
        """Return which of `archspec.costs.forward.HELD` are validated for a class."""
        return tuple(name for name in _FURTHER if architecture in getattr(self, name))


def recorded_costs(path: str) -> dict[str, CostRecord]:
    """Return what a file records of costs, by model type; nothing if it is missing."""
    if not os.path.isfile(path):
        return {}
    with open(path, encoding="utf-8") as file:
        lines: dict[str, dict[str, Any]] = json.load(file)["types"]
    fields = CostRecord._fields
    return {
        name: CostRecord(**{key: line[key] for key in fields if key in line}) for name, line in lines.items()
    }


def entries(
    files: Mapping[str, str], load: Callable[[str], Spec], index: Index | None = None
) -> dict[str, Entry]:
    """Return the entry of each file, by model type or name of a shared part, as the files are now.

    Entries of the compiled index, or another ``index``, are used while their files, and the files that these
    need, are unchanged. ``files`` has the path of each name; ``load`` parses one.
    """
    lines = compiled().index() if index is None else index
    known = {name.rpartition("/")[2]: Entry(*map(tuple, line[:2])) for name, line in lines.items()}
    start = folder() + os.sep
    indexed = {name: path for name, path in files.items() if name in known and path.startswith(start)}
    changed = compiled().changed(indexed.values())
    other = {name for name, path in files.items() if name not in indexed or path in changed}
    for name in dependents(other, known) & files.keys():
        try:
            known[name] = _entry(load(files[name]))
        except ArchspecError:  # not well formed: keep the old entry
            known.setdefault(name, Entry())
    return {name: known[name] for name in files}


def _entry(spec: Spec) -> Entry:
    needs = {one.rpartition("/")[2] for one in (spec.extends, *spec.uses) if one}
    calls = (field.sub_config for field in spec.fields.values())
    needs |= {model_type for call in calls if call for model_type in model_types(call)}
    return Entry(spec.architectures, tuple(sorted(needs)))


def dependents(names: set[str], found: Entries) -> set[str]:
    """Return some files and all that extend, use or contain them, directly or through others."""
    within = set(names)
    while more := {name for name, entry in found.items() if within.intersection(entry.needs)} - within:
        within |= more
    return within


def whole_digests(
    found: Entries, files: Mapping[str, str], texts: Mapping[str, str] | None = None
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
    """Return the keys of a spec that counts and costs depend on, as text; nothing for a wrong file."""
    try:
        source, document = read(path)
        found = plain(document or parse(source))
    except ArchspecError:  # reported when the spec is loaded
        return ""
    if isinstance(found, dict):
        found = {key: value for key, value in found.items() if key not in UNCOUNTED}
    return json.dumps(found)


def plain(node: Node) -> Any:
    """Return a YAML node as plain data, without places."""
    if isinstance(node, Scalar):
        text = " ".join(node.text.split())
        return [text] if node.quoted else text
    if isinstance(node, Sequence):
        return {"items": [plain(item) for item in node.items]}
    return {key: plain(value) for key, value in node.items.items()}
