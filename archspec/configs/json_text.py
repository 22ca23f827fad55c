"""JSON text with positions: its values, and where in the text each key is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from archspec.errors import ConfigError, Place, Source
from archspec.language.values import describe
from archspec.typing_light import Any, NoReturn

MAX_DEPTH = 64
MAX_BITS = 14_284  # 4,300 digits: Python does not print longer numbers
_TEXT = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_TOKEN = rf"(?P<key>{_TEXT})(?=\s*:)|{_TEXT}|[{{}}\[\],]"
_BASE_VALUE: dict[type, Any] = {int: int.__index__, float: float.__float__, str: str.__str__}  # of an enum
_NOT_FINITE = ("Infinity", "-Infinity", "NaN")  # transformers writes them as {"__float__": "NaN"}
_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
_NO_DEPTH = "remove brackets: no model's config is that deep"
_TOO_LONG = "a number has more than 4,300 digits"


def parse_json(source: Source) -> dict[str, Any]:
    """Return the JSON object in a text.

    Errors: :class:`ConfigError` at line and column for text that is not JSON, repeated keys, values that are
    nested too deep, numbers that are too long, and JSON that is not an object.
    """
    if deep := find_deep_nesting(source.text):  # Python's JSON parser would overflow a small stack
        _refuse(source, _TOO_DEEP, deep, _NO_DEPTH)
    try:
        value = json.loads(source.text, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        if not source.text.strip():
            _refuse(source, "the file is empty", error.pos, "write a config: one JSON object")
        before = source.text[: error.pos].rstrip()
        is_trailing = before[-1:] == "," and source.text[error.pos :][:1] in ("}", "]")
        detail = (
            f"trailing comma before {source.text[error.pos]}"
            if is_trailing
            else re.sub("( starting)? at$", "", error.msg)
        )
        help_ = "remove the comma" if is_trailing else "correct the JSON here"
        _refuse(source, f"invalid JSON: {detail}", error.pos, help_)
    except ValueError:
        if key := repeated_key(source.text):
            _refuse(source, f"{key[0]} is given twice", key[1], "remove one of the two", key[2])
        found = re.search(r"\d{4301}", source.text)
        _refuse(source, _TOO_LONG, found.start() if found else 0, "write a smaller number")
    if not isinstance(value, dict):
        message = f"a config must be a JSON object, not {describe(value)}"
        _refuse(source, message, 0, "write { … } around its fields")
    return {key: as_json(item, 1) for key, item in value.items()}


def unique_keys(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a mapping. Errors: :class:`ValueError` for a repeated key."""
    found = dict(items)
    if len(found) != len(items):
        raise ValueError("a key is given twice")
    return found


def _refuse(source: Source, message: str, offset: int, help_: str, width: int = 1) -> NoReturn:
    raise ConfigError(message, place_of(source, offset, width), help=help_)


def as_json(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON: config objects as mappings, arrays as lists. Errors: :class:`ConfigError`."""
    if type(value) is int and value.bit_length() > MAX_BITS:
        raise ConfigError(_TOO_LONG, help="write a smaller number")
    if value is None or type(value) in (bool, int, float, str):
        return value
    if depth > MAX_DEPTH:
        raise ConfigError(f"the config is {_TOO_DEEP}", help=_NO_DEPTH)
    if isinstance(value, Mapping):
        if len(value) == 1 and value.get("__float__") in _NOT_FINITE:
            return float(value["__float__"])
        return {str(key): as_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(item, depth + 1) for item in value]
    if isinstance(value, type):
        return str(value)
    if callable(getattr(value, "to_dict", None)):
        found = as_json(value.to_dict(), depth + 1)
        model_type = getattr(value, "model_type", None)
        if isinstance(found, dict) and isinstance(model_type, str):
            found["model_type"] = found.get("model_type") or model_type
        return found
    for kind, base_value in _BASE_VALUE.items():
        if isinstance(value, kind):
            return as_json(base_value(value), depth)
    return as_json(value.tolist(), depth + 1) if callable(getattr(value, "tolist", None)) else str(value)


def place_of(source: Source, offset: int, width: int = 1) -> Place:
    """Return the line and the column of an offset, with lines counted as in :meth:`Source.line`."""
    lines = source.text[: offset + 1].splitlines() or [""]
    return Place(source, len(lines), max(1, len(lines[-1])), width)


def keys(text: str) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Yield every key of a JSON text: its path, list positions included, its offset and its length.

    >>> [(".".join(path), offset) for path, offset, _ in keys('{"a": {"b": [{"c": 1}, {"c": 2}]}}')]
    [('a', 1), ('a.b', 7), ('a.b.0.c', 14), ('a.b.1.c', 24)]
    """
    path: list[str] = []
    for token in re.finditer(_TOKEN, text):
        first = token.group()[0]
        if first in "{[":
            path.append("0")
        elif first in "}]":
            del path[-1:]
        elif first == "," and path and path[-1].isdecimal():
            path[-1] = str(int(path[-1]) + 1)
        elif token["key"] and path:
            path[-1] = json.loads(token["key"])
            yield tuple(path), token.start(), len(token["key"])


def locate(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """Return the offset and the length of the key at a path of a JSON text; None for a missing key."""
    return next(((offset, width) for found, offset, width in keys(text) if found == tuple(path)), None)


def repeated_key(text: str) -> tuple[str, int, int] | None:
    """Return the first key that an object of a JSON text repeats: its name, offset and length."""
    seen: set[tuple[str, ...]] = set()
    for path, offset, width in keys(text):
        if path in seen:
            return path[-1], offset, width
        seen.add(path)
    return None


def find_deep_nesting(text: str) -> int:
    """Return the offset at which a JSON text is nested too deep; 0 if it is not."""
    depth = 0
    is_short = text.count("[") + text.count("{") <= MAX_DEPTH
    for token in () if is_short else re.finditer(rf"{_TEXT}|[{{}}\[\]]", text):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth > MAX_DEPTH:
            return token.start()
    return 0
