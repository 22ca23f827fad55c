"""What is recorded of specs in JSON beside them: what each describes and needs, and whose costs are given.

`python -m tools.index` writes the first, a folder's `index.json`, one line a file. An entry counts only while
its file, and those that it needs, have the text that it was made from: a file whose text is another one, or
that has no entry, is parsed instead. `archspec verify --costs --coverage` writes the other, `costs.json`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence

from archspec.errors import ArchspecError
from archspec.specs.records import Spec, model_types
from archspec.typing_light import Any, NamedTuple

FILE = "index.json"
_NOT_HELD = "they were not held to transformers"
_HELD = ("masked", "static", "working_set")


class Entry(NamedTuple):
    """A model type's spec, or a shared part.

    ``needs`` are the files that it extends or uses, and those of the model types that its sub-configs have by
    default; ``digest`` is of the file's own text.
    """

    architectures: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    digest: str = ""


Entries = Mapping[str, Entry]


class CostRecord(NamedTuple):
    """Which classes of a model type have met the instrument with their costs, and with which of them.

    ``exact`` did at every point, those of ``training`` with their gradients; ``gaps`` say why others did not.
    """

    exact: Sequence[str] = ()
    gaps: Mapping[str, str] = {}  # never changed
    training: Sequence[str] = ()
    activations: Mapping[str, Sequence[str]] = {}  # never changed
    masked: Sequence[str] = ()
    static: Sequence[str] = ()
    working_set: Sequence[str] = ()

    def gap(self, architecture: str, training: bool = False) -> str | None:
        """Why the costs of a class, or those of its ``training``, are not given; None where they are."""
        if architecture not in self.exact:
            return self.gaps.get(architecture, _NOT_HELD)
        if training and architecture not in self.training:
            return "its gradients have not met what torch counts"
        return None

    def activations_gap(self, architecture: str, kind: str) -> str | None:
        """Why a class has no activations in a kind of training; None where they met the instrument."""
        exact = self.activations.get(kind, ())
        return None if architecture in exact else self.gap(architecture) or _NOT_HELD

    def held(self, architecture: str) -> tuple[str, ...]:
        """Which further numbers of a call met their instrument: those of `archspec.costs.forward.HELD`."""
        return tuple(name for name in _HELD if architecture in getattr(self, name))


def recorded_costs(path: str) -> dict[str, CostRecord]:
    """What a file records of costs, by model type; nothing where it is missing."""
    if not os.path.isfile(path):
        return {}
    with open(path, encoding="utf-8") as file:
        lines: dict[str, dict[str, Any]] = json.load(file)["types"]
    known = CostRecord._fields
    return {
        name: CostRecord(**{key: value for key, value in line.items() if key in known})
        for name, line in lines.items()
    }


def entries(
    folders: Sequence[str], files: Mapping[str, str], load: Callable[[str], Spec]
) -> dict[str, Entry]:
    """Model type, or name of a shared part -> its entry, as the files are now.

    ``files`` has the path of each; ``load`` parses one.
    """
    kept = {name: entry for folder in reversed(folders) for name, entry in recorded(folder).items()}
    digests = {name: _short(_read(path)) for name, path in files.items()}
    other = {name for name, digest in digests.items() if name not in kept or kept[name].digest != digest}
    for name in dependents(other, kept) & files.keys():
        try:
            entry = _entry(load(files[name]))
        except ArchspecError:  # not well formed: what was known of it before
            entry = kept.get(name, Entry())
        kept[name] = entry._replace(digest=digests[name])
    return {name: kept[name] for name in files}


def recorded(folder: str) -> dict[str, Entry]:
    """The entries of a folder's index; none where it has no index, or one that cannot be read."""
    try:
        with open(os.path.join(folder, FILE), encoding="utf-8") as file:
            content = json.load(file)
        return {
            name: Entry(tuple(names), tuple(needs), digest)
            for name, (names, needs, digest) in content.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def dependents(names: set[str], found: Entries) -> set[str]:
    """Some files and all that extend, use or contain them, directly or through others."""
    within = set(names)
    while more := {name for name, entry in found.items() if within.intersection(entry.needs)} - within:
        within |= more
    return within


def whole_digests(
    found: Entries, files: Mapping[str, str], beside: Mapping[str, str] | None = None
) -> dict[str, str]:
    """A digest of each file's text and of all that it needs, directly or through others.

    ``beside`` has texts that count where their names occur in these.
    """
    texts = {name: _read(path).decode("utf-8", "replace") for name, path in files.items()}
    whole = {}
    for name in found:
        needed = {name}
        while more := {need for one in needed for need in found[one].needs if need in found} - needed:
            needed |= more
        joined = "\0".join(f"{one}\0{texts[one]}" for one in sorted(needed))
        named = (text for word, text in (beside or {}).items() if word in joined)
        whole[name] = _short("\0".join((joined, *named)).encode())
    return whole


def _read(path: str) -> bytes:
    """The text of a file; none where it cannot be read, as is told when it is parsed."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _short(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def _entry(spec: Spec) -> Entry:
    needs = {one.rpartition("/")[2] for one in (spec.extends, *spec.uses) if one}
    calls = (field.sub_config for field in spec.fields.values())
    needs |= {model_type for call in calls if call for model_type in model_types(call)}
    return Entry(spec.architectures, tuple(sorted(needs)))
