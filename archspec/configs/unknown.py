"""Explanations for inputs that name no supported model: unknown names and other JSON files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from archspec.configs.origin import Origin
from archspec.errors import Place, UnknownArchitectureError, nearest_names
from archspec.specs.exported import exported
from archspec.specs.library import LIST_HELP, TRANSFORMERS_VERSION, Library
from archspec.specs.records import Spec, SpecLibrary
from archspec.typing_light import Any

Works = Callable[[str, str], bool]  # Return True if an option and its value make a config countable.
_FRAMEWORKS = {"TF": "TensorFlow", "Flax": "Flax"}
_HEADS = {"WithLMHeadModel": "ForCausalLM", "LMHeadModel": "ForCausalLM", "LMHead": "ForCausalLM"}
_HEAD = r"(For[A-Z]\w*|(With)?LMHead(Model)?|WithProjection|DoubleHeadsModel)$"
_NEXT_TO_IT = "give the config.json next to it"
OTHER_FILES = {  # fields, any of which identifies a kind of file: (message, help)
    "peft_type": ("it describes an adapter", "give the base model's config"),
    "_class_name": ("it describes a part of a diffusers pipeline", "give a transformers config"),
    "model_cfg vision_cfg": ("it is open_clip's", "give the config of the same model in transformers"),
    "weight_map": ("it is the index of a checkpoint's files", _NEXT_TO_IT),
    "log_history best_model_checkpoint": ("it is a trainer's state", _NEXT_TO_IT),
    "image_processor_type feature_extractor_type processor_class do_resize do_normalize image_mean": (
        "it describes how inputs are prepared",
        _NEXT_TO_IT,
    ),
    "tokenizer_class tokenizer_file added_tokens_decoder added_tokens model_max_length do_lower_case "
    "cls_token unk_token chat_template": ("it describes a tokenizer", _NEXT_TO_IT),
    "_from_model_config max_new_tokens do_sample top_p num_beams decoder_start_token_id eos_token_id "
    "bos_token_id": ("it describes how text is generated", _NEXT_TO_IT),
    "word_embedding_dimension __version__ max_seq_length": ("it is sentence-transformers'", _NEXT_TO_IT),
    "zero_optimization train_batch_size": ("it is DeepSpeed's", _NEXT_TO_IT),
    "group_size": ("it describes how weights are quantized", _NEXT_TO_IT),
    "n_layers n_heads": ("it is for weights in another format", "convert the checkpoint to transformers'"),
    "dependencies devDependencies": ("it describes a package", "give a config.json"),
}
_SIZES = ("hidden_size", "d_model", "n_embd", "num_hidden_layers", "n_layer", "num_layers", "vocab_size")


def other_file(raw: Mapping[str, Any]) -> tuple[str, str] | None:
    """The kind of file that a JSON object without a model type comes from, and a help line.

    It is None for an object that may be a config.

    >>> other_file({"weight_map": {}}), other_file({"hidden_size": 8, "eos_token_id": 1})
    (("it is the index of a checkpoint's files", 'give the config.json next to it'), None)
    """
    if any(name in raw for name in _SIZES) and "n_layers" not in raw:
        return None
    return next(
        (kind for names, kind in OTHER_FILES.items() if any(name in raw for name in names.split())), None
    )


def unknown_type(
    model_type: str, library: SpecLibrary, remote: bool = False, works: Works | None = None
) -> tuple[str, str]:
    """The message and the help line for a model type without a spec.

    ``remote`` is True for a config that names its own code. The help line proposes an option only if it
    ``works``, and never another name for a model type that transformers has.
    """
    more = ", or a directory with its spec with --specs FOLDER" if remote else f"; {LIST_HELP}"
    help_ = f"name a class to count it as with --architecture CLASS{more}"
    if model_type in exported():
        return f"{model_type} is a model type of transformers {TRANSFORMERS_VERSION} without a spec", help_
    if remote:
        message = (
            f"{model_type} is not a model type of transformers: the checkpoint brings its code (auto_map)"
        )
        return message, help_
    message = f"transformers {TRANSFORMERS_VERSION} has no model type {model_type!r}"
    near = nearest_names(model_type, [*exported(), *library.model_types()])
    return message, _meant(near, "--set", "model_type=", works) if near else help_


def unknown_part(
    model_type: str, raw: Mapping[str, Any], origin: Origin, place: Place, library: SpecLibrary
) -> UnknownArchitectureError:
    """The error for a sub-config without a spec, at its model type or, if it has none, at the spec's line."""
    message, help_ = unknown_type(model_type, library, "auto_map" in raw)
    if raw.get("model_type"):
        return UnknownArchitectureError(origin.problem("model_type", message, help_))
    return UnknownArchitectureError(message, place, help=help_)


def unknown_class(
    name: str, spec: Spec | None, library: Library, remote: bool, works: Works
) -> tuple[str, str]:
    """The message and the help line for a class without a spec; ``spec`` is that of the config's type."""
    if any(name in found.classes for found in exported().values()):
        return f"{name} is a class of transformers {TRANSFORMERS_VERSION} without a spec", LIST_HELP
    if spec and spec.module(name):
        message = f"{name} is a part of {spec.model_type}'s classes that transformers does not export"
        around = (one for one in spec.architectures if contains(spec, one, name))
        if whole := next((one for one in around if works("--architecture", one)), ""):
            return (
                message,
                f"count the class around it with --architecture {whole}; archspec tree shows its parts",
            )
        return message, _examples(spec, works)
    framework = next((prefix for prefix in _FRAMEWORKS if re.match(prefix + "[A-Z]", name)), "")
    message = f"transformers {TRANSFORMERS_VERSION} does not export a class {name}"
    if framework:
        message += f": it had one for {_FRAMEWORKS[framework]}"
    elif remote:
        message += ": the checkpoint brings its code (auto_map)"
    return message, _proposal(name.removeprefix(framework), spec, library, works)


def working(values: Iterable[str], works: Works, option: str = "--architecture") -> list[str]:
    """The options, with one of the values each, that make a config countable."""
    return [f"{option} {value}" for value in values if works(option, value)]


def contains(spec: Spec, name: str, part: str) -> bool:
    """Return True if a class of a spec is built from a module, directly or through others."""
    seen, open_ = set[str](), [name]
    while open_:
        module = spec.module(one := open_.pop())
        if module is None or one in seen:
            continue
        seen.add(one)
        bodies = str([*module])
        open_ += [other for other in spec.modules if re.search(rf"\b{re.escape(other)}\b", bodies)]
    return part in seen


def same_class(name: str, architectures: Sequence[str]) -> list[str]:
    """The classes of a model type that a name can mean: another spelling, else those with the same head."""
    bare = next((name.removeprefix(one) for one in _FRAMEWORKS if re.match(one + "[A-Z]", name)), name)
    spelled = [one for one in architectures if one.lower() == bare.lower()]
    return spelled or [one for one in architectures if _head(bare) and _head(one) == _head(bare)]


def _proposal(name: str, spec: Spec | None, library: Library, works: Works) -> str:
    """The class that is meant, by its name or its head: never the base model in place of a head."""
    known, head = library.index(), _head(name)
    spelled = next((one for one in known if one.lower() == name.lower()), "")
    longest = max((one for one in known if name.startswith(one) and _head(one)), key=len, default="")
    alike = next((one for one in (spec.architectures if spec else ()) if head and _head(one) == head), "")
    proposals = (
        ("", name if name in known else "", " to count the same model in PyTorch"),
        (f"did you mean {spelled}? ", spelled, ""),
        ("", longest, f" to count that, without the changes of {name}"),
        (f"{alike} has the same head: ", alike, ""),
    )
    for before, class_, after in proposals:
        if class_ and works("--architecture", class_):
            return f"{before}pass --architecture {class_}{after}"
    if near := nearest_names(name, spec.architectures if spec else known):
        return _meant(near, "--architecture", "", works)
    return _examples(spec, works) if spec else LIST_HELP


def _meant(names: Sequence[str], option: str, field: str, works: Works | None) -> str:
    """Propose the nearest names, with the options that work."""
    options = working([field + name for name in names], works, option) if works else []
    question = f"did you mean {' or '.join(names)}?"
    return f"{question} pass {' or '.join(options)}" if options else question


def _examples(spec: Spec, works: Works) -> str:
    """The classes of a model type that count a config."""
    found = working(spec.architectures, works)
    return f"pass one of its classes: {', '.join(found)}" if found else LIST_HELP


def _head(name: str) -> str:
    """The head of a class by its name, such as ForCausalLM; '' for a base model."""
    found = re.search(_HEAD, name)
    return _HEADS.get(found.group(), found.group()) if found else ""
