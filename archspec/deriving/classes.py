"""What is to be drafted, before the reading: classes of transformers by name or model type, or one of the
user's own."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from typing import Any

from archspec.deriving.own import find_own
from archspec.deriving.target import Target
from archspec.errors import ArchspecError, Problem, did_you_mean, option
from archspec.extras import import_optional

_HELP = "pass a class or model type of transformers, or package.module:Class for your own class"


def find(name: str, config: str = "", kwargs: Mapping[str, Any] | None = None) -> Target:
    """A transformers class, a model type with all its classes, or `package.module:Class`.

    Errors: :class:`ArchspecError` for what is not there, or has no default config; and where torch or
    transformers is missing.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import_optional("torch")
    transformers = import_optional("transformers")
    if ":" in name:
        return find_own(name, config, kwargs)
    if kwargs:
        raise ArchspecError(_idle("kwargs", name))
    if config:
        raise ArchspecError(_idle("config", name))
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    return _library(name)


def _idle(name: str, cls: str) -> Problem:
    """Return the problem with an option that only your own classes take."""
    message = f"{option(name)} has no effect: transformers has a config class for {cls}"
    return Problem(message, help=f"leave out {option(name)}, or pass package.module:Class")


def _library(name: str) -> Target:
    import torch
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    from archspec.deriving.session import mapped_classes
    from archspec.reference import Unavailable, config_class, model_class

    if name in CONFIG_MAPPING_NAMES:
        model_type, names = name, mapped_classes(name)
    else:
        cls = _class_named(name)
        if not issubclass(cls, torch.nn.Module):
            raise ArchspecError(Problem(f"{name} is not a torch.nn.Module", help=_HELP))
        model_type, names = getattr(getattr(cls, "config_class", None), "model_type", ""), [name]
    if not model_type:
        raise ArchspecError(Problem(f"{name} has no config class of its own", help=_HELP))
    try:
        config = config_class(model_type)()
    except Unavailable as error:
        raise ArchspecError(Problem(f"{name}: {error}", help=_HELP)) from None
    except Exception as error:  # whatever a config class raises without arguments
        told = f"{name} has no default config: {type(error).__name__}: {error}"
        raise ArchspecError(Problem(told, help="the draft starts from the default config")) from None
    classes: list[type] = []
    for one in names:
        try:
            classes.append(model_class(one, model_type))
        except Unavailable:
            continue
    if not classes:
        told = (
            f"{name}: no class of it can be imported here" if names else f"{name}: no auto class maps to it"
        )
        raise ArchspecError(Problem(told, help=_HELP))
    return Target(model_type, config, classes, False)


def _class_named(name: str) -> type:
    import transformers

    from archspec.reference import Unavailable, auto_classes, model_class

    found = getattr(transformers, name, None)
    tables = auto_classes()
    for model_type in [model_type for model_type, listed in tables if listed == name]:
        try:
            found = found or model_class(name, model_type)
        except Unavailable:
            continue
    if not inspect.isclass(found):
        known = {listed for _, listed in tables} | {model_type for model_type, _ in tables}
        told = f"transformers has no class or model type {name!r}"
        raise ArchspecError(Problem(told, help=did_you_mean(name, known) or _HELP))
    return found
