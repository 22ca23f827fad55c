"""Explanations for inputs that name no supported model: unknown names and other JSON files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from archspec.configs.origin import Origin
from archspec.errors import Place, UnknownArchitectureError, did_you_mean
from archspec.specs.exported import exported
from archspec.specs.library import LIST_HELP, TRANSFORMERS_VERSION, Library
from archspec.specs.records import Spec, SpecLibrary
from archspec.typing_light import Any, NamedTuple

Works = Callable[[str, str], bool]  # whether an option and its value make a config countable
_FRAMEWORKS = {"TF": "TensorFlow", "Flax": "Flax"}
_HEADS = {"WithLMHeadModel": "ForCausalLM", "LMHeadModel": "ForCausalLM", "LMHead": "ForCausalLM"}
_HEAD = r"(For[A-Z]\w*|(With)?LMHead(Model)?|WithProjection|DoubleHeadsModel)$"


class Kind(NamedTuple):
    """A kind of file: what it is, what to give instead, and the fields any of which tells it."""

    what: str
    help: str
    fields: str


_BESIDE = "give the config.json that stands beside it"
KINDS = (
    Kind("it describes an adapter", "give the base model's config", "peft_type"),
    Kind("it describes a part of a diffusers pipeline", "give a transformers config", "_class_name"),
    Kind("it is open_clip's", "give the config of the same model in transformers", "model_cfg vision_cfg"),
    Kind("it is the index of a checkpoint's files", _BESIDE, "weight_map"),
    Kind("it is a trainer's state", _BESIDE, "log_history best_model_checkpoint"),
    Kind(
        "it says how inputs are prepared",
        _BESIDE,
        "image_processor_type feature_extractor_type processor_class do_resize do_normalize image_mean",
    ),
    Kind(
        "it describes a tokenizer",
        _BESIDE,
        "tokenizer_class tokenizer_file added_tokens_decoder added_tokens model_max_length do_lower_case "
        "cls_token unk_token chat_template",
    ),
    Kind(
        "it says how text is generated",
        _BESIDE,
        "_from_model_config max_new_tokens do_sample top_p num_beams decoder_start_token_id eos_token_id "
        "bos_token_id",
    ),
    Kind("it is sentence-transformers'", _BESIDE, "word_embedding_dimension __version__ max_seq_length"),
    Kind("it is DeepSpeed's", _BESIDE, "zero_optimization train_batch_size"),
    Kind("it says how weights are quantized", _BESIDE, "group_size"),
    Kind("it is of weights in another format", "convert the checkpoint to transformers'", "n_layers n_heads"),
    Kind("it describes a package", "give a config.json", "dependencies devDependencies"),
)
_SIZES = ("hidden_size", "d_model", "n_embd", "num_hidden_layers", "n_layer", "num_layers", "vocab_size")


def other_file(raw: Mapping[str, Any]) -> Kind | None:
    """The kind of file that a JSON object without a model type comes from; None where it may be a config.

    >>> other_file({"weight_map": {}}).what, other_file({"hidden_size": 8, "eos_token_id": 1})
    ("it is the index of a checkpoint's files", None)
    """
    if any(name in raw for name in _SIZES) and "n_layers" not in raw:
        return None
    return next((kind for kind in KINDS if any(name in raw for name in kind.fields.split())), None)


def unknown_type(
    model_type: str, library: SpecLibrary, remote: bool = False, works: Works | None = None
) -> tuple[str, str]:
    """The message and the help line for a model type without a spec.

    ``remote`` is True for a config that names its own code. The help line proposes an option only if it
    ``works``, and never another name for a model type that transformers has.
    """
    more = "a directory with its spec with --specs FOLDER" if remote else LIST_HELP
    help_ = f"name a class to count it as with --architecture CLASS; {more}"
    if remote:
        help_ = f"name a class to count it as with --architecture CLASS, or {more}"
    if model_type in exported():
        return f"{model_type} is a model type of transformers {TRANSFORMERS_VERSION} without a spec", help_
    if remote:
        message = (
            f"{model_type} is not a model type of transformers: the checkpoint brings its code (auto_map)"
        )
        return message, help_
    message = f"transformers {TRANSFORMERS_VERSION} has no model type {model_type!r}"
    known = [*exported(), *library.model_types()]
    near = did_you_mean(model_type, known)
    if not near.startswith("did you mean"):
        return message, help_
    names = near.removeprefix("did you mean ").removesuffix("?").split(" or ")
    options = [f"--set model_type={name}" for name in names if works and works("--set", f"model_type={name}")]
    return message, f"{near} pass {' or '.join(options)}" if options else near


def unknown_part(
    model_type: str, raw: Mapping[str, Any], origin: Origin, place: Place, library: SpecLibrary
) -> UnknownArchitectureError:
    """That no spec describes the model type of a sub-config, at its line, or the spec's where it has none."""
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
        return _internal(name, spec, works)
    framework = next((prefix for prefix in _FRAMEWORKS if re.match(prefix + "[A-Z]", name)), "")
    message = f"transformers {TRANSFORMERS_VERSION} does not export a class {name}"
    if framework:
        message += f": it had one for {_FRAMEWORKS[framework]}"
    elif remote:
        message += ": the checkpoint brings its code (auto_map)"
    return message, _help(name.removeprefix(framework), spec, library, works)


def _internal(name: str, spec: Spec, works: Works) -> tuple[str, str]:
    """For a class that transformers uses inside others: which of these can be counted."""
    message = f"{name} is a part of {spec.model_type}'s classes that transformers does not export"
    for whole in spec.architectures:
        if contains(spec, whole, name) and works("--architecture", whole):
            return (
                message,
                f"count the class around it with --architecture {whole}; archspec tree shows its parts",
            )
    return message, _example(spec, works)


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
    """The classes of a model type that a name can mean: another spelling, else those of the same head."""
    bare = next((name.removeprefix(one) for one in _FRAMEWORKS if re.match(one + "[A-Z]", name)), name)
    spelled = [one for one in architectures if one.lower() == bare.lower()]
    return spelled or [one for one in architectures if _head(bare) and _head(one) == _head(bare)]


def _help(name: str, spec: Spec | None, library: Library, works: Works) -> str:
    """The class that is meant, by its name or its head: never the base model in place of a head."""
    known, option = library.index(), "--architecture"
    if name in known and works(option, name):
        return f"pass --architecture {name} to count the same model in PyTorch"
    same = next((one for one in known if one.lower() == name.lower()), "")
    if same and works(option, same):
        return f"did you mean {same}? pass --architecture {same}"
    longest = max((one for one in known if name.startswith(one) and _head(one)), key=len, default="")
    if longest and works(option, longest):
        return f"pass --architecture {longest} to count that, without what {name} changes"
    alike = [one for one in (spec.architectures if spec else ()) if _head(one) and _head(one) == _head(name)]
    if alike and works(option, alike[0]):
        return f"{alike[0]} has the same head: pass --architecture {alike[0]}"
    near = did_you_mean(name, spec.architectures if spec else known)
    if near.startswith("did you mean"):
        names = near.removeprefix("did you mean ").removesuffix("?").split(" or ")
        working = [f"--architecture {one}" for one in names if works(option, one)]
        return f"{near} pass {' or '.join(working)}" if working else near
    return _example(spec, works) if spec else LIST_HELP


def _example(spec: Spec, works: Works) -> str:
    """The classes of a model type that count a config."""
    working = [f"--architecture {one}" for one in spec.architectures if works("--architecture", one)]
    return f"pass one of its classes: {', '.join(working)}" if working else LIST_HELP


def _head(name: str) -> str:
    """The head of a class by its name: ForCausalLM, of whatever model; '' for a base model."""
    found = re.search(_HEAD, name)
    return _HEADS.get(found.group(), found.group()) if found else ""
