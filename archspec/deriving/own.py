"""A user's own modules, before the reading: found by `package.module:Class`, with a config object of their
own."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import os
import re
import sys
import typing
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from archspec.configs.overrides import as_typed
from archspec.deriving.target import Target
from archspec.errors import ArchspecError, Problem, did_you_mean
from archspec.specs.exported import exported_types

_CONFIG_HELP = (
    "annotate the constructor's first parameter with the config class, "
    "or name the class with --config MODULE:CLASS"
)


class Keywords:
    """The base of configs that are the keyword arguments of a constructor."""


def find_own(name: str, config: str = "", kwargs: Mapping[str, Any] | None = None) -> Target:
    """The class `package.module:Class`, with the config class that its constructor says, or that is named.

    Of a constructor without a config the keyword arguments are the config: ``kwargs`` has the defaults of
    those that have none, and other defaults.

    Errors: :class:`ArchspecError` for what is not there, is no module, or has no default config.
    """
    import torch

    cls = named(name)
    if not issubclass(cls, torch.nn.Module):
        raise _problem(f"{name} is not a torch.nn.Module", "pass a subclass of torch.nn.Module")
    config_cls = named(config) if config else config_class(cls)
    if config_cls is not None and kwargs:
        told = f"{name} takes a {config_cls.__name__}, and no keyword arguments"
        raise _problem(told, "leave --kwargs out: the defaults are those of the config class")
    if config_cls is None:
        config_cls = _keywords(name, cls, dict(kwargs or {}))
    try:
        made = config_cls()
    except Exception as error:  # whatever the user's own config raises
        told = f"{config_cls.__name__} has no default: {type(error).__name__}: {error}"
        raise _problem(
            told, "give every field of it a default: the draft starts from the default config"
        ) from None
    model_type = getattr(config_cls, "model_type", "") or _free(_snake(cls.__name__))
    return Target(model_type, made, [cls], True)


def _keywords(name: str, cls: type, kwargs: dict[str, Any]) -> type:
    """A config class of the keyword arguments of a constructor.

    What has a default that no JSON can say, as a class, stays as it is. Errors: :class:`ArchspecError` for
    arguments without a value.
    """
    taken = keywords(cls)
    if unknown := next((key for key in kwargs if key not in taken), None):
        raise _problem(f"{name} has no keyword argument {unknown}", did_you_mean(unknown, taken))
    missing = [key for key, p in taken.items() if p.default is p.empty and key not in kwargs]
    if len(missing) == 1 and missing == list(taken)[:1] and not kwargs:
        raise _problem(f"{name}: the class of its config is not known", _CONFIG_HELP)
    if missing:
        example = ",".join(f"{key}=64" for key in missing)
        raise _problem(
            f"{name}: missing values for {', '.join(missing)}", f"pass them, e.g. --kwargs {example}"
        )
    defaults = {key: kwargs.get(key, p.default) for key, p in taken.items()}
    fields = [
        (key, _annotation(taken[key], value), dataclasses.field(default_factory=partial(copy.copy, value)))
        for key, value in defaults.items()
        if isinstance(value, int | float | str | list | tuple | dict | None)
    ]
    return dataclasses.make_dataclass(
        f"{cls.__name__}Keywords", fields, bases=(Keywords,), namespace={"__module__": cls.__module__}
    )


def keywords(cls: type) -> dict[str, inspect.Parameter]:
    """The arguments of a constructor that have a name."""
    parameters = list(inspect.signature(inspect.getattr_static(cls, "__init__")).parameters.values())[1:]
    return {p.name: p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


def _annotation(parameter: inspect.Parameter, value: Any) -> Any:
    """What a keyword argument is annotated with, or else the kind of its value."""
    if parameter.annotation is not parameter.empty:
        return parameter.annotation
    return Any if value is None else type(value)


def maker(cls: type, config_cls: type) -> Any:
    """What makes an instance of a class of a config object."""
    if not issubclass(config_cls, Keywords):
        return cls
    tuples = [key for key, p in keywords(cls).items() if isinstance(p.default, tuple)]  # lists in JSON

    def made(config: Any) -> Any:
        given = vars(config)
        return cls(**given | {key: tuple(given[key]) for key in tuples if isinstance(given.get(key), list)})

    return made


def options(cls: type, config: Any, described: Collection[str]) -> str:
    """What the header of a spec says after the file of a class, so that `archspec verify` finds its config.

    ``described`` are the fields of the spec.
    """
    if isinstance(config, Keywords):
        missing = [key for key, p in keywords(cls).items() if p.default is p.empty and key not in described]
        given = ",".join(as_typed(key, getattr(config, key)) for key in missing)
        return f" --kwargs {given}" if given else ""
    own = type(config)
    return "" if config_class(cls) is own else f" --config {own.__module__}:{own.__qualname__}"


def _free(model_type: str) -> str:
    """A name for a model type that transformers does not have."""
    return f"own_{model_type}" if model_type in exported_types() else model_type


def _problem(message: str, help_: str) -> ArchspecError:
    return ArchspecError(Problem(message, help=help_))


def named(name: str) -> type:
    """The class `package.module:Class`. Errors: :class:`ArchspecError`."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise _problem(f"{name!r} is not the path of a class", "write package.module:Class")
    sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except Exception as error:  # whatever the user's own module raises
        told = f"{module} cannot be imported: {type(error).__name__}: {error}"
        raise _problem(told, "run in the directory of the module, or add it to PYTHONPATH") from None
    finally:
        sys.path.remove(os.getcwd())
    if not inspect.isclass(found):
        classes = [key for key, value in vars(sys.modules[module]).items() if inspect.isclass(value)]
        raise _problem(
            f"{module} has no class {attribute!r}",
            did_you_mean(attribute, classes) or "write package.module:Class",
        )
    return found


def config_class(cls: type) -> Any:
    """The class that the constructor's first parameter is annotated with, or that is called as the class is.

    None where there is none, as for a constructor of keyword arguments.
    """
    found = getattr(cls, "config_class", None)
    if found is not None:
        return found
    init = vars(cls).get("__init__") or inspect.getattr_static(cls, "__init__")
    parameters = list(inspect.signature(init).parameters.values())[1:]
    try:
        hints = typing.get_type_hints(init)
    except Exception:  # annotations may name what is not there
        hints = {}
    hint = hints.get(parameters[0].name) if parameters else None
    if inspect.isclass(hint) and hint.__module__.partition(".")[0] not in ("builtins", "torch", "typing"):
        return hint
    required = [p.name for p in parameters if p.default is p.empty]
    if hint is not None or required != [p.name for p in parameters[:1]]:
        return None
    beside = getattr(sys.modules[cls.__module__], f"{cls.__name__}Config", None)
    return beside if inspect.isclass(beside) else None


def _snake(name: str) -> str:
    """
    >>> [_snake(name) for name in ("TinyGPT", "Tiny2Model", "SimpleViT")]
    ['tiny_gpt', 'tiny2_model', 'simple_vit']
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z][A-Za-z])", "_", name).lower()


def configured(config_cls: type, raw: dict[str, Any]) -> Any:
    """A user's config object of a raw config; what the class does not take is left out. Errors: whatever its
    code raises."""
    if any(
        base.__name__ == "PreTrainedConfig" for base in config_cls.__mro__
    ):  # takes fields that it does not declare
        return config_cls(**raw)
    default = config_cls()
    settings = {key: value for key, value in raw.items() if key in fields(default)}
    if dataclasses.is_dataclass(config_cls) or hasattr(config_cls, "to_dict"):
        return config_cls(**settings)
    for key, value in settings.items():
        setattr(default, key, value)
    return default


def fields(config: Any) -> dict[str, Any]:
    """The fields of a config object, with their values."""
    return {name: value for name, value in vars(config).items() if not name.startswith("__")}
