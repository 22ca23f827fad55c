"""A user's own modules, before the reading: found by `package.module:Class`, with a config object of their
own."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import os
import re
import sys
import typing
from typing import Any

from archspec.deriving.target import Target
from archspec.errors import ArchspecError, Problem, did_you_mean

_CONFIG_HELP = (
    "annotate the constructor's first parameter with the config class, "
    "or name the class with --config MODULE:CLASS"
)


def find_own(name: str, config: str = "") -> Target:
    """The class `package.module:Class`, with the config class that its constructor says, or that is named.

    Errors: :class:`ArchspecError` for what is not there, is no module, or has no default config.
    """
    import torch

    cls = _named(name)
    if not issubclass(cls, torch.nn.Module):
        raise _problem(
            f"{name} is not a torch.nn.Module", "name a class of which an instance holds the parameters"
        )
    config_cls = _named(config) if config else _config_class(cls)
    if config_cls is None:
        raise _problem(f"{name}: the class of its config is not known", _CONFIG_HELP)
    try:
        made = config_cls()
    except Exception as error:  # whatever the user's own config raises
        told = f"{config_cls.__name__} has no default: {type(error).__name__}: {error}"
        raise _problem(
            told, "give every field of it a default: the draft starts from the default config"
        ) from None
    model_type = getattr(config_cls, "model_type", "") or _snake(cls.__name__)
    return Target(model_type, made, [cls], True)


def _problem(message: str, help_: str) -> ArchspecError:
    return ArchspecError(Problem(message, help=help_))


def _named(name: str) -> type:
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise _problem(f"{name!r} names no class", "write package.module:Class")
    sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except Exception as error:  # whatever the user's own module raises
        told = f"{module} cannot be imported: {type(error).__name__}: {error}"
        raise _problem(told, "modules are looked for in the current folder and on PYTHONPATH") from None
    finally:
        sys.path.remove(os.getcwd())
    if not inspect.isclass(found):
        classes = [key for key, value in vars(sys.modules[module]).items() if inspect.isclass(value)]
        raise _problem(
            f"{module} has no class {attribute!r}",
            did_you_mean(attribute, classes) or "write package.module:Class",
        )
    return found


def _config_class(cls: type) -> Any:
    """The class that the constructor's first parameter is annotated with."""
    found = getattr(cls, "config_class", None)
    if found is not None:
        return found
    init = vars(cls).get("__init__") or inspect.getattr_static(cls, "__init__")
    parameters = list(inspect.signature(init).parameters.values())[1:]
    try:
        hints = typing.get_type_hints(init)
    except Exception:  # annotations may name what is not there
        hints = {}
    return next((hint for p in parameters[:1] if inspect.isclass(hint := hints.get(p.name))), None)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


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
