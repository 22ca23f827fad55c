"""A user's config as plain data: from a dict, a file, a folder, the hub, or a transformers object.

Nothing of transformers is imported; what a field means is for the specs to say.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping

from archspec.configs.json_text import as_json, parse_json, place_of
from archspec.configs.origin import Origin, RawConfig
from archspec.errors import ConfigError, FormulaError, Source, did_you_mean
from archspec.specs.library import shipped
from archspec.typing_light import Any

MAX_BYTES = 10_000_000
_HELP = (
    "give a config.json, a folder that holds one, a hub id org/name, a dict, a dataclass with the fields, "
    "or a transformers config"
)
_HUB_ID = r"[\w.\-]+/[\w.\-]+$"
QUANTIZATION_FILES = {
    "hf_quant_config.json": "modelopt",
    "quantize_config.json": "gptq",
    "quant_config.json": "awq",
}
_OTHERS = {
    "adapter_config.json": "it describes an adapter: give the base model's config",
    "model_index.json": "it describes a pipeline: give the folder of one of its models",
    "params.json": "params.json is not transformers' format: convert the checkpoint",
}


def read_config(source: Any, overrides: Mapping[str, Any] | None = None) -> RawConfig:
    """The config behind a dict, a path, a hub id or a transformers config object, with fields set anew.

    Errors: :class:`ConfigError` with file, line and column for what is not a JSON object of a config.

    >>> read_config({"model_type": "llama", "num_hidden_layers": 32}, {"num_hidden_layers": 2}).raw
    {'model_type': 'llama', 'num_hidden_layers': 2}
    """
    if isinstance(source, RawConfig):
        raw, origin = as_json(source.raw), source.origin
    elif isinstance(source, str | os.PathLike):
        raw, origin = _read_path(os.fspath(source))
    elif not isinstance(source, type) and (
        isinstance(source, Mapping) or callable(getattr(source, "to_dict", None))
    ):
        raw, origin = as_json(source), Origin()
    elif not isinstance(source, type) and hasattr(source, "__dataclass_fields__"):
        raw, origin = as_json({name: getattr(source, name) for name in source.__dataclass_fields__}), Origin()
    else:
        raise _not_config(source)
    if not overrides:
        return RawConfig(raw, origin)
    from archspec.configs.overrides import overridden

    return overridden(RawConfig(raw, origin), {path: as_json(value) for path, value in overrides.items()})


def _not_config(source: Any) -> ConfigError:
    name = source.__name__ if isinstance(source, type) else type(source).__name__
    if not isinstance(source, type) and callable(getattr(getattr(source, "config", None), "to_dict", None)):
        help_ = f"pass its config and its class: load(model.config, {name!r})"
        return ConfigError(f"{name} is a model, not a config", help=help_)
    return ConfigError(f"{name} is not a config", help=_HELP)


def _read_path(given: str | bytes) -> RawConfig:
    path = os.fsdecode(given)
    if "\0" in path or not path.strip():
        raise ConfigError(f"{path!r} is not a path", help=_HELP)
    path = os.path.expanduser(path)
    try:
        if os.path.isdir(path):
            return with_quantization(read_file(_in_folder(path)), path)
        if os.path.lexists(path):  # a link that leads nowhere, too: what it is, opening it says
            found = read_file(path)
            is_config = os.path.basename(path) == "config.json"
            return with_quantization(found, os.path.dirname(path)) if is_config else found
    except ValueError as error:
        raise ConfigError(f"{_printable(path)}: {error}", help=_HELP) from None
    if re.match(_HUB_ID, path) and not path.startswith((".", "/", "~")) and not path.endswith(".json"):
        from archspec.configs.hub import fetched, fetched_beside

        file = fetched(path)
        raw, origin = read_file(file)
        if not is_quantized(raw):
            fetched_beside(path, QUANTIZATION_FILES)
        found = RawConfig(raw, origin._replace(name=f"{path}/config.json"))
        return with_quantization(found, os.path.dirname(file))
    raise _missing(path)


def is_quantized(raw: Mapping[str, Any]) -> bool:
    """Return True if a config states its quantization itself."""
    return any(raw.get(key) for key in ("quantization_config", "compression_config", "quantization"))


def with_quantization(config: RawConfig, folder: str) -> RawConfig:
    """A config with the quantization that a file next to it states, as older tools write it.

    Errors: :class:`ConfigError` for such a file that does not hold a quantization.
    """
    if is_quantized(config.raw):
        return config
    for name, method in QUANTIZATION_FILES.items():
        path = os.path.join(folder, name)
        if not os.path.lexists(path):
            continue
        given, origin = read_file(path)
        nested = method == "modelopt" and "quantization" in given
        stated = given["quantization"] if nested else given
        if not isinstance(stated, Mapping):
            problem = origin.problem(
                "quantization", "is not a JSON object", "write an object with quant_algo"
            )
            raise ConfigError(problem)
        beside = origin._replace(path="quantization." if nested else "")
        raw = {**config.raw, "quantization_config": {"quant_method": method, **stated}}
        return RawConfig(raw, config.origin._replace(beside=beside))
    return config


def _in_folder(path: str) -> str:
    file = os.path.join(path, "config.json")
    try:
        os.lstat(file)
    except FileNotFoundError:
        helps = [text for name, text in _OTHERS.items() if os.path.isfile(os.path.join(path, name))]
        message = f"{_printable(path)}: the folder has no config.json"
        raise ConfigError(message, help=(helps or [_HELP])[0]) from None
    except OSError as error:
        raise ConfigError(f"{_printable(path)}: {error.strerror}") from None
    return file


def _missing(path: str) -> ConfigError:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError, UnicodeEncodeError):  # no file's name has such letters
        pass
    except OSError as error:
        return ConfigError(f"{_printable(path)}: {error.strerror}")
    folder, name = os.path.split(path)
    beside = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
    help_ = did_you_mean(name, beside) if name else ""
    if not help_.startswith("did you mean"):
        help_ = _HELP
    if path in shipped().model_types():
        help_ = f'for the defaults of {path} give {{"model_type": "{path}"}}'
    return ConfigError(f"{_printable(path)}: there is no such file", help=help_)


def _printable(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()


def read_file(path: str) -> RawConfig:
    """The JSON object in a file. Errors: :class:`ConfigError` with line and column."""
    name = _printable(path)
    try:
        with open(path, "rb") as file:
            return _parsed(name, file.read(MAX_BYTES + 1))
    except OSError as error:
        raise ConfigError(f"{name}: {error.strerror or error}") from None


def read_stdin() -> RawConfig:
    """The JSON object on the standard input. Errors: :class:`ConfigError` with line and column."""
    if sys.stdin is None:
        raise ConfigError("<stdin>: the standard input is closed", help="pipe a config.json into it")
    try:
        return _parsed("<stdin>", sys.stdin.buffer.read(MAX_BYTES + 1))
    except OSError as error:
        raise ConfigError(f"<stdin>: {error.strerror or error}") from None


def _parsed(name: str, data: bytes) -> RawConfig:
    """The JSON object that a file holds."""
    if len(data) > MAX_BYTES:
        message = f"{name}: the file is larger than {MAX_BYTES:,} bytes"
        raise ConfigError(message, help="that is no config.json")
    try:
        text = data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = Source(name, data[: error.start].decode().removeprefix("\ufeff") + "\ufffd")
        place = place_of(before, len(before.text) - 1)
        raise ConfigError(f"not UTF-8 text: {error.reason}", place, help="save the file as UTF-8") from None
    return RawConfig(parse_json(Source(name, text)), Origin(name, text))


def indexed(path: str) -> tuple[str, list[int]]:
    """The field and the indices of a path.

    >>> indexed("depths[0]"), indexed("hidden_size")
    (('depths', [0]), ('hidden_size', []))
    """
    listed = re.fullmatch(r"([^\[\]]+)((?:\[[0-9]+\])+)", path)
    if listed is None:
        return path, []
    return listed[1], list(map(int, re.findall(r"\d+", listed[2])))


def whole_fields(value: Callable[[str], Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as they are set: one item of a list changes the list, whose present items ``value`` gives.

    Errors: :class:`FormulaError` for an item that the list does not have.
    """
    found: dict[str, Any] = {}
    for path, item in fields.items():
        field, indices = indexed(path)
        if not indices:
            found[field] = item
            continue
        inner = found.setdefault(field, as_json(value(field)))
        for index in indices[:-1]:
            inner = inner[index] if isinstance(inner, list) and index < len(inner) else None
        if not isinstance(inner, list) or indices[-1] >= len(inner):
            raise FormulaError(f"{path}: {field} has no such item")
        inner[indices[-1]] = item
    return found
