"""A user's config as plain data: from a dict, a file, a folder, the hub, or a transformers object.

Nothing of transformers is imported; what a field means is for the specs to say.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from archspec.configs.notes import notes as notes
from archspec.configs.origin import Origin, nesting, place_of, repeated
from archspec.configs.overrides import apply, written
from archspec.configs.overrides import check_overrides as check_overrides
from archspec.configs.overrides import parse_override as parse_override
from archspec.errors import ConfigError, Problem, Source, UnknownArchitectureError, did_you_mean
from archspec.language.expression import describe
from archspec.language.values import shown
from archspec.specs import library
from archspec.specs.records import Spec

MAX_BYTES = 10_000_000
MAX_DEPTH = 64
MAX_BITS = 14_284  # 4,300 digits: more than that Python does not print
_HELP = "give a config.json, a folder that holds one, a hub id org/name, a dict, or a transformers config"
_HUB_ID = re.compile(r"[\w.\-]+/[\w.\-]+$")
_LONG_NUMBER = re.compile(r"\d{4301}")
_BARE: dict[type, Callable[[Any], Any]] = {
    int: int.__index__,
    float: float.__float__,
    str: str.__str__,
}  # of enumerations, too
_OTHERS = {
    "adapter_config.json": "it describes an adapter: give the base model's config",
    "model_index.json": "it describes a pipeline: give the folder of one of its models",
    "params.json": "params.json is not transformers' format: convert the checkpoint",
}


class Config(NamedTuple):
    """A config as plain data, and where it came from."""

    raw: dict[str, Any]
    origin: Origin


def read_config(source: Any, overrides: Mapping[str, Any] | None = None) -> Config:
    """The config behind a dict, a path, a hub id or a transformers config object, with fields set anew.

    Errors: :class:`ConfigError` with file, line and column for what is not a JSON object of a config.

    >>> read_config({"model_type": "llama", "num_hidden_layers": 32}, {"num_hidden_layers": 2}).raw
    {'model_type': 'llama', 'num_hidden_layers': 2}
    """
    if isinstance(source, Config):
        raw, origin = plain(source.raw), source.origin
    elif isinstance(source, str | os.PathLike):
        raw, origin = _read_path(os.fspath(source))
    elif isinstance(source, type) or not (
        isinstance(source, Mapping) or callable(getattr(source, "to_dict", None))
    ):
        name = source.__name__ if isinstance(source, type) else type(source).__name__
        raise ConfigError(Problem(f"{name} is not a config", help=_HELP))
    else:
        raw, origin = plain(source), Origin()
    if overrides:
        set_anew = {path: plain(value) for path, value in overrides.items()}
        texts = {path: written(path, value) for path, value in set_anew.items()}
        origin = Origin(origin.name, origin.text, origin.path, {**origin.overrides, **texts}, origin.opened)
        origin.opened = apply(raw, set_anew, origin).union(origin.opened)
    return Config(raw, origin)


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON would hold it: config objects become mappings, dtypes text, arrays lists.

    Errors: :class:`ConfigError` for what is nested deeper than 64 levels, itself included.
    """
    if type(value) is int and value.bit_length() > MAX_BITS:
        raise ConfigError(Problem("a number of more than 4,300 digits", help="no size is that large"))
    if value is None or type(value) in (bool, int, float, str):
        return value
    if depth > MAX_DEPTH:
        raise ConfigError(
            Problem(f"the config is nested deeper than {MAX_DEPTH} levels", help="no model's config is")
        )
    if isinstance(value, Mapping):
        if len(value) == 1 and value.get("__float__") in (
            "Infinity",
            "-Infinity",
            "NaN",
        ):  # as transformers writes them
            return float(value["__float__"])
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, depth + 1) for item in value]
    if callable(to_dict := getattr(value, "to_dict", None)) and not isinstance(value, type):
        found = plain(to_dict(), depth + 1)
        if (
            isinstance(found, dict)
            and not found.get("model_type")
            and isinstance(getattr(value, "model_type", None), str)
        ):
            found["model_type"] = value.model_type
        return found
    for kind, bare in _BARE.items():
        if isinstance(value, kind):
            return plain(bare(value), depth)
    if callable(getattr(value, "tolist", None)) and not isinstance(value, type):
        return plain(value.tolist(), depth + 1)
    return str(value)


def _read_path(path: str | bytes) -> tuple[dict[str, Any], Origin]:
    path = os.fsdecode(path)
    if "\0" in path or not path.strip():
        raise ConfigError(Problem(f"{path!r} is not a path", help=_HELP))
    path = os.path.expanduser(path)
    try:
        if os.path.isdir(path):
            return read_file(_in_folder(path))
        if os.path.exists(path):
            return read_file(path)
    except ValueError as error:
        raise ConfigError(Problem(f"{_shown(path)}: {error}", help=_HELP)) from None
    if _HUB_ID.match(path) and not path.startswith((".", "/", "~")) and not path.endswith(".json"):
        return _from_hub(path)
    raise ConfigError(_missing(path))


def _in_folder(path: str) -> str:
    file = os.path.join(path, "config.json")
    if not os.path.isfile(file):
        helps = [text for name, text in _OTHERS.items() if os.path.isfile(os.path.join(path, name))]
        raise ConfigError(
            Problem(f"{_shown(path)}: the folder has no config.json", help=(helps or [_HELP])[0])
        )
    return file


def _missing(path: str) -> Problem:
    folder, name = os.path.split(path)
    beside = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
    help_ = did_you_mean(name, beside) if name else ""
    if not help_.startswith("did you mean"):
        help_ = _HELP
    if path in library.model_types():
        help_ = f'for the defaults of {path} give {{"model_type": "{path}"}}'
    return Problem(f"{_shown(path)}: there is no such file", help=help_)


def _shown(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()


def _from_hub(name: str) -> tuple[dict[str, Any], Origin]:
    help_ = "give the path of a config.json; a config from the hub is kept, once it was fetched"
    reached = _has_route()
    try:
        from huggingface_hub import hf_hub_download

        path = hf_hub_download(name, "config.json", etag_timeout=10, local_files_only=not reached)
    except ImportError:
        raise ConfigError(
            Problem(f"{name}: there is no such file, and huggingface-hub is not installed", help=help_)
        ) from None
    except Exception as error:  # the hub's errors have no common base, and all mean that there is no config
        detail = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
        detail = detail if reached else "the cache has no such config, and its host has no address from here"
        message = f"{name}: there is no such file or folder, and the hub does not give {name}: {detail}"
        raise ConfigError(Problem(message, help=help_)) from None
    raw, origin = read_file(path)
    return raw, Origin(f"{name}/config.json", origin.text)


def _has_route() -> bool:
    """Whether the hub's host has an address; where it has none, asking again and again takes half a minute."""
    import socket
    from urllib.parse import urlsplit

    if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        return True
    host = urlsplit(os.environ.get("HF_ENDPOINT") or "https://huggingface.co").hostname
    try:
        return bool(socket.getaddrinfo(host, None))
    except OSError:
        return False


def read_file(path: str) -> tuple[dict[str, Any], Origin]:
    """The JSON object in a file. Errors: :class:`ConfigError` with line and column."""
    name = _shown(path)
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{name}: {error.strerror or error}") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(
            Problem(f"{name}: the file is larger than {MAX_BYTES:,} bytes", help="that is no config.json")
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = Source(name, data[: error.start].decode("utf-8-sig", "replace") + "\ufffd")
        place = place_of(before, len(before.text) - 1)
        raise ConfigError(
            Problem(f"not UTF-8 text: {error.reason}", place, help="save the file as UTF-8")
        ) from None
    return parse_json(Source(name, text)), Origin(name, text)


def parse_json(source: Source) -> dict[str, Any]:
    """The JSON object that a text is.

    Errors: :class:`ConfigError` at line and column for text that is not JSON, keys that are given twice, values
    that are nested too deep, numbers that are too long, and for JSON that is not an object.
    """
    twice = False

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal twice
        found = dict(items)
        twice = twice or len(found) != len(items)
        return found

    try:
        value = json.loads(source.text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        message = "the file is empty" if not source.text.strip() else f"not JSON: {error.msg}"
        _refuse(source, message, error.pos, "a config is one JSON object")
    except RecursionError:
        _refuse(
            source,
            f"nested deeper than {MAX_DEPTH} levels",
            nesting(source.text, MAX_DEPTH),
            "no model's config is",
        )
    except ValueError:
        found = _LONG_NUMBER.search(source.text)
        _refuse(
            source,
            "a number of more than 4,300 digits",
            found.start() if found else 0,
            "no size is that large",
        )
    if not isinstance(value, dict):
        _refuse(source, f"{describe(value)} is not a config", 0, "a config is one JSON object")
    if twice and (key := repeated(source.text)):
        _refuse(source, f"{key[0]} is given twice", key[1], "keep one of the two", key[2])
    try:
        return {key: plain(item, 1) for key, item in value.items()}
    except ConfigError:
        _refuse(
            source,
            f"nested deeper than {MAX_DEPTH} levels",
            nesting(source.text, MAX_DEPTH),
            "no model's config is",
        )


def _refuse(source: Source, message: str, offset: int, help_: str, width: int = 1) -> NoReturn:
    raise ConfigError(Problem(message, place_of(source, offset, width), help=help_))


def choose(config: Config, architecture: str | None = None) -> tuple[str, str]:
    """The model type and the architecture that a config stands for.

    The argument decides, then the config's own ``architectures[0]``, then the model type's base model.

    Errors: :class:`UnknownArchitectureError` for what no spec describes, :class:`ConfigError` for a config that
    names nothing, or an architecture that is not of its model type.

    >>> choose(read_config({"model_type": "llama"})), choose(read_config({"architectures": ["LlamaForCausalLM"]}))
    (('llama', 'LlamaModel'), ('llama', 'LlamaForCausalLM'))
    """
    raw, origin = config
    listed = _listed(config)
    model_type = raw.get("model_type")
    if model_type is not None and not isinstance(model_type, str):
        raise ConfigError(origin.problem("model_type", f"{describe(model_type)} is not a model type"))
    name = architecture or (listed[0] if listed else None)
    if not model_type:
        if not name:
            helps = {
                "peft_type": _OTHERS["adapter_config.json"],
                "_class_name": "it describes a part of a diffusers pipeline",
            }
            help_ = next((text for key, text in helps.items() if key in raw), "add model_type")
            raise ConfigError(
                Problem(f"{origin.name}: the config has neither model_type nor architectures", help=help_)
            )
        try:
            return library.model_type_of(name), name
        except UnknownArchitectureError as error:
            if architecture:
                raise
            message, help_ = error.problems[0].message, error.problems[0].help
            raise UnknownArchitectureError(origin.problem("architectures", message, help_)) from None
    spec = _spec(config, model_type)
    if spec.refuse:
        raise UnknownArchitectureError(
            origin.problem("model_type", f"{model_type} is not counted: {spec.refuse}")
        )
    if not name and not spec.architectures:
        raise UnknownArchitectureError(Problem(f"the spec of {model_type} has no architectures"))
    name = name or spec.architectures[0]
    if name in spec.architectures:
        return model_type, name
    others = [other for other in library.index().get(name, ()) if other != model_type]
    elsewhere = f", but of {' and '.join(others)}" if others else ""
    message = f"{name} is not an architecture of the model type {model_type}{elsewhere}"
    if architecture:
        known = did_you_mean(name, spec.architectures) or f"known here: {', '.join(spec.architectures)}"
        raise UnknownArchitectureError(Problem(f"{origin.name}: {message}", help=known))
    help_ = f"say which is meant with --architecture (architecture=), e.g. {spec.architectures[0]}"
    raise ConfigError(origin.problem("architectures", message, help_))


def _listed(config: Config) -> list[str]:
    listed = config.raw.get("architectures")
    if listed is None:
        return []
    if not isinstance(listed, list) or not all(isinstance(name, str) and name for name in listed):
        message = f"{shown(listed)} is not a list of class names"
        raise ConfigError(config.origin.problem("architectures", message, 'write ["LlamaForCausalLM"]'))
    return listed


def _spec(config: Config, model_type: str) -> Spec:
    try:
        return library.load(model_type)
    except UnknownArchitectureError as error:
        problem = config.origin.problem("model_type", error.problems[0].message, error.problems[0].help)
        if config.raw.get("auto_map"):
            message = f"{problem.message}: its code is not part of transformers (auto_map)"
            problem = problem._replace(
                message=message, help="only what transformers itself builds is counted"
            )
        raise UnknownArchitectureError(problem) from None
