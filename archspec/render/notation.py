"""The symbols that formulas are printed in: `formulas/notation.yaml`, and what a user puts over it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from archspec.errors import ArchspecError, FormulaError, Source, SpecError, printable
from archspec.language.yaml_reader import Mapping as YamlMapping
from archspec.language.yaml_reader import Scalar, Sequence, parse
from archspec.specs.files import NOTATION, compiled
from archspec.specs.library import shipped

# of formulas; `sql` is of DuckDB, `spark` of Spark
FORMATS = ("text", "unicode", "latex", "mathml", "markdown", "python", "c", "sql", "spark")
ENVIRONMENTS = ("align", "align*", "equation", "equation*")  # of LaTeX
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*$")
_NAME = r"\texttt"
_ESCAPES = {
    **{c: f"\\{c}" for c in "_{}#%&$"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "×": r"$\times$",
}
_HELP = "one line a symbol: V: {latex: V, meaning: vocabulary size, fields: [vocab_size]}"
# What a field is in a model -> whether it grows when a model is made larger.
ROLES = {
    "width": True,
    "embedding width": True,
    "linked width": True,  # a width of another part, equal to the model width where the two parts meet
    "feed-forward width": True,
    "head width": True,
    "other size": True,
    "depth": True,
    "decoder depth": True,
    "heads": True,
    "key-value heads": True,
    "experts": True,
    "shared experts": True,
    "chosen experts": True,
    "vocabulary": True,
    "call": True,
    "context": False,
    "layer period": False,  # the number of layers after which the kinds of layers repeat
    "constant": False,
}


class Glyph(NamedTuple):
    """How one field is written: in text, in LaTeX, and what it means."""

    text: str
    latex: str
    meaning: str

    @property
    def named(self) -> bool:
        """Whether it is a name written out: a product of two such needs a sign between them."""
        return self.latex.startswith(_NAME)


class Entry(NamedTuple):
    """An entry of a notation file: a symbol, its fields, what it adds to the order of a term, and a role.

    An entry without a symbol only gives fields a role.
    """

    glyph: Glyph | None
    fields: tuple[str, ...]
    order: int
    role: str


def path() -> str:
    """The file of the usual symbols."""
    return os.path.join(shipped().folder, NOTATION)


def standard() -> dict[str, Glyph]:
    """Field -> its usual symbol."""
    return _glyphs(_shipped(path()))


@cache
def roles() -> dict[str, str]:
    """Field -> its role, one of :data:`ROLES`; fields without a role are missing.

    >>> roles()["n_embd"], roles()["hidden_dim"], roles()["patch_size"]
    ('width', 'feed-forward width', 'constant')
    """
    return {field: entry.role for entry in _shipped(path()) if entry.role for field in entry.fields}


@cache
def places() -> dict[str, tuple[int, int]]:
    """Field -> the rank of its line in the file of the usual symbols, and its order."""
    ranked = enumerate(entry for entry in _shipped(path()) if entry.glyph)
    return {field: (rank, entry.order) for rank, entry in ranked for field in entry.fields}


@cache
def _shipped(path: str) -> tuple[Entry, ...]:
    return entries(path)


def read(path: str) -> dict[str, Glyph]:
    """The symbols of a notation file, by field. Errors: those of :func:`entries`."""
    return _glyphs(entries(path))


def _glyphs(entries: Iterable[Entry]) -> dict[str, Glyph]:
    return {field: entry.glyph for entry in entries if entry.glyph for field in entry.fields}


def own_glyphs(notation: str | None = None, symbol: Mapping[str, str] | None = None) -> dict[str, Glyph]:
    """The symbols of a notation file, and over them those in LaTeX of some fields.

    Errors: those of :func:`entries`, and :class:`FormulaError` for a field without a symbol.
    """
    own = read(notation) if notation else {}
    for field, latex in (symbol or {}).items():
        if not latex:
            raise FormulaError(f"--symbol {field}=: there is no symbol", help="write it in LaTeX")
        letters = "".join(c for c in latex if c.isalnum() or c == "_")
        own[field] = Glyph(letters or field, latex, "")
    return own


def entries(path: str) -> tuple[Entry, ...]:
    """The entries of a notation file.

    Errors: :class:`SpecError` with the place for an entry that is not `symbol: {latex, meaning, fields}` or
    `name: {role, fields}`.
    """
    try:
        text, tree = compiled().read(path)
    except ArchspecError as error:
        raise FormulaError(f"the notation cannot be read: {error}") from None
    root = parse(Source(path, text), tree)
    if not isinstance(root, YamlMapping):
        raise SpecError("a notation is a mapping of symbols", root.place, help=_HELP)
    found = []
    for text, node in root.items.items():
        parts = node.items if isinstance(node, YamlMapping) else {}
        texts = {key: part.text for key, part in parts.items() if isinstance(part, Scalar)}
        latex, role, fields = texts.get("latex"), texts.get("role", ""), parts.get("fields")
        if role and role not in ROLES:
            raise SpecError(f"unknown role {role!r}", parts["role"].place, help=f"choose {', '.join(ROLES)}")
        if not (isinstance(fields, Sequence) and _PLAIN.match(text)) or (latex is None and not role):
            raise SpecError(f"{text} needs a symbol and fields", root.keys[text], help=_HELP)
        glyph = None if latex is None else Glyph(text, latex, texts.get("meaning", ""))
        names = tuple(field.text for field in fields.items if isinstance(field, Scalar))
        found.append(Entry(glyph, names, 0 if texts.get("order") == "0" else 1, role))
    return tuple(found)


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
        if not taken.isdisjoint(glyph[:2]):
            glyph = spelled(name, glyph.meaning)
        taken.update(glyph[:2])
        found[name] = glyph
    return found


def field_of(name: str) -> str:
    """The field that a symbol is, without the sub-config and the index.

    >>> field_of("text_config.hidden_size"), field_of("conv_dim[0]")
    ('hidden_size', 'conv_dim')
    """
    return name if "(" in name else name.rpartition(".")[2].partition("[")[0]


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
    upright = inner.strip("{}").removeprefix("\\mathrm{") if "\\mathrm" in inner else ""
    italic = "" if upright or not inner else inner.strip("{}") + ","
    latex = f"{stem}_{{{italic}{_upright(f'{upright},{below}' if upright else below)}}}"
    return Glyph("_".join([glyph.text, *subscripts]), latex, f"{glyph.meaning} ({below})")


def spelled(name: str, meaning: str) -> Glyph:
    """A name written out; what is no identifier becomes one."""
    text = re.sub(r"\W+", "_", name).strip("_")
    if text.startswith("L_"):
        return Glyph(text, f"L_{{{_upright(text[2:])}}}", meaning)
    return Glyph(text, f"{_NAME}{{{escaped(text)}}}", meaning)


def _upright(text: str) -> str:
    """A subscript: a number as it is, words upright."""
    return text if text.isdecimal() else f"\\mathrm{{{escaped(text)}}}"


def escaped(text: str) -> str:
    """A text in LaTeX."""
    return "".join(_ESCAPES.get(c, c) for c in printable(text))
