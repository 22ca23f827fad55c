"""What is known of what stands for no model here: names without a spec, and other JSON files."""

from __future__ import annotations

import re
from collections.abc import Mapping

from archspec.configs.origin import Origin
from archspec.errors import Place, UnknownArchitectureError, did_you_mean
from archspec.specs.exported import exported
from archspec.specs.library import LIST_HELP, TRANSFORMERS_VERSION, Library
from archspec.specs.records import Spec, SpecLibrary
from archspec.typing_light import Any, NamedTuple

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


def unknown_type(model_type: str, library: SpecLibrary, remote: bool = False) -> tuple[str, str]:
    """What to say of a model type that no spec describes, and what helps: never another name for a right one.

    ``remote``: the config names code of its own.
    """
    more = "--specs, a folder with its spec" if remote else LIST_HELP
    help_ = f"--architecture names a class of transformers to count it as; {more}"
    if model_type in exported():
        return (
            f"{model_type} is a model type of transformers {TRANSFORMERS_VERSION} that is not described",
            help_,
        )
    if remote:
        return f"{model_type} is no model type of transformers: its code is not part of it (auto_map)", help_
    message = f"transformers {TRANSFORMERS_VERSION} has no model type {model_type!r}"
    near = did_you_mean(model_type, [*exported(), *library.model_types()])
    return message, f"{near} say it with --set model_type=…" if near.startswith("did you mean") else help_


def unknown_part(
    model_type: str, raw: Mapping[str, Any], origin: Origin, place: Place, library: SpecLibrary
) -> UnknownArchitectureError:
    """That no spec describes the model type of a sub-config, at its line, or the spec's where it has none."""
    message, help_ = unknown_type(model_type, library, "auto_map" in raw)
    if raw.get("model_type"):
        return UnknownArchitectureError(origin.problem("model_type", message, help_))
    return UnknownArchitectureError(message, place, help=help_)


def unknown_class(name: str, spec: Spec | None, library: Library, remote: bool) -> tuple[str, str]:
    """What to say of a class that no spec describes, and what helps; ``spec`` is of the config's type."""
    if any(name in found.classes for found in exported().values()):
        return f"{name} is a class of transformers {TRANSFORMERS_VERSION} that is not described", LIST_HELP
    framework = next((prefix for prefix in _FRAMEWORKS if re.match(prefix + "[A-Z]", name)), "")
    message = f"transformers {TRANSFORMERS_VERSION} has no class {name}"
    if framework:
        message += f": it had it for {_FRAMEWORKS[framework]}"
    elif remote:
        message += ": its code is the checkpoint's own (auto_map)"
    return message, _help(name.removeprefix(framework), spec, library)


def _help(name: str, spec: Spec | None, library: Library) -> str:
    """The class that is meant, by its name or its head: never the base model in place of a head."""
    known = library.index()
    if name in known:
        return f"--architecture {name} counts the same model in PyTorch"
    if same := next((one for one in known if one.lower() == name.lower()), ""):
        return f"did you mean {same}? say it with --architecture {same}"
    longest = max((one for one in known if name.startswith(one) and _head(one)), key=len, default="")
    if longest:
        return f"--architecture {longest} counts that, without what {name} changes"
    alike = [one for one in (spec.architectures if spec else ()) if _head(one) and _head(one) == _head(name)]
    if alike:
        return f"the same head is {alike[0]}'s: say it with --architecture {alike[0]}"
    near = did_you_mean(name, spec.architectures if spec else known)
    if near.startswith("did you mean"):
        return f"{near} say it with --architecture"
    first = spec.architectures[:1] if spec else ()
    return f"say which class is meant with --architecture, e.g. {first[0]}" if first else LIST_HELP


def _head(name: str) -> str:
    """The head of a class by its name: ForCausalLM, of whatever model; '' for a base model."""
    found = re.search(_HEAD, name)
    return _HEADS.get(found.group(), found.group()) if found else ""
