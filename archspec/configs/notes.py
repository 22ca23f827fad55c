"""Notes about a config that is counted: fields that are not read, and parts that are not counted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from archspec.configs.origin import RawConfig
from archspec.configs.scope import Scope, open_part
from archspec.errors import ArchspecError
from archspec.specs.library import TRANSFORMERS_VERSION
from archspec.specs.records import Spec
from archspec.specs.search_path import is_own
from archspec.typing_light import Any

_NO_FIELDS = ("model_type", "architectures", "transformers_version", "dtype", "torch_dtype", "auto_map")
SIZE = r"(^|_)(n|num|dim|size|layers?|heads?|experts?|rank|width|depth|channels|hidden|ffn|inner|d)(_|$)"
_QUANTIZATIONS = ("quantization_config", "compression_config", "quantization")
VERSION = TRANSFORMERS_VERSION.rpartition(".")[0]


def notes(config: RawConfig, spec: Spec, scope: Scope | None = None) -> list[str]:
    """Notes about a config, as text. ``scope`` saves its evaluation.

    >>> from archspec.configs.reader import read_config
    >>> from archspec.specs.library import shipped
    >>> notes(read_config({"model_type": "llama", "hiden_size": 64}), shipped().load("llama"))
    ['hiden_size is not read; did you mean hidden_size?']
    """
    scope = scope or Scope(spec, config.raw, config.origin)
    is_custom = bool(config.raw.get("auto_map")) and is_own(spec.library, spec.model_type)
    found = [*_general(config.raw, is_custom), *_misplaced(config, scope), *dict.fromkeys(_replaced(scope))]
    rest = {
        name: value
        for name, value in config.raw.items()
        if not any(name in note for note in found) and not config.origin.is_overridden(name)
    }
    return [*found, *_unread(rest, scope)]


def _general(raw: Mapping[str, Any], is_custom: bool) -> Iterator[str]:
    if any(isinstance(raw.get(key), Mapping) and raw[key] for key in _QUANTIZATIONS):
        yield "tensors are those of the unquantized model; bytes are those of the quantized weights"
    if raw.get("auto_map") and not is_custom:
        yield f"auto_map names the checkpoint's code; the count is of the class in transformers {VERSION}"
    listed = raw.get("architectures")
    if isinstance(listed, list) and len(listed) > 1:
        yield f"architectures names {len(listed)} classes; unless one is chosen, the first counts"
    labels, count = raw.get("id2label"), raw.get("num_labels")
    if isinstance(labels, Mapping) and isinstance(count, int) and len(labels) != count:
        yield f"id2label has {len(labels)} entries, but num_labels is {count}, and wins in transformers"
    written = raw.get("transformers_version")
    if isinstance(written, str) and _version(written) > _version(VERSION):
        yield f"the config was written by transformers {written}, but the specs are for {VERSION}"
    if raw.get("pruned_heads"):
        yield "pruned_heads is not read: the heads are counted"
    if raw.get("torchscript"):
        yield "torchscript is not read: tied weights stay tied"


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,9}", text)[:2])


def _misplaced(config: RawConfig, scope: Scope) -> Iterator[str]:
    """Fields at the top that a sub-config reads, and fields with a misspelled name."""
    known, parts = scope.known_names(), parts_of(scope)
    missing = [name for name in scope.spec.fields if name not in scope.raw]
    unread = {} if scope.flattened and scope.spec.flat in parts else config.raw
    for name, value in unread.items():
        if name not in known:
            readers = [part for part, inner in parts.items() if _is_missing_in(inner, name, value)]
            near = next((one for one in missing if is_one_slip(name, one)), "")
            if readers:
                yield f"transformers ignores {name} at the top level; it reads {readers[0]}.{name}"
            elif near:
                yield f"{name} is not read; did you mean {near}?"


def _is_missing_in(part: Scope, name: str, value: Any) -> bool:
    """Return True if a sub-config has a field, does not set it, and another value is its default."""
    own = part.canonical(name)
    if own not in part.spec.fields or own in part.raw:
        return False
    try:
        return bool(part.get(name) != value)
    except ArchspecError:
        return False


def parts_of(scope: Scope) -> dict[str, Scope]:
    """The valid sub-configs of a config, by their fields."""
    parts: dict[str, Scope] = {}
    for name, field in scope.spec.fields.items():
        try:
            if field.sub_config is not None and isinstance(part := open_part(scope.get(name)), Scope):
                parts[name] = part
        except ArchspecError:
            continue
    return parts


def _replaced(scope: Scope) -> Iterator[str]:
    """Model types of the config whose specs replace others."""
    library, model_type = scope.spec.library, scope.spec.model_type
    if len(library.folders) == 1:
        return
    first, *others = library.hidden(model_type) or [""]
    if others:
        yield f"the spec of {model_type} is read from {first}, in place of {others[-1]}"
    for part in parts_of(scope).values():
        yield from _replaced(part)


def types_of_other_folders(scope: Scope) -> Iterator[str]:
    """The model types of sub-configs whose specs are in another folder than the config's."""
    home = os.path.dirname(scope.spec.source.name)
    for part in parts_of(scope).values():
        if os.path.dirname(part.spec.source.name) != home:
            yield part.spec.model_type
        yield from types_of_other_folders(part)


def _unread(raw: Mapping[str, Any], scope: Scope) -> Iterator[str]:
    """Sizes without a field in transformers' config class, and configs that set no field that is read."""
    model_type, known = scope.spec.model_type, scope.known_names() | {"num_labels", "id2label"}
    own = [name for name in raw if name not in _NO_FIELDS]
    if scope.flattened:
        return
    if own and not known.intersection(own):
        yield f"the config sets no field that {model_type} reads: the count is of its default config"
    sizes = [name for name in own if name not in known and is_size(name, raw[name])]
    if not sizes:
        return
    from archspec.specs.exported import exported

    found = exported().get(model_type)
    for name in sizes:
        if found is not None and name not in found.fields:
            yield f"{name} = {raw[name]} is not read: {model_type} has no such field"


def is_size(name: str, value: Any) -> bool:
    """Return True if a field is a size by its name and value.

    >>> is_size("ffn_hidden_size", 64), is_size("max_window_size", 64), is_size("n_layer", 2)
    (True, False, True)
    """
    named = bool(re.search(SIZE, name)) and not re.match("max_|min_", name)
    return named and type(value) is int and value > 0


def is_one_slip(name: str, other: str) -> bool:
    """Return True if one letter is wrong, missing, doubled, or swapped with its neighbor.

    >>> is_one_slip("hiden_size", "hidden_size"), is_one_slip("num_layres", "num_layers")
    (True, True)
    >>> is_one_slip("n_head", "d_model")
    False
    """
    if abs(len(name) - len(other)) > 1 or min(len(name), len(other)) < 4:
        return False
    differs = (at for at, pair in enumerate(zip(name, other, strict=False)) if pair[0] != pair[1])
    start = next(differs, min(len(name), len(other)))
    one, two = name[start:], other[start:]
    swapped = one[:2] == two[1::-1] and one[2:] == two[2:]
    return swapped or one[1:] == two[1:] or one[1:] == two or one == two[1:]
