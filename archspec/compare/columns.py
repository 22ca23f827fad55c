"""The columns of a table of models: quantities, costs, config fields, symbols, and words for these."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from archspec.configs.scope import Scope, SubConfig
from archspec.costs.forward import Forward
from archspec.costs.lengths import USUAL_TOKENS
from archspec.errors import ArchspecError, list_names, nearest_names
from archspec.models.model import Model
from archspec.models.report import lengths_text
from archspec.render.notation import Glyph, escape, standard_glyphs
from archspec.specs.records import AXES as OF_CALLS
from archspec.tables.axes import AXES
from archspec.tables.quantities import QUANTITIES

DEFAULT = ("model", "params", "active_params", "L", "d", "h", "d_ff", "V")
_STAGES = "depths"
_OF_STAGES = ("L", "d", "h", "d_ff")
_TEXT = "text_config"  # the part that is meant where several have a field
_NO_MEANING = {"number", "size", "side", "of", "the", "that", "on", "a", "in", "per", "to", "model"}
_FACTS = ("model", "architecture", "model_type", "dtype")


class Calls:
    """The same forward pass of each model: the lengths given, and the dtype of bytes (None: each model's)."""

    def __init__(self, lengths: Mapping[str, Any], dtype: str | None = None) -> None:
        self.lengths, self.dtype = lengths, dtype
        self._forwards: dict[int, Forward] = {}

    def forward(self, model: Model) -> Forward:
        """Return the costs of the forward pass of one model, built once."""
        if id(model) not in self._forwards:
            self._forwards[id(model)] = model.forward(**self.lengths)
        return self._forwards[id(model)]

    def __str__(self) -> str:
        usual = f"{USUAL_TOKENS:,} tokens (or the model's maximum if smaller)"
        return ", ".join(filter(None, [usual * ("tokens" not in self.lengths), lengths_text(self.lengths)]))


class Found(NamedTuple):
    """A value of one model, with the part of its config that has it, or the reason why it is missing."""

    value: Any
    part: str = ""
    missing: str = ""


class Column(NamedTuple):
    """A column: its name as given, its heading in text and LaTeX, its meaning, and how it is read."""

    name: str
    title: str
    latex: str
    meaning: str
    read: Callable[[Model], Found]

    @property
    def is_symbol(self) -> bool:
        """True if the heading is a formula."""
        return self.latex.startswith("$")


def columns_of(names: Sequence[str], models: Sequence[Model], calls: Calls) -> list[Column]:
    """Return the columns of some names, in their order.

    Errors: :class:`ArchspecError` for a name that none of the models has, and for one that is given twice.

    >>> import archspec
    >>> models = [archspec.load("GPT2Model")]
    >>> [column.title for column in columns_of(["params", "L", "width"], models, Calls({}))]
    ['params', 'L', 'width']
    """
    for name in names:
        if list(names).count(name) > 1:
            raise ArchspecError(f"the column {name} is given twice", help=f"remove one {name}")
    glyphs = {field: glyph for field, glyph in standard_glyphs().items() if field not in OF_CALLS}
    return [_column(name, models, calls, glyphs) for name in names]


def _column(name: str, models: Sequence[Model], calls: Calls, glyphs: Mapping[str, Glyph]) -> Column:
    if name in _FACTS:
        return Column(name, name.replace("_", " "), "", "", lambda model: Found(getattr(model, name, None)))
    if quantity := _quantity(name):
        one = QUANTITIES[quantity]
        return Column(name, one.title, "", "", lambda model: Found(model.count(quantity)))
    if name in {*OF_CALL, *IN_BYTES}:
        return _cost_column(name, calls)
    if name not in AXES and (glyph := _find_glyph(name, glyphs)):
        fields = [field for field, other in glyphs.items() if other == glyph]
        of_decoder = [field for field, other in glyphs.items() if other.text == f"{glyph.text}_dec"]
        in_stages = glyph.text in _OF_STAGES
        latex, meaning = (f"${glyph.latex}$", glyph.meaning) if name == glyph.text else ("", "")
        return Column(name, name, latex, meaning, lambda model: _symbol(model, fields, of_decoder, in_stages))
    if any(_has(model.scope, name) for model in models):
        latex = f"\\texttt{{{escape(name)}}}"
        return Column(name, name, latex, "", lambda model: _field(model, [name]))
    raise ArchspecError(f"unknown column {name!r}", help=_suggestion(name, models))


def _suggestion(name: str, models: Sequence[Model]) -> str:
    symbols = {glyph.text for field, glyph in standard_glyphs().items() if field not in OF_CALLS}
    known = [*_FACTS, *QUANTITIES, "bytes", *_COSTS, *sorted(symbols)]
    specs = [model.scope.spec for model in models]
    fields = {field for spec in specs for field in (*spec.fields, *spec.attribute_map)}
    if near := nearest_names(name, {*known, *fields} - {name}):
        return f"did you mean {list_names(near)}?"
    return f"choose from: {', '.join(known)}, or a config field"


def _quantity(name: str) -> str:
    plain = name.replace("-", "_").replace(" ", "_")
    return next((full for full in QUANTITIES if plain in (full, full.removesuffix("_params"))), "")


def _find_glyph(name: str, glyphs: Mapping[str, Glyph]) -> Glyph | None:
    """Return the symbol of a name, or the one whose meaning has its words and the fewest others: `width`."""
    if found := next((glyph for glyph in glyphs.values() if glyph.text == name), None):
        return found
    words = _words(name.lower().replace("kv", "key-value"))
    if name in glyphs or not words:
        return None
    meant = [glyph for glyph in glyphs.values() if words <= _words(glyph.meaning)]
    return min(meant, key=lambda glyph: len(_words(glyph.meaning)), default=None)


def _words(text: str) -> set[str]:
    return set(re.split(r"[\s_-]+", text)) - _NO_MEANING


def _cache(forward: Forward, dtype: str) -> int | None:
    return int(forward.cache_bytes(dtype)) if forward.cache else None


def _cache_per_token(forward: Forward, dtype: str) -> int | None:
    size, call = _cache(forward, dtype), forward.call
    return None if size is None else round(size / (call.batch * call.context))


def _flops_per_token(forward: Forward, dtype: str) -> int:
    return round(forward.flops / (forward.call.batch * forward.call.tokens))


_COSTS: dict[str, Callable[[Forward, str], int | None]] = {
    "flops": lambda forward, dtype: forward.flops,
    "flops_per_token": _flops_per_token,
    "cache_bytes": _cache,
    "cache_bytes_per_token": _cache_per_token,
    "item_tokens": lambda forward, dtype: forward.item_tokens,
}
OF_CALL = tuple(_COSTS)  # columns that depend on the lengths of a forward pass
IN_BYTES = ("bytes", *(name for name in _COSTS if "bytes" in name))  # columns that depend on a dtype


def _cost_column(name: str, calls: Calls) -> Column:
    if name == "bytes":
        meaning = f"in {calls.dtype or 'the format of each config'}"
        return Column(name, name, "", meaning, lambda model: _attempt(model.params_bytes, calls.dtype))
    dtype = f", in {calls.dtype or 'the dtype of each config'}" if name in IN_BYTES else ""
    title = name.replace("_", " ").replace("flops", "FLOPs")

    def read(model: Model) -> Found:
        return _attempt(lambda: _COSTS[name](calls.forward(model), calls.dtype or model.dtype))

    return Column(name, title, "", f"for a forward pass with {calls}{dtype}", read)


def _attempt(count: Callable[..., Any], *arguments: Any) -> Found:
    """Return a number, or the reason why it is missing."""
    try:
        return Found(count(*arguments))
    except ArchspecError as error:
        return Found(None, missing=error.problems[0].message)


def _symbol(model: Model, fields: Sequence[str], of_decoder: Sequence[str], of_stage: bool) -> Found:
    """Return the value of a symbol, unless each stage has another value."""
    found = _field(model, fields)
    depths = _value(model.scope, [_STAGES])
    if of_stage and isinstance(depths, list) and type(found.value) is int:
        return Found(depths) if _STAGES in fields else Found(None, missing="each stage has another value")
    if found.value is not None and not found.part and _value(model.scope, of_decoder) is not None:
        return found._replace(part="encoder")
    return found


def _field(model: Model, names: Sequence[str]) -> Found:
    if (value := _value(model.scope, names)) is not None:
        return Found(value)
    found = dict(_values_in_parts(model.scope, names, ""))
    of_text = [path for path in found if path.rpartition(".")[2] == _TEXT]
    chosen = list(found) if len(found) == 1 else of_text
    if len(chosen) == 1:
        return Found(found[chosen[0]], chosen[0])
    return Found(None, missing=f"{' and '.join(found)} have different values" if found else "")


def _values_in_parts(scope: Scope, names: Sequence[str], path: str) -> Iterator[tuple[str, Any]]:
    for name, part in _parts(scope).items():
        if (value := _value(part, names)) is not None:
            yield path + name, value
        else:
            yield from _values_in_parts(part, names, f"{path}{name}.")


def _has(scope: Scope, name: str) -> bool:
    first, _, rest = name.partition(".")
    parts = _parts(scope)
    if rest:
        return first in parts and _has(parts[first], rest)
    own = name not in parts and (scope.has(name) or name in scope.raw)
    return own or any(_has(part, name) for part in parts.values())


def _value(scope: Scope, names: Sequence[str]) -> Any:
    parts = _parts(scope)
    for name in names:
        first, _, rest = name.partition(".")
        if rest and first in parts:
            return _value(parts[first], [rest])
        if not rest and scope.has(name) and name not in parts:
            return scope.get(scope.canonical(name))
        if name in scope.raw and not isinstance(scope.raw[name], dict):
            return scope.raw[name]  # a field that no count depends on
    return None


def _parts(scope: Scope) -> dict[str, Scope]:
    found = {}
    for field in scope.spec.fields.values():
        try:
            value = scope.get(field.name) if field.sub_config else None
            if isinstance(value, SubConfig):
                found[field.name] = value.scope
        except ArchspecError:
            continue
    return found
