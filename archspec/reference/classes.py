"""The config and model classes of transformers, and the lists of its auto classes."""

from __future__ import annotations

import copy
import importlib.util
import inspect
import os
import warnings
from functools import cache
from typing import Any, NamedTuple

from archspec.reference.standins import stand_in
from archspec.reference.verdicts import Unavailable, one_line, verdict

NO_AUTO = "no auto class"
_NO_BASE = "VisionTransformerPretrainedModel"  # names with this end are of models
_BARK = "transformers.models.bark.configuration_bark"
_LAYOUT = "transformers.models.pp_doclayout_v2.configuration_pp_doclayout_v2"
_OMNI = "transformers.models.qwen3_omni_moe.configuration_qwen3_omni_moe"
UNTYPED = {  # config classes of exported models without a model type, under the name that specs give them
    "bark_sub_model": (_BARK, "BarkSubModelConfig"),
    "bayesian_detector": ("transformers.generation.watermarking", "BayesianDetectorConfig"),
    "pp_doclayout_v2_reading_order": (_LAYOUT, "PPDocLayoutV2ReadingOrderConfig"),
    "qwen3_omni_moe_code2wav": (_OMNI, "Qwen3OmniMoeCode2WavConfig"),
    "qwen3_omni_moe_talker": (_OMNI, "Qwen3OmniMoeTalkerConfig"),
}


class Listing(NamedTuple):
    """The auto classes that list a class for a model type; the model type whose config the class reads.

    The latter differs for a part of a model: Llama4ForCausalLM, for llama4, reads the config's text_config.
    """

    autos: tuple[str, ...]
    reads: str


@cache
def versions() -> dict[str, str]:
    """Return the installed versions of torch and transformers."""
    silence()
    import torch
    import transformers

    return {"transformers": transformers.__version__, "torch": torch.__version__}


@cache
def silence() -> None:
    """Make transformers and torch work offline, without messages and on one core."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    stand_in()
    import torch
    import transformers

    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    torch.set_num_threads(1)


@cache
def config_class(model_type: str) -> Any:
    """Return the config class of a model type. Errors: :class:`Unavailable` for an unknown one."""
    silence()
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    if model_type in UNTYPED:
        module, name = UNTYPED[model_type]
        return getattr(importlib.import_module(module), name)
    try:
        return CONFIG_MAPPING[model_type]
    except (KeyError, ImportError, AttributeError, ValueError) as error:
        configs = (getattr(transformers, name) for name in dir(transformers) if name.endswith("Config"))
        unlisted = next((cls for cls in configs if getattr(cls, "model_type", "") == model_type), None)
        if unlisted is not None:
            return unlisted
        raise Unavailable(f"transformers has no config class for {model_type}: {error}") from None


@cache
def model_class(architecture: str, model_type: str) -> Any:
    """Return a class by name, as the auto classes find it. Errors: :class:`Unavailable`."""
    silence()
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
    except Exception as error:  # an import may raise anything
        raise Unavailable(one_line(error)) from None


def auto_classes() -> dict[tuple[str, str], tuple[str, ...]]:
    """Return (model type, class) -> the auto classes of the installed transformers that list it."""
    silence()
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


@cache
def exported_classes() -> dict[tuple[str, str], Listing]:
    """Return (model type, class) -> how it is listed, for every exported class that is not a base class."""
    silence()
    import transformers

    found = {key: Listing(autos, _read_by(*key)) for key, autos in auto_classes().items()}
    listed = {architecture for _, architecture in found}
    for name in dir(transformers):
        if name in listed or ("pretrained" in name.lower() and not name.endswith(_NO_BASE)):
            continue
        cls = getattr(transformers, name, None)
        if inspect.isclass(cls) and issubclass(cls, transformers.PreTrainedModel):
            model_type = _model_type(cls.config_class)  # type: ignore[attr-defined]
            found[model_type, name] = Listing((NO_AUTO,), model_type)
    return dict(sorted(found.items()))


def _model_type(config: Any) -> str:
    untyped = (name for name, place in UNTYPED.items() if place == (config.__module__, config.__name__))
    return str(config.model_type or next(untyped))


def _read_by(model_type: str, architecture: str) -> str:
    """Return the model type whose config a class reads; a class of a part reads that part."""
    try:
        parts = getattr(config_class(model_type), "sub_configs", {}).values()
        own = getattr(model_class(architecture, model_type), "config_class", None)
    except (Unavailable, ImportError):  # a class whose package is missing says so at each attribute
        return model_type
    return _model_type(own) if own in parts else model_type


def config_of(model_type: str, raw: dict[str, Any]) -> Any:
    """Return the config object of a raw config. Errors: :class:`Refused`, :class:`Unavailable`."""
    cls = config_class(model_type)
    settings = {key: value for key, value in copy.deepcopy(raw).items() if key != "model_type"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return cls(**settings)
        except Exception as error:  # a config class may raise anything
            raise verdict(error) from error


@cache
def readonly_names(cls: Any) -> frozenset[str]:
    """Return the names of properties of a config class that a config may not give."""
    from transformers import PreTrainedConfig

    own = set(dir(cls)) - set(dir(PreTrainedConfig)) if issubclass(cls, PreTrainedConfig) else set[str]()
    computed = {name for name in own if isinstance(getattr(cls, name), property)}
    computed |= {alias for alias, name in getattr(cls, "attribute_map", {}).items() if name in computed}
    return frozenset(name for name in computed if _refuses(cls, name))


def _refuses(cls: Any, name: str) -> bool:
    try:
        cls(**{name: 1})
    except Exception as error:  # without a setter, or with one that refuses; else another value might do
        return isinstance(error, AttributeError | NotImplementedError)
    return False
