"""The symbols in which formulas are printed: `formulas/notation.yaml`, overridden by a user's own symbols."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from archspec.errors import ArchspecError, FormulaError, SpecError, did_you_mean, option, to_printable
from archspec.language.yaml_reader import Mapping as YamlMapping
from archspec.language.yaml_reader import Scalar, Sequence, parse
from archspec.specs.files import NOTATION
from archspec.specs.files import read as read_file
from archspec.specs.library import shipped_library

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*$")
_NAME = r"\texttt"
_SIGNS = {"\\": "backslash", "^": "asciicircum", "~": "asciitilde", "<": "less", ">": "greater"}
_ESCAPES = str.maketrans(
    {sign: f"\\{sign}" for sign in "_{}#%&$"}
    | {sign: f"\\text{name}{{}}" for sign, name in _SIGNS.items()}
    | {"×": r"$\times$"}
)
_HELP = "write one line per symbol, e.g. V: {latex: V, meaning: vocabulary size, fields: [vocab_size]}"
_LATEX_HELP = r"balance its braces, and write \$, \%, \# and \&"
# What a field is in a model -> whether it grows when a model is made larger. A linked width is a width of
# another part, equal to the model width at the interface. After a layer period the kinds of layers repeat.
ROLES = {
    **dict.fromkeys(("width", "embedding width", "linked width", "feed-forward width", "head width"), True),
    **dict.fromkeys(("other size", "depth", "decoder depth", "heads", "key-value heads"), True),
    **dict.fromkeys(("experts", "shared experts", "chosen experts", "vocabulary", "call"), True),
    **dict.fromkeys(("context", "layer period", "constant"), False),
}


class Glyph(NamedTuple):
    """The symbol of a field in text and in LaTeX, and its meaning."""

    text: str
    latex: str
    meaning: str

    @property
    def is_word(self) -> bool:
        """True for a spelled-out name: two such factors need a sign between them."""
        return self.latex.startswith(_NAME)


class Entry(NamedTuple):
    """An entry of a notation file: a symbol (None if it only gives a role), its fields, order and role."""

    glyph: Glyph | None
    fields: tuple[str, ...]
    order: int
    role: str


def path() -> str:
    """Return the file of the standard symbols."""
    return os.path.join(shipped_library().folder, NOTATION)


def standard_glyphs() -> dict[str, Glyph]:
    """Return the standard symbol of each field."""
    return _glyphs(_shipped_entries(path()))


@cache
def roles() -> dict[str, str]:
    """Return the role of each field that has one: one of :data:`ROLES`."""
    return {field: entry.role for entry in _shipped_entries(path()) if entry.role for field in entry.fields}


@cache
def symbol_places() -> dict[str, tuple[int, int]]:
    """Return the rank of each field's line in the file of the standard symbols, and its order."""
    ranked = enumerate(entry for entry in _shipped_entries(path()) if entry.glyph)
    return {field: (rank, entry.order) for rank, entry in ranked for field in entry.fields}


def own_glyphs(
    names: Iterable[str], notation: str | None = None, symbol: Mapping[str, str] | None = None
) -> dict[str, Glyph]:
    """Return the symbols of a notation file, overridden by the LaTeX of ``symbol`` for some fields.

    ``names`` are those of the formula. Errors: :class:`FormulaError` for another field, and invalid LaTeX.
    """
    own, known = _glyphs(entries(notation)) if notation else {}, sorted({*map(field_of, names)})
    standard = standard_glyphs()
    for field, latex in (symbol or {}).items():
        if field not in known:
            help_ = did_you_mean(field, known) or f"choose from: {', '.join(known)}"
            raise FormulaError(f"{option('symbol')}: {field} is not a field of the formula", help=help_)
        if not latex:
            message = f"{option('symbol', {field: ''})} has no symbol"
            raise FormulaError(message, help=f"write LaTeX, e.g. {option('symbol', {field: 'd'})}")
        if not _is_latex(latex):
            message = f"{option('symbol')} {field}: {latex} is not valid LaTeX in a formula"
            raise FormulaError(message, help=_LATEX_HELP)
        letters = "".join(c for c in latex if c.isalnum() or c == "_")
        meaning = standard[field].meaning if field in standard else ""
        own[field] = Glyph(letters or field, latex, meaning)
    return own


def _is_latex(text: str) -> bool:
    """Return True if the braces of LaTeX are balanced and no character ends the formula or the line."""
    bare, depth = re.sub(r"\\.", "", text), 0
    for letter in bare:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth < 0 or letter in "$%#&\\":
            return False
    return depth == 0


def entries(path: str) -> tuple[Entry, ...]:
    """Return the entries of a notation file.

    Errors: :class:`SpecError` with the place of an entry that is not `symbol: {latex, meaning, fields}` or
    `name: {role, fields}`; :class:`FormulaError` for a file that cannot be read.
    """
    try:
        source, document = read_file(path)
        root = document or parse(source)
    except SpecError as error:
        raise SpecError([one._replace(help=_HELP) for one in error.problems]) from None
    except ArchspecError as error:
        help_ = "pass a YAML file in the format of formulas/notation.yaml"
        raise FormulaError(error.problems[0]._replace(help=help_)) from None
    if not isinstance(root, YamlMapping):
        raise SpecError("a notation is a mapping of symbols", root.place, help=_HELP)
    found = []
    for text, node in root.items.items():
        parts = node.items if isinstance(node, YamlMapping) else {}
        texts = {key: part.text for key, part in parts.items() if isinstance(part, Scalar)}
        latex, role, fields = texts.get("latex"), texts.get("role", ""), parts.get("fields")
        if role and role not in ROLES:
            help_ = f"choose from: {', '.join(ROLES)}"
            raise SpecError(f"unknown role {role!r}", parts["role"].place, help=help_)
        if not (isinstance(fields, Sequence) and _IDENTIFIER.match(text)) or (latex is None and not role):
            raise SpecError(f"{text} needs a symbol and fields", root.keys[text], help=_HELP)
        if latex is not None and not _is_latex(latex):
            message = f"{text}: {latex} is not valid LaTeX in a formula"
            raise SpecError(message, parts["latex"].place, help=_LATEX_HELP)
        glyph = None if latex is None else Glyph(text, latex, texts.get("meaning", ""))
        names = tuple(field.text for field in fields.items if isinstance(field, Scalar))
        found.append(Entry(glyph, names, 0 if texts.get("order") == "0" else 1, role))
    return tuple(found)


def choose_glyphs(names: Iterable[str], own: Mapping[str, Glyph] | None = None) -> dict[str, Glyph]:
    """Return the symbol of each name in one formula; each name gets a different symbol.

    The sub-config of a name becomes a subscript: `text_config.hidden_size` is d_text.
    """
    glyphs = {**standard_glyphs(), **(own or {})}
    rank = {name: number for number, name in enumerate(glyphs)}
    found, taken = dict[str, Glyph](), set[str]()
    for name in sorted(names, key=lambda name: (name.count("."), rank.get(name, len(rank)), name)):
        glyph = _glyph(name, glyphs)
        if not taken.isdisjoint(glyph[:2]):
            glyph = spell_name(name, glyph.meaning)
        taken.update(glyph[:2])
        found[name] = glyph
    return found


def field_of(name: str) -> str:
    """Return the field of a symbol, without its sub-config and its index."""
    return name if "(" in name else name.rpartition(".")[2].partition("[")[0]


def spell_name(name: str, meaning: str = "") -> Glyph:
    """Return a name written out as an identifier."""
    text = re.sub(r"\W+", "_", name).strip("_")
    latex = f"L_{{{_subscript(text[2:])}}}" if text.startswith("L_") else f"{_NAME}{{{escape(text)}}}"
    return Glyph(text, latex, meaning)


def escape(text: str) -> str:
    """Escape a text for LaTeX."""
    return to_printable(text).translate(_ESCAPES)


@cache
def _shipped_entries(path: str) -> tuple[Entry, ...]:
    return entries(path)


def _glyphs(entries: Iterable[Entry]) -> dict[str, Glyph]:
    return {field: entry.glyph for entry in entries if entry.glyph for field in entry.fields}


def _glyph(name: str, glyphs: Mapping[str, Glyph]) -> Glyph:
    *parts, field = name.split(".") if "[" not in name.split(".")[0] else [name]
    indexed = re.fullmatch(r"(\w+)\[(\d+)\]", field)
    glyph = glyphs.get(indexed[1] if indexed else field)
    if glyph is None or not all(_IDENTIFIER.match(part) for part in parts):
        return spell_name(name)
    subscripts = [part.removesuffix("_config") for part in parts] + ([indexed[2]] if indexed else [])
    if not subscripts:
        return glyph
    below = ",".join(subscripts)
    stem, _, inner = glyph.latex.partition("_")
    inner = f"{inner.strip('{}')}," if inner else ""
    upright = inner.startswith(r"\mathrm")
    subscript = _subscript(inner.removeprefix(r"\mathrm{") + below) if upright else inner + _subscript(below)
    return Glyph("_".join([glyph.text, *subscripts]), f"{stem}_{{{subscript}}}", f"{glyph.meaning} ({below})")


def _subscript(text: str) -> str:
    """Return a subscript in LaTeX: numbers as they are, words upright."""
    return text if text.isdecimal() else f"\\mathrm{{{escape(text)}}}"
