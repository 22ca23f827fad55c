"""Which model type and which architecture a config stands for."""

from __future__ import annotations

from archspec.configs.origin import RawConfig
from archspec.errors import ArchspecError, ConfigError, Problem, UnknownArchitectureError, did_you_mean
from archspec.language.values import describe, shown
from archspec.specs.library import LIST_HELP, shipped
from archspec.specs.records import Spec

_NO_MODELS = {  # a field that gives away what a file without a model type is
    "peft_type": "it describes an adapter: give the base model's config",
    "_class_name": "it describes a part of a diffusers pipeline",
}


def choose(config: RawConfig, architecture: str | None = None) -> tuple[str, str]:
    """The model type and the architecture that a config stands for.

    The argument decides, then the config's own ``architectures[0]``, then the model type's base model.

    Errors: :class:`UnknownArchitectureError` for what no spec describes, :class:`ConfigError` for a config
    that names nothing, or an architecture that is not of its model type.

    >>> from archspec.configs.reader import read_config
    >>> choose(read_config({"model_type": "llama"}))
    ('llama', 'LlamaModel')
    >>> choose(read_config({"architectures": ["LlamaForCausalLM"]}))
    ('llama', 'LlamaForCausalLM')
    """
    model_type, listed = config.raw.get("model_type"), _listed(config)
    if model_type is not None and not isinstance(model_type, str):
        raise ConfigError(config.origin.problem("model_type", f"{describe(model_type)} is not a model type"))
    name = architecture or (listed[0] if listed else "")
    if not model_type:
        return _by_architecture(config, name, bool(architecture)), name
    spec = _spec(config, model_type)
    if spec.refuse:
        problem = config.origin.problem("model_type", f"{model_type} is not counted: {spec.refuse}")
        raise UnknownArchitectureError(problem)
    if not name and not spec.architectures:
        raise UnknownArchitectureError(f"the spec of {model_type} has no architectures")
    name = name or spec.architectures[0]
    if name not in spec.architectures:
        raise _of_another(config, spec, name, bool(architecture))
    return model_type, name


def _listed(config: RawConfig) -> list[str]:
    listed = config.raw.get("architectures")
    if listed is None:
        return []
    if not isinstance(listed, list) or not all(isinstance(name, str) and name for name in listed):
        message = f"{shown(listed)} is not a list of class names"
        raise ConfigError(config.origin.problem("architectures", message, 'write ["LlamaForCausalLM"]'))
    return listed


def _by_architecture(config: RawConfig, name: str, asked: bool) -> str:
    """The model type of an architecture; the config says none."""
    if not name:
        help_ = next((text for field, text in _NO_MODELS.items() if field in config.raw), "add model_type")
        message = f"{config.origin.name}: the config has neither model_type nor architectures"
        raise ConfigError(message, help=help_)
    try:
        return shipped().model_type_of(name)
    except UnknownArchitectureError as error:
        if asked:
            raise
        raise UnknownArchitectureError(_at("architectures", config, error)) from None


def _spec(config: RawConfig, model_type: str) -> Spec:
    try:
        return shipped().load(model_type)
    except UnknownArchitectureError as error:
        problem = _at("model_type", config, error)
        if config.raw.get("auto_map"):
            message = f"{problem.message}: its code is not part of transformers (auto_map)"
            help_ = "only what transformers itself builds is counted"
            problem = problem._replace(message=message, help=help_)
        raise UnknownArchitectureError(problem) from None


def _at(field: str, config: RawConfig, error: UnknownArchitectureError) -> Problem:
    """What an error says, at the config's field."""
    return config.origin.problem(field, error.problems[0].message, error.problems[0].help)


def _of_another(config: RawConfig, spec: Spec, name: str, asked: bool) -> ArchspecError:
    """An architecture that is not of the config's model type."""
    others = [other for other in shipped().index().get(name, ()) if other != spec.model_type]
    elsewhere = f", but of {' and '.join(others)}" if others else ""
    message = f"{name} is not an architecture of the model type {spec.model_type}{elsewhere}"
    help_ = did_you_mean(name, spec.architectures) or LIST_HELP
    if asked:
        return UnknownArchitectureError(f"{config.origin.name}: {message}", help=help_)
    if spec.architectures:
        help_ = f"say which is meant with --architecture (architecture=), e.g. {spec.architectures[0]}"
    return ConfigError(config.origin.problem("architectures", message, help_))
