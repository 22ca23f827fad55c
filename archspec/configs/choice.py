"""The class that a config is counted as, and the part of the config that this class reads."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from archspec.configs.origin import RawConfig
from archspec.configs.scope import Scope, SubConfig
from archspec.configs.unknown import foreign_file, same_class, unknown_class, unknown_type
from archspec.errors import ConfigError, Problem, UnknownArchitectureError, list_names, option
from archspec.language.expression import callee
from archspec.language.values import describe, short_repr
from archspec.specs.exported import exported_types
from archspec.specs.library import LIST_HELP, Library
from archspec.specs.records import Spec, model_types
from archspec.specs.search_path import is_own, library_of
from archspec.typing_light import Any, NamedTuple

_TEXT_PART = re.compile("(text|language|llm)_config|decoder")
_GENERATE = {"AutoModelForImageTextToText", "AutoModelForMultimodalLM", "AutoModelForSeq2SeqLM"}
_NAMELESS = "the config has neither model_type nor architectures"
_IN_MOST_CONFIGS = {"tie_word_embeddings", "pad_token_id"}


class Choice(NamedTuple):
    """A class, the model type whose spec has it, and the config that it reads."""

    model_type: str
    architecture: str
    config: RawConfig  # a part of the given one for the class of a part, such as CLIPTextModel of a CLIP
    notes: tuple[str, ...] = ()


def choose(config: RawConfig, architecture: str | None = None, library: Library | None = None) -> Choice:
    """Return the class of a config: the argument, ``architectures[0]``, or the model type's base model.

    Errors: :class:`UnknownArchitectureError` for a class or type without a spec, :class:`ConfigError` for a
    config that names neither, or an architecture of another model type.

    >>> from archspec.configs.reader import read_config
    >>> choose(read_config({"model_type": "llama"}))[:2]
    ('llama', 'LlamaModel')
    """
    return _Chooser(config, architecture or "", library or library_of()).choice()


def source_of(config: Any, architecture: str | None, library: Library) -> tuple[Any, str | None]:
    """Return a config and a class; the name of a class or a model type stands for its default config."""
    if not isinstance(config, str) or not config.replace("-", "_").isidentifier() or os.path.lexists(config):
        return config, architecture
    model_type, named = library.resolve(config)
    return {"model_type": model_type}, architecture or named


def default_note(choice: Choice, library: Library, changed: bool) -> str:
    """Return the note for the name of a class or a model type."""
    headless = " (no head)" if any("no head" in note for note in choice.notes) else ""
    whose = "its spec's" if is_own(library, choice.model_type) else "transformers'"
    rest = " for fields that are not set" if changed else ""
    used = f"this is {choice.architecture}{headless} with {whose} default config{rest}"
    return f"no config given: {used}, which may differ from any checkpoint"


def text_class(scope: Scope, is_supported: Callable[[str, str], bool]) -> str:
    """Return the supported class of a config's text part, or ''."""
    for _, part in text_parts(scope):
        found = [one for one in part.scope.spec.architectures if is_supported(part.model_type, one)]
        if found:
            return str(next((one for one in found if one.endswith("ForCausalLM")), found[0]))
    return ""


def text_parts(scope: Scope) -> Iterator[tuple[str, SubConfig]]:
    """Yield the parts of a config that are language models, with their fields."""
    for name in scope.spec.fields:
        if _TEXT_PART.fullmatch(name) and isinstance(part := scope.get(name), SubConfig):
            yield name, part


def _auto_classes(model_type: str, name: str) -> set[str]:
    found = exported_types().get(model_type)
    autos = found.classes[name].autos if found and name in found.classes else ()
    return {*autos} - {"no auto class"}


def _example_class(spec: Spec) -> str:
    found = [one for one in spec.architectures if one.endswith("ForCausalLM")]
    return next(iter([*found, *spec.architectures]), "")


def naming_help() -> str:
    """Return the help line for a config that does not name a class."""
    named = f"{option('architecture', 'CLASS')} or {option('set', {'model_type': 'TYPE'})}"
    return f"pass {named}; run archspec list to see both"


class _Chooser:
    """One config, and the class that the user or its ``architectures`` names."""

    def __init__(self, config: RawConfig, asked: str, library: Library) -> None:
        self.config, self.raw, self.library, self.asked = config, config.raw, library, asked
        listed = self.raw.get("architectures") or []
        if not isinstance(listed, list) or not all(isinstance(name, str) and name for name in listed):
            message = f"must be a list of class names, not {short_repr(listed)}"
            raise self.invalid_name_error("architectures", message, 'write e.g. ["LlamaForCausalLM"]')
        self.name = asked or next(iter(listed), "")

    def invalid_name_error(self, field: str, message: str, help_: str) -> ConfigError:
        return ConfigError(self.config.origin.problem(field, message, help_))

    def unknown_name_error(self, field: str, message: str, help_: str) -> UnknownArchitectureError:
        problem = self.config.origin.problem(field, message, help_)
        if field == "architectures" and self.asked:
            problem = Problem(self.config.origin.label + message, help=help_)
        return UnknownArchitectureError([problem, *self.library.unread])

    def choice(self) -> Choice:
        model_type, name = self.raw.get("model_type"), self.name
        if model_type is not None and not isinstance(model_type, str):
            message = f"must be a model type, not {describe(model_type)}"
            raise self.invalid_name_error("model_type", message, naming_help())
        if not model_type:
            if fault := foreign_file(self.raw) or (None if name else (_NAMELESS, naming_help())):
                raise ConfigError(self.config.origin.label + fault[0], help=fault[1])
            self.check_known(None)
            return Choice(self.library.model_type_of(name), name, self.config)
        if not self.library.has(model_type):
            if self.library.types_of(name):
                return self.as_class_of_type(f"there is no spec for the model type {model_type}")
            fault = unknown_type(model_type, self.library, "auto_map" in self.raw)
            raise self.unknown_name_error("model_type", *fault)
        spec = self.library.load(model_type)
        if spec.refuse:
            message = f"{model_type} is not supported: {spec.refuse}"
            raise self.unknown_name_error("model_type", message, LIST_HELP)
        if name in spec.architectures:
            return Choice(model_type, name, self.config)
        if name:
            return self.of_another_type(spec)
        if not spec.architectures:
            users = [one for one, entry in self.library.entries().items() if model_type in entry.needs]
            whole = f"it is a part of {list_names(users, 'and')}" if users else "it has no class"
            help_ = f"run archspec list {users[0]}" if users else naming_help()
            raise UnknownArchitectureError(f"{model_type} is not a model by itself: {whole}", help=help_)
        name = spec.architectures[0]
        other = option("architecture", "CLASS")
        assumed = f"the config names no class: counting {name} (no head); choose another with {other}"
        return Choice(model_type, name, self.config, (assumed,) if len(spec.architectures) > 1 else ())

    def of_another_type(self, spec: Spec) -> Choice:
        """Return the choice of a class that the model type lacks: of a part, or of another model type."""
        name, types = self.name, self.library.types_of(self.name)
        if part := self.part(spec, types):
            return part
        if found := "" if self.asked else self.of_auto_class(spec, types):
            why = f"{name} is a class of {types[0]}" if types else f"transformers has no class {name}"
            auto = next(iter(sorted(_auto_classes(spec.model_type, found))), "AutoModel")
            note = f"{why}: counting {found}, the {auto} class for {spec.model_type}"
            return Choice(spec.model_type, found, self.config, (note,))
        self.check_known(spec)
        if self.asked:
            return self.as_class_of_type(f"the config's model type is {spec.model_type}", spec)
        owners, usual = list_names(types, "and"), _example_class(spec)
        message = f"{name} is not a class of the model type {spec.model_type}, but of {owners}"
        help_ = f"pass {option('architecture')} with a class of {spec.model_type}, e.g. {usual}"
        help_ = help_ if usual else f"pass a config of {types[0]}"
        raise self.invalid_name_error("architectures", message, help_)

    def as_class_of_type(self, reason: str, own: Spec | None = None) -> Choice:
        """Return the class in its model type. Errors: :class:`ConfigError` if it would read no field."""
        model_type = self.library.model_type_of(self.name)
        spec = self.library.load(model_type)
        if not self.raw.keys() & {*spec.fields, *spec.attribute_map} - _IN_MOST_CONFIGS:
            given = self.raw.get("model_type")
            message = f"{self.name} is a class of {model_type}, but this is a config of {given}"
            usual = _example_class(own) if own else ""
            classes = f" with a class of {given}, e.g. {usual}" if usual else ""
            help_ = f"pass a config of {model_type}, or {option('architecture')}{classes}"
            if not self.asked:
                message = f"the config sets no field of {model_type}, the model type of {self.name}"
                help_ = f"pass a config of {model_type}"
            raise ConfigError(self.config.origin.label + message, help=help_)
        return Choice(
            model_type,
            self.name,
            self.config,
            (f"{reason}: counting {self.name} as a class of {model_type}",),
        )

    def of_auto_class(self, spec: Spec, types: Sequence[str]) -> str:
        """Return the class that transformers' auto classes build for the model type; '' if it is unclear.

        It is clear for another spelling or an unknown class with the same head, and for a flat config of the
        text part of a multimodal class.
        """
        if types:
            autos = [_auto_classes(one, self.name) for one in types if self.is_text_of(spec, one)]
            wanted = set[str]().union(*autos)
            wanted |= {"AutoModelForCausalLM"} if wanted & _GENERATE else set()
            found = [one for one in spec.architectures if wanted & _auto_classes(spec.model_type, one)]
        elif "auto_map" in self.raw:
            return ""
        else:
            found = same_class(self.name, spec.architectures)
        return found[0] if len(found) == 1 else ""

    def is_text_of(self, spec: Spec, model_type: str) -> bool:
        """Return True if the config is flat, and of a type that is a sub-config of another model type."""
        calls = {field.name: field.sub_config for field in self.library.load(model_type).fields.values()}
        names = [name for name, call in calls.items() if call and spec.model_type in model_types(call)]
        return bool(names) and not any(isinstance(self.raw.get(name), Mapping) for name in names)

    def part(self, spec: Spec, types: Sequence[str]) -> Choice | None:
        """Return the class of a part of the config, as `from_pretrained` of that class finds it."""
        for field, call in ((field.name, field.sub_config) for field in spec.fields.values()):
            value = self.raw.get(field)
            if call and value is None and self.raw.keys() <= {"model_type", "architectures"}:
                default = Scope(spec, self.raw, self.config.origin).get(field)
                value = {"model_type": default.model_type, **default.raw} if default else None
            if call is None or not isinstance(value, Mapping):
                continue
            fixed = model_types(call) if callee(call) == "Config" else []
            own = value.get("model_type") or (fixed[0] if len(fixed) == 1 else "")
            if own in types:
                config = RawConfig(dict(value), self.config.origin.child(field))
                how = f"only {field} is read, as by {self.name}.from_pretrained"
                note = f"{self.name} is a part of the model: {how}"
                return Choice(own, self.name, config, (note,))
        return None

    def check_known(self, spec: Spec | None) -> None:
        """Raise :class:`UnknownArchitectureError` for a class without a spec."""
        if self.library.types_of(self.name):
            return
        remote = "auto_map" in self.raw
        raise self.unknown_name_error("architectures", *unknown_class(self.name, spec, self.library, remote))
