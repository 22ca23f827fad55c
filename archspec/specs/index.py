"""What each spec file describes and needs, without parsing: a folder's `index.json`, one line a file.

`python -m tools.index` writes it. An entry counts only while its file, and those that it needs, have the text
that it was made from: a file whose text is another one, or that has no entry, is parsed instead.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from archspec.errors import ArchspecError
from archspec.language.trees import callee, calls
from archspec.specs.records import CONFIGS, Field, Spec, camel_case

FILE = "index.json"


class Entry(NamedTuple):
    """A model type's spec, or a shared part.

    ``needs`` are the files that it extends or uses, and those of the model types that its sub-configs have by
    default; ``digest`` is of the file's own text.
    """

    architectures: tuple[str, ...]
    prefix: str
    extends: str
    needs: tuple[str, ...]
    digest: str


Entries = Mapping[str, Entry]


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
        before = kept.get(name, Entry((), camel_case(name), "", (), ""))
        try:
            kept[name] = _entry(load(files[name]), digests[name])
        except ArchspecError:  # not well formed: what was known of it before
            kept[name] = before._replace(digest=digests[name])
    return {name: kept[name] for name in files}


def recorded(folder: str) -> dict[str, Entry]:
    """The entries of a folder's index; none where it has no index, or one that cannot be read."""
    try:
        with open(os.path.join(folder, FILE), encoding="utf-8") as file:
            content = json.load(file)
        return {
            name: Entry(tuple(names), prefix, extends, tuple(needs), digest)
            for name, (names, prefix, extends, needs, digest) in content.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def text(found: Entries) -> str:
    """The index as it is written."""
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in sorted(found.items()))
    return f"{{\n{rows}\n}}\n"


def dependents(names: set[str], found: Entries) -> set[str]:
    """Some files and all that extend, use or contain them, directly or through others."""
    within = set(names)
    while more := {name for name, entry in found.items() if within.intersection(entry.needs)} - within:
        within |= more
    return within


def whole_digests(found: Entries, files: Mapping[str, str]) -> dict[str, str]:
    """A digest of each file's text and of all that it needs, directly or through others."""
    texts = {name: _read(path).decode("utf-8", "replace") for name, path in files.items()}
    whole = {
        name: "\0".join(f"{needed}\0{texts[needed]}" for needed in sorted(_needed(name, found)))
        for name in found
    }
    return {name: _short(joined.encode()) for name, joined in whole.items()}


def _needed(name: str, found: Entries) -> set[str]:
    within, pending = set[str](), [name]
    while pending:
        name = pending.pop()
        if name in found and name not in within:
            within.add(name)
            pending += found[name].needs
    return within


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _short(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def _entry(spec: Spec, digest: str) -> Entry:
    needs = {one.rpartition("/")[2] for one in (spec.extends, *spec.uses) if one}
    needs |= {model_type for field in spec.fields.values() for model_type in _types(field)}
    return Entry(spec.architectures, spec.prefix, spec.extends, tuple(sorted(needs)), digest)


def _types(field: Field) -> Iterator[str]:
    """The model types that a sub-config's default names: `Config(bert)`, `AutoConfig("a" if … else "b")`."""
    for call in calls(field.default.tree) if field.default else ():
        for tree in call.args[:1] if callee(call) in CONFIGS else ():
            yield from _branches(tree)


def _branches(tree: ast.expr) -> Iterator[str]:
    if isinstance(tree, ast.IfExp):
        yield from _branches(tree.body)
        yield from _branches(tree.orelse)
    elif isinstance(tree, ast.Name):
        yield tree.id
    elif isinstance(tree, ast.Constant):
        yield str(tree.value)
