"""The options of an adapter: those of peft's LoraConfig, from arguments or an adapter_config.json."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping

from archspec.adapters.modules import facts
from archspec.arguments import describe_value
from archspec.errors import ArchspecError, did_you_mean
from archspec.typing_light import Any, NamedTuple

FILE = "adapter_config.json"
ALL_LINEAR = "all-linear"
BIASES = ("none", "all", "lora_only")
_WITHOUT_EFFECT = (  # on tensors, their shapes and FLOPs
    *("peft_type", "auto_mapping", "peft_version", "base_model_name_or_path", "revision", "inference_mode"),
    *("alpha_pattern", "use_rslora", "megatron_core", "qalora_group_size", "runtime_config"),
    *("loftq_config", "eva_config", "corda_config", "lora_ga_config"),  # of initializations that are refused
)
_INITIALIZATIONS = (True, False, "gaussian")
_NUMBERS = (int, float)


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

    def rank_of(self, name: str) -> int:
        """Return the rank of a module or parameter: that of the first pattern that matches, else ``r``."""
        patterns = (one for one in self.rank_pattern if re.match(rf"(.*\.)?({one})$", name))
        return self.rank_pattern.get(next(patterns, name), self.r)


def read_options(adapter: Any, given: Mapping[str, Any]) -> Options:
    """Return the options of an adapter_config.json, a directory with one or a mapping, and of arguments.

    Errors: :class:`ArchspecError` for options that peft rejects, and for those that are not supported.
    """
    options = {**_read_file(adapter), **given}
    known = facts()["defaults"]
    for name, value in options.items():
        if name not in known and name not in _WITHOUT_EFFECT:
            raise ArchspecError(f"peft's LoraConfig has no option {name!r}", help=_nearest_names(name, known))
        if name in Options._fields or name in _WITHOUT_EFFECT:
            continue
        if name == "init_lora_weights" and value in _INITIALIZATIONS:
            continue
        if value != known[name] and value:
            message = f"{name}={describe_value(value)} is not supported"
            raise ArchspecError(message, help=f"leave out {name}; its default is {known[name]}")
    if options.get("peft_type", "LORA") != "LORA":
        raise ArchspecError(f"{options['peft_type']} adapters are not supported", help="use a LORA adapter")
    if given.get("inference_mode"):
        raise ArchspecError("with inference_mode peft trains nothing", help="leave out inference_mode")
    found = Options(**{name: _read(name, options[name]) for name in Options._fields if name in options})
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


def _nearest_names(name: str, known: Iterable[str]) -> str:
    return did_you_mean(name, known) or f"choose from: {', '.join(known)}"


def _read(name: str, value: Any) -> Any:
    """Return a value in the type of its option. Errors: :class:`ArchspecError` for another type."""
    if value is None:
        return getattr(Options(), name)
    if (found := _READERS[name](value)) is None:
        message = f"{name}: {describe_value(value)} is not a valid value"
        raise ArchspecError(message, help=f"pass a value that peft's LoraConfig takes for {name}")
    return found


def _plain_reader(*kinds: type) -> Callable[[Any], Any]:
    """Return a reader of values of some types; a bool is not an int."""
    return lambda value: value if type(value) in kinds else None


def _list_reader(kind: type, made: Callable[[Any], Any] = tuple) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        is_list = isinstance(value, list | tuple | set | frozenset)
        return made(value) if is_list and all(type(one) is kind for one in value) else None

    return read


def _first_reader(*readers: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a reader that tries several ones."""
    return lambda value: next((found for one in readers if (found := one(value)) is not None), None)


def _pairs(value: Any) -> Any:
    pairs = [_list_reader(int)(one) for one in value] if isinstance(value, list | tuple) else [None]
    return tuple(pairs) if all(one and len(one) == 2 for one in pairs) else None


_READERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        ("target_modules", "exclude_modules"), _first_reader(_plain_reader(str), _list_reader(str, frozenset))
    ),
    **dict.fromkeys(("use_dora", "lora_bias", "fan_in_fan_out"), _plain_reader(bool)),
    **dict.fromkeys(("bias", "task_type"), _plain_reader(str)),
    "r": _plain_reader(int),
    "modules_to_save": _list_reader(str),
    "target_parameters": _list_reader(str, frozenset),
    "layers_to_transform": _first_reader(_plain_reader(int), _list_reader(int)),
    "layers_pattern": _first_reader(
        lambda value: (value,) * bool(value) if type(value) is str else None, _list_reader(str)
    ),
    "rank_pattern": lambda value: value if isinstance(value, Mapping) else None,
    "layer_replication": _pairs,
    "lora_dropout": lambda value: value if type(value) in _NUMBERS and value <= 1 else None,
    "lora_alpha": _plain_reader(*_NUMBERS),
}


def _check(options: Options, initialization: Any) -> None:
    """Raise :class:`ArchspecError` for options that peft's LoraConfig rejects."""
    is_pattern = isinstance(options.target_modules, str)
    rejected = {
        "layers_to_transform and layers_pattern need a list of target_modules": is_pattern
        and (options.layers_to_transform is not None or options.layers_pattern is not None),
        "layers_pattern needs layers_to_transform": options.layers_pattern
        and options.layers_to_transform is None,
        "lora_bias cannot be combined with use_dora": options.lora_bias and options.use_dora,
        "lora_bias needs init_lora_weights true or false": options.lora_bias
        and not isinstance(initialization, bool),
        f"bias must be one of {', '.join(BIASES)}": options.bias not in BIASES,
        f"task_type must be one of {', '.join(facts()['task_types'])}": options.task_type
        not in (None, *facts()["task_types"]),
    }
    for message, holds in rejected.items():
        if holds:
            raise ArchspecError(message, help="change one of these options, as peft rejects them")
    patterns = [*options.rank_pattern, *options.modules_to_save, *(options.layers_pattern or ())]
    patterns += [one for one in (options.target_modules, options.exclude_modules) if isinstance(one, str)]
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ArchspecError(f"{pattern!r} is not a regular expression: {error}") from None
    for rank in (options.r, *options.rank_pattern.values()):
        if type(rank) is not int:
            raise ArchspecError(f"a rank is {describe_value(rank)}, not an integer", help="pass e.g. 16")
