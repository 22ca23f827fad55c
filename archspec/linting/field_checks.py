"""Check the fields of a spec: aliases, types, defaults of sub-configs, and fields that nothing reads."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from archspec.errors import Place, Problem, SpecError, did_you_mean
from archspec.language.expression import Expression, names
from archspec.language.trees import callee, calls, text_of
from archspec.linting.names import Context, declared, expressions
from archspec.specs.records import OPTIONS, TYPES, Spec, SpecLibrary
from archspec.tree.runnable import read_by_conditions

_READ_BY_THE_ENGINE = {"tie_word_embeddings", "num_labels", "layer_types", "per_layer_config"}
_GIVEN_HELP = "declare its type and default in config: too; `fixed:` replaces the field of the parent spec"
_TEXT_HELP = f"types: {', '.join(TYPES)}; put quotes around a text with spaces"
_UNUSED_HELP = "remove it: a spec has only the fields that a count depends on"


def aliases(spec: Spec) -> Iterator[Problem]:
    """Yield aliases of fields that do not exist."""
    texts = {text_of(node) for _, one in expressions(spec) for node in ast.walk(one.tree)}  # given("field")
    for alias, name in spec.attribute_map.items():
        if name not in {*spec.fields, *spec.fixed, *texts}:
            message = f"{alias} is an alias of {name}, which is not a field"
            yield Problem(message, Place(spec.source, 1, 1), "attribute_map", did_you_mean(name, spec.fields))


def types(spec: Spec) -> Iterator[Problem]:
    """Yield fixed fields without a type, and defaults that look like misspelled types."""
    for name, value in spec.fixed.items():
        asked = {text_of(call.args[0]) for call in calls(value.tree) if callee(call) == "given" and call.args}
        if name not in spec.fields and name in asked - names(value.tree):
            message = f"given({name!r}) needs a type: {name} is not in config"
            yield Problem(message, value.place, f"fixed.{name}", _GIVEN_HELP)
    for field in spec.fields.values():
        default = field.default
        text = text_of(default.tree) if default and not field.types else ""
        if default and text and text == default.text and any(mark in text for mark in "|=[] "):
            yield Problem(f"is {text!r} a type or a text?", default.place, f"config.{field.name}", _TEXT_HELP)


def sub_config_defaults(spec: Spec) -> Iterator[Problem]:
    """Yield the fields that a sub-config's default sets and that its spec does not have."""
    for field in spec.fields.values():
        call, sub = field.sub_config, declared(spec, field.name)
        if call is None or field.default is None or sub is None or sub.spec is None or sub.spec.refuse:
            continue
        specs = [sub.spec]
        if any(keyword.arg == "merge" for keyword in call.keywords):  # its defaults apply to any type
            specs += _specs(spec.library)
        for keyword in call.keywords:
            name = keyword.arg
            if name and name not in OPTIONS and not any(Context(one).knows(name) for one in specs):
                message = f"{name} is not a field of {sub.spec.model_type}"
                help_ = did_you_mean(name, sub.spec.fields)
                yield Problem(message, field.default.at(keyword), f"config.{field.name}", help_)


def unread(spec: Spec) -> Iterator[Problem]:
    """Yield fields of this file that no count depends on, here or in a spec that reads them from outside.

    A field of the parent spec is skipped: it is here for its default, and its reader may have been dropped.
    """
    used = {spec.flat, *_READ_BY_THE_ENGINE} | {word for _, one in expressions(spec) for word in _words(one)}
    used |= read_by_conditions(spec)
    used |= {spec.attribute_map.get(name, name) for name in used}
    if spec.extends:
        used |= spec.library.load(spec.extends).fields.keys()
    for field in spec.fields.values():
        if field.place.source.name != spec.source.name or field.name in used or field.required:
            continue  # a required field matters because it must be present
        if not _is_read_elsewhere(field.name, spec):
            yield Problem(f"nothing reads {field.name}", field.place, "config", _UNUSED_HELP)


def _words(expression: Expression) -> set[str]:
    """Return the names in an expression, including keywords and texts, as in `given("field")`."""
    nodes = list(ast.walk(expression.tree))
    keywords = {node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg}
    return {*names(expression.tree), *keywords, *map(text_of, nodes)}


def _is_read_elsewhere(name: str, spec: Spec) -> bool:
    """Return True if another spec reads `sub_config.name`, or one that extends or uses this spec does."""
    if _attributes(spec.library).get(name, set()) - {os.path.basename(spec.source.name)}:
        return True
    users = (other for other in _specs(spec.library) if spec.model_type in (other.extends, *other.uses))
    added = (one for other in users for _, one in expressions(other))
    return any(name in _words(one) for one in added if one.place.source.name != spec.source.name)


@cache
def _attributes(library: SpecLibrary) -> dict[str, set[str]]:
    """Map a field to the files that read it from a sub-config: `text_config.width`."""
    found: dict[str, set[str]] = {}
    for _, expression in (pair for spec in _specs(library) for pair in expressions(spec)):
        file = os.path.basename(expression.place.source.name)
        for node in ast.walk(expression.tree):
            if isinstance(node, ast.Attribute):
                found.setdefault(node.attr, set()).add(file)
    return found


def _specs(library: SpecLibrary) -> Iterator[Spec]:
    for model_type in library.model_types():
        with suppress(SpecError):  # reported by a lint of that file
            yield library.load(model_type)
