"""Spec files checked whole, before any config meets them: what `archspec lint` finds.

Beside what loading refuses: names, fields, calls and arguments that mean nothing, also in branches that the
default config does not take; ties whose ends cannot exist, or that never hold; fields that nothing reads; a
header that does not say what the model is and where its code stands.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

from archspec.configs.scope import Scope
from archspec.errors import (
    ArchspecError,
    ConfigError,
    Place,
    Problem,
    SpecError,
    UnknownArchitectureError,
    did_you_mean,
)
from archspec.language.expression import Expression, names
from archspec.lint.constants import settled
from archspec.lint.names import Place as Where
from archspec.lint.names import has_field, safely, sub_config, sub_config_field
from archspec.lint.tie_paths import leads_somewhere
from archspec.render import notation
from archspec.specs.library import Library, shipped
from archspec.specs.records import OPTIONS, TYPES, Module, Spec, leaves
from archspec.specs.references import output_embeddings, reads
from archspec.tree.builder import Builder
from archspec.tree.tensors import tensors

_READ_BY_ITSELF = {
    "tie_word_embeddings",
    "num_labels",
    "layer_types",
}  # layer types are checked with every config


def lint(path: str, library: Library | None = None) -> list[Problem]:
    """All that is wrong with one spec file, in the order of its lines; empty where nothing is.

    ``library`` has what the file extends and uses, and its sub-configs' specs: the shipped one, if none is given.

    Errors: :class:`ConfigError` for a file that cannot be read.
    """
    try:
        if os.path.basename(path) == "notation.yaml":
            notation.read(path)
            return []
        spec = (library or shipped()).load_file(path)
    except SpecError as error:
        return list(error.problems)
    found = [*_header(spec), *_named(spec, path)]
    if spec.refuse:
        return found
    whole = (
        os.path.basename(os.path.dirname(os.path.abspath(path))) != "shared"
    )  # a shared part needs another's fields
    for where, expression in _expressions(spec):
        if whole or where.module is None:
            found += safely(where, expression)
    if whole:
        found += [problem for module in _reachable(spec) for problem in _ties(spec, module)]
        found += _built(spec)
        try:
            found += _fields(spec)
        except ArchspecError as error:  # a part that no spec describes
            found += [
                problem._replace(place=problem.place or Place(spec.source, 1, 1))
                for problem in error.problems
            ]
        found += _unused(spec)
    unique = dict.fromkeys(problem for problem in found)
    return sorted(unique, key=lambda p: (p.place.line, p.place.column) if p.place else (0, 0))


def _header(spec: Spec) -> Iterator[Problem]:
    place = Place(spec.source, 1, 1)
    lines = spec.header.splitlines()
    if not 0 < len(lines) <= 3:
        yield Problem(
            f"the header has {len(lines)} comment lines",
            place,
            "",
            "one to three: what it is, papers: arXiv:…, code: …",
        )
    elif "code:" not in spec.header:
        yield Problem(
            "the header does not name the code", place, "", "# code: transformers/models/…/modeling_….py"
        )


def _named(spec: Spec, path: str) -> Iterator[Problem]:
    name = os.path.basename(path).removesuffix(".yaml")
    if name != spec.model_type:
        problem = Problem(
            f"the file {name}.yaml describes {spec.model_type or 'no model type'}", Place(spec.source, 1, 1)
        )
        yield problem._replace(help=f"model_type: {name}")


def _expressions(spec: Spec) -> Iterator[tuple[Where, Expression]]:
    """Every expression that the spec's own architectures can reach, with where it is read."""
    top = Where(spec, None)
    for field in spec.fields.values():
        if field.default is None:
            continue
        if (sub := sub_config_field(spec, field.name)) is None:
            yield top, field.default
            continue
        options = [
            keyword.value
            for keyword in sub[1].keywords
            if keyword.arg not in OPTIONS or keyword.arg == "optional"
        ]
        for tree in (*sub[1].args, *options):
            if tree is sub[1].args[0] and isinstance(tree, ast.Name):  # the model type
                continue
            yield top, field.default._replace(tree=tree)
    for expression in (*spec.fixed.values(), *spec.require, *(condition for condition, _ in spec.notes)):
        yield top, expression
    for module in _reachable(spec):
        for default in module.parameters.values():
            if default is not None:
                yield Where(spec, module), default
        for (
            condition
        ) in module.require:  # one that was taken over and always holds may speak of what is not here
            if condition.place.source.name == spec.source.name or not settled(condition.tree, module, spec):
                yield Where(spec, module), condition
        layer = (module.layer,) if module.layer is not None else ()
        for expression in (
            *module.where.values(),
            *layer,
            *leaves(module.body),
            *output_embeddings(module)[1],
        ):
            yield Where(spec, module), expression
        for tie in module.ties:
            if tie.turns is not None:
                yield Where(spec, module), tie.turns


def _reachable(spec: Spec) -> list[Module]:
    """The modules of this spec that its architectures are made of, and all that its own file describes."""
    own = [m for m in spec.modules.values() if m.place.source.name == spec.source.name]
    open_ = [*(m for name in spec.architectures if (m := spec.module(name))), *own]
    found: dict[int, Module] = {}
    while open_:
        module = open_.pop()
        if id(module) in found:
            continue
        found[id(module)] = module
        for expression in (*leaves(module.body), *module.where.values()):
            for node in ast.walk(expression.tree):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Name)
                    and (inner := spec.module(node.func.id))
                ):
                    open_.append(inner)
    return list(found.values())


def _ties(spec: Spec, module: Module) -> Iterator[Problem]:
    for tie in module.ties:
        path = f"{module.name}.{'alias' if tie.always else 'tied'}"
        if not tie.always and "tie_word_embeddings" not in {*spec.fields, *spec.fixed, *spec.attribute_map}:
            yield Problem(
                "this never holds: the config has no tie_word_embeddings",
                tie.place,
                path,
                "declare the field",
            )
        for end in (tie.target, tie.source):
            if not _possible(end, module, spec):
                yield Problem(f"{end} is not in {module.name}", tie.place, path, _PATH_HELP)
    said = module.output_embeddings
    for end in output_embeddings(module)[0]:
        if said is not None and not _possible(end, module, spec):
            path = f"{module.name}.output_embeddings"
            yield Problem(f"{end} is not in {module.name}", said.place, path, _PATH_HELP)


def _possible(end: str, module: Module, spec: Spec) -> bool:
    try:
        return leads_somewhere(end, module, spec)
    except ArchspecError:
        return True  # a spec that is missing is reported where it is named


_PATH_HELP = "name a tensor, or a module, by its path within this module"


def _built(spec: Spec) -> Iterator[Problem]:
    """What goes wrong when the default config is built, with ties and without."""
    for settings in ({}, {"tie_word_embeddings": True}, {"tie_word_embeddings": False}):
        try:
            scope = Scope(spec, settings if "tie_word_embeddings" in spec.fields else {})
            scope.validate()
            for name in spec.architectures:
                tensors(Builder(scope).build(name))
        except SpecError as error:
            yield from error.problems
        except (ConfigError, UnknownArchitectureError):
            continue  # the default config may lack a field, or name a part that is refused


def _fields(spec: Spec) -> Iterator[Problem]:
    """Other names of fields that do not exist, texts that were meant as types, and defaults that a part does not have."""
    start = Place(spec.source, 1, 1)
    words = {
        node.value
        for _, e in _expressions(spec)
        for node in ast.walk(e.tree)
        if isinstance(node, ast.Constant)
    }
    for alias, name in spec.attribute_map.items():
        if name not in spec.fields and name not in spec.fixed and name not in words:  # words: given("field")
            yield Problem(
                f"{alias} stands for {name}, which is no field",
                start,
                "attribute_map",
                did_you_mean(name, spec.fields),
            )
    for name, value in spec.fixed.items():
        if name not in spec.fields and name in reads(value.tree) - names(value.tree):
            yield Problem(
                f"given({name!r}) has no type: config has no {name}",
                value.place,
                f"fixed.{name}",
                _GIVEN_HELP,
            )
    for field in spec.fields.values():
        tree = field.default.tree if field.default else None
        text = (
            tree.value
            if isinstance(tree, ast.Constant) and isinstance(tree.value, str) and not field.types
            else ""
        )
        if field.default and text == field.default.text and any(mark in text for mark in "|=[] "):
            yield Problem(
                f"is {text!r} a type, or a text?", field.default.place, f"config.{field.name}", _TEXT_HELP
            )
        found = sub_config_field(spec, field.name)
        sub = sub_config(Where(spec, None), ast.Name(field.name)) if found else None
        if found is None or sub is None or sub.spec is None or sub.spec.refuse:
            continue
        merged = any(
            keyword.arg == "merge" for keyword in found[1].keywords
        )  # its defaults go to any model type
        for keyword in found[1].keywords:
            if not keyword.arg or keyword.arg in OPTIONS or has_field(sub.spec, keyword.arg):
                continue
            if not merged or not any(
                has_field(spec.library.load(name), keyword.arg) for name in spec.library.model_types()
            ):
                help_ = did_you_mean(keyword.arg, sub.spec.fields)
                place = found[0].default.at(keyword) if found[0].default else start
                yield Problem(
                    f"{sub.spec.model_type} has no field {keyword.arg}", place, f"config.{field.name}", help_
                )


_GIVEN_HELP = "say its type and default in config: too; a parent's does not stand beside a fixed field"
_TEXT_HELP = f"types: {', '.join(TYPES)}; a text with blanks is quoted"


def _unused(spec: Spec) -> Iterator[Problem]:
    """Fields of this file that no count depends on, here or in a spec that reads them from outside."""
    used = {spec.flat, *_READ_BY_ITSELF}
    for _, expression in _expressions(spec):
        for node in ast.walk(expression.tree):
            if isinstance(node, ast.Name):
                used.add(node.id)
            elif isinstance(node, ast.keyword) and node.arg:
                used.add(node.arg)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                used.add(node.value)  # given("field")
    used |= {spec.attribute_map.get(name, name) for name in used}
    for field in spec.fields.values():
        if field.place.source.name != spec.source.name or field.name in used or field.required:
            continue  # a required field matters by being there
        if not _read_elsewhere(field.name, spec):
            yield Problem(
                f"nothing reads {field.name}",
                field.place,
                "config",
                "a spec has only the fields that a count depends on",
            )


def _read_elsewhere(name: str, spec: Spec) -> bool:
    """Whether another spec of the library reads `sub_config.name`, or a spec made from this one reads it."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    for path in spec.library.files():
        if os.path.basename(path) == f"{spec.model_type}.yaml":
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        relative = re.search(rf"^(?:extends|uses):.*\b{re.escape(spec.model_type)}\b", text, re.MULTILINE)
        if re.search(rf"\.{re.escape(name)}\b", text) or (relative and word.search(text)):
            return True
    return False
