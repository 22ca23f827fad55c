"""Where specs are found: in the checkout's `formulas/`, or inside the installed package.

One file a model type, named after it, so that loading one touches only what it needs. Parts that
several specs share are in `formulas/shared/`.
"""

from __future__ import annotations

import os
import re
from functools import cache

from archspec.errors import (
    ConfigError,
    Place,
    Problem,
    Source,
    SpecError,
    UnknownArchitectureError,
    did_you_mean,
)
from archspec.language.yaml_reader import MAX_SPEC_BYTES
from archspec.specs.parser import parse_spec
from archspec.specs.records import Spec

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TRANSFORMERS_VERSION = "5.23.0"  # which the specs describe
_SAFE_NAME = re.compile(r"[A-Za-z0-9_\-]+$")


@cache
def folder() -> str:
    """The folder of the specs: beside the package in a checkout, within it when installed."""
    for path in (os.path.join(_PACKAGE, "formulas"), os.path.join(os.path.dirname(_PACKAGE), "formulas")):
        if os.path.isdir(path):
            return path
    raise SpecError("the specs are missing: there is no folder formulas/ in or beside the package")


def model_types() -> list[str]:
    """Every model type that a spec describes or refuses, sorted."""
    names = (name for name in os.listdir(folder()) if name.endswith(".yaml") and name != "notation.yaml")
    return sorted(name.removesuffix(".yaml") for name in names)


@cache
def load(model_type: str) -> Spec:
    """The spec of a model type.

    Errors: :class:`UnknownArchitectureError` for a model type that no spec describes,
    :class:`SpecError` for a file that is wrong.
    """
    if not _SAFE_NAME.match(model_type) or not os.path.isfile(
        path := os.path.join(folder(), model_type + ".yaml")
    ):
        raise UnknownArchitectureError(
            Problem(
                f"no spec describes the model type {model_type!r}",
                help=did_you_mean(model_type, model_types()) or LIST_HELP,
            )
        )
    return _read(path, ())


LIST_HELP = "archspec list shows what is described"


def load_file(path: str) -> Spec:
    """The spec in a file of the user's own; what it extends or uses may stand beside it."""
    return _read(path, ())


def _read(path: str, trail: tuple[str, ...]) -> Spec:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MAX_SPEC_BYTES + 1)
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: the file is not UTF-8 text: {error.reason} at byte {error.start}") from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    trail = (*trail, os.path.realpath(path))

    def named(name: str, place: Place) -> Spec:
        beside = os.path.dirname(path)
        places = [
            os.path.join(base, name + ".yaml")
            for base in (beside, folder(), os.path.join(folder(), "shared"))
        ]
        safe = re.fullmatch(r"[A-Za-z0-9_\-][A-Za-z0-9_\-/]*", name)
        found = [candidate for candidate in places if safe and os.path.isfile(candidate)]
        if not found:
            raise SpecError(
                Problem(f"there is no spec {name!r}", place, "", did_you_mean(name, model_types()))
            )
        if os.path.realpath(found[0]) in trail:
            raise SpecError(Problem(f"{name} is extended or used in a circle", place, "", "break the circle"))
        return _read(found[0], trail)

    return parse_spec(Source(_shown(path), text), named)


def _shown(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def catalogue() -> dict[str, tuple[str, ...]]:
    """Model type -> its architectures, the base model first; specs are not parsed for it."""
    from archspec.specs.index import architectures

    def text(model_type: str) -> str:
        with open(os.path.join(folder(), model_type + ".yaml"), encoding="utf-8", errors="replace") as file:
            return file.read(MAX_SPEC_BYTES + 1)

    return architectures(model_types(), text, lambda model_type: load(model_type).architectures)


@cache
def index() -> dict[str, tuple[str, ...]]:
    """Architecture -> the model types that have it."""
    found: dict[str, list[str]] = {}
    for model_type, names in catalogue().items():
        for name in names:
            found.setdefault(name, []).append(model_type)
    return {name: tuple(types) for name, types in found.items()}


def _parent(model_type: str) -> str:
    """The model type that a spec extends, '' for none."""
    with open(os.path.join(folder(), model_type + ".yaml"), encoding="utf-8") as file:
        found = re.search(r"^extends: *(\S+)", file.read(), re.MULTILINE)
    return found[1] if found else ""


def model_type_of(architecture: str) -> str:
    """The model type whose spec describes an architecture by that name.

    Errors: :class:`UnknownArchitectureError` when there is none, or more than one to choose from.
    """
    types = index().get(architecture, ())
    if not types:
        help_ = did_you_mean(architecture, [*index(), *model_types()]) or LIST_HELP
        raise UnknownArchitectureError(
            Problem(f"no spec describes the architecture {architecture!r}", help=help_)
        )
    if len(types) > 1:
        from archspec.specs.records import camel_case

        own = architecture.split("For")[0].removesuffix("Model")
        named = [
            name for name in types if architecture.startswith(camel_case(name))
        ]  # the class carries its name
        named += [name for name in types if load(name).prefix == own]
        named += [name for name in types if all(other == name or _parent(other) == name for other in types)]
        if named:
            return named[0]
        raise UnknownArchitectureError(
            Problem(
                f"{architecture} belongs to several model types: {', '.join(types)}",
                help="give a config with model_type",
            )
        )
    return types[0]
