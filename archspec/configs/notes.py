"""What a user should know about a config that is counted: what is not read, and what is not counted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from archspec.configs.origin import RawConfig
from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError, ConfigError
from archspec.specs.library import TRANSFORMERS_VERSION
from archspec.specs.records import Spec
from archspec.specs.search_path import is_own
from archspec.typing_light import Any, NamedTuple

_OF_EVERY_CONFIG = ("model_type", "architectures", "transformers_version", "dtype", "torch_dtype", "auto_map")
_SIZE = r"(^|_)(n|num|dim|size|layers?|heads?|experts?|rank|width|depth|channels|hidden|ffn|inner|d)(_|$)"
VERSION = TRANSFORMERS_VERSION.rpartition(".")[0]
_ROLES = tuple(  # names that configs use for one size
    names.split()
    for names in (
        "hidden_size d_model n_embd n_embed dim embed_dim hidden_dim model_dim d_embed",
        "num_hidden_layers num_layers n_layer n_layers num_blocks n_blocks depth",
        "num_attention_heads num_heads n_head n_heads attention_heads",
        "num_key_value_heads num_kv_heads n_head_kv n_kv_heads n_kv_head multi_query_group_num",
        "intermediate_size ffn_dim d_ff n_inner ffn_hidden_size mlp_dim dim_feedforward d_inner",
        "vocab_size n_vocab padded_vocab_size",
        "num_experts num_local_experts n_routed_experts moe_num_experts",
    )
)


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
    if raw.get("quantization_config") is not None:
        yield "quantization_config is not read: the tensors are those of the model before it is quantised"
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
                if _one_slip(name, near):
                    yield f"{name} is not read; did you mean {near}?"


def parts_of(scope: Scope) -> dict[str, Scope]:
    """The sub-configs of a config that can be read, by their fields."""
    parts: dict[str, Scope] = {}
    for name in scope.spec.fields:
        try:
            value = scope.get(name)
            if isinstance(value, SubConfig):
                parts[name] = value.scope
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
    sizes = [name for name in own if name not in known and _is_size(name, raw[name])]
    if not sizes or scope.flattened:
        return
    from archspec.specs.exported import exported

    found = exported().get(spec.model_type)
    for name in sizes:
        if found is not None and name not in found.fields:
            yield f"{name} = {raw[name]} is not read: it is no field of {spec.model_type}"


class _Unread(NamedTuple):
    """A size that a config gives under a name that is not read; the path that is read keeps its default."""

    name: str
    value: int
    path: str
    default: object


def check_sizes(scope: Scope) -> None:
    """Refuse a config whose class would count defaults in place of the sizes that the config gives.

    Raises:
        ConfigError: It names the fields that are not read, and those that are.
    """
    problems = []
    for inner in (scope, *_descendants(scope).values()):
        if not (found := list(_unread_sizes(inner))):
            continue
        names, path = ", ".join(one.name for one in found), inner.origin.path
        defaults = ", ".join(f"{path}{one.path} = {one.default}" for one in found)
        what = "is not read" if len(found) == 1 else "are not read"
        message = f"{names} {what}: {inner.spec.model_type} would use the default {defaults}"
        settings = ",".join(f"{path}{one.path}={one.value}" for one in found)
        problem = inner.origin.problem(found[0].name, message, f"pass --set {settings}")
        problems.append(problem._replace(message=problem.message.replace(f"{path}{found[0].name}: ", "", 1)))
    if problems:
        raise ConfigError(problems)


def gives_size(scope: Scope) -> bool:
    """Return True if a config, or a part of it, gives the width or the depth that its class reads."""
    names = [*_ROLES[0], *_ROLES[1]]
    parts = (scope, *_descendants(scope).values())
    return any(part.canonical(name) in part.raw for part in parts for name in names if part.has(name))


def _unread_sizes(scope: Scope) -> Iterator[_Unread]:
    spec = scope.spec
    known = {*spec.fields, *spec.fixed, *spec.attribute_map}
    for name in [name for name, value in scope.raw.items() if name not in known and _is_size(name, value)]:
        parts = {"": scope} if _same_size(scope, name) else _descendants(scope)
        fields = {path: _same_size(part, name) for path, part in parts.items()}
        defaults = [
            _default(parts[path], path, own, name, scope.raw[name]) for path, own in fields.items() if own
        ]
        if None not in defaults and not _is_exported(spec.model_type, name):
            yield from (one for one in defaults[:1] if one)


def _same_size(scope: Scope, name: str) -> list[str]:
    """The fields of a config's spec that give the size of a name: its own, a synonym's, or one misspelled."""
    fields, own = scope.spec.fields, scope.canonical(name)
    if own in fields:
        return [own]
    synonyms = [scope.canonical(one) for role in _ROLES if name in role for one in role]
    slips = (one for one in fields if _one_slip(name, one) and re.search(_SIZE, one))
    return [one for one in dict.fromkeys(synonyms) if one in fields] or [*slips]


def _default(scope: Scope, path: str, fields: list[str], name: str, value: int) -> _Unread | None:
    """The default that is used in place of a size; None if the config gives the size, or it is the same."""
    if any(scope.raw.get(field) is not None for field in fields):
        return None
    try:
        values = [scope.get(field) for field in fields]
    except ArchspecError:
        return None
    return None if value in values else _Unread(name, value, path + fields[0], values[0])


def _is_exported(model_type: str, name: str) -> bool:
    """Return True if the config class in transformers has the field, even if no count depends on it."""
    from archspec.specs.exported import exported

    found = exported().get(model_type)
    return found is not None and name in found.fields


def _descendants(scope: Scope) -> dict[str, Scope]:
    """The sub-configs of a config and theirs, by their paths; their values are not checked."""
    found: dict[str, Scope] = {}
    for name in [name for name, field in scope.spec.fields.items() if field.sub_config is not None]:
        try:
            value = scope.get(name)
            if isinstance(value, SubConfig):
                found[f"{name}."] = part = value.opened(value.library.load(value.model_type))
                found |= {f"{name}.{path}": inner for path, inner in _descendants(part).items()}
        except ArchspecError:
            continue
    return found


def _is_size(name: str, value: Any) -> bool:
    """Whether a field is a size by its name and value.

    >>> _is_size("ffn_hidden_size", 64), _is_size("max_window_size", 64), _is_size("n_layer", 2)
    (True, False, True)
    """
    return (
        type(value) is int and value > 0 and bool(re.search(_SIZE, name)) and not re.match("max_|min_", name)
    )


def _same(scope: Scope, name: str, value: Any) -> bool:
    try:
        return bool(scope.get(name) == value)
    except ArchspecError:
        return True


def _one_slip(name: str, other: str) -> bool:
    """Whether one letter is wrong, missing, doubled, or swapped with its neighbour.

    >>> _one_slip("hiden_size", "hidden_size"), _one_slip("num_layres", "num_layers")
    (True, True)
    >>> _one_slip("n_head", "d_model")
    False
    """
    if abs(len(name) - len(other)) > 1 or min(len(name), len(other)) < 4:
        return False
    differs = (at for at, pair in enumerate(zip(name, other, strict=False)) if pair[0] != pair[1])
    start = next(differs, min(len(name), len(other)))
    one, two = name[start:], other[start:]
    swapped = one[:2] == two[1::-1] and one[2:] == two[2:]
    return swapped or one[1:] == two[1:] or one[1:] == two or one == two[1:]
