"""Check one spec file without a config; the checks are listed in :data:`FILE_CHECKS` and :data:`CHECKS`.

Loading a spec finds syntax errors. The checks find unknown names, fields, calls and arguments, also in
branches that the default config does not take.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from archspec.configs.scope import Scope
from archspec.errors import (
    ArchspecError,
    ConfigError,
    Place,
    Problem,
    SpecError,
    UnknownArchitectureError,
)
from archspec.language.expression import Expression
from archspec.linting import field_checks
from archspec.linting.names import expressions, is_attribute, problems, reached
from archspec.render import notation
from archspec.specs.files import CONTRACTIONS, NOT_SPECS, NOTATION, read
from archspec.specs.library import Library, shipped
from archspec.specs.module_parser import contractions
from archspec.specs.records import Module, Spec, runs_of
from archspec.specs.references import output_paths
from archspec.tree.builder import Builder
from archspec.tree.tensors import tensors

_HEADER_HELP = "write one to three: the model, papers (arXiv:…), and code: …"
_CODE_HELP = "add # code: transformers/models/…/modeling_….py"
_PATH_HELP = "name a tensor or a module by its path within this module"


def shipped_files() -> list[str]:
    """Return every shipped file: the specs, the shared parts, the contractions and the notation."""
    return [*shipped().files().values(), os.path.join(shipped().folder, CONTRACTIONS), notation.path()]


def lint(path: str, library: Library | None = None) -> list[Problem]:
    """Return the problems of one spec file, in the order of its lines.

    Other specs are looked up in the library, by default the shipped one.

    Errors: :class:`ConfigError` for a file that cannot be read.
    """
    try:
        if os.path.basename(path) in NOT_SPECS:
            notation.read(path) if os.path.basename(path) == NOTATION else contractions(*read(path))
            return []
        spec = (library or shipped()).load_file(path)
    except SpecError as error:
        return list(error.problems)
    is_shared = os.path.basename(os.path.dirname(os.path.abspath(path))) == "shared"
    found = [problem for check in FILE_CHECKS for problem in check(spec)]
    if is_shared and not spec.refuse:  # its modules use the fields of other specs
        found += _expressions(spec, with_modules=False)
    for check in CHECKS if not spec.refuse and not is_shared else ():
        try:
            found += check(spec)
        except ArchspecError as error:  # a sub-config without a spec
            found += [one._replace(place=one.place or Place(spec.source, 1, 1)) for one in error.problems]
    return sorted(dict.fromkeys(found), key=lambda p: (p.place.line, p.place.column) if p.place else (0, 0))


def _header(spec: Spec) -> Iterator[Problem]:
    place, lines = Place(spec.source, 1, 1), spec.header.splitlines()
    if not 0 < len(lines) <= 3:
        yield Problem(f"the header has {len(lines)} comment lines", place, "", _HEADER_HELP)
    elif "code:" not in spec.header:
        yield Problem("the header does not name the code", place, "", _CODE_HELP)


def _file_name(spec: Spec) -> Iterator[Problem]:
    name = os.path.basename(spec.source.name).removesuffix(".yaml")
    if name != spec.model_type:
        message = f"the file {name}.yaml has {spec.model_type or 'an empty text'} as its model_type"
        yield Problem(message, Place(spec.source, 1, 1), help=f"write model_type: {name}")


def _expressions(spec: Spec, with_modules: bool = True) -> Iterator[Problem]:
    for context, expression in expressions(spec):
        if with_modules or context.module is None:
            found = problems(context, expression)
            yield from found if found and not _is_inherited_and_holds(spec, expression) else ()


def _is_inherited_and_holds(spec: Spec, expression: Expression) -> bool:
    """Return True for a parent's condition that holds although this spec lacks some of its names."""
    if not expression.path.endswith(".require") or expression.place.source.name == spec.source.name:
        return False
    try:
        return bool(Scope(spec, {}).read(expression))
    except ArchspecError:
        return False


def _paths(spec: Spec) -> Iterator[Problem]:
    """Check the ties of modules, and the attributes that their paths begin with."""
    has_flag = "tie_word_embeddings" in {*spec.fields, *spec.fixed, *spec.attribute_map}
    for module in reached(spec):
        for tie in module.ties:
            if not tie.always and not has_flag:
                message = "this tie never holds: tie_word_embeddings is not a field"
                yield Problem(message, tie.place, f"{module.name}.tied", "declare the field")
        for path, place, key in _named_paths(module):
            if not is_attribute(path, module):
                yield Problem(f"{path} is not in {module.name}", place, f"{module.name}.{key}", _PATH_HELP)


def _named_paths(module: Module) -> Iterator[tuple[str, Place, str]]:
    """Yield the paths that a module names, with their places and keys."""
    for tie in module.ties:
        yield from ((path, tie.place, "alias" if tie.always else "tied") for path in (tie.target, tie.source))
    yield from ((name, next(iter(runs_of(runs))).place, "runs") for name, runs in module.runs.items())
    if module.output_embeddings is not None:
        place = module.output_embeddings.place
        yield from ((path, place, "output_embeddings") for path in output_paths(module)[0])


def _builds(spec: Spec) -> Iterator[Problem]:
    """Build the default config, with tied and untied embeddings."""
    for settings in ({}, {"tie_word_embeddings": True}, {"tie_word_embeddings": False}):
        try:
            scope = Scope(spec, settings if "tie_word_embeddings" in spec.fields else {})
            scope.validate()
            for name in spec.architectures:
                tensors(Builder(scope).build(name))
        except SpecError as error:
            yield from error.problems
        except (ConfigError, UnknownArchitectureError):
            continue  # the default config may lack a field, or have an unsupported sub-config


Check = Callable[[Spec], Iterator[Problem]]
FILE_CHECKS: tuple[Check, ...] = (_header, _file_name)  # also of shared and refused specs
CHECKS: tuple[Check, ...] = (
    _expressions,
    _paths,
    _builds,
    field_checks.unread,
    field_checks.aliases,
    field_checks.types,
    field_checks.sub_config_defaults,
)
