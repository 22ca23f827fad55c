"""The options of an adapter: those of its config class in peft, from arguments or an adapter_config.json."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping

from archspec.adapters.modules import facts
from archspec.arguments import describe_value
from archspec.errors import ArchspecError, did_you_mean
from archspec.typing_light import Any, NamedTuple

FILE = "adapter_config.json"
ALL_LINEAR = "all-linear"
_WITHOUT_EFFECT = (  # on tensors, their shapes and FLOPs
    *("peft_type", "auto_mapping", "peft_version", "base_model_name_or_path", "revision", "inference_mode"),
    *("alpha_pattern", "use_rslora", "megatron_core", "qalora_group_size", "runtime_config"),
    *("init_ia3_weights", "init_weights", "d_initial", "vera_dropout", "projection_prng_key"),
    *("prompt_tuning_init_text", "tokenizer_name_or_path"),
    *("loftq_config", "eva_config", "corda_config", "lora_ga_config"),  # of initializations that are refused
)
_STARTS = ("RANDOM", "SAMPLE_VOCAB", "TEXT")
_INITIALIZATIONS = (True, False, "gaussian")
_NUMBERS = (int, float)
SIZES = (  # of prompt and prefix tuning
    *("num_virtual_tokens", "num_transformer_submodules", "num_layers", "token_dim"),
    *("num_attention_heads", "encoder_hidden_size"),
)


class Options(NamedTuple):
    """The options that decide which tensors an adapter has, with peft's names and defaults.

    A text in ``target_modules`` or ``exclude_modules`` is a regular expression of whole names; a list has
    names, or ends of names.
    """

    r: int = 8
    target_modules: frozenset[str] | str | None = None
    exclude_modules: frozenset[str] | str | None = None
    modules_to_save: tuple[str, ...] = ()
    target_parameters: frozenset[str] | None = None
    layers_to_transform: int | tuple[int, ...] | None = None
    layers_pattern: tuple[str, ...] | None = None
    rank_pattern: Mapping[str, int] = {}
    layer_replication: tuple[tuple[int, int], ...] = ()
    bias: str = "none"
    task_type: str | None = None
    lora_alpha: float = 8
    lora_dropout: float = 0.0
    fan_in_fan_out: bool = False
    use_dora: bool = False
    lora_bias: bool = False
    peft_type: str = "LORA"
    feedforward_modules: frozenset[str] | str | None = None
    save_projection: bool = True
    num_virtual_tokens: int | None = None
    num_transformer_submodules: int | None = None
    num_layers: int | None = None
    token_dim: int | None = None
    num_attention_heads: int | None = None
    encoder_hidden_size: int | None = None
    prefix_projection: bool = False
    prompt_tuning_init: str = "RANDOM"

    def rank_of(self, name: str) -> int:
        """Return the rank of a module or parameter: that of the first pattern that matches, else ``r``."""
        patterns = (one for one in self.rank_pattern if re.match(rf"(.*\.)?({one})$", name))
        return self.rank_pattern.get(next(patterns, name), self.r)


def read_options(adapter: Any, given: Mapping[str, Any]) -> Options:
    """Return the options of an adapter_config.json, a directory with one or a mapping, and of arguments.

    Errors: :class:`ArchspecError` for options that peft rejects, and for those that are not supported.
    """
    options = {**_read_file(adapter), **given}
    kind = options.get("peft_type") or "LORA"
    if kind not in facts()["configs"]:
        message = f"adapters of peft_type {describe_value(kind)} are not supported"
        raise ArchspecError(message, help=f"use one of {', '.join(facts()['configs'])}")
    cls, known = facts()["configs"][kind]
    for name, value in options.items():
        if name not in known:
            nearest = did_you_mean(name, known) or f"choose from: {', '.join(known)}"
            raise ArchspecError(f"peft's {cls} has no option {name!r}", help=nearest)
        if name in Options._fields or name in _WITHOUT_EFFECT:
            continue
        if name == "init_lora_weights" and value in _INITIALIZATIONS:
            continue
        if value != known[name] and value:
            message = f"{name}={describe_value(value)} is not supported"
            raise ArchspecError(message, help=f"leave out {name}; its default is {known[name]}")
    if given.get("inference_mode"):
        raise ArchspecError("with inference_mode peft trains nothing", help="leave out inference_mode")
    needed = "prompt_tuning_init_text", "tokenizer_name_or_path"
    if options.get("prompt_tuning_init") == "TEXT" and None in map(options.get, needed):
        raise ArchspecError(f"prompt_tuning_init=TEXT needs {' and '.join(needed)}", help="pass both options")
    values = {**known, **{name: value for name, value in options.items() if value is not None}}
    found = Options(**{name: _read(name, values[name], cls) for name in Options._fields if name in known})
    _check(found, options.get("init_lora_weights", True))
    return found


def _read_file(adapter: Any) -> dict[str, Any]:
    """Return the options of a file, of a directory with one, or of a mapping."""
    if adapter is None or isinstance(adapter, Mapping):
        return {str(name): value for name, value in (adapter or {}).items()}
    if not isinstance(adapter, str | os.PathLike):
        message = f"an adapter is {describe_value(adapter)}, not a path or a mapping"
        raise ArchspecError(message, help=f"pass {FILE} of an adapter, its directory, or its content")
    path = os.fspath(adapter)
    path = os.path.join(path, FILE) if os.path.isdir(path) else path
    try:
        with open(path, encoding="utf-8") as file:
            options = json.load(file)
    except (OSError, ValueError) as error:
        message = f"{path} cannot be read: {getattr(error, 'strerror', None) or error}"
        raise ArchspecError(message, help=f"pass {FILE} of an adapter, or its directory") from None
    if not isinstance(options, dict):
        raise ArchspecError(f"{path} is not a JSON object", help=f"pass {FILE} of an adapter")
    return options


def _read(name: str, value: Any, cls: str) -> Any:
    """Return a value in the type of its option in peft's class. Errors: :class:`ArchspecError`."""
    if value is None:
        return getattr(Options(), name)
    if (found := _READERS[name](value)) is None:
        message = f"{name}: {describe_value(value)} is not a valid value"
        raise ArchspecError(message, help=f"pass a value that peft's {cls} takes for {name}")
    return found


def _reader(
    *kinds: type, items: type | None = None, made: Callable[[Any], Any] = tuple
) -> Callable[[Any], Any]:
    """Return a reader of values of some types, and of lists with items of a type; a bool is not an int."""

    def read(value: Any) -> Any:
        if type(value) in kinds:
            return value
        is_list = items is not None and isinstance(value, list | tuple | set | frozenset)
        return made(value) if is_list and all(type(one) is items for one in value) else None

    return read


_NAMES, _INDICES = _reader(items=str), _reader(items=int)
_TARGETS = _reader(str, items=str, made=frozenset)


def _pairs(value: Any) -> Any:
    pairs = [_INDICES(one) for one in value] if isinstance(value, list | tuple) else [None]
    return tuple(pairs) if all(one and len(one) == 2 for one in pairs) else None


_READERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("target_modules", "exclude_modules", "feedforward_modules"), _TARGETS),
    **dict.fromkeys(("use_dora", "lora_bias", "fan_in_fan_out"), _reader(bool)),
    **dict.fromkeys(("save_projection", "prefix_projection"), _reader(bool)),
    **dict.fromkeys(("bias", "task_type", "peft_type", "prompt_tuning_init"), _reader(str)),
    "r": _reader(int),
    **dict.fromkeys(SIZES, lambda value: value if type(value) is int and value > 0 else None),
    "modules_to_save": _NAMES,
    "target_parameters": _reader(items=str, made=frozenset),
    "layers_to_transform": _reader(int, items=int),
    "layers_pattern": lambda value: _NAMES((value,) * bool(value) if type(value) is str else value),
    "layer_replication": _pairs,
    "rank_pattern": lambda value: value if isinstance(value, Mapping) else None,
    "lora_dropout": lambda value: value if type(value) in _NUMBERS and value <= 1 else None,
    "lora_alpha": _reader(*_NUMBERS),
}


def _check(options: Options, initialization: Any) -> None:
    """Raise :class:`ArchspecError` for options that peft's config classes reject."""
    layers, listed, tasks = options.layers_to_transform, options.layers_pattern, facts()["task_types"]
    of_list = isinstance(options.target_modules, str) and (layers is not None or listed is not None)
    has_bias, task, kind = options.lora_bias, options.task_type, options.peft_type
    biases = ("none", "all", f"{kind.lower()}_only")
    inputs, outputs = options.feedforward_modules, options.target_modules
    are_lists = isinstance(inputs, frozenset) and isinstance(outputs, frozenset)
    rejected = {
        "layers_to_transform and layers_pattern need a list of target_modules": of_list and kind == "LORA",
        "layers_pattern needs layers_to_transform": listed and layers is None,
        "lora_bias cannot be combined with use_dora": has_bias and options.use_dora,
        "lora_bias needs init_lora_weights true or false": has_bias and not isinstance(initialization, bool),
        f"bias must be one of {', '.join(biases)}": options.bias not in biases,
        "feedforward_modules must be a part of target_modules": are_lists and not inputs <= outputs,  # type: ignore[operator]
        f"prompt_tuning_init must be one of {', '.join(_STARTS)}": options.prompt_tuning_init not in _STARTS,
        f"task_type must be one of {', '.join(tasks)}": task is not None and task not in tasks,
    }
    for message, holds in rejected.items():
        if holds:
            raise ArchspecError(message, help="change one of these options, as peft rejects them")
    patterns = [*options.rank_pattern, *options.modules_to_save, *(options.layers_pattern or ())]
    texts = options.target_modules, options.exclude_modules, options.feedforward_modules
    patterns += [one for one in texts if isinstance(one, str)]
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ArchspecError(f"{pattern!r} is not a regular expression: {error}") from None
    for rank in (options.r, *options.rank_pattern.values()):
        if type(rank) is not int:
            raise ArchspecError(f"a rank is {describe_value(rank)}, not an integer", help="pass e.g. 16")
