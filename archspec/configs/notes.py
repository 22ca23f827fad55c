"""What a user should know about a config that is counted: what is not read, and what is not counted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from archspec.configs.origin import RawConfig
from archspec.configs.scope import Scope, opened
from archspec.errors import ArchspecError
from archspec.specs.library import TRANSFORMERS_VERSION
from archspec.specs.records import Spec
from archspec.specs.search_path import is_own
from archspec.typing_light import Any

_OF_EVERY_CONFIG = ("model_type", "architectures", "transformers_version", "dtype", "torch_dtype", "auto_map")
SIZE = r"(^|_)(n|num|dim|size|layers?|heads?|experts?|rank|width|depth|channels|hidden|ffn|inner|d)(_|$)"
_QUANTIZATIONS = ("quantization_config", "compression_config", "quantization")
VERSION = TRANSFORMERS_VERSION.rpartition(".")[0]


def notes(config: RawConfig, spec: Spec, scope: Scope | None = None) -> list[str]:
    """Warnings about a config, as text; empty where there is nothing to say. ``scope`` saves its evaluation.

    >>> from archspec.configs.reader import read_config
    >>> from archspec.specs.library import shipped
    >>> notes(read_config({"model_type": "llama", "hiden_size": 64}), shipped().load("llama"))
    ['hiden_size is not read; did you mean hidden_size?']
    """
    scope = scope or Scope(spec, config.raw, config.origin)
    own = bool(config.raw.get("auto_map")) and is_own(spec.library, spec.model_type)
    told = [*_general(config.raw, own), *_fields(config, spec, scope), *dict.fromkeys(_replaced(scope))]
    rest = {
        name: value
        for name, value in config.raw.items()
        if not any(name in note for note in told) and not config.origin.overridden(name)  # these are known
    }
    return [*told, *_unread(rest, scope)]


def _general(raw: Mapping[str, Any], own: bool) -> Iterator[str]:
    if any(isinstance(raw.get(key), Mapping) and raw[key] for key in _QUANTIZATIONS):
        yield "tensors are those of the unquantized model; bytes are those of the quantized weights"
    if raw.get("auto_map") and not own:
        built = f"counted is what transformers {VERSION} itself builds"
        yield f"auto_map names code of the checkpoint's own: {built}"
    listed = raw.get("architectures")
    if isinstance(listed, list) and len(listed) > 1:
        yield f"architectures names {len(listed)} classes; unless one is chosen, the first counts"
    labels, count = raw.get("id2label"), raw.get("num_labels")
    if isinstance(labels, Mapping) and isinstance(count, int) and len(labels) != count:
        yield f"id2label has {len(labels)} entries, but num_labels is {count}, and wins in transformers"
    written = raw.get("transformers_version")
    if isinstance(written, str) and _version(written) > _version(VERSION):
        yield f"the config was written by transformers {written}, the specs describe {VERSION}"
    if raw.get("pruned_heads"):
        yield "pruned_heads is not read: the heads are counted"
    if raw.get("torchscript"):
        yield "torchscript is not read: tied weights stay tied"


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,9}", text)[:2])


def _fields(config: RawConfig, spec: Spec, scope: Scope) -> Iterator[str]:
    """Fields that look as if they were meant for something, and are not read."""
    known = {*spec.fields, *spec.fixed, *spec.attribute_map}
    missing = [name for name in spec.fields if name not in scope.raw]
    parts = parts_of(scope)
    for name, value in config.raw.items():
        if name in known or (scope.flattened and spec.flat in parts):
            continue
        for part, inner in parts.items():
            stands = inner.canonical(name) in inner.raw  # there, too: the one at the top only repeats it
            if inner.canonical(name) in inner.spec.fields and not stands and not _same(inner, name, value):
                yield f"{name} stands at the top, where transformers does not read it; {part}.{name} is read"
                break
        else:
            for near in missing:
                if is_one_slip(name, near):
                    yield f"{name} is not read; did you mean {near}?"


def parts_of(scope: Scope) -> dict[str, Scope]:
    """The sub-configs of a config that can be read, by their fields."""
    parts: dict[str, Scope] = {}
    for name, field in scope.spec.fields.items():
        try:
            if field.sub_config is not None and isinstance(part := opened(scope.get(name)), Scope):
                parts[name] = part
        except ArchspecError:
            continue
    return parts


def _replaced(scope: Scope) -> Iterator[str]:
    """Model types of the config whose specs are read in place of others."""
    library, model_type = scope.spec.library, scope.spec.model_type
    if len(library.folders) == 1:
        return
    first, *others = library.hidden(model_type) or [""]
    if others:
        yield f"{model_type} is described in {first}, in place of {others[-1]}"
    for part in parts_of(scope).values():
        yield from _replaced(part)


def brought(scope: Scope) -> Iterator[str]:
    """The model types of parts whose specs stand in another folder than that of the config."""
    home = os.path.dirname(scope.spec.source.name)
    for part in parts_of(scope).values():
        if os.path.dirname(part.spec.source.name) != home:
            yield part.spec.model_type
        yield from brought(part)


def _unread(raw: Mapping[str, Any], scope: Scope) -> Iterator[str]:
    """Sizes that transformers' config class has no field for; that a config gives nothing that is read."""
    spec = scope.spec
    known = {*spec.fields, *spec.fixed, *spec.attribute_map, "num_labels", "id2label"}
    own = [name for name in raw if name not in _OF_EVERY_CONFIG]
    if own and not known.intersection(own) and not scope.flattened:
        yield f"no count of {spec.model_type} reads any field of the config: the default one is counted"
    sizes = [name for name in own if name not in known and is_size(name, raw[name])]
    if not sizes or scope.flattened:
        return
    from archspec.specs.exported import exported

    found = exported().get(spec.model_type)
    for name in sizes:
        if found is not None and name not in found.fields:
            yield f"{name} = {raw[name]} is not read: it is no field of {spec.model_type}"


def is_size(name: str, value: Any) -> bool:
    """Whether a field is a size by its name and value.

    >>> is_size("ffn_hidden_size", 64), is_size("max_window_size", 64), is_size("n_layer", 2)
    (True, False, True)
    """
    return (
        type(value) is int and value > 0 and bool(re.search(SIZE, name)) and not re.match("max_|min_", name)
    )


def _same(scope: Scope, name: str, value: Any) -> bool:
    try:
        return bool(scope.get(name) == value)
    except ArchspecError:
        return True


def is_one_slip(name: str, other: str) -> bool:
    """Whether one letter is wrong, missing, doubled, or swapped with its neighbour.

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
