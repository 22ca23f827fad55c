"""Notes about a config that is counted, and refusals of a config that its class would not read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from archspec.configs.checks import SYNONYMS
from archspec.configs.origin import RawConfig
from archspec.configs.scope import Scope
from archspec.errors import ArchspecError, ConfigError, Problem, list_names, nearest_names, option
from archspec.specs.exported import config_fields, exported_types, former_fields
from archspec.specs.library import TRANSFORMERS_VERSION
from archspec.specs.records import Spec
from archspec.specs.search_path import is_own
from archspec.typing_light import Any

_VERSION = TRANSFORMERS_VERSION.rpartition(".")[0]
_NO_FIELDS = ("model_type", "architectures", "transformers_version", "dtype", "torch_dtype", "auto_map")
_LABELS = {"num_labels", "id2label"}
_SIZE = r"(^|_)(n|num|dim|size|layers?|heads?|experts?|rank|width|depth|channels|hidden|ffn|inner|d)(_|$)"
_TEXT = r"(^|[._])(text|language|llm|decoder)"  # the part that sizes at the top of a config usually belong to


def notes(config: RawConfig, spec: Spec, scope: Scope | None = None) -> list[str]:
    """Return notes about a config. ``scope`` saves its evaluation.

    >>> from archspec.configs.reader import read_config
    >>> from archspec.specs.library import shipped_library
    >>> notes(read_config({"model_type": "llama", "hiden_size": 64}), shipped_library().load("llama"))
    ['hiden_size is ignored; did you mean hidden_size?']
    """
    scope = scope or Scope(spec, config.raw, config.origin)
    is_custom = is_own(spec.library, spec.model_type)
    found = [note for holds, note in _general_notes(config.raw, is_custom) if holds]
    found += [*_misplaced_fields(config, scope), *dict.fromkeys(_replaced_specs(scope))]
    if scope.flattened:
        return found
    known, own = scope.known_names() | _LABELS, _own_fields(config)
    own = {name: value for name, value in own.items() if not any(name in note for note in found)}
    if own and not known & own.keys():
        whose = f"this is {spec.model_type}'s default config"
        found.append(f"no field of this config affects parameter counts: {whose}")
    for name in [name for name, value in own.items() if name not in known and is_size(name, value)]:
        if not _is_exported(spec.model_type, name, otherwise=True):
            found.append(f"{name} = {own[name]} is ignored: {spec.model_type} has no such field")
    return found


def _own_fields(config: RawConfig) -> dict[str, Any]:
    """Return the fields that the user's file gives, without those that every config may have."""
    given = {name: value for name, value in config.raw.items() if not config.origin.is_overridden(name)}
    return {name: value for name, value in given.items() if name not in _NO_FIELDS and name[:1] != "_"}


def _general_notes(raw: Mapping[str, Any], is_custom: bool) -> Iterator[tuple[object, str]]:
    """Yield notes that do not depend on the spec, each after its condition."""
    quantized = (raw.get(key) for key in ("quantization_config", "compression_config", "quantization"))
    of_quantized = "parameters and modules are unquantized"
    yield any(isinstance(value, Mapping) and value for value in quantized), of_quantized
    code = f"the checkpoint has custom code (auto_map); this counts the class in transformers {_VERSION}"
    yield raw.get("auto_map") and not is_custom, code
    listed = len(raw.get("architectures") or ())
    first = f"counting the first, {next(iter(raw.get('architectures') or ()), '')}"
    other = option("architecture", "CLASS")
    yield listed > 1, f"the config lists {listed} classes: {first}; choose another with {other}"
    labels, count = raw.get("id2label"), raw.get("num_labels")
    entries = len(labels) if isinstance(labels, Mapping) else count
    differ = f"id2label has {entries} entries, but num_labels is {count}; transformers uses num_labels"
    yield count not in (None, entries), differ
    written = str(raw.get("transformers_version"))
    newer = f"the config was written by transformers {written}, but the specs are for {_VERSION}"
    yield _version(written) > _version(_VERSION), newer
    yield raw.get("pruned_heads"), "pruned_heads is ignored: all heads are counted"
    yield raw.get("torchscript"), "torchscript is ignored: tied weights stay tied"


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,9}", text)[:2])


def _misplaced_fields(config: RawConfig, scope: Scope) -> Iterator[str]:
    """Yield notes on fields at the top that a sub-config reads, and on misspelled ones."""
    known, parts = scope.known_names(), scope.parts()
    missing = [name for name in scope.spec.fields if name not in scope.raw]
    unread = {} if scope.flattened and scope.spec.flat in parts else config.raw
    for name, value in unread.items():
        if name not in known:
            readers = [part for part, inner in parts.items() if _is_missing_in(inner, name, value)]
            near = next((one for one in missing if is_one_slip(name, one)), "")
            if readers:
                yield f"{name} is ignored at the top level; transformers reads {readers[0]}.{name}"
            elif near:
                yield f"{name} is ignored; did you mean {near}?"


def _is_missing_in(part: Scope, name: str, value: Any) -> bool:
    """Return True if a sub-config has a field, does not set it, and another value is its default."""
    own = part.canonical(name)
    return own in part.spec.fields and own not in part.raw and bool(part.get(name) != value)


def _replaced_specs(scope: Scope) -> Iterator[str]:
    """Yield notes on model types whose specs replace others."""
    library = scope.spec.library
    for _, part, _ in _parts(scope) if len(library.folders) > 1 else ():
        first, *others = library.files_of(part.spec.model_type) or [""]
        if others:
            yield f"the spec of {part.spec.model_type} is read from {first}, instead of {others[-1]}"


def types_of_other_folders(scope: Scope) -> Iterator[str]:
    """Yield the model types of sub-configs whose specs are in another folder than the config's."""
    home, specs = os.path.dirname(scope.spec.source.name), (part.spec for _, part, _ in _parts(scope))
    return (spec.model_type for spec in specs if os.path.dirname(spec.source.name) != home)


def _is_exported(model_type: str, name: str, otherwise: bool) -> bool:
    """Return True if transformers' config class has a field; ``otherwise`` for a type it does not have."""
    found = exported_types().get(model_type)
    return name in found.fields if found is not None else otherwise


def is_size(name: str, value: Any) -> bool:
    """Return True if a field is a size by its name and value.

    >>> is_size("ffn_hidden_size", 64), is_size("max_window_size", 64), is_size("n_layer", 2)
    (True, False, True)
    """
    named = bool(re.search(_SIZE, name)) and not re.match("max_|min_", name)
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
    pairs = enumerate(zip(name, other, strict=False))
    start = next((at for at, (a, b) in pairs if a != b), min(len(name), len(other)))
    one, two = name[start:], other[start:]
    swapped = one[:2] == two[1::-1] and one[2:] == two[2:]
    return swapped or one[1:] == two[1:] or one[1:] == two or one == two[1:]


_Part = tuple[str, Scope, bool]  # the path of a config or sub-config, and if the user's config gives it
_Unread = tuple[str, int, str, object]  # a size that is not read, and the path that is read, with its default


def check_fields(config: RawConfig, scope: Scope) -> None:
    """Raise :class:`ConfigError` for sizes that a class does not read, or if it reads none of the fields."""
    parts = [inner for _, inner, is_given in _parts(scope) if is_given]
    if problems := [_unread_problem(inner, found) for inner in parts if (found := [*_unread_sizes(inner)])]:
        raise ConfigError(problems)
    own, model_type = _own_fields(config), scope.spec.model_type
    if scope.flattened or not own or config.raw.keys() & (scope.known_names() | _LABELS):
        return
    if not own.keys() & {*config_fields(model_type), *former_fields(model_type)}:
        near = [found for name in own for found in nearest_names(name, scope.spec.fields)[:1]]
        meant = f"did you mean {list_names(near[:3])}? or, " if near else ""
        help_ = f"{meant}to count the default config, remove {list_names([*own][:3], 'and')}"
        message = f"{config.origin.label}none of the config's fields is a field of {model_type}"
        raise ConfigError(message, help=help_)


def _unread_problem(scope: Scope, unread: list[_Unread]) -> Problem:
    names = list_names([name for name, *_ in unread], "and")
    defaults = list_names([f"{path} = {default}" for _, _, path, default in unread], "and")
    message = f"{scope.spec.model_type} ignores {names} and would use its default {defaults}"
    settings = {path: value for _, value, path, _ in unread}
    return scope.origin.problem(unread[0][0], message, f"pass {option('set', settings)}")


def _unread_sizes(scope: Scope) -> Iterator[_Unread]:
    """Yield the sizes under a well-known name that a config gives, and that its class does not read."""
    known = scope.known_names()
    for name, value in scope.raw.items():
        if name in known or not is_size(name, value):
            continue
        whole, *inner = _parts(scope)
        readers = [whole] if _same_size(scope, name) else [one for one in inner if _same_size(one[1], name)]
        defaults = [_default(*one, name, value) for one in readers]
        if not defaults or None in defaults or _is_exported(scope.spec.model_type, name, False):
            continue
        read, default = min(filter(None, defaults), key=lambda one: not re.search(_TEXT, one[0]))
        if name in SYNONYMS or read.rpartition(".")[2] in SYNONYMS:
            yield name, value, scope.origin.path + read, default


def _same_size(scope: Scope, name: str) -> list[str]:
    """Return the fields for the size of a name: the field itself, a synonym's, or one misspelled."""
    fields, own = scope.spec.fields, scope.canonical(name)
    if own in fields:
        return [own]
    synonyms = dict.fromkeys(scope.canonical(one) for one in SYNONYMS.get(name, ()))
    slips = (one for one in fields if is_one_slip(name, one) and re.search(_SIZE, one))
    return [one for one in synonyms if one in fields] or [*slips]


def _default(path: str, scope: Scope, given: bool, name: str, value: int) -> tuple[str, object] | None:
    """Return the field and the default that replace a size; None if the config gives the size."""
    fields = _same_size(scope, name)
    if given and any(scope.raw.get(field) is not None for field in fields):
        return None
    try:
        values = [scope.get(field) for field in fields]
    except ArchspecError:
        return None
    return None if value in values else (path + fields[0], values[0])


def _parts(scope: Scope, path: str = "", given: bool = True) -> Iterator[_Part]:
    yield path, scope, given
    for name, part in scope.parts().items():
        is_written = any(isinstance(scope.raw.get(one), Mapping) for one in (name, f"{name}_dict"))
        is_written = is_written or (scope.flattened and scope.spec.flat == name)
        yield from _parts(part, f"{path}{name}.", given and is_written)
