"""Check one spec file without a config; the checks are listed in :data:`FILE_CHECKS` and :data:`CHECKS`.

Loading a spec finds syntax errors. The checks find unknown names, fields, calls and arguments, also in
branches that the default config does not take.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache

from archspec.configs.scope import Scope
from archspec.errors import ArchspecError, Place, Problem, SpecError, UnknownArchitectureError, did_you_mean
from archspec.language.expression import Expression, callee, calls, names, text_of
from archspec.linting.names import Context, declared_sub_config, expressions, modules_of_spec, problems
from archspec.render import notation
from archspec.specs.files import CONTRACTIONS, NOT_SPECS, NOTATION, is_shipped, read
from archspec.specs.library import Library, shipped_library
from archspec.specs.module_parser import contractions
from archspec.specs.records import OPTIONS, TYPES, Body, Module, Spec, SpecLibrary, output_paths, runs_of
from archspec.tree.builder import Builder
from archspec.tree.runnable import read_by_conditions
from archspec.tree.tensors import tensors

_HEADER_HELP = "start the file with one to three comment lines, e.g. # MyModel. code: my_package/model.py"
_CODE_HELP = "add the path of the module to the comment, e.g. # code: my_package/model.py"
_CONDITION_HELP = "write a comparison of config fields, e.g. hidden_size % num_heads == 0"
_READ_BY_THE_ENGINE = {"tie_word_embeddings", "num_labels", "layer_types", "per_layer_config"}
_GIVEN_HELP = "declare its type and default in config: too; `fixed:` replaces the field of the parent spec"
_TEXT_HELP = f"choose from the types {', '.join(TYPES)}, or put the string in quotes"
_UNUSED_HELP = "remove the field: a spec has only fields that affect a count"
_PATH_HELP = "name a tensor or a module by its path within this module"


def shipped_files() -> list[str]:
    """Return every shipped file: the specs, the shared parts, the contractions and the notation."""
    library = shipped_library()
    return [*library.files().values(), os.path.join(library.folder, CONTRACTIONS), notation.path()]


def lint(path: str, library: Library | None = None) -> list[Problem]:
    """Return the problems of one spec file, in the order of its lines. Errors: :class:`ConfigError`.

    Other specs are looked up in the library, by default the shipped one.
    """
    try:
        if os.path.basename(path) in NOT_SPECS:
            notation.entries(path) if os.path.basename(path) == NOTATION else contractions(*read(path))
            return []
        spec = (library or shipped_library()).load_file(path)
    except SpecError as error:
        return list(error.problems)
    is_shared = os.path.basename(os.path.dirname(os.path.abspath(path))) == "shared"
    checks = FILE_CHECKS + (() if spec.refuse else (_top_expressions,) if is_shared else CHECKS)
    found: list[Problem] = []
    for check in checks:
        if check is _check_builds and any(one.path for one in found):
            continue
        try:
            more = [*check(spec)]
        except ArchspecError as error:  # a sub-config without a spec
            more = [*error.problems]
        found += [one._replace(place=one.place or Place(spec.source, 1, 1)) for one in more]
    return sorted(dict.fromkeys(found), key=lambda p: (p.place.line, p.place.column) if p.place else (0, 0))


def _header(spec: Spec) -> Iterator[Problem]:
    place, lines = Place(spec.source, 1, 1), spec.header.splitlines()
    if not 0 < len(lines) <= 3:
        message = f"the header has {len(lines)} comment lines" if lines else "the file has no header comment"
        yield Problem(message, place, help=_HEADER_HELP)
    elif "code:" not in spec.header:
        yield Problem("the header comment does not name the code", place, help=_CODE_HELP)


def _file_name(spec: Spec) -> Iterator[Problem]:
    name = os.path.basename(spec.source.name).removesuffix(".yaml")
    if name != spec.model_type:
        message = f"model_type is {spec.model_type!r}, but the file is {name}.yaml"
        yield Problem(message, _place_of_key(spec, "model_type"), help=f"write model_type: {name}")
    if not spec.prefix.isidentifier():
        help_ = "write the beginning of the names of classes, e.g. prefix: Llama"
        yield Problem(f"{spec.prefix!r} cannot begin a class name", _place_of_key(spec, "prefix"), help=help_)
    for used in sorted({one for one in spec.uses if spec.uses.count(one) > 1}):
        yield Problem(f"{used} is repeated", _place_of_key(spec, "uses"), help=f"write {used} once")


def _place_of_key(spec: Spec, key: str) -> Place:
    """Return the line of a key of a spec; the first line if it is missing."""
    lines = spec.source.text.splitlines()
    number = next((index for index, line in enumerate(lines, 1) if line.startswith(f"{key}:")), 1)
    return Place(spec.source, number, 1, len(key))


def _conditions(spec: Spec) -> Iterator[Problem]:
    """Yield conditions that no config can change."""
    own = [condition for module in modules_of_spec(spec) for condition in module.require]
    for condition in (*spec.require, *own):
        if not names(condition.tree):
            message = f"`{condition.text}` does not depend on the config"
            yield Problem(message, condition.place, condition.path, _CONDITION_HELP)


def _expressions(spec: Spec) -> Iterator[Problem]:
    for context, expression in expressions(spec):
        found = problems(context, expression)
        yield from found if found and not _is_inherited_and_holds(spec, expression) else ()


def _top_expressions(spec: Spec) -> Iterator[Problem]:
    """Check a shared part, whose modules use the fields of other specs."""
    top = (pair for pair in expressions(spec) if pair[0].module is None)
    return (problem for context, expression in top for problem in problems(context, expression))


def _is_inherited_and_holds(spec: Spec, expression: Expression) -> bool:
    """Return True for a parent's condition that holds although this spec lacks some of its names."""
    if not expression.path.endswith(".require") or expression.place.source.name == spec.source.name:
        return False
    with suppress(ArchspecError):
        return bool(Scope(spec, {}).read(expression))
    return False


def _paths(spec: Spec) -> Iterator[Problem]:
    has_flag = "tie_word_embeddings" in {*spec.fields, *spec.fixed, *spec.attribute_map}
    for module in modules_of_spec(spec):
        for tie in module.ties:
            if not tie.always and not has_flag:
                message = "this tie is never used: tie_word_embeddings is not a config field"
                help_ = "add tie_word_embeddings to config:, or write the tie under alias:"
                yield Problem(message, tie.place, f"{module.name}.tied", help_)
        for path, place, key in _named_paths(module):
            if not _is_attribute(path, module):
                message = f"{module.name} has no attribute {path}"
                yield Problem(message, place, f"{module.name}.{key}", _PATH_HELP)
        for name in module.parameters.keys() & module.where.keys():
            message = f"the parameter {name} of {module.name} hides the local name"
            help_ = "rename one of them"
            yield Problem(message, module.where[name].place, f"{module.name}.where.{name}", help_)
        for name in set(module.branches) - {*_nested_names(module.body)}:
            message = f"{module.name} has no attribute {name}"
            yield Problem(message, module.place, f"{module.name}.branches", _PATH_HELP)
        for name in set(module.needs) - {*module.placeholders, "encoder_tokens"}:
            message = f"{module.name} has no placeholders of {name}"
            yield Problem(message, module.place, f"{module.name}.needs", "add them, or remove it from needs")


def _nested_names(body: Body) -> Iterator[str]:
    """Yield the names of a module's attributes and of those inside them."""
    for name, inner in body.items() if isinstance(body, dict) else ():
        yield from (name, *_nested_names(inner))


def _named_paths(module: Module) -> Iterator[tuple[str, Place, str]]:
    for tie in module.ties:
        yield from ((path, tie.place, "alias" if tie.always else "tied") for path in (tie.target, tie.source))
    yield from ((name, next(iter(runs_of(runs))).place, "runs") for name, runs in module.runs.items())
    if module.output_embeddings is not None:
        place = module.output_embeddings.place
        yield from ((path, place, "output_embeddings") for path in output_paths(module)[0])


def _is_attribute(path: str, module: Module) -> bool:
    """Return False if no branch of a module has the attribute that a path begins with.

    The builder checks whole paths at the default config.
    """
    [name, *_] = re.findall(r"(?:\{[^{}]*\}|[^.{}])+", path) or [""]
    if not isinstance(module.body, dict) or module.layer is not None or "{" in name:
        return True
    texts = (re.split(r"\{[^{}]*\}", key) for key in module.body)  # of loops, too: embeddings_{i}
    return any(re.fullmatch(".+".join(map(re.escape, parts)), name) for parts in texts)


def _check_builds(spec: Spec) -> Iterator[Problem]:
    """Build the default config, or the valid one that the spec gives, with tied and untied embeddings.

    The default config of a shipped spec may be one that transformers rejects.
    """
    needs_fields = any(field.default is None for field in spec.fields.values()) and not spec.valid_config
    flag = "tie_word_embeddings"
    for is_other in (False, True) if flag in spec.fields else (False,):
        try:
            own = {flag: not Scope(spec, spec.valid_config).get(flag)} if is_other else {}
            scope = Scope(spec, {**spec.valid_config, **own})
            scope.validate()
            for name in spec.architectures:
                tensors(Builder(scope).build(name))
        except UnknownArchitectureError:
            continue  # the default config may have an unsupported sub-config
        except ArchspecError as error:
            if isinstance(error, SpecError) or not (needs_fields or is_shipped(spec.source.name)):
                yield from (one for one in error.problems if not one.path.endswith(".require"))


def _fields(spec: Spec) -> Iterator[Problem]:
    """Yield aliases of unknown fields, fixed fields without a type, and defaults like misspelled types."""
    texts = {text_of(node) for _, one in expressions(spec) for node in ast.walk(one.tree)}  # given("field")
    for alias, name in spec.attribute_map.items():
        if name not in {*spec.fields, *spec.fixed, *texts}:
            message = f"{alias} is an alias of {name}, which is not a field"
            yield Problem(message, Place(spec.source, 1, 1), "attribute_map", did_you_mean(name, spec.fields))
    for name, value in spec.fixed.items():
        asked = {text_of(call.args[0]) for call in calls(value.tree) if callee(call) == "given" and call.args}
        if name not in spec.fields and name in asked - names(value.tree):
            message = f"given({name!r}) needs a type: {name} is not in config"
            yield Problem(message, value.place, f"fixed.{name}", _GIVEN_HELP)
    for field in spec.fields.values():
        default = field.default
        text = text_of(default.tree) if default and not field.types else ""
        if default and text == default.text and any(mark in text for mark in "|=[] "):
            message = f"{text!r} is neither a type nor a string in quotes"
            yield Problem(message, default.place, f"config.{field.name}", _TEXT_HELP)


def _sub_config_defaults(spec: Spec) -> Iterator[Problem]:
    """Yield the fields that a sub-config's default sets and that its spec does not have."""
    for field in spec.fields.values():
        call, sub = field.sub_config, declared_sub_config(spec, field.name)
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
                yield Problem(message, field.default.place_of(keyword), f"config.{field.name}", help_)


def _unused_fields(spec: Spec) -> Iterator[Problem]:
    """Yield fields of this file that no count depends on, here or in a spec that reads them from outside.

    A field of the parent spec is skipped: it is here for its default, and its reader may have been dropped.
    A required field matters because it must be present.
    """
    used = {spec.flat, *_READ_BY_THE_ENGINE, *read_by_conditions(spec)}
    used |= {word for _, one in expressions(spec) for word in _words(one)}
    used |= {spec.attribute_map.get(name, name) for name in used}
    if spec.extends:
        used |= spec.library.load(spec.extends).fields.keys()
    for field in spec.fields.values():
        is_own = field.place.source.name == spec.source.name and field.default is not None
        if is_own and field.name not in used and not _is_read_elsewhere(field.name, spec):
            yield Problem(f"the field {field.name} is not used", field.place, "config", _UNUSED_HELP)


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
    for expression in (one for spec in _specs(library) for _, one in expressions(spec)):
        for node in ast.walk(expression.tree):
            if isinstance(node, ast.Attribute):
                found.setdefault(node.attr, set()).add(os.path.basename(expression.place.source.name))
    return found


def _specs(library: SpecLibrary) -> Iterator[Spec]:
    for model_type in library.model_types():
        with suppress(SpecError):  # reported by a lint of that file
            yield library.load(model_type)


Check = Callable[[Spec], Iterator[Problem]]
FILE_CHECKS: tuple[Check, ...] = (_header, _file_name)  # also of shared and refused specs
CHECKS: tuple[Check, ...] = (
    _expressions,
    _conditions,
    _paths,
    _unused_fields,
    _fields,
    _sub_config_defaults,
    _check_builds,  # last: the others find the cause
)
