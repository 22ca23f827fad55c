"""Other values for the fields that a spec does not mention, which must not change the tensors.

They are fields of transformers' config class that are not declared, and those that the spec calls `fixed`.
Values that the config class refuses are left out.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import re
import sys
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
from archspec.verifying.blame import Config

# Read everywhere (labels), or about files and outputs.
_KNOWN = {"architectures", "transformers_version", "dtype", "id2label", "label2id", "num_labels"}
_KNOWN |= {"per_layer_config", "model_type"}
# Not fields of every class, but read from any config that has them.
_ANYWHERE = {"tie_word_embeddings": [True, False], "is_decoder": [True], "add_cross_attention": [True]}
_ACTIVATIONS = ["relu", "gelu_new", "silu", "tanh"]  # without parameters: every spec refuses the others
_ACTIVATION_FIELDS = ("act", "activation", "act_fn", "activation_function")


class Other(NamedTuple):
    """A field, by its path in the config, and another value for it."""

    path: tuple[str, ...]
    value: Any


_FOUND: dict[tuple[SpecLibrary, Source, frozenset[str]], list[Other]] = {}


def other_values(spec: Spec) -> list[Other]:
    """Return other values for every field that a spec and its sub-configs do not mention."""
    key = (spec.library, spec.source, frozenset((*spec.fields, *spec.fixed)))
    if key not in _FOUND:
        found = [Other((name,), value) for name, values in _candidates(spec) for value in values]
        found = [other for other in found if _is_accepted(spec.model_type, other)]
        scope = Scope(spec, {})
        for field in spec.fields:
            with suppress(ArchspecError, Unavailable):
                sub = scope.get(field)
                inner = other_values(spec.library.load(sub.model_type)) if isinstance(sub, SubConfig) else []
                found += [Other((field, *one.path), one.value) for one in inner if len(one.path) == 1]
        _FOUND[key] = found
    return [*_FOUND[key]]


def apply_values(raw: Config, chosen: list[Other]) -> Config:
    """Return a config with other values, except in sub-configs that the config does not contain."""
    raw = copy.deepcopy(raw)
    for other in chosen:
        target: Any = raw
        for part in other.path[:-1]:
            target = target.get(part) if isinstance(target, dict) else None
        if isinstance(target, dict):
            target[other.path[-1]] = copy.deepcopy(other.value)
    return raw


def _is_accepted(model_type: str, other: Other) -> bool:
    with suppress(Refused, Unavailable):
        config_of(model_type, apply_values({}, [other]))
        return True
    return False


def _candidates(spec: Spec) -> list[tuple[str, list[Any]]]:
    counted = {name for name, field in spec.fields.items() if not field.only_costs}
    known = {*counted, *spec.attribute_map, *spec.attribute_map.values(), *_KNOWN}
    mentioned = known - (spec.fields.keys() - counted)
    texts = code_texts(spec)
    fields = {field.name: field for field in dataclasses.fields(config_class(spec.model_type))}
    more = (name for name in fields if name not in mentioned)
    found = [(name, _values(fields[name], texts.get(name, []))) for name in more]
    found += [(name, values) for name, values in _ANYWHERE.items() if name not in {*mentioned, *fields}]
    scope = Scope(spec, {})
    for name in [name for name in spec.fixed if name not in {*fields, *_ANYWHERE}]:
        with suppress(ArchspecError):
            found.append((name, _alternative_values(scope.get(name))))
    return found


def _values(field: dataclasses.Field[Any], texts: list[str]) -> list[Any]:
    """Return values other than a field's default, by its type and by what the code compares it with."""
    made = None if field.default_factory is dataclasses.MISSING else field.default_factory()
    default = made if field.default is dataclasses.MISSING else field.default
    kind = str(field.type)
    words = set(re.findall(r"\w+", kind))
    values = _alternative_values(default)
    if default is None:
        values += [True, False] if "bool" in kind else []
        values += [3] if "int" in words else []
        values += [0.5] if "float" in words else []
    elif "None" in kind:
        values.append(None)
    literals = re.search(r"Literal\[([^\]]*)\]", kind)
    named = re.findall(r"[\"']([^\"']*)[\"']", literals[1]) if literals else []
    named = [*texts, *named] if "str" in words or literals else []
    named += _ACTIVATIONS if field.name.endswith(_ACTIVATION_FIELDS) else []
    values += [text for text in named if text != default]
    return list({(type(value), repr(value)): value for value in values}.values())


def _alternative_values(default: Any) -> list[Any]:
    found: list[Any] = []
    if isinstance(default, bool):
        found = [not default]
    elif isinstance(default, int):
        found = [1, 3, 16, default + 1, default * 2]
    elif isinstance(default, float):
        found = [0.0, 0.5, default * 2, *([2.0] if default * 2 > 1 else [])]  # a probability stays one
    elif isinstance(default, list | tuple) and default:
        found = [list(default[:-1]), [*default, default[-1]]]
    return [value for value in found if value != default]


def layer_lists(spec: Spec) -> list[str]:
    """Return the lists of layers' kinds that transformers' config class of the model type reads."""
    try:
        cls = config_class(spec.model_type)
    except Unavailable:
        return []
    declared = {field.name for field in dataclasses.fields(cls)}
    return [name for name in ALLOWED if name in declared or name in cls.attribute_map]


def code_texts(spec: Spec) -> Mapping[str, list[str]]:
    """Return field -> the texts that transformers' code of the model type compares it with."""
    try:
        cls = config_class(spec.model_type)
        models = (model_class(name, spec.model_type) for name in spec.architectures)
        sources = {cls.__module__, *(model.__module__ for model in models)}
    except Unavailable:
        return {}
    names = frozenset(field.name for field in dataclasses.fields(cls))
    found: dict[str, set[str]] = {}
    for module in sorted(sources):
        for name, texts in _module_texts(module, names).items():
            found.setdefault(name, set()).update(texts)
    return {name: sorted(texts) for name, texts in found.items() if texts}


@cache
def _module_texts(module: str, fields: frozenset[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    if module.startswith("transformers.models."):
        collect(ast.parse(inspect.getsource(sys.modules[module])), fields, found)
    return found
