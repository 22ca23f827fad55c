"""A user's config as plain data: from a dict, a file, a folder, the hub, or a transformers object.

Nothing of transformers is imported; the specs give the fields their meaning.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from archspec.configs.json_text import as_json, parse_json, place_of
from archspec.configs.origin import Origin, RawConfig
from archspec.errors import ConfigError, FormulaError, Source, list_names, nearest_names, on_command_line
from archspec.typing_light import Any

MAX_BYTES = 10_000_000
HUB_ID = r"(?![./~])[\w.\-]+/[\w.\-]+(?<!\.json)$"
QUANTIZATION_FILES = {  # next to config.json, by older tools: the quantization method of each
    "hf_quant_config.json": "modelopt",
    "quantize_config.json": "gptq",
    "quant_config.json": "awq",
}


def _source_help() -> str:
    files = "pass a config.json, a directory that contains one, a Hub id org/name"
    named = "a class or model type such as gpt2"
    more = f"or {named}" if on_command_line() else f"{named}, a dict or a transformers config"
    return f"{files}, {more}"


def read_config(source: Any, overrides: Mapping[str, Any] | None = None) -> RawConfig:
    """Return the config in a dict, a path, a Hub id or a transformers config object, with overrides applied.

    Errors: :class:`ConfigError`, with file, line and column, for anything but a JSON object.

    >>> read_config({"model_type": "llama", "num_hidden_layers": 32}, {"num_hidden_layers": 2}).raw
    {'model_type': 'llama', 'num_hidden_layers': 2}
    """
    config = _read(source)
    if not overrides:
        return config
    from archspec.configs.overrides import apply_overrides

    return apply_overrides(config, {path: as_json(value) for path, value in overrides.items()})


def _read(source: Any) -> RawConfig:
    if isinstance(source, RawConfig):
        return RawConfig(as_json(source.raw), source.origin)
    if isinstance(source, str | os.PathLike):
        return _read_path(os.fsdecode(source))
    if isinstance(source, type):
        raise ConfigError(f"{source.__name__} is not a config", help=_source_help())
    if isinstance(source, Mapping) or callable(getattr(source, "to_dict", None)):
        return RawConfig(as_json(source), Origin())
    if hasattr(source, "__dataclass_fields__"):
        fields = {name: getattr(source, name) for name in source.__dataclass_fields__}
        return RawConfig(as_json(fields), Origin())
    kind, help_ = type(source).__name__, _source_help()
    if hasattr(getattr(source, "config", None), "to_dict"):
        help_ = f"pass the model's config and its class: load(model.config, {kind!r})"
    raise ConfigError(f"{kind} is not a config", help=help_)


def _read_path(path: str) -> RawConfig:
    if "\0" in path or not path.strip():
        raise ConfigError(f"{path!r} is not a path", help=_source_help())
    path = os.path.expanduser(path)
    if os.path.isdir(path):
        file = os.path.join(path, "config.json")
        if not os.path.lexists(file) and os.access(path, os.X_OK):  # if not, opening it gives the reason
            message = f"{_printable_path(path)}: the directory has no config.json"
            raise ConfigError(message, help=_source_help())
        return _with_quantization(_read_file(file), path)
    if os.path.lexists(path):  # also a broken link: opening it gives the reason
        found, (folder, name) = _read_file(path), os.path.split(path)
        return _with_quantization(found, folder) if name == "config.json" else found
    if not re.match(HUB_ID, path):
        raise _missing_file(path)
    file = _fetch(path)
    raw, origin = _read_file(file)
    config = RawConfig(raw, origin._replace(name=f"{path}/config.json"))
    return _with_quantization(config, os.path.dirname(file))


def _is_quantized(raw: Mapping[str, Any]) -> bool:
    return any(raw.get(key) for key in ("quantization_config", "compression_config", "quantization"))


def _with_quantization(config: RawConfig, folder: str) -> RawConfig:
    """Add the quantization that older tools write to a file next to a config."""
    paths = {os.path.join(folder, name): method for name, method in QUANTIZATION_FILES.items()}
    found = next((path for path in paths if os.path.lexists(path)), None)
    if found is None or _is_quantized(config.raw):
        return config
    given, origin = _read_file(found)
    nested = paths[found] == "modelopt" and "quantization" in given
    stated = given["quantization"] if nested else given
    if not isinstance(stated, Mapping):
        help_ = "write an object with quant_algo"
        raise ConfigError(origin.problem("quantization", "must be a JSON object", help_))
    quantization = origin._replace(path="quantization." if nested else "")
    raw = {**config.raw, "quantization_config": {"quant_method": paths[found], **stated}}
    return RawConfig(raw, config.origin._replace(quantization=quantization))


def _fetch(name: str) -> str:
    """Return the path of a Hub id's config.json in huggingface_hub's cache."""
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        message = f"{name}: there is no such file, and huggingface-hub is not installed"
        raise ConfigError(message, help="run pip install huggingface-hub, or pass a path") from None
    offline = is_offline()
    try:
        path = str(hf_hub_download(name, "config.json", etag_timeout=10, local_files_only=offline))
    except Exception as error:  # the hub's errors have no common base, and all mean that there is no config
        detail = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
        is_set = os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
        why = "HF_HUB_OFFLINE is set" if is_set else "the hub cannot be reached"
        detail = f"it is not in the local cache, and {why}" if offline or is_set else detail
        message = f"there is no such file, and {name} cannot be downloaded: {detail}"
        help_ = f"pass the path of a config.json{', or unset HF_HUB_OFFLINE' if is_set else ''}"
        raise ConfigError(message, help=help_) from None
    if not _is_quantized(_read_file(path).raw):
        for file in QUANTIZATION_FILES:
            with suppress(Exception):  # most ids have no such file
                hf_hub_download(name, file, etag_timeout=10, local_files_only=offline)
    return path


def find_file(config: str, names: Sequence[str]) -> str | None:
    """Return the path of the first of some files next to a config.json, which may be on the Hub."""
    folder = os.path.dirname(config)
    paths = (os.path.join(folder, name) for name in names)
    found = next((path for path in paths if os.path.isfile(path)), None)
    if found is None and re.match(HUB_ID, folder) and not os.path.isdir(folder):
        for name in names:
            with suppress(Exception):  # most repositories have one of them
                from huggingface_hub import hf_hub_download

                return str(hf_hub_download(folder, name, etag_timeout=10, local_files_only=is_offline()))
    return found


def is_offline() -> bool:
    """Return True if the hub's host has no address: a download would wait for half a minute."""
    import socket
    import urllib.request
    from urllib.parse import urlsplit

    host = urlsplit(os.environ.get("HF_ENDPOINT") or "https://huggingface.co").hostname
    try:
        return not urllib.request.getproxies() and not socket.getaddrinfo(host, None)
    except OSError:
        return True


def _missing_file(path: str) -> ConfigError:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError, UnicodeEncodeError):
        pass
    except OSError as error:
        return ConfigError(f"{_printable_path(path)}: {error.strerror}", help=_source_help())
    folder, name = os.path.split(path)
    listed = os.scandir(folder or ".") if name and os.path.isdir(folder or ".") else ()
    paths = {one.name: one.path for one in listed}
    configs = [one for one, at in paths.items() if os.path.isfile(at) or os.path.isfile(f"{at}/config.json")]
    near = nearest_names(name, configs)
    help_ = f"did you mean {list_names(near)}?" if near else _source_help()
    return ConfigError(f"{_printable_path(path)}: there is no such file", help=help_)


def _printable_path(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()


def _read_file(path: str) -> RawConfig:
    name = _printable_path(path)
    try:
        with open(path, "rb") as file:
            return _parse(name, file.read(MAX_BYTES + 1))
    except OSError as error:
        raise ConfigError(f"{name}: {error.strerror}", help="pass a file that can be read") from None


def read_json_file(path: str) -> dict[str, Any]:
    """Return the JSON object in a file. Errors: :class:`ConfigError` with line and column."""
    return _read_file(path).raw


def read_stdin() -> RawConfig:
    """Return the JSON object on the standard input. Errors: :class:`ConfigError` with line and column."""
    if sys.stdin is None:
        raise ConfigError("<stdin>: the standard input is closed", help="pipe a config.json into it")
    return _parse("<stdin>", sys.stdin.buffer.read(MAX_BYTES + 1))


def _parse(name: str, data: bytes) -> RawConfig:
    if len(data) > MAX_BYTES:
        message = f"{name}: the file is larger than {MAX_BYTES:,} bytes"
        raise ConfigError(message, help="pass a config.json")
    try:
        text = data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = Source(name, data[: error.start].decode().removeprefix("\ufeff") + "\ufffd")
        place = place_of(before, len(before.text) - 1)
        raise ConfigError(f"not UTF-8: {error.reason}", place, help="save the file as UTF-8") from None
    return RawConfig(parse_json(Source(name, text)), Origin(name, text))


def split_indices(path: str) -> tuple[str, list[int]]:
    """Return the field and the indices of a path.

    >>> split_indices("depths[0]"), split_indices("hidden_size")
    (('depths', [0]), ('hidden_size', []))
    """
    listed = re.fullmatch(r"([^\[\]]+)((?:\[[0-9]+\])+)", path)
    return (listed[1], list(map(int, re.findall(r"\d+", listed[2])))) if listed else (path, [])


def expand_items(value: Callable[[str], Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields as they are set: an item changes a copy of its list. Errors: :class:`FormulaError`."""
    found: dict[str, Any] = {}
    for path, item in fields.items():
        field, indices = split_indices(path)
        if not indices:
            found[field] = item
            continue
        inner = found.setdefault(field, as_json(value(field)))
        for index in indices[:-1]:
            inner = inner[index] if isinstance(inner, list) and index < len(inner) else None
        if not isinstance(inner, list) or indices[-1] >= len(inner):
            items = f"it has {len(inner)} items" if isinstance(inner, list) else "it is not a list"
            raise FormulaError(f"{path}: {field} has no such item: {items}", help="count the items from 0")
        inner[indices[-1]] = item
    return found
