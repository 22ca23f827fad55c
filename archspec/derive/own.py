"""A user's own modules: found by `package.module:Class`, built from a config object of their own."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import os
import sys
import typing
from typing import Any

from archspec.errors import ArchspecError


class Target:
    """What is to be derived: the model type's name, its default config, its classes."""

    def __init__(self, model_type: str, config: Any, classes: list[type], own: bool) -> None:
        self.model_type, self.config, self.classes, self.own = model_type, config, classes, own


def find(name: str, config: str = "") -> Target:
    """A transformers class, a model type with all its classes, or `package.module:Class`.

    Errors: :class:`ArchspecError` for what is not there, or has no default config.
    """
    if ":" in name:
        return _own(name, config)
    return _library(name)


def _library(name: str) -> Target:
    from archspec.derive.session import mapped_classes
    from archspec.oracle import Unavailable, config_class, model_class

    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    try:
        if name in CONFIG_MAPPING_NAMES:
            model_type, names = name, mapped_classes(name)
        else:
            cls = getattr(transformers, name, None) or next((_class(model_class, name, kind) for kind in _types_of(name)), None)
            if not inspect.isclass(cls):
                raise ArchspecError(f"transformers has no class and no model type {name!r}")
            kind = getattr(getattr(cls, "config_class", None), "model_type", "")
            model_type, names = kind, [name]
        if not model_type:
            raise ArchspecError(f"{name} has no config class")
        config = config_class(model_type)()
        classes = [found for one in names if (found := _class(model_class, one, model_type)) is not None]
    except Unavailable as error:
        raise ArchspecError(f"{name}: {error}") from None
    except ArchspecError:
        raise
    except Exception as error:  # whatever a config class raises without arguments
        raise ArchspecError(f"{name} has no default config: {type(error).__name__}: {error}") from None
    if not classes:
        raise ArchspecError(f"{name}: no class of it can be imported here")
    return Target(model_type, config, classes, False)


def _types_of(name: str) -> list[str]:
    from transformers.models.auto import modeling_auto

    tables = (
        vars(modeling_auto)[table]
        for table in vars(modeling_auto)
        if table.startswith("MODEL_") and table.endswith("_MAPPING_NAMES")
    )
    return list(
        dict.fromkeys(
            kind
            for table in tables
            for kind, found in table.items()
            if name in (found if isinstance(found, tuple | list) else [found])
        )
    )


def _class(model_class: Any, name: str, model_type: str) -> Any:
    from archspec.oracle import Unavailable

    try:
        return model_class(name, model_type)
    except Unavailable:
        return None


def _named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except Exception as error:  # whatever the user's own module raises
        raise ArchspecError(f"{module} cannot be imported: {type(error).__name__}: {error}") from None
    finally:
        sys.path.remove(os.getcwd())
    if not inspect.isclass(found):
        raise ArchspecError(f"{module} has no class {attribute!r}")
    return found


def _own(name: str, config: str) -> Target:
    import torch

    cls = _named(name)
    if not issubclass(cls, torch.nn.Module):
        raise ArchspecError(f"{name} is not a torch.nn.Module")
    config_cls = _named(config) if config else _config_class(cls)
    if config_cls is None:
        raise ArchspecError(f"{name}: the class of its config is not known; annotate `config`, or name it with --config")
    try:
        made = config_cls()
    except Exception as error:  # whatever the user's own config raises
        raise ArchspecError(f"{config_cls.__name__} has no default: {type(error).__name__}: {error}") from None
    model_type = getattr(config_cls, "model_type", "") or _snake(cls.__name__)
    return Target(model_type, made, [cls], True)


def _config_class(cls: type) -> Any:
    """The class that the constructor's first parameter is annotated with."""
    found = getattr(cls, "config_class", None)
    if found is not None:
        return found
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    try:
        hints = typing.get_type_hints(cls.__init__)
    except Exception:  # noqa: BLE001 - annotations may name what is not there
        hints = {}
    return next((hint for p in parameters[:1] if inspect.isclass(hint := hints.get(p.name))), None)


def _snake(name: str) -> str:
    import re

    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def build(cls: type, config_cls: type, raw: dict[str, Any]) -> Any:
    """A user's module on meta from a raw config. Errors: whatever its code raises."""
    import torch

    settings = {key: value for key, value in raw.items() if key != "model_type"}
    if dataclasses.is_dataclass(config_cls) or hasattr(config_cls, "to_dict"):
        config = config_cls(**settings)
    else:
        config = config_cls()
        for key, value in settings.items():
            setattr(config, key, value)
    with torch.device("meta"):
        return cls(config)
