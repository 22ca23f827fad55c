"""The symbols that formulas are printed in: `formulas/notation.yaml`, and what a user puts over it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from archspec.errors import FormulaError, Source, SpecError
from archspec.language.yaml_nodes import Mapping as YamlMapping
from archspec.language.yaml_nodes import Scalar, Sequence
from archspec.language.yaml_reader import MAX_SPEC_BYTES, parse
from archspec.specs.library import NOTATION, shipped

# of formulas; `sql` is of DuckDB, `spark` of Spark
FORMATS = ("text", "unicode", "latex", "mathml", "markdown", "python", "c", "sql", "spark")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*$")
_HELP = "one line a symbol: V: {latex: V, meaning: vocabulary size, fields: [vocab_size]}"


class Glyph(NamedTuple):
    """How one field is written: in text, in LaTeX, and what it means."""

    text: str
    latex: str
    meaning: str


def path() -> str:
    """The file of the usual symbols."""
    return os.path.join(shipped().folder, NOTATION)


def standard() -> dict[str, Glyph]:
    """Field -> its usual symbol."""
    return read(path())


def read(path: str) -> dict[str, Glyph]:
    """The symbols of a notation file.

    Errors: :class:`SpecError` with the place for a line that is not `symbol: {latex, meaning, fields}`.
    """
    try:
        with open(path, encoding="utf-8") as file:
            source = Source(path, file.read(MAX_SPEC_BYTES + 1))
    except OSError as error:
        raise FormulaError(f"{path}: the notation cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise FormulaError(f"{path}: the notation is not UTF-8 text: {error.reason}") from None
    root = parse(source)
    if not isinstance(root, YamlMapping):
        raise SpecError("a notation is a mapping of symbols", root.place, help=_HELP)
    glyphs: dict[str, Glyph] = {}
    for text, node in root.items.items():
        parts = node.items if isinstance(node, YamlMapping) else {}
        fields, latex, meaning = parts.get("fields"), parts.get("latex"), parts.get("meaning")
        if not (isinstance(fields, Sequence) and isinstance(latex, Scalar) and _PLAIN.match(text)):
            raise SpecError(f"{text} is not described", root.keys[text], help=_HELP)
        said = meaning.text if isinstance(meaning, Scalar) else ""
        glyph = Glyph(text, latex.text, said)
        glyphs |= {field.text: glyph for field in fields.items if isinstance(field, Scalar)}
    return glyphs


def chosen(names: Iterable[str], own: Mapping[str, Glyph] | None = None) -> dict[str, Glyph]:
    """Name -> symbol for the names of one formula; no two names get the same symbol.

    A name within a sub-config takes its part as a subscript: `text_config.hidden_size` is d_text.
    """
    glyphs = {**standard(), **(own or {})}
    rank = {name: number for number, name in enumerate(glyphs)}
    found: dict[str, Glyph] = {}
    taken: set[str] = set()
    for name in sorted(names, key=lambda name: (name.count("."), rank.get(name, len(rank)), name)):
        glyph = _glyph(name, glyphs)
        if glyph.text in taken:
            glyph = spelled(name, glyph.meaning)
        taken.add(glyph.text)
        found[name] = glyph
    return found


def _glyph(name: str, glyphs: Mapping[str, Glyph]) -> Glyph:
    *parts, field = name.split(".") if "[" not in name.split(".")[0] else [name]
    indexed = re.fullmatch(r"(\w+)\[(\d+)\]", field)
    base = indexed.group(1) if indexed else field
    if base not in glyphs or (parts and not all(_PLAIN.match(part) for part in parts)):
        return spelled(name, "")
    glyph = glyphs[base]
    subscripts = [part.removesuffix("_config") for part in parts] + ([indexed.group(2)] if indexed else [])
    if not subscripts:
        return glyph
    below = ",".join(subscripts)
    stem, _, inner = glyph.latex.partition("_")
    inner = inner[1:-1] if "\\mathrm{" in inner else inner.strip("{}")
    latex = f"{stem}_{{{inner}{',' if inner else ''}{_upright(below)}}}"
    return Glyph("_".join([glyph.text, *subscripts]), latex, f"{glyph.meaning} ({below})")


def spelled(name: str, meaning: str) -> Glyph:
    """A name written out; what is no identifier becomes one."""
    text = re.sub(r"\W+", "_", name).strip("_")
    if text.startswith("L_"):
        return Glyph(text, f"L_{{{_upright(text[2:])}}}", meaning)
    return Glyph(text, _upright(text), meaning)


def _upright(text: str) -> str:
    escaped = text.replace("_", "\\_")
    return f"\\mathrm{{{escaped}}}"
