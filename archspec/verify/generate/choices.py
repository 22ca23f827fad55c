"""The finite choices of a field: flags, nulls, texts, lists; and how a config is given other values."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from archspec.configs.checks import may_be_null
from archspec.language.values import fits
from archspec.specs.field_kinds import part_types
from archspec.specs.records import SpecLibrary
from archspec.verify.generate.drawing import kinds_of
from archspec.verify.generate.recording import Config, Known, Run
from archspec.verify.generate.traced import LENGTH, Path


def choices(library: SpecLibrary, known: Known, texts: list[str]) -> Iterator[Any]:
    """Other values of a field: its other truth, null, its texts, other lists; ... to leave it out."""
    value, kinds = known.value, kinds_of(known.field) if known.field is not None else {"int"}
    texts = [text for text in texts if text != value]
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, str):
        yield from (*texts, f"{value}-{value}")
    elif isinstance(value, list):
        yield from _lists(value, texts)
    elif value is None:
        yield from _given(library, known, kinds, texts)
    elif type(value) is int:
        yield from () if known.given else (1, value + 1)
        yield from ([value], [value] * 2) if "list" in kinds else ()
        yield from texts if "str" in kinds else ()
    if known.field is not None and value is not None and may_be_null(known.field):
        yield None
    if known.given and known.field is not None and known.field.default is not None:
        yield ...


def allowed(known: Known, value: Any) -> bool:
    """Whether a value is of a type that its field has, as far as that is declared."""
    types = known.field.types if known.field is not None else ()
    return value in (None, ...) or isinstance(value, dict) or not types or fits(value, types)


def _lists(value: list[Any], texts: list[str]) -> Iterator[list[Any]]:
    if not value:
        yield from ([text] for text in (*texts, "none"))
        yield from ([1], [0])
        return
    if isinstance(value[0], str):
        yield from ([text] * len(value) for text in texts[:2])
        yield from ([*value[:-1], text] for text in (f"{value[-1]}-{value[-1]}", *texts))
        yield from ([text] * len(value) for text in texts[2:])
    yield from (value[:-1], [*value, value[-1]], list[Any]())


def _given(library: SpecLibrary, known: Known, kinds: set[str], texts: list[str]) -> Iterator[Any]:
    """Values in place of a null."""
    lists: list[Any] = [[text] for text in texts] or [[1], [0]]
    plain: dict[str, list[Any]] = {"int": [1, 4], "bool": [True], "str": texts, "float": [0.5], "list": lists}
    yield from (
        value for kind, values in (plain | {"dict": [{}]}).items() if kind in kinds for value in values
    )
    if known.field is not None:
        yield from ({"model_type": name} for name in part_types(library, known.field))


def put(run: Run, values: Mapping[Path, Any]) -> Config:
    """A run's config with other values of some fields, items and lengths of lists; ... leaves a field out."""
    raw = copy.deepcopy(run.raw)
    for path, value in values.items():
        inner: Any = raw
        for depth, part in enumerate(path[:-1], 1):
            if type(part) is not int and not isinstance(inner.get(part), dict | list):
                known = run.fields.get(path[:depth])  # a default: it is written out
                inner[part] = copy.deepcopy(known.value) if known and known.value is not None else {}
            last, inner = inner, inner[part]
        if path[-1] == LENGTH:
            last[path[-2]] = (inner + inner[-1:] * int(value))[: max(int(value), 0)]
        elif value is ...:
            inner.pop(path[-1], None)
        elif isinstance(inner, dict) or path[-1] < len(inner):
            inner[path[-1]] = value
    return raw
