"""Fields that a spec does not mention: other values for them, which must not change the layout.

A field of transformers' config class that is neither declared nor known by another name should not
matter. Each is given other values of its type; values that the config class itself refuses are left
out. So are the fields that the spec calls `fixed`, whose own values are said not to be read.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import re
import sys
import typing
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError, Source
from archspec.reference import Refused, Unavailable, config_class, config_of, model_class
from archspec.specs.exported import ALLOWED
from archspec.specs.records import Spec, SpecLibrary
from archspec.specs.references import collect

# Read everywhere (labels), or about files and outputs.
_KNOWN = {"architectures", "transformers_version", "dtype", "id2label", "label2id", "num_labels"}
_KNOWN |= {"per_layer_config", "model_type"}
# Not fields of every class, but read from any config that has them.
_ANYWHERE: dict[str, list[Any]] = {
    "tie_word_embeddings": [True, False],
    "is_decoder": [True],
    "add_cross_attention": [True],
}
_INTS, _FLOATS = (1, 3, 16), (0.0, 0.5)
_ACTIVATIONS = ["relu", "gelu_new", "silu", "tanh"]  # without parameters: every spec refuses the others


class Other(NamedTuple):
    """A field, by its path in the config, and another value for it."""

    path: tuple[str, ...]
    value: Any


_FOUND: dict[tuple[SpecLibrary, Source, frozenset[str]], tuple[Other, ...]] = {}


def others(spec: Spec) -> tuple[Other, ...]:
    """Other values for every field that a spec and its sub-configs do not mention."""
    key = (spec.library, spec.source, frozenset((*spec.fields, *spec.fixed)))
    if key not in _FOUND:
        _FOUND[key] = tuple(_others(spec))
    return _FOUND[key]


def _others(spec: Spec) -> list[Other]:
    model_type = spec.model_type
    found = [Other((name,), value) for name, values in _candidates(spec) for value in values]
    found = [other for other in found if _builds(model_type, other)]
    scope = Scope(spec, {})
    for field in spec.fields:
        with suppress(ArchspecError, Unavailable):
            sub = scope.get(field)
            inner = others(spec.library.load(sub.model_type)) if isinstance(sub, SubConfig) else ()
            found += [Other((field, *one.path), one.value) for one in inner if len(one.path) == 1]
    return found


def applied(raw: dict[str, Any], chosen: list[Other]) -> dict[str, Any]:
    """A config with other values put in; a sub-config that is not there is left alone."""
    raw = copy.deepcopy(raw)
    for other in chosen:
        target: Any = raw
        for part in other.path[:-1]:
            target = target.get(part)
            if not isinstance(target, dict):
                break
        else:
            target[other.path[-1]] = copy.deepcopy(other.value)
    return raw


def _builds(model_type: str, other: Other) -> bool:
    try:
        config_of(model_type, applied({"model_type": model_type}, [other]))
    except (Refused, Unavailable):
        return False
    return True


def _candidates(spec: Spec) -> list[tuple[str, list[Any]]]:
    cls = config_class(spec.model_type)
    counted = {name for name, field in spec.fields.items() if not field.only_costs}
    free = spec.fields.keys() - counted
    mentioned = {*counted, *spec.attribute_map, *spec.attribute_map.values(), *_KNOWN} - free
    texts = source_texts(spec)
    fields = {field.name: field for field in dataclasses.fields(cls)}
    found = [
        (name, _values(one, texts.get(name, []))) for name, one in fields.items() if name not in mentioned
    ]
    found += [(name, values) for name, values in _ANYWHERE.items() if name not in {*mentioned, *fields}]
    scope = Scope(spec, {})
    for name in [name for name in spec.fixed if name not in {*fields, *_ANYWHERE}]:
        with suppress(ArchspecError):
            found.append((name, _alternatives(scope.get(name))))
    return found


def _values(field: dataclasses.Field[Any], texts: list[str]) -> list[Any]:
    """Values other than a field's default, by its type and by what the code compares it with."""
    default = None if field.default is dataclasses.MISSING else field.default
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    kind = str(field.type)
    values = _alternatives(default)
    if default is None:
        if "bool" in kind:
            values += [True, False]
        if re.search(r"\bint\b", kind):
            values += [3]
        if re.search(r"\bfloat\b", kind):
            values += [0.5]
    elif "None" in kind:
        values.append(None)
    if re.search(r"\bstr\b", kind) or "Literal" in kind:
        values += [text for text in [*texts, *_literals(field.type)] if text != default]
    if field.name.endswith(("act", "activation", "act_fn", "activation_function")):
        values += [text for text in _ACTIVATIONS if text != default]
    unique: list[Any] = []
    for value in values:
        if not any(type(value) is type(kept) and value == kept for kept in unique):
            unique.append(value)
    return unique


def _alternatives(default: Any) -> list[Any]:
    if isinstance(default, bool):
        return [not default]
    if isinstance(default, int):
        return [value for value in (*_INTS, default + 1, default * 2) if value != default]
    if isinstance(default, float):
        more = [default * 2, 2.0] if default * 2 > 1 else [default * 2]  # a probability stays one
        return [value for value in (*_FLOATS, *more) if value != default]
    if isinstance(default, list | tuple) and default:
        return [list(default[:-1]), [*default, default[-1]]]
    return []


def _literals(kind: Any) -> list[str]:
    if isinstance(kind, str):
        inside = re.search(r"Literal\[([^\]]*)\]", kind)
        return re.findall(r"[\"']([^\"']*)[\"']", inside.group(1)) if inside else []
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) is typing.Literal:
        return [value for value in arguments if isinstance(value, str)]
    return [text for argument in arguments if not isinstance(argument, str) for text in _literals(argument)]


def layer_lists(spec: Spec) -> list[str]:
    """The lists of layers' kinds that transformers' config class of the model type reads."""
    try:
        cls = config_class(spec.model_type)
    except Unavailable:
        return []
    declared = {field.name for field in dataclasses.fields(cls)}
    return [name for name in ALLOWED if name in declared or name in cls.attribute_map]


def source_texts(spec: Spec) -> Mapping[str, list[str]]:
    """Field -> the texts that transformers' own code of the model type compares it with."""
    try:
        cls = config_class(spec.model_type)
        models = (model_class(name, spec.model_type) for name in spec.architectures)
        sources = {cls.__module__, *(model.__module__ for model in models)}
    except Unavailable:
        return {}
    names = frozenset(field.name for field in dataclasses.fields(cls))
    found: dict[str, set[str]] = {}
    for module in sorted(sources):
        for name, texts in _module_texts(module, names):
            found.setdefault(name, set()).update(texts)
    return {name: sorted(texts) for name, texts in found.items()}


@cache
def _module_texts(module: str, fields: frozenset[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, set[str]] = {}
    if module in sys.modules and module.startswith("transformers.models."):
        collect(ast.parse(inspect.getsource(sys.modules[module])), fields, found)
    return tuple((name, tuple(sorted(texts))) for name, texts in found.items() if texts)
