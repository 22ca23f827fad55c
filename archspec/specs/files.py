"""The files of specs: YAML in a checkout and in users' directories, one compiled file in a wheel.

`formulas/specs.json` is written by `python -m tools.release`, and when a wheel is built. It has the index of
the specs and, for each YAML file, a line with its text and its compact tree. A wheel has only this file. In a
checkout a line counts only while the YAML file has the same text; otherwise PyYAML reads the file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache, cached_property

from archspec.errors import Source, SpecError
from archspec.language.yaml_reader import Node, compact_tree, parse, text_of
from archspec.typing_light import Any

COMPILED = "specs.json"
NOTATION = "notation.yaml"
CONTRACTIONS = "contractions.yaml"
NOT_SPECS = {NOTATION, CONTRACTIONS}  # YAML files next to the specs
Index = Mapping[str, Any]  # path without .yaml -> [architectures, needed files, checksum]
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SAFE_PATH = re.compile(r"[A-Za-z0-9_\-]+(?:[./][A-Za-z0-9_\-]+)*$")
_SPECS = b',\n"specs": {\n'


@cache
def folder() -> str:
    """Return the directory of the shipped specs: inside an installed package, next to it in a checkout."""
    for path in (os.path.join(_PACKAGE, "formulas"), os.path.join(os.path.dirname(_PACKAGE), "formulas")):
        if os.path.isdir(path):
            return path
    raise SpecError("the directory formulas/ is missing in and next to the package")


class Compiled:
    """The compiled file of a directory of specs; empty if it is missing."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.alone = not os.path.isfile(os.path.join(directory, CONTRACTIONS))  # it replaces the YAML files
        try:
            with open(os.path.join(directory, COMPILED), "rb") as file:
                self._content = file.read()
        except OSError:
            self._content = b""
        self._specs = self._content.find(_SPECS)

    @cached_property
    def index(self) -> dict[str, Any]:
        """The line of each spec in the index, by its path."""
        lines = json.loads(self._content[: self._specs] + b"}")["index"] if self._content else {}
        return {_path(self.directory, name): line for name, line in lines.items()}

    def is_current(self) -> bool:
        """Return True if every YAML file has the compiled text, by the checksums in the index."""
        return self.alone or all(_checksum(path) == line[2] for path, line in self.index.items())

    def has(self, path: str) -> bool:
        return self.alone and bool(self._line(path))

    def read(self, path: str) -> tuple[Source, Node | None]:
        """Return a YAML file, and its document unless its text is not the compiled one."""
        line = self._line(path)
        if self.alone and line:
            text, tree = json.loads(line)
        else:
            text = text_of(path)
            head = b"[" + json.dumps(text).encode() + b", "
            tree = json.loads(line[len(head) : -1]) if line.startswith(head) else None
        source = Source(shown_path(path), text)
        return source, None if tree is None else parse(source, tree)

    def _line(self, path: str) -> bytes:
        """Return the JSON of one file; nothing if it is not here. The lines are sorted by name."""
        name = path.removeprefix(self.directory + os.sep).replace(os.sep, "/").removesuffix(".yaml")
        key = f'"{name}": '.encode()
        low, high = self._specs + len(_SPECS), len(self._content)
        while low < high:
            start = self._content.rfind(b"\n", low - 1, (low + high) // 2) + 1
            end = self._content.find(b"\n", start)
            line = self._content[start:end]
            if line.startswith(key):
                return line[len(key) :].rstrip(b",")
            low, high = (end + 1, high) if line < key else (low, start)
        return b""


def _path(directory: str, name: str) -> str:
    return os.path.join(directory, *f"{name}.yaml".split("/"))


def _checksum(path: str) -> int:
    from zlib import crc32

    try:
        with open(path, "rb", buffering=0) as file:
            return crc32(file.read().replace(b"\r\n", b"\n"))
    except OSError:  # reported when the file is parsed
        return -1


@cache
def compiled_specs() -> Compiled:
    """Return the compiled file of the package's specs."""
    return Compiled(folder())


def compiled_text(directory: str, index: Index) -> str:
    """Return the compiled file of a directory of YAML files; checksums are added to the ``index``."""
    rows, entries = [], []
    for name in sorted([*index, *(name.removesuffix(".yaml") for name in NOT_SPECS)]):
        path = _path(directory, name)
        source = Source(shown_path(path), text_of(path))
        tree = json.dumps(compact_tree(source), separators=(",", ":"))
        rows.append(f"{json.dumps(name)}: [{json.dumps(source.text)}, {tree}]")
        if name in index:
            entries.append(f"{json.dumps(name)}: {json.dumps([*index[name], _checksum(path)])}")
    parts = '{{"index": {{\n{}\n}},\n"specs": {{\n{}\n}}}}\n'
    return parts.format(",\n".join(entries), ",\n".join(rows))


def read(path: str) -> tuple[Source, Node | None]:
    """Return a YAML file, and its document if that is compiled. Errors: :class:`ArchspecError`."""
    return compiled_specs().read(path)


def spec_files(folders: Iterable[str]) -> dict[str, str]:
    """Return the path of each spec in some directories, by name; the first directory that has a name wins."""
    shipped = compiled_specs().index if compiled_specs().alone else ()
    found: dict[str, str] = {}
    for one in folders:
        paths = [path for path in shipped if os.path.dirname(path) == one]
        if os.path.isdir(one):
            paths += sorted(entry.path for entry in os.scandir(one) if entry.is_file())
        for path in paths:
            name = os.path.basename(path)
            if name.endswith(".yaml") and name not in NOT_SPECS and _SAFE_PATH.match(name):
                found.setdefault(name.removesuffix(".yaml"), path)
    return found


def find_file(name: str, folders: Iterable[str]) -> str:
    """Return the path of a file of specs in the first directory that has it, or an empty text."""
    paths = (os.path.join(one, name + ".yaml") for one in folders if _SAFE_PATH.match(name))
    return next((path for path in paths if os.path.isfile(path) or compiled_specs().has(path)), "")


def find_spec(model_type: str, folders: Iterable[str]) -> str:
    """Return the path of a model type's spec in the first directory that has one, or an empty text."""
    is_type = "/" not in model_type and f"{model_type}.yaml" not in NOT_SPECS
    return find_file(model_type, folders) if is_type else ""


def shown_path(path: str) -> str:
    """Return a path as messages name it: that of a shipped spec starts with formulas/."""
    own = os.path.relpath(path, folder())
    if not own.startswith(".."):
        return os.path.join(os.path.basename(folder()), own)
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def is_shipped(shown: str) -> bool:
    """Return True for the path of a shipped spec, as messages name it."""
    return shown.startswith(os.path.basename(folder()) + os.sep)


@cache
def read_json(name: str) -> Any:
    """Return the content of a JSON file next to the shipped specs; callers do not change it."""
    with open(os.path.join(folder(), name), encoding="utf-8") as file:
        return json.load(file)
