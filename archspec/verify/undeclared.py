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
from functools import cache
from typing import Any, NamedTuple

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError, Source
from archspec.oracle import Refused, Unavailable, config_class, config_of, model_class
from archspec.specs.layer_types import ALLOWED
from archspec.specs.records import Spec
from archspec.specs.references import collect

# Read everywhere (labels), or about files and outputs.
_KNOWN = {
    "architectures",
    "transformers_version",
    "dtype",
    "id2label",
    "label2id",
    "num_labels",
    "per_layer_config",
    "model_type",
}
# Not fields of every class, but read from any config that has them.
_ANYWHERE: dict[str, list[Any]] = {
    "tie_word_embeddings": [True, False],
    "is_decoder": [True],
    "add_cross_attention": [True],
}
_INTS, _FLOATS = (1, 3, 16), (0.0, 0.5)
_ACTIVATIONS = [
    "relu",
    "gelu_new",
    "silu",
    "tanh",
]  # those without parameters: the others are refused by every spec


class Other(NamedTuple):
    """A field, by its path in the config, and another value for it."""

    path: tuple[str, ...]
    value: Any


_FOUND: dict[tuple[Source, frozenset[str]], tuple[Other, ...]] = {}


def others(spec: Spec) -> tuple[Other, ...]:
    """Other values for every field that a spec and its sub-configs do not mention."""
    key = (spec.source, frozenset((*spec.fields, *spec.fixed)))
    if key not in _FOUND:
        _FOUND[key] = tuple(_others(spec))
    return _FOUND[key]


def _others(spec: Spec) -> list[Other]:
    model_type = spec.model_type
    found = [Other((name,), value) for name, values in _candidates(spec) for value in values]
    found = [other for other in found if _builds(model_type, other)]
    scope = Scope(spec, {})
    for field in spec.fields:
        try:
            sub = scope.get(field)
            if isinstance(sub, SubConfig):
                found += [
                    Other((field, *other.path), other.value)
                    for other in others(spec.library.load(sub.model_type))
                    if len(other.path) == 1
                ]
        except (ArchspecError, Unavailable):
            continue
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
    mentioned = {*spec.fields, *spec.attribute_map, *spec.attribute_map.values(), *_KNOWN}
    texts = source_texts(spec)
    found: list[tuple[str, list[Any]]] = []
    for field in dataclasses.fields(cls):
        if field.name not in mentioned:
            found.append((field.name, _values(field, texts.get(field.name, []))))
    declared = {field.name for field in dataclasses.fields(cls)}
    found += [(name, values) for name, values in _ANYWHERE.items() if name not in mentioned | declared]
    scope = Scope(spec, {})
    for name in spec.fixed:
        if name not in declared and name not in _ANYWHERE:
            try:
                found.append((name, _alternatives(scope.get(name))))
            except ArchspecError:
                continue
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
    texts = (
        [value for value in arguments if isinstance(value, str)]
        if typing.get_origin(kind) is typing.Literal
        else []
    )
    return texts + [
        text for argument in arguments if not isinstance(argument, str) for text in _literals(argument)
    ]


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
        sources = {
            cls.__module__,
            *(model_class(name, spec.model_type).__module__ for name in spec.architectures),
        }
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
