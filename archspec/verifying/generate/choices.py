"""The finite choices of a field: flags, nulls, texts, lists; and how a config is given other values."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from archspec.configs.checks import may_be_null
from archspec.language.values import fits
from archspec.specs.exported import ALLOWED
from archspec.specs.records import SpecLibrary
from archspec.symbolic.runs.record import LENGTH, Config, FieldPath, Known, Run
from archspec.verifying.generate.field_kinds import kinds_of, part_types


def choices(library: SpecLibrary, known: Known, texts: list[str]) -> Iterator[Any]:
    """Other values of a field: its other truth, null, its texts, other lists; ... to leave it out."""
    value, field = known.value, known.field
    types = field.types if field is not None else ()
    for choice in _others(library, known, [text for text in texts if text != value]):
        if choice is None or isinstance(choice, dict) or not types or fits(choice, types):
            yield choice
    if field is not None and value is not None and may_be_null(field):
        yield None
    if known.given and field is not None and field.default is not None:
        yield ...


def _others(library: SpecLibrary, known: Known, texts: list[str]) -> Iterator[Any]:
    value, kinds = known.value, kinds_of(known.field) if known.field is not None else {"int"}
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, str):
        yield from (f"{value}-{value}", *texts)
    elif isinstance(value, list):
        yield from _lists(value, texts, ALLOWED.get(known.field.name if known.field else "", ("none",)))
    elif type(value) is int:
        yield from () if known.given else (1, value + 1)
        yield from ([value], [value] * 2) if "list" in kinds else ()
        yield from texts if "str" in kinds else ()
    elif isinstance(value, dict):
        yield from [{key: {} for key in value}] if "dict" in kinds else [value] if not known.given else []
    elif value is None:
        lists: list[Any] = [[text] for text in texts] or [[1], [0]]
        plain: dict[str, list[Any]] = {
            "int": [1, 4],
            "bool": [True, False],
            "str": [*texts, "none"],
            "float": [0.5],
        }
        every = plain | {"list": lists, "dict": [{}]}
        yield from (choice for kind, some in every.items() if kind in kinds for choice in some)
        parts = part_types(library, known.field) if known.field is not None else []
        yield from ({"model_type": name} for name in parts)


def _lists(value: list[Any], texts: list[str], strange: Sequence[str]) -> Iterator[list[Any]]:
    """Other texts, also one that the spec does not know; fewer items, and more."""
    unknown = [text for text in strange if text not in texts and text not in value]
    texts = [*texts[:1], *unknown[:1], *texts[1:]]
    if not value:
        yield from ([text] for text in texts)
        yield from ([1], [0])
        return
    for text in texts:
        if (changed := _with(value, text)) != value:
            yield changed
            yield [*(value[:-1] or value), changed[-1]]
    yield from (value[:-1], [*value, value[-1]], list[Any]())


def _with(value: Any, text: str) -> Any:
    """A list with a text in place of each of its own, those of lists within it too."""
    if isinstance(value, list):
        return [_with(item, text) for item in value]
    return text if isinstance(value, str) else value


def _resized(items: list[Any], length: int) -> list[Any]:
    """Fewer items, or the last as often; the numbers before the first, which may be those of layers."""
    more = length - len(items)
    if items and all(type(item) is int for item in items) and items[0] >= more > 0:
        return [*range(items[0] - more, items[0]), *items]
    return (items + items[-1:] * more)[:length]


def put(run: Run, values: Mapping[FieldPath, Any]) -> Config:
    """A run's config with other values of some fields, items and lengths of lists; ... leaves a field out."""
    raw = copy.deepcopy(run.raw)
    for path, value in values.items():
        inner: Any = raw
        for depth, part in enumerate(path[:-1], 1):
            if type(part) is not int and not isinstance(inner.get(part), dict | list):
                known = run.fields.get(path[:depth])  # a default: it is written out
                inner[part] = copy.deepcopy(known.value) if known and known.value is not None else {}
            last, inner = inner, inner[part]
        if path[-1] == LENGTH and isinstance(inner, list):
            last[path[-2]] = _resized(inner, int(value))
        elif path[-1] == LENGTH:  # of what is derived, which no config gives
            del last[path[-2]]
        elif value is ...:
            inner.pop(path[-1], None)
        elif isinstance(inner, dict) or path[-1] < len(inner):
            inner[path[-1]] = value
    return raw
