"""The class that a config is counted as, and the part of the config that this class reads."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping

from archspec.configs.origin import RawConfig
from archspec.configs.scope import Scope, SubConfig
from archspec.configs.sizes import check_sizes, gives_size
from archspec.errors import ArchspecError, ConfigError, Problem, UnknownArchitectureError
from archspec.language.trees import callee
from archspec.language.values import describe, shown
from archspec.specs.library import Library
from archspec.specs.records import Spec, model_types
from archspec.specs.search_path import is_own, library_of
from archspec.typing_light import Any, NamedTuple

_NAMES = "pass --architecture CLASS or --set model_type=TYPE; archspec list prints both"
_TEXT = "^(text|language|llm)_config$"
_GENERATE = {"AutoModelForImageTextToText", "AutoModelForMultimodalLM", "AutoModelForSeq2SeqLM"}
_NAMES_ONLY = {"model_type", "architectures"}  # a config with nothing else stands for the default config


class Choice(NamedTuple):
    """A class, the model type whose spec has it, and the config that it reads.

    That config is a part of the given one if the class is a part's: CLIPTextModel, of a CLIP. ``notes``
    report this, and that a class belongs to another model type than the config.
    """

    model_type: str
    architecture: str
    config: RawConfig
    notes: tuple[str, ...] = ()


def choose(config: RawConfig, architecture: str | None = None, library: Library | None = None) -> Choice:
    """The class that a config is counted as.

    The argument decides, then the config's own ``architectures[0]``, then the model type's base model.
    Without a library, the specs are those found without custom directories.

    Errors: :class:`UnknownArchitectureError` for a class or type without a spec, :class:`ConfigError` for a
    config that names nothing, or an architecture of another model type.

    >>> from archspec.configs.reader import read_config
    >>> choose(read_config({"model_type": "llama"}))[:2]
    ('llama', 'LlamaModel')
    >>> choose(read_config({"model_type": "kimi_k2", "hidden_size": 7168}), "DeepseekV3ForCausalLM")[:2]
    ('deepseek_v3', 'DeepseekV3ForCausalLM')
    """
    return _Chooser(config, architecture, library or library_of()).choice()


def source_of(config: Any, architecture: str | None, library: Library) -> tuple[Any, str | None]:
    """A config and the requested architecture; the name of a class or a model type is its default config."""
    if not isinstance(config, str) or not config.replace("-", "_").isidentifier() or os.path.lexists(config):
        return config, architecture
    model_type, named = library.named(config)
    return {"model_type": model_type}, architecture or named


def default_note(choice: Choice, library: Library, changed: bool) -> str:
    """The note for a name of a class or a model type, which stands for its default config."""
    missing = "no config" if not choice.notes else "neither a config nor a class"
    whose = "its spec's" if is_own(library, choice.model_type) else "transformers'"
    headless = ", without any head," if choice.notes else ""
    rest = " where nothing is set" if changed else ""
    counted = f"{choice.architecture}{headless} is counted at {whose} defaults{rest}"
    return f"{missing} is given: {counted}, which need not be a checkpoint's"


def _auto_classes(model_type: str, name: str) -> tuple[str, ...]:
    from archspec.specs.exported import exported

    found = exported().get(model_type)
    return found.classes[name].autos if found and name in found.classes else ()


def text_class(scope: Scope, is_supported: Callable[[str, str], bool]) -> str:
    """The class of a config's text part that is supported, by model type and name; '' if there is none."""
    for name in (name for name in scope.spec.fields if re.search(_TEXT, name)):
        part = scope.get(name)
        if isinstance(part, SubConfig):
            found = [one for one in part.scope.spec.architectures if is_supported(part.model_type, one)]
            if found:
                return next((one for one in found if one.endswith("ForCausalLM")), found[0])
    return ""


class _Chooser:
    """One config and the class that is requested; ``trying`` tests a remedy, which proposes no others."""

    def __init__(
        self, config: RawConfig, architecture: str | None, library: Library, trying: bool = False
    ) -> None:
        self.config, self.raw, self.library, self.trying = config, config.raw, library, trying
        self.asked = architecture or ""
        self.name = self.asked or next(iter(self.listed()), "")
        self.remote = bool(self.raw.get("auto_map"))

    def listed(self) -> list[str]:
        listed = self.raw.get("architectures")
        if listed is None:
            return []
        if not isinstance(listed, list) or not all(isinstance(name, str) and name for name in listed):
            message = f"{shown(listed)} is not a list of class names"
            raise self.invalid("architectures", message, 'write ["LlamaForCausalLM"]')
        return listed

    def invalid(self, field: str, message: str, help_: str) -> ConfigError:
        return ConfigError(self.config.origin.problem(field, message, help_))

    def unknown(self, field: str, message: str, help_: str = "") -> UnknownArchitectureError:
        problem = self.config.origin.problem(field, message, help_)
        return UnknownArchitectureError([problem, *self.library.unread])

    def choice(self) -> Choice:
        model_type = self.raw.get("model_type")
        if model_type is not None and not isinstance(model_type, str):
            raise self.invalid("model_type", f"{describe(model_type)} is not a model type", _NAMES)
        if not model_type:
            return self.without_type()
        if not self.library.has(model_type):
            return self.of_unknown_type(model_type)
        spec = self.library.load(model_type)
        if spec.refuse:
            raise self.unknown("model_type", f"{model_type} is not counted: {spec.refuse}")
        if not self.name and not spec.architectures:
            raise UnknownArchitectureError(f"the spec of {model_type} has no architectures", help=_NAMES)
        name = self.name or spec.architectures[0]
        if name not in spec.architectures:
            return self.of_another_type(spec, name)
        assumed = f"neither the config nor you name a class: {name} is counted, without any head"
        notes = () if self.name or len(spec.architectures) == 1 else (assumed,)
        return Choice(model_type, name, self.config, notes)

    def without_type(self) -> Choice:
        """For a config without a model type, by its class alone."""
        if self.name:
            return Choice(self.type_of(self.name, None), self.name, self.config)
        from archspec.configs.unknown import other_file

        message, help_ = "the config has neither model_type nor architectures", _NAMES
        if kind := other_file(self.raw):
            message, help_ = f"this is not a model's config: {kind[0]}", kind[1]
        raise ConfigError(f"{self.config.origin.name}: {message}", help=help_)

    def of_unknown_type(self, model_type: str) -> Choice:
        """For a model type without a spec, by a class that has one."""
        if self.library.types_of(self.name):
            return self.as_class_of_type(f"{model_type} is not the model type of {self.name}: it")
        from archspec.configs.unknown import unknown_type

        raise self.unknown("model_type", *unknown_type(model_type, self.library, self.remote, self.works))

    def of_another_type(self, spec: Spec, name: str) -> Choice:
        """For a class that its model type does not have: of a part of the config, or of another type."""
        types = self.library.types_of(name)
        if types and (part := self.part(spec, name)):
            return part
        if found := "" if self.asked else self.of_auto_class(spec, name):
            why = f"is a class of {types[0]}" if types else "is not a class that transformers exports"
            auto = next(iter(_auto_classes(spec.model_type, found)), "AutoModel")
            note = f"{name} {why}: {found} is counted, as {auto} builds it for {spec.model_type}"
            return Choice(spec.model_type, found, self.config, (note,))
        self.type_of(name, spec)
        if self.asked:
            return self.as_class_of_type(f"the config is {spec.model_type}'s: {name}")
        owners = " and ".join(types)
        message = f"{name} is not an architecture of the model type {spec.model_type}, but of {owners}"
        raise self.invalid("architectures", message, self.remedy(spec, name))

    def as_class_of_type(self, reason: str) -> Choice:
        """The class as its own model type has it. Errors: :class:`ConfigError` if it would read no field."""
        known = self.library.model_type_of(self.name)
        self.check_shared_fields(known)
        return Choice(known, self.name, self.config, (f"{reason} is counted as {known}'s",))

    def of_auto_class(self, spec: Spec, name: str) -> str:
        """The class that transformers' auto classes build for the config's model type; '' if it is unclear.

        It is clear for another spelling or an unknown class with the same head, and for a flat config of the
        text part of a multimodal class.
        """
        if types := self.library.types_of(name):
            wanted = {
                auto for one in types if self.is_text_of(spec, one) for auto in _auto_classes(one, name)
            }
            wanted |= {"AutoModelForCausalLM"} if wanted & _GENERATE else set()
            wanted -= {"no auto class"}
            found = [
                one for one in spec.architectures if wanted.intersection(_auto_classes(spec.model_type, one))
            ]
        elif self.remote:
            return ""
        else:
            from archspec.configs.unknown import same_class

            found = same_class(name, spec.architectures)
        return found[0] if len(found) == 1 else ""

    def is_text_of(self, spec: Spec, model_type: str) -> bool:
        """Return True if the config is flat, and of a type that is a sub-config of another model type."""
        calls = {field.name: field.sub_config for field in self.library.load(model_type).fields.values()}
        names = [name for name, call in calls.items() if call and spec.model_type in model_types(call)]
        return bool(names) and not any(isinstance(self.raw.get(name), Mapping) for name in names)

    def remedy(self, spec: Spec, name: str) -> str:
        """The options that count a config whose class belongs to another model type."""
        usual = self.library.model_type_of(name)
        options = [("--architecture", name), ("--set", f"model_type={usual}")]
        options += [("--architecture", one) for one in spec.architectures]
        found = [" ".join(option) for option in options if self.works(*option)]
        return f"pass {' or '.join(found[:2])}" if found else "give the config of one of the two"

    def works(self, option: str, value: str) -> bool:
        """Return True if the config can be counted with an option, from its own sizes."""
        if self.trying:
            return False
        raw, architecture = dict(self.raw), self.asked if option == "--set" else value
        if option == "--set":
            field, _, raw_value = value.partition("=")
            raw[field] = raw_value
        try:
            chosen = _Chooser(RawConfig(raw, self.config.origin), architecture, self.library, True).choice()
            spec = self.library.load(chosen.model_type)
            scope = Scope(spec, chosen.config.raw, chosen.config.origin)
            check_sizes(scope)
            scope.validate()
        except ArchspecError:
            return False
        return ("model_type" in self.raw and self.raw.keys() <= _NAMES_ONLY) or gives_size(scope)

    def type_of(self, name: str, spec: Spec | None) -> str:
        """The model type of a class. Errors: :class:`UnknownArchitectureError` for a class without a spec."""
        if self.library.types_of(name):
            return self.library.model_type_of(name)
        from archspec.configs.unknown import unknown_class

        message, help_ = unknown_class(name, spec, self.library, self.remote, self.works)
        if self.asked:
            problem = Problem(f"{self.config.origin.name}: {message}", help=help_)
            raise UnknownArchitectureError([problem, *self.library.unread])
        raise self.unknown("architectures", message, help_)

    def part(self, spec: Spec, name: str) -> Choice | None:
        """The class of a part of the config, as `from_pretrained` of that class finds it."""
        types = self.library.types_of(name)
        for field in spec.fields.values():
            value, call = self.raw.get(field.name), field.sub_config
            if call is None:
                continue
            if value is None and self.raw.keys() <= _NAMES_ONLY:
                default = Scope(spec, self.raw, self.config.origin).get(field.name)
                value = {"model_type": default.model_type, **default.raw} if default else None
            if not isinstance(value, Mapping):
                continue
            fixed = model_types(call) if callee(call) == "Config" else []
            own = value.get("model_type") or (fixed[0] if len(fixed) == 1 else "")
            if own in types:
                config = RawConfig(dict(value), self.config.origin.child(field.name))
                note = f"{name} is a part of the model: {field.name} is read, as by {name}.from_pretrained"
                return Choice(own, name, config, (note,))
        return None

    def check_shared_fields(self, model_type: str) -> None:
        """Refuse a class of another model type if it would use its defaults alone."""
        spec, own = self.library.load(model_type), self.raw.get("model_type")
        if self.raw.keys() & {*spec.fields, *spec.attribute_map} - {"tie_word_embeddings", "pad_token_id"}:
            return
        message = f"the config has no field of {model_type}: {self.name} would use its defaults alone"
        known = isinstance(own, str) and self.library.has(own)
        classes = self.library.load(str(own)).architectures if known else ()
        found = [f"--architecture {one}" for one in classes if self.works("--architecture", one)]
        help_ = f"pass {' or '.join(found[:3])}" if found else "give the config of the class"
        raise ConfigError(f"{self.config.origin.name}: {message}", help=help_)
