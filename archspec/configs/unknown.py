"""Explanations for model types and classes without a spec."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from archspec.errors import list_names, nearest_names, option
from archspec.specs.exported import exported_types
from archspec.specs.library import LIST_HELP, TRANSFORMERS_VERSION, Library
from archspec.specs.records import Spec, SpecLibrary
from archspec.typing_light import Any

_LM_HEAD = r"(With)?LMHead(Model)?$"
_HEAD = r"(For[A-Z]\w*|WithProjection|DoubleHeadsModel)$"


def foreign_file(raw: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the message and the help for another file than a model's config that people mistake for one."""
    if "peft_type" in raw:
        base = raw.get("base_model_name_or_path") or "its base model"
        return "this is the config of an adapter, not of a model", f"pass the config of {base}"
    if raw.keys() >= {"dim", "n_layers", "norm_eps"}:  # DistilBERT has the first two
        return "this is a params.json, not a config.json of transformers", "pass the model's config.json"
    if "_class_name" in raw:
        return "this is the config of a model of diffusers", "pass the config of a model of transformers"
    return None


def unknown_type(model_type: str, library: SpecLibrary, remote: bool = False) -> tuple[str, str]:
    """Return the message and the help for a model type without a spec; ``remote``: the config has code."""
    help_ = f"pass {option('architecture', 'CLASS')} to count it as that class"
    if model_type in exported_types():
        message = f"there is no spec for the model type {model_type} of transformers {TRANSFORMERS_VERSION}"
        return message, f"{help_}; {LIST_HELP}"
    if remote:
        message = f"{model_type} is custom code in the checkpoint (auto_map), not a transformers model type"
        return message, f"{help_}, or {option('specs', 'DIR')} with a spec for it"
    near = nearest_names(model_type, [*exported_types(), *library.model_types()])
    help_ = f"did you mean {list_names(near)}?" if near else f"{help_}; {LIST_HELP}"
    return f"transformers {TRANSFORMERS_VERSION} has no model type {model_type!r}", help_


def unknown_class(name: str, spec: Spec | None, library: Library, remote: bool) -> tuple[str, str]:
    """Return the message and the help for a class without a spec; ``spec`` is that of the config's type."""
    if any(name in found.classes for found in exported_types().values()):
        return f"there is no spec for the class {name} of transformers {TRANSFORMERS_VERSION}", LIST_HELP
    if name.endswith(".json") or "/" in name:
        return f"{name} is not a class name", LIST_HELP
    own, known = spec.architectures if spec else (), library.index()
    begun = sorted((one for one in known if name.startswith(one) and _head(one)), key=len)[-1:]
    near = _same_spelling(name, known) or same_class(name, own) or begun
    near = near or nearest_names(name, own or known) or [*own]
    shown = [option("architecture", one) for one in near[:2]]
    help_ = f"did you mean {list_names(shown)}?" if near else LIST_HELP
    if spec and spec.module(name):
        return f"{name} is a part of {spec.model_type}'s classes that transformers does not export", help_
    if remote:
        return f"{name} is custom code in the checkpoint (auto_map), not a transformers class", help_
    return f"transformers {TRANSFORMERS_VERSION} has no class {name}", help_


def same_class(name: str, architectures: Sequence[str]) -> list[str]:
    """Return the classes that a name can mean: another spelling, else those with the same head."""
    head = _head(name)
    similar = [one for one in architectures if head and _head(one) == head]
    return _same_spelling(name, architectures) or similar


def _same_spelling(name: str, architectures: Iterable[str]) -> list[str]:
    """Return the classes whose name differs only in letter case, or in the prefix of another framework."""
    bare = re.sub("^(TF|Flax)(?=[A-Z])", "", name).lower()
    return [one for one in architectures if one.lower() == bare]


def _head(name: str) -> str:
    """Return the head of a class by its name, such as ForCausalLM; '' for a base model."""
    found = re.search(_HEAD, re.sub(_LM_HEAD, "ForCausalLM", name))
    return found.group() if found else ""
