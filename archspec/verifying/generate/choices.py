"""The finite choices of a field (flags, nulls, texts, lists), and configs with other values of fields."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from archspec.configs.checks import may_be_null
from archspec.configs.scope import Scope
from archspec.errors import UnknownArchitectureError
from archspec.language.values import has_kind
from archspec.specs.exported import ALLOWED
from archspec.specs.records import Field, Spec, SpecLibrary, model_types
from archspec.symbolic.runs.record import LENGTH, Config, FieldPath, Known, Run
from archspec.symbolic.runs.solver import WIDE, is_deep


def part_types(library: SpecLibrary, field: Field) -> list[str]:
    """Return the supported model types of a sub-config."""
    try:
        types = model_types(field.sub_config) if field.sub_config else []
        return [model_type for model_type in types if not library.load(model_type).refuse]
    except UnknownArchitectureError:  # not supported
        return []


def kinds_of(field: Field) -> set[str]:
    """Return the types of a field's values, without those of their items."""
    return {kind.partition("[")[0] for kind in field.types}


def choices(library: SpecLibrary, known: Known, texts: list[str]) -> Iterator[Any]:
    """Yield other values of a field: the other bool, null, texts, other lists; ... leaves the field out."""
    value, field = known.value, known.field
    types = field.types if field is not None else ()
    for choice in _other_values(library, known, [text for text in texts if text != value]):
        if choice is None or isinstance(choice, dict) or not types or has_kind(choice, types):
            yield choice
    if field is not None and value is not None and may_be_null(field):
        yield None
    if known.given and field is not None and field.default is not None:
        yield ...


def _other_values(library: SpecLibrary, known: Known, texts: list[str]) -> Iterator[Any]:
    value, field = known.value, known.field
    kinds = kinds_of(field) if field is not None else {"int"}
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, str):
        yield from (f"{value}-{value}", *texts)
    elif isinstance(value, list):
        yield from _other_lists(value, texts, ALLOWED.get(field.name if field else "", ("none",)))
    elif type(value) is int:
        yield from () if known.given else (1, value + 1)
        yield from ([value], [value] * 2) if "list" in kinds else ()
        yield from texts if "str" in kinds else ()
    elif isinstance(value, dict):
        yield from [{key: {} for key in value}] if "dict" in kinds else [value] if not known.given else []
    elif value is None:
        every: dict[str, list[Any]] = {
            "int": [1, 4],
            "bool": [True, False],
            "str": [*texts, "none"],
            "float": [0.5],
            "list": [[text] for text in texts] or [[1], [0]],
            "dict": [{}],
        }
        yield from (choice for kind, some in every.items() if kind in kinds for choice in some)
        yield from ({"model_type": name} for name in (part_types(library, field) if field else ()))


def _other_lists(value: list[Any], texts: list[str], strange: Sequence[str]) -> Iterator[list[Any]]:
    """Yield lists with other texts, one of them unknown to the spec; shorter and longer lists."""
    unknown = [text for text in strange if text not in texts and text not in value]
    texts = [*texts[:1], *unknown[:1], *texts[1:]]
    if not value:
        yield from ([text] for text in texts)
        yield from ([1], [0])
        return
    for text in texts:
        if (changed := _with_text(value, text)) != value:
            yield changed
            yield [*(value[:-1] or value), changed[-1]]
    yield from (value[:-1], [*value, value[-1]], list[Any]())


def _with_text(value: Any, text: str) -> Any:
    """Return a list, nested or not, in which a text replaces all others."""
    if isinstance(value, list):
        return [_with_text(item, text) for item in value]
    return text if isinstance(value, str) else value


def _resize(items: list[Any], length: int) -> list[Any]:
    """Return a shorter list, or one with copies of the last item; numbers of layers grow at the front."""
    more = length - len(items)
    if items and all(type(item) is int for item in items) and items[0] >= more > 0:
        return [*range(items[0] - more, items[0]), *items]
    return (items + items[-1:] * more)[:length]


def set_values(run: Run, values: Mapping[FieldPath, Any]) -> Config:
    """Return a run's config with other fields, items and lengths of lists; ... leaves a field out."""
    raw = copy.deepcopy(run.raw)
    for path, value in values.items():
        inner: Any = raw
        for depth, part in enumerate(path[:-1], 1):
            if type(part) is not int and not isinstance(inner.get(part), dict | list):
                known = run.fields.get(path[:depth])  # a default, which has to be given now
                inner[part] = copy.deepcopy(known.value) if known and known.value is not None else {}
            last, inner = inner, inner[part]
        if path[-1] == LENGTH and isinstance(inner, list):
            last[path[-2]] = _resize(inner, int(value))
        elif path[-1] == LENGTH:  # of a derived list, which no config gives
            del last[path[-2]]
        elif value is ...:
            inner.pop(path[-1], None)
        elif isinstance(inner, dict) or path[-1] < len(inner):
            inner[path[-1]] = value
    return raw


def misfit_configs(spec: Spec, raw: Config, layer_lists: Iterable[str]) -> Iterator[Config]:
    """Yield a valid config with one value that does not fit: zero, `true` for a number, a list too long, …

    Zeros are also tried without layers, since these refuse some, and in the default config. All layers, and
    the last one, have each kind of ``layer_lists``.
    """
    raw = {name: value for name, value in raw.items() if value is not None}
    scope = Scope(spec, raw)
    fields = [field.name for field in spec.fields.values() if not field.only_costs]
    numbers = [name for name in fields if type(scope.get(name)) is int]
    bare = {name: 0 for name in numbers if is_deep(name)}
    # Lists are as long as there are layers. Fields computed from a zero keep their values.
    small = {name: value for name, value in raw.items() if not isinstance(value, list)} | bare
    computed = (name for name in numbers if spec.fields[name].computed and name not in {*raw, *spec.fixed})
    small |= {name: scope.get(name) for name in computed if scope.get(name)}
    starts = [raw, *([small] if bare else [])]
    starts += [{"model_type": spec.model_type, **bare}] if bare and WIDE not in spec.fields else []
    yield from ({**start, name: 0} for start in starts for name in numbers)
    yield from ({**raw, name: True} for name in numbers)
    for name in layer_lists if scope.has("num_hidden_layers") else ():
        layers, value = scope.get("num_hidden_layers"), scope.get(name) if scope.has(name) else None
        for kind in ALLOWED[name] if type(layers) is int else ():
            yield {**raw, name: [kind] * layers}
            yield from [{**raw, name: [*value[:-1], kind]}] if isinstance(value, list) and value[1:] else ()
    for name in fields:
        value = scope.get(name)
        if isinstance(value, str):
            yield {**raw, name: f"{value}-{value}"}
        elif isinstance(value, list) and value:
            unnamed = [[*value[:-1], f"{value[-1]}-{value[-1]}"]] if isinstance(value[-1], str) else []
            yield from ({**raw, name: items} for items in (value[:-1], [*value, value[-1]], *unnamed))
