"""Explanations for inputs that name no supported model: unknown names and other JSON files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from archspec.configs.origin import Origin
from archspec.errors import Place, UnknownArchitectureError, nearest_names
from archspec.specs.exported import exported
from archspec.specs.library import LIST_HELP, TRANSFORMERS_VERSION, Library
from archspec.specs.records import Spec, SpecLibrary
from archspec.typing_light import Any

_LM_HEAD = r"(With)?LMHead(Model)?$"
_HEAD = r"(For[A-Z]\w*|WithProjection|DoubleHeadsModel)$"
_SIZES = {"hidden_size", "d_model", "n_embd", "num_hidden_layers", "n_layer", "num_layers", "vocab_size"}
_OTHER_FILES = (  # fields of other files, the kind of file, and a help line
    ("peft_type", "it describes an adapter", "give the base model's config"),
    ("_class_name", "it describes a part of a diffusers pipeline", "give a transformers config"),
    ("model_cfg vision_cfg", "it is open_clip's", "give the config of the same model in transformers"),
    ("n_layers n_heads", "it is for weights in another format", "convert the checkpoint to transformers'"),
    (
        "weight_map log_history image_processor_type feature_extractor_type processor_class do_resize "
        "image_mean tokenizer_class added_tokens chat_template model_max_length cls_token max_new_tokens "
        "do_sample eos_token_id bos_token_id word_embedding_dimension max_seq_length train_batch_size "
        "group_size",
        "it is another file of a checkpoint",
        "give the config.json next to it",
    ),
)


def other_file(raw: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return a message and a help line for a JSON object that is not a model's config; None if it may be one.

    >>> other_file({"peft_type": "LORA"}), other_file({"hidden_size": 8, "eos_token_id": 1})
    (("this is not a model's config: it describes an adapter", "give the base model's config"), None)
    """
    if raw.keys() & _SIZES and "n_layers" not in raw:
        return None
    found = ((kind, help_) for names, kind, help_ in _OTHER_FILES if raw.keys() & {*names.split()})
    return next(((f"this is not a model's config: {kind}", help_) for kind, help_ in found), None)


def unknown_type(model_type: str, library: SpecLibrary, remote: bool = False) -> tuple[str, str]:
    """Return the message and the help for a model type without a spec; ``remote``: the config has code."""
    help_ = f"name a class to count it as with --architecture CLASS; {LIST_HELP}"
    if model_type in exported():
        return f"{model_type} is a model type of transformers {TRANSFORMERS_VERSION} without a spec", help_
    if remote:
        why = "the checkpoint brings its code (auto_map)"
        help_ = "name a class to count it as with --architecture CLASS"
        help_ += ", or a directory with its spec with --specs FOLDER"
        return f"{model_type} is not a model type of transformers: {why}", help_
    near = nearest_names(model_type, [*exported(), *library.model_types()])
    help_ = f"did you mean {' or '.join(near)}?" if near else help_
    return f"transformers {TRANSFORMERS_VERSION} has no model type {model_type!r}", help_


def unknown_part(
    model_type: str, raw: Mapping[str, Any], origin: Origin, place: Place, library: SpecLibrary
) -> UnknownArchitectureError:
    """Return the error for a sub-config without a spec, at its model type or at the spec's line."""
    message, help_ = unknown_type(model_type, library, "auto_map" in raw)
    if raw.get("model_type"):
        return UnknownArchitectureError(origin.problem("model_type", message, help_))
    return UnknownArchitectureError(message, place, help=help_)


def unknown_class(name: str, spec: Spec | None, library: Library, remote: bool) -> tuple[str, str]:
    """Return the message and the help for a class without a spec; ``spec`` is that of the config's type.

    The help proposes a base model in place of a class with a head only if there is nothing else.
    """
    if any(name in found.classes for found in exported().values()):
        return f"{name} is a class of transformers {TRANSFORMERS_VERSION} without a spec", LIST_HELP
    known, own, bare = library.index(), spec.architectures if spec else (), _bare(name)
    spelled = [one for one in known if one.lower() == bare.lower()]
    begun = sorted((one for one in known if name.startswith(one) and _head(one)), key=len)[-1:]
    near = spelled or same_class(bare, own) or begun or nearest_names(bare, own or known) or own
    help_ = f"did you mean --architecture {' or --architecture '.join(near[:2])}?" if near else LIST_HELP
    if spec and spec.module(name):
        return f"{name} is a part of {spec.model_type}'s classes that transformers does not export", help_
    why = ": the checkpoint brings its code (auto_map)" if remote else ""
    return f"transformers {TRANSFORMERS_VERSION} does not export a class {name}{why}", help_


def same_class(name: str, architectures: Sequence[str]) -> list[str]:
    """Return the classes that a name can mean: another spelling, else those with the same head."""
    bare = _bare(name)
    spelled = [one for one in architectures if one.lower() == bare.lower()]
    return spelled or [one for one in architectures if _head(bare) and _head(one) == _head(bare)]


def _bare(name: str) -> str:
    return re.sub("^(TF|Flax)(?=[A-Z])", "", name)


def _head(name: str) -> str:
    """The head of a class by its name, such as ForCausalLM; '' for a base model."""
    found = re.search(_HEAD, re.sub(_LM_HEAD, "ForCausalLM", name))
    return found.group() if found else ""
