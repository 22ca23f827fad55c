"""What `archspec lint` says of a spec's fields: their other names, defaults and types, and who reads them."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from archspec.errors import Place, Problem, SpecError, did_you_mean
from archspec.language.expression import Expression, names
from archspec.language.trees import callee, calls, text_of
from archspec.linting.contexts import declared, expressions, has_field
from archspec.specs.records import OPTIONS, TYPES, Field, Spec, SpecLibrary
from archspec.tree.runnable import read_by_conditions

_READ_BY_ITSELF = {
    "tie_word_embeddings",
    "num_labels",
    "layer_types",
    "per_layer_config",
}  # checked with every config
_GIVEN_HELP = "say its type and default in config: too; a parent's does not stand beside a fixed field"
_TEXT_HELP = f"types: {', '.join(TYPES)}; a text with blanks is quoted"
_UNUSED_HELP = "a spec has only the fields that a count depends on"


def fields(spec: Spec) -> Iterator[Problem]:
    """Other names of fields that are none, texts meant as types, and defaults that a part does not have."""
    texts = {text_of(node) for _, one in expressions(spec) for node in ast.walk(one.tree)}  # given("field")
    for alias, name in spec.attribute_map.items():
        if name not in spec.fields and name not in spec.fixed and name not in texts:
            message, help_ = f"{alias} stands for {name}, which is no field", did_you_mean(name, spec.fields)
            yield Problem(message, Place(spec.source, 1, 1), "attribute_map", help_)
    for name, value in spec.fixed.items():
        asked = {text_of(call.args[0]) for call in calls(value.tree) if callee(call) == "given" and call.args}
        if name not in spec.fields and name in asked - names(value.tree):
            message = f"given({name!r}) has no type: config has no {name}"
            yield Problem(message, value.place, f"fixed.{name}", _GIVEN_HELP)
    for field in spec.fields.values():
        default, path = field.default, f"config.{field.name}"
        text = text_of(default.tree) if default and not field.types else ""
        if default and text and text == default.text and any(mark in text for mark in "|=[] "):
            yield Problem(f"is {text!r} a type, or a text?", default.place, path, _TEXT_HELP)
        yield from _options(spec, field)


def _options(spec: Spec, field: Field) -> Iterator[Problem]:
    """The fields that a sub-config's default sets, and that the part's spec does not have."""
    call, sub = field.sub_config, declared(spec, field.name)
    if call is None or sub is None or sub.spec is None or sub.spec.refuse:
        return
    keywords = call.keywords
    merged = any(keyword.arg == "merge" for keyword in keywords)  # its defaults go to any model type
    for keyword in keywords:
        name = keyword.arg
        if not name or name in OPTIONS or has_field(sub.spec, name):
            continue
        others = map(spec.library.load, spec.library.model_types() if merged else ())
        if any(has_field(other, name) for other in others):
            continue
        place = field.default.at(keyword) if field.default else field.place
        help_ = did_you_mean(name, sub.spec.fields)
        yield Problem(f"{sub.spec.model_type} has no field {name}", place, f"config.{field.name}", help_)


def unread(spec: Spec) -> Iterator[Problem]:
    """Fields of this file that no count depends on, here or in a spec that reads them from outside.

    One that a parent has stands here for its default: what the parent reads it for may have been dropped.
    """
    used = {spec.flat, *_READ_BY_ITSELF} | {word for _, one in expressions(spec) for word in _words(one)}
    used |= read_by_conditions(spec)
    used |= {spec.attribute_map.get(name, name) for name in used}
    if spec.extends:
        used |= spec.library.load(spec.extends).fields.keys()
    for field in spec.fields.values():
        if field.place.source.name != spec.source.name or field.name in used or field.required:
            continue  # a required field matters by being there
        if not _read_elsewhere(field.name, spec):
            yield Problem(f"nothing reads {field.name}", field.place, "config", _UNUSED_HELP)


def _words(expression: Expression) -> set[str]:
    """The names in an expression, those of keywords and in texts, as in `given("field")`, among them."""
    nodes = list(ast.walk(expression.tree))
    keywords = {node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg}
    return {*names(expression.tree), *keywords, *map(text_of, nodes)}


def _read_elsewhere(name: str, spec: Spec) -> bool:
    """Whether another spec of the library reads `sub_config.name`, or a spec made from this one reads it."""
    if _attributes(spec.library).get(name, set()) - {os.path.basename(spec.source.name)}:
        return True
    made = (other for other in _specs(spec.library) if spec.model_type in (other.extends, *other.uses))
    added = (one for other in made for _, one in expressions(other))
    return any(name in _words(one) for one in added if one.place.source.name != spec.source.name)


@cache
def _attributes(library: SpecLibrary) -> dict[str, set[str]]:
    """Field -> the files with an expression that reads it of a sub-config: `text_config.width`."""
    found: dict[str, set[str]] = {}
    for spec in _specs(library):
        for _, expression in expressions(spec):
            file = os.path.basename(expression.place.source.name)
            for node in ast.walk(expression.tree):
                if isinstance(node, ast.Attribute):
                    found.setdefault(node.attr, set()).add(file)
    return found


def _specs(library: SpecLibrary) -> Iterator[Spec]:
    """The specs of a library that are well formed."""
    for model_type in library.model_types():
        with suppress(SpecError):
            yield library.load(model_type)
