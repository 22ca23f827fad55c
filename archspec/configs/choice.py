"""Which class a config stands for, and which part of the config that class reads."""

from __future__ import annotations

import os
from collections.abc import Mapping

from archspec.configs.origin import RawConfig
from archspec.errors import ConfigError, Problem, UnknownArchitectureError
from archspec.language.trees import callee
from archspec.language.values import describe, shown
from archspec.specs.library import Library
from archspec.specs.records import Spec, model_types
from archspec.specs.search_path import is_own, library_of
from archspec.typing_light import Any, NamedTuple

_NAMES = "--architecture LlamaForCausalLM or --set model_type=llama"


class Choice(NamedTuple):
    """A class, the model type whose spec describes it, and the config that it reads.

    That config is a part of the one given where the class is a part's: CLIPTextModel, of a CLIP. ``notes``
    say so, and that a class is of another model type than the config.
    """

    model_type: str
    architecture: str
    config: RawConfig
    notes: tuple[str, ...] = ()


def choose(config: RawConfig, architecture: str | None = None, library: Library | None = None) -> Choice:
    """The class that a config stands for.

    The argument decides, then the config's own ``architectures[0]``, then the model type's base model.
    Specs are those of the library, what is found without folders of one's own if none is given.

    Errors: :class:`UnknownArchitectureError` for what no spec describes, :class:`ConfigError` for a config
    that names nothing, or an architecture that is not of its model type.

    >>> from archspec.configs.reader import read_config
    >>> choose(read_config({"model_type": "llama"}))[:2]
    ('llama', 'LlamaModel')
    >>> choose(read_config({"model_type": "kimi_k2", "hidden_size": 7168}), "DeepseekV3ForCausalLM")[:2]
    ('deepseek_v3', 'DeepseekV3ForCausalLM')
    """
    return _Chooser(config, architecture, library or library_of()).choice()


def source_of(config: Any, architecture: str | None, library: Library) -> tuple[Any, str | None]:
    """A config, and the architecture asked for; a name of a class or a model type is its default config."""
    if not isinstance(config, str) or not config.replace("-", "_").isidentifier() or os.path.lexists(config):
        return config, architecture
    model_type, named = library.named(config)
    return {"model_type": model_type}, architecture or named


def default_note(choice: Choice, library: Library, changed: bool) -> str:
    """What is to be said where the name of a class or a model type stands for its default config."""
    named = "no config" if not choice.notes else "neither a config nor a class"
    whose = "its spec's" if is_own(library, choice.model_type) else "transformers'"
    headless = ", without any head," if choice.notes else ""
    rest = " where nothing is set" if changed else ""
    counted = f"{choice.architecture}{headless} is counted at {whose} defaults{rest}"
    return f"{named} is given: {counted}, which need not be a checkpoint's"


class _Chooser:
    """One config, and the class that is asked for."""

    def __init__(self, config: RawConfig, architecture: str | None, library: Library) -> None:
        self.config, self.raw, self.library = config, config.raw, library
        self.asked = architecture or ""
        listed = self.listed()
        self.name = self.asked or (listed[0] if listed else "")
        self.remote = bool(self.raw.get("auto_map"))

    def listed(self) -> list[str]:
        listed = self.raw.get("architectures")
        if listed is None:
            return []
        if not isinstance(listed, list) or not all(isinstance(name, str) and name for name in listed):
            message = f"{shown(listed)} is not a list of class names"
            raise self.wrong("architectures", message, 'write ["LlamaForCausalLM"]')
        return listed

    def wrong(self, field: str, message: str, help_: str) -> ConfigError:
        return ConfigError(self.config.origin.problem(field, message, help_))

    def unknown(self, field: str, message: str, help_: str = "") -> UnknownArchitectureError:
        said = self.config.origin.problem(field, message, help_)
        return UnknownArchitectureError([said, *self.library.unread])

    def choice(self) -> Choice:
        model_type = self.raw.get("model_type")
        if model_type is not None and not isinstance(model_type, str):
            raise self.wrong("model_type", f"{describe(model_type)} is not a model type", f"say {_NAMES}")
        if not model_type:
            return self.without_type()
        if not self.library.has(model_type):
            return self.of_foreign_type(model_type)
        spec = self.library.load(model_type)
        if spec.refuse:
            raise self.unknown("model_type", f"{model_type} is not counted: {spec.refuse}")
        if not self.name and not spec.architectures:
            raise UnknownArchitectureError(
                f"the spec of {model_type} has no architectures", help=f"say {_NAMES}"
            )
        name = self.name or spec.architectures[0]
        if name not in spec.architectures:
            return self.of_another(spec, name)
        others = [one for one in spec.architectures if one != name]
        assumed = f"neither the config nor you name a class: {name} is counted, without any head"
        return Choice(model_type, name, self.config, () if self.name or not others else (assumed,))

    def without_type(self) -> Choice:
        """Of a config without a model type: by its class alone."""
        if not self.name:
            from archspec.configs.unknown import other_file

            kind = other_file(self.raw)
            what = (
                f"no model's config: {kind.what}"
                if kind
                else "the config has neither model_type nor architectures"
            )
            help_ = kind.help if kind else f"say {_NAMES}"
            raise ConfigError(f"{self.config.origin.name}: {what}", help=help_)
        return Choice(self.described(self.name, None), self.name, self.config)

    def of_foreign_type(self, model_type: str) -> Choice:
        """Of a model type that no spec describes: of a class that is known all the same."""
        if self.library.types_of(self.name):
            known = self.library.model_type_of(self.name)
            self.must_read_something(known)
            note = f"{model_type} is not the model type of {self.name}: it is counted as {known}'s"
            return Choice(known, self.name, self.config, (note,))
        from archspec.configs.unknown import unknown_type

        raise self.unknown("model_type", *unknown_type(model_type, self.library, self.remote))

    def of_another(self, spec: Spec, name: str) -> Choice:
        """A class that is not of the config's model type: of a part of it, or of another one."""
        self.described(name, spec)
        if part := self.part(spec, name):
            return part
        types = self.library.types_of(name)
        if self.asked:
            known = self.library.model_type_of(name)
            self.must_read_something(known)
            note = f"the config is {spec.model_type}'s: {name} is counted as {known}'s"
            return Choice(known, name, self.config, (note,))
        message = (
            f"{name} is not an architecture of the model type {spec.model_type}, but of {' and '.join(types)}"
        )
        usual = self.library.model_type_of(name)
        said = f"say which is meant with --architecture {name} or --set model_type={usual}"
        raise self.wrong("architectures", message, said)

    def described(self, name: str, spec: Spec | None) -> str:
        """The model type of a class. Errors: :class:`UnknownArchitectureError` where no spec describes it."""
        if self.library.types_of(name):
            return self.library.model_type_of(name)
        from archspec.configs.unknown import unknown_class

        message, help_ = unknown_class(name, spec, self.library, self.remote)
        if self.asked:
            said = Problem(f"{self.config.origin.name}: {message}", help=help_)
            raise UnknownArchitectureError([said, *self.library.unread])
        raise self.unknown("architectures", message, help_)

    def part(self, spec: Spec, name: str) -> Choice | None:
        """The class of a part of the config, as `from_pretrained` of that class finds it."""
        types = self.library.types_of(name)
        for field in spec.fields.values():
            value, call = self.raw.get(field.name), field.sub_config
            if call is None or not isinstance(value, Mapping):
                continue
            fixed = model_types(call) if callee(call) == "Config" else []
            own = value.get("model_type") or (fixed[0] if len(fixed) == 1 else "")
            if own in types:
                config = RawConfig(dict(value), self.config.origin.child(field.name))
                note = f"{name} is a part of the model: {field.name} is read, as by {name}.from_pretrained"
                return Choice(own, name, config, (note,))
        return None

    def must_read_something(self, model_type: str) -> None:
        """Refuses a class of another model type that would be built of its own defaults alone."""
        spec = self.library.load(model_type)
        known = {*spec.fields, *spec.attribute_map} - {"tie_word_embeddings", "pad_token_id"}
        if not known & self.raw.keys():
            message = (
                f"none of its fields is one of {model_type}'s: {self.name} would be built of defaults alone"
            )
            raise ConfigError(f"{self.config.origin.name}: {message}", help="give the config of the class")
