"""transformers' own classes: of a model type's config, of its models, and what the auto classes list."""

from __future__ import annotations

import copy
import os
import warnings
from functools import cache
from typing import Any

from archspec.oracle.verdicts import Unavailable, told, verdict


@cache
def versions() -> dict[str, str]:
    """The versions of torch and transformers that the comparison is with."""
    _quiet()
    import torch
    import transformers

    return {"transformers": transformers.__version__, "torch": torch.__version__}


@cache
def _quiet() -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch
    import transformers

    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    torch.set_num_threads(1)


@cache
def config_class(model_type: str) -> Any:
    """transformers' config class of a model type. Errors: :class:`Unavailable` where there is none."""
    _quiet()
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    try:
        return CONFIG_MAPPING[model_type]
    except (KeyError, ImportError, AttributeError, ValueError) as error:
        raise Unavailable(f"transformers has no config class for {model_type}: {error}") from None


@cache
def model_class(architecture: str, model_type: str) -> Any:
    """A class by name, as transformers' auto classes find it. Errors: :class:`Unavailable`."""
    import importlib.util

    _quiet()
    import transformers
    from transformers.models.auto.auto_factory import getattribute_from_module
    from transformers.models.auto.configuration_auto import model_type_to_module_name

    try:
        if hasattr(transformers, architecture):
            return getattr(transformers, architecture)
        name = model_type_to_module_name(model_type)
        module = importlib.import_module(f"transformers.models.{name}")
        modelling = f"{module.__name__}.modeling_{name}"
        exported = hasattr(module, architecture) or not importlib.util.find_spec(modelling)
        module = module if exported else importlib.import_module(modelling)
        return getattribute_from_module(module, architecture)
    except Exception as error:  # whatever the import of a module raises, the class is not to be had
        raise Unavailable(told(error)) from None


def mapped() -> dict[tuple[str, str], tuple[str, ...]]:
    """(model type, class) -> the auto classes that list it, of the transformers that is installed."""
    _quiet()
    from transformers.models.auto import modeling_auto

    autos: dict[int, str] = {}  # by the identity of the table that an auto class has
    for name, value in sorted(vars(modeling_auto).items()):
        if name.startswith("Auto") and getattr(value, "_model_mapping", None) is not None:
            autos[id(value._model_mapping._model_mapping)] = name
    found: dict[tuple[str, str], list[str]] = {}
    for name, table in sorted(vars(modeling_auto).items()):
        if name.startswith("MODEL_") and name.endswith("MAPPING_NAMES"):
            for model_type, classes in table.items():
                for architecture in [classes] if isinstance(classes, str) else classes:
                    found.setdefault((model_type, architecture), []).append(autos.get(id(table), name))
    return {key: tuple(sorted(names)) for key, names in sorted(found.items())}


def config_of(model_type: str, raw: dict[str, Any]) -> Any:
    """transformers' config object of a raw config. Errors: :class:`Refused`, :class:`Unavailable`."""
    cls = config_class(model_type)
    settings = {key: value for key, value in copy.deepcopy(raw).items() if key != "model_type"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return cls(**settings)
        except Exception as error:  # whatever the config class raises is its refusal
            raise verdict(error) from error


@cache
def readonly_names(cls: Any) -> frozenset[str]:
    """The names that a config class of transformers computes as properties, and refuses to be given."""
    from transformers import PreTrainedConfig

    own = set(dir(cls)) - set(dir(PreTrainedConfig)) if issubclass(cls, PreTrainedConfig) else set[str]()
    computed = {
        name for name in own if isinstance(found := getattr(cls, name), property) and found.fset is None
    }
    computed |= {alias for alias, name in getattr(cls, "attribute_map", {}).items() if name in computed}
    return frozenset(name for name in computed if _refuses(cls, name))


def _refuses(cls: Any, name: str) -> bool:
    try:
        cls(**{name: 1})
    except AttributeError:
        return True
    except Exception:  # another value of it might do
        return False
    return False
