"""What a table of models may tell of each: quantities, costs, fields of its config, symbols, words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError, did_you_mean
from archspec.models.model import Model
from archspec.render.notation import Glyph, escaped, standard
from archspec.tables.quantities import QUANTITIES

DEFAULT = ("model", "params", "active_params", "L", "d", "h", "d_ff", "V")
_LENGTHS = (
    "batch",
    "tokens",
    "past",
    "encoder_tokens",
    "new_encoder_tokens",
)  # of a call: no config has them
_STAGES = "depths"
_OF_STAGES = ("L", "d", "h", "d_ff")
_TEXT = "text_config"  # the part that is meant where several have a field
_NO_MEANING = {"number", "size", "side", "of", "the", "that", "on", "a", "in", "per", "to", "model"}
OF_CALL = ("flops", "flops_per_token", "cache_bytes", "cache_bytes_per_token")  # depend on its tokens
IN_BYTES = ("bytes", "cache_bytes", "cache_bytes_per_token")  # depend on a dtype
_FACTS = ("model", "architecture", "model_type", "dtype")


class Call(NamedTuple):
    """The lengths and the dtype of what a table tells: bytes at the model's own dtype where none is given."""

    tokens: int = 2048
    dtype: str | None = None


class Found(NamedTuple):
    """A value of one model, None for none: the part of its config that has it, or why there is none."""

    value: Any
    part: str = ""
    missing: str = ""


class Column(NamedTuple):
    """A column: its name as it was given, its heading in text and LaTeX, what it means, how it is read."""

    name: str
    title: str
    latex: str
    meaning: str
    read: Callable[[Model], Found]

    @property
    def is_symbol(self) -> bool:
        """Whether its heading is mathematics."""
        return self.latex.startswith("$")


def columns_of(names: Sequence[str], models: Sequence[Model], call: Call) -> list[Column]:
    """The columns of some names, in their order.

    Errors: :class:`ArchspecError` for a name that none of the models has, and for one that is given twice.

    >>> import archspec
    >>> models = [archspec.load("GPT2Model")]
    >>> [column.title for column in columns_of(["params", "L", "width"], models, Call())]
    ['params', 'L', 'width']
    """
    for name in names:
        if list(names).count(name) > 1:
            raise ArchspecError(f"the column {name} is given twice", help="name each column once")
    glyphs = {field: glyph for field, glyph in standard().items() if field not in _LENGTHS}
    return [_column(name, models, call, glyphs) for name in names]


def _column(name: str, models: Sequence[Model], call: Call, glyphs: Mapping[str, Glyph]) -> Column:
    if name in _FACTS:
        return Column(name, name.replace("_", " "), "", "", lambda model: Found(getattr(model, name, None)))
    if quantity := _quantity(name):
        one = QUANTITIES[quantity]
        return Column(name, one.title, "", "", lambda model: Found(model.count(quantity)))
    if cost := _costs(call).get(name):
        return cost
    if glyph := _glyph(name, glyphs):
        fields = [field for field, other in glyphs.items() if other == glyph]
        is_symbol = name == glyph.text
        latex = f"${glyph.latex}$" if is_symbol else ""
        meaning = glyph.meaning if is_symbol else ""
        beside = [field for field, other in glyphs.items() if other.text == f"{glyph.text}_dec"]
        in_stages = glyph.text in _OF_STAGES
        return Column(name, name, latex, meaning, lambda model: _symbol(model, fields, beside, in_stages))
    if any(_has(model.scope, name) for model in models):
        latex = f"\\texttt{{{escaped(name)}}}"
        return Column(name, name, latex, "", lambda model: _field(model, [name]))
    raise ArchspecError(
        f"{name or 'an empty name'} is no column: none of the models has such a field",
        help=_near(name, models),
    )


def _near(name: str, models: Sequence[Model]) -> str:
    known = [*_FACTS, *QUANTITIES, *_costs(Call()), *{glyph.text for glyph in standard().values()}]
    fields = (
        field for model in models for field in [*model.scope.spec.fields, *model.scope.spec.attribute_map]
    )
    return did_you_mean(name, [*known, *fields]) or "name a quantity, a cost, a field or a symbol"


def _quantity(name: str) -> str:
    """The quantity of a name: `active`, `non-embedding`, `non_embedding_params`; '' for none."""
    plain = name.replace("-", "_").replace(" ", "_")
    return next((full for full in QUANTITIES if plain in (full, full.removesuffix("_params"))), "")


def _glyph(name: str, glyphs: Mapping[str, Glyph]) -> Glyph | None:
    """The symbol of a name; else the one whose meaning has its words and fewest others: `width`."""
    if found := next((glyph for glyph in glyphs.values() if glyph.text == name), None):
        return found
    words = _words(name.lower().replace("kv", "key-value"))
    if name in glyphs or not words:
        return None
    meant = [glyph for glyph in glyphs.values() if words <= _words(glyph.meaning)]
    return min(meant, key=lambda glyph: len(_words(glyph.meaning)), default=None)


def _words(text: str) -> set[str]:
    return set(re.split(r"[\s_-]+", text)) - _NO_MEANING


def _costs(call: Call) -> dict[str, Column]:
    """Bytes, and the costs of a call that a column may give."""
    of_call, at = f"of a call of {call.tokens:,} positions", f"in {call.dtype or 'the dtype of each config'}"

    def read(count: Callable[[Any, str], Any]) -> Callable[[Model], Found]:
        def cost(model: Model) -> Found:
            try:
                return Found(count(model.forward(tokens=call.tokens), call.dtype or model.dtype))
            except ArchspecError as error:
                return Found(None, missing=error.problems[0].message)

        return cost

    def bytes_of(model: Model) -> Found:
        try:
            return Found(model.params_bytes(call.dtype))
        except ArchspecError as error:
            return Found(None, missing=error.problems[0].message)

    def cache(forward: Any, dtype: str) -> int | None:
        return int(forward.cache_bytes(dtype)) if forward.cache else None

    def cache_per_token(forward: Any, dtype: str) -> int | None:
        held = cache(forward, dtype)
        return None if held is None else round(held / call.tokens)

    per_token = read(lambda forward, _: round(forward.flops / call.tokens))
    listed = (
        Column("bytes", "bytes", "", f"in {call.dtype or 'the format of each config'}", bytes_of),
        Column("flops", "FLOPs", "", of_call, read(lambda forward, _: forward.flops)),
        Column("flops_per_token", "FLOPs a token", "", of_call, per_token),
        Column("cache_bytes", "cache bytes", "", f"{of_call}, {at}", read(cache)),
        Column("cache_bytes_per_token", "cache bytes a token", "", f"{of_call}, {at}", read(cache_per_token)),
    )
    return {column.name: column for column in listed}


def _symbol(model: Model, fields: Sequence[str], of_decoder: Sequence[str], of_stage: bool) -> Found:
    """The value of a symbol, not one for all stages where each has its own; a decoder may have another."""
    found = _field(model, fields)
    depths = _value(model.scope, [_STAGES])
    if of_stage and isinstance(depths, list) and type(found.value) is int:
        return Found(depths) if _STAGES in fields else Found(None, missing="its stages have one each")
    if found.value is not None and not found.part and _value(model.scope, of_decoder) is not None:
        return found._replace(part="encoder")
    return found


def _field(model: Model, names: Sequence[str]) -> Found:
    """The value of the first of some fields that a config has: at the top, else within its parts."""
    if (value := _value(model.scope, names)) is not None:
        return Found(value)
    found = dict(_within(model.scope, names, ""))
    of_text = [path for path in found if path.rpartition(".")[2] == _TEXT]
    chosen = list(found) if len(found) == 1 else of_text
    if len(chosen) == 1:
        return Found(found[chosen[0]], chosen[0])
    return Found(None, missing=f"{' and '.join(found)} have one each" if found else "")


def _within(scope: Scope, names: Sequence[str], path: str) -> Iterator[tuple[str, Any]]:
    """The values of fields in the parts of a config, by their paths."""
    for name, part in _parts(scope).items():
        value = _value(part, names)
        if value is not None:
            yield path + name, value
        else:
            yield from _within(part, names, f"{path}{name}.")


def _has(scope: Scope, name: str) -> bool:
    """Whether a config or a part of it has a field; a dotted name is one of a part."""
    first, _, rest = name.partition(".")
    parts = _parts(scope)
    if rest:
        return first in parts and _has(parts[first], rest)
    own = name not in parts and (scope.has(name) or name in scope.raw)
    return own or any(_has(part, name) for part in parts.values())


def _value(scope: Scope, names: Sequence[str]) -> Any:
    """The value of the first of some fields that a config itself has; None for none."""
    for name in names:
        first, _, rest = name.partition(".")
        parts = _parts(scope)
        if rest and first in parts:
            return _value(parts[first], [rest])
        if not rest and scope.has(name) and name not in parts:
            return scope.get(scope.canonical(name))
        if name in scope.raw and not isinstance(scope.raw[name], dict):
            return scope.raw[name]  # no count depends on it
    return None


def _parts(scope: Scope) -> dict[str, Scope]:
    """The sub-configs of a config that are there and described."""
    found = {}
    for field in scope.spec.fields.values():
        try:
            value = scope.get(field.name) if field.sub_config else None
            if isinstance(value, SubConfig):
                found[field.name] = value.scope
        except ArchspecError:
            continue
    return found
