"""Spec files checked whole, before any config meets them: what `archspec lint` finds.

Beside what loading refuses: names, fields, calls and arguments that mean nothing, also in branches that the
default config does not take; ties whose ends cannot exist, or that never hold; fields that nothing reads; a
header that does not say what the model is and where its code stands.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from archspec.configs.scope import Scope
from archspec.errors import (
    ArchspecError,
    ConfigError,
    Place,
    Problem,
    Source,
    SpecError,
    UnknownArchitectureError,
)
from archspec.language.expression import Expression
from archspec.linting import field_checks
from archspec.linting.contexts import expressions, reached
from archspec.linting.names import problems
from archspec.linting.tie_paths import leads_somewhere
from archspec.render import notation
from archspec.specs.contractions import contractions
from archspec.specs.library import CONTRACTIONS, NO_SPECS, NOTATION, Library, shipped
from archspec.specs.records import Module, Spec, runs_of
from archspec.specs.references import output_paths
from archspec.tree.builder import Builder
from archspec.tree.tensors import tensors

_HEADER_HELP = "one to three: what it is, papers: arXiv:…, code: …"
_CODE_HELP = "# code: transformers/models/…/modeling_….py"
_PATH_HELP = "name a tensor, or a module, by its path within this module"


def everything() -> list[str]:
    """Every file that is shipped: the specs, the shared parts, the contractions and the notation."""
    return [*shipped().files().values(), os.path.join(shipped().folder, CONTRACTIONS), notation.path()]


def lint(path: str, library: Library | None = None) -> list[Problem]:
    """All that is wrong with one spec file, in the order of its lines; empty where nothing is.

    The specs that it names are those of the library, the shipped one if none is given.

    Errors: :class:`ConfigError` for a file that cannot be read.
    """
    try:
        if os.path.basename(path) in NO_SPECS:
            _read(path)
            return []
        spec = (library or shipped()).load_file(path)
    except SpecError as error:
        return list(error.problems)
    found = [*_header(spec), *_named(spec, path)]
    if spec.refuse:
        return found
    part = os.path.basename(os.path.dirname(os.path.abspath(path))) == "shared"  # needs another's fields
    for context, expression in expressions(spec):
        if not part or context.module is None:
            wrong = problems(context, expression)
            found += wrong if wrong and not _holds_without(spec, expression) else []
    if not part:
        found += [problem for module in reached(spec) for problem in _ties(spec, module)]
        found += [*_built(spec), *field_checks.unread(spec)]
        try:
            found += field_checks.fields(spec)
        except ArchspecError as error:  # a part that no spec describes
            found += [one._replace(place=one.place or Place(spec.source, 1, 1)) for one in error.problems]
    return sorted(dict.fromkeys(found), key=lambda p: (p.place.line, p.place.column) if p.place else (0, 0))


def _read(path: str) -> None:
    """A file beside the specs. Errors: :class:`SpecError` for one that is wrong."""
    if os.path.basename(path) == NOTATION:
        notation.read(path)
        return
    with open(path, encoding="utf-8") as file:
        contractions(Source(path, file.read()))


def _holds_without(spec: Spec, expression: Expression) -> bool:
    """Whether it is a condition taken over that holds, whatever names in it this spec does not have."""
    if not expression.path.endswith(".require") or expression.place.source.name == spec.source.name:
        return False
    try:
        return bool(Scope(spec, {}).read(expression))
    except ArchspecError:
        return False


def _header(spec: Spec) -> Iterator[Problem]:
    place, lines = Place(spec.source, 1, 1), spec.header.splitlines()
    if not 0 < len(lines) <= 3:
        yield Problem(f"the header has {len(lines)} comment lines", place, "", _HEADER_HELP)
    elif "code:" not in spec.header:
        yield Problem("the header does not name the code", place, "", _CODE_HELP)


def _named(spec: Spec, path: str) -> Iterator[Problem]:
    name = os.path.basename(path).removesuffix(".yaml")
    if name != spec.model_type:
        message = f"the file {name}.yaml describes {spec.model_type or 'no model type'}"
        yield Problem(message, Place(spec.source, 1, 1), help=f"model_type: {name}")


def _ties(spec: Spec, module: Module) -> Iterator[Problem]:
    flags = {*spec.fields, *spec.fixed, *spec.attribute_map}
    for tie in module.ties:
        if not tie.always and "tie_word_embeddings" not in flags:
            message = "this never holds: the config has no tie_word_embeddings"
            yield Problem(message, tie.place, f"{module.name}.tied", "declare the field")
    for end, place, key in _ends(module):
        with suppress(ArchspecError):  # a spec that is missing is reported where it is named
            if not leads_somewhere(end, module, spec):
                yield Problem(f"{end} is not in {module.name}", place, f"{module.name}.{key}", _PATH_HELP)


def _ends(module: Module) -> Iterator[tuple[str, Place, str]]:
    """The paths that a module names, where, and under which key."""
    for tie in module.ties:
        yield from ((end, tie.place, "alias" if tie.always else "tied") for end in (tie.target, tie.source))
    yield from ((name, next(iter(runs_of(said))).place, "runs") for name, said in module.runs.items())
    if module.output_embeddings is not None:
        place = module.output_embeddings.place
        yield from ((end, place, "output_embeddings") for end in output_paths(module)[0])


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
