"""Sizes that a config gives and its class does not read, so that the count would use defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from archspec.configs.json_text import as_json
from archspec.configs.notes import SIZE, is_one_slip, is_size
from archspec.configs.origin import RawConfig
from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError, ConfigError, Problem
from archspec.typing_light import NamedTuple

_TEXT = r"(^|[._])(text|language|llm|decoder)"  # the part that sizes at the top of a config usually belong to
_DIMENSIONS = (  # the names that configs use for one size, each in a string
    "hidden_size d_model n_embd n_embed dim embed_dim hidden_dim model_dim d_embed",
    "num_hidden_layers num_layers n_layer n_layers num_blocks n_blocks depth",
    "num_attention_heads num_heads n_head n_heads attention_heads",
    "num_key_value_heads num_kv_heads n_head_kv n_kv_heads n_kv_head multi_query_group_num",
    "intermediate_size ffn_dim d_ff n_inner ffn_hidden_size mlp_dim dim_feedforward d_inner",
    "vocab_size n_vocab padded_vocab_size",
    "num_experts num_local_experts n_routed_experts moe_num_experts",
)
_SYNONYMS = {name: names.split() for names in _DIMENSIONS for name in names.split()}


class _Part(NamedTuple):
    """A config or a sub-config; the values of one that is not ``given`` are defaults."""

    scope: Scope
    given: bool


class _Unread(NamedTuple):
    """A size under a name that is not read, and the default of the path that is read."""

    name: str
    value: int
    path: str
    default: object


def check_sizes(scope: Scope) -> None:
    """Refuse a config if its class would use defaults in place of the sizes that the config gives.

    Raises:
        ConfigError: It names the fields that are not read, and those that are.
    """
    for_parts = ((part.scope, list(_unread_sizes(part.scope))) for part in _parts(scope) if part.given)
    problems = [_problem(scope, inner, unread) for inner, unread in for_parts if _has_known_name(unread)]
    if problems:
        raise ConfigError(problems)


def _has_known_name(unread: list[_Unread]) -> bool:
    return any(name in _SYNONYMS for one in unread for name in (one.name, one.path.rpartition(".")[2]))


def _problem(scope: Scope, inner: Scope, unread: list[_Unread]) -> Problem:
    path, model_type = inner.origin.path, inner.spec.model_type
    names = ", ".join(one.name for one in unread)
    defaults = ", ".join(f"{path}{one.path} = {one.default}" for one in unread)
    verb = "is" if len(unread) == 1 else "are"
    message = f"{names} {verb} not read: {model_type} would use the default {defaults}"
    settings = {f"{path}{one.path}": one.value for one in unread}
    help_ = f"rename the fields to those of {model_type}, or give its model type another value"
    if _is_valid(scope, settings):
        help_ = f"pass --set {','.join(f'{name}={value}' for name, value in settings.items())}"
    problem = inner.origin.problem(unread[0].name, message, help_)
    return problem._replace(message=problem.message.replace(f"{path}{unread[0].name}: ", "", 1))


def _is_valid(scope: Scope, settings: Mapping[str, int]) -> bool:
    """Return True if the config can be counted with overrides of some fields."""
    from archspec.configs.overrides import apply_overrides

    relative = {path.removeprefix(scope.origin.path): value for path, value in settings.items()}
    try:
        config = apply_overrides(RawConfig(as_json(scope.raw), scope.origin), relative)
        Scope(scope.spec, config.raw, config.origin).validate()
    except ArchspecError:
        return False
    return True


def gives_size(scope: Scope) -> bool:
    """Return True if a config, or a part of it, gives the width or the depth that its class reads."""
    names = [*_SYNONYMS["hidden_size"], *_SYNONYMS["num_hidden_layers"]]
    scopes = [part.scope for part in _parts(scope) if part.given]
    return any(one.canonical(name) in one.raw for one in scopes for name in names if one.has(name))


def _unread_sizes(scope: Scope) -> Iterator[_Unread]:
    known = scope.known_names()
    for name in [name for name, value in scope.raw.items() if name not in known and is_size(name, value)]:
        parts = {"": _Part(scope, True)} if _same_size(scope, name) else _sub_configs(scope)
        fields = {path: _same_size(part.scope, name) for path, part in parts.items()}
        defaults = [
            _default(parts[path], path, same, name, scope.raw[name]) for path, same in fields.items() if same
        ]
        found = [one for one in defaults if one is not None]
        if found and len(found) == len(defaults) and not _is_exported(scope.spec.model_type, name):
            yield min(found, key=lambda one: not re.search(_TEXT, one.path))


def _same_size(scope: Scope, name: str) -> list[str]:
    """The fields of a config's spec for the size of a name: its own, a synonym's, or one misspelled."""
    fields, own = scope.spec.fields, scope.canonical(name)
    if own in fields:
        return [own]
    synonyms = dict.fromkeys(scope.canonical(one) for one in _SYNONYMS.get(name, ()))
    slips = (one for one in fields if is_one_slip(name, one) and re.search(SIZE, one))
    return [one for one in synonyms if one in fields] or [*slips]


def _default(part: _Part, path: str, fields: list[str], name: str, value: int) -> _Unread | None:
    """The default that is used in place of a size; None if the config gives the size, or it is the same."""
    scope, given = part
    if given and any(scope.raw.get(field) is not None for field in fields):
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


def _parts(scope: Scope) -> list[_Part]:
    return [_Part(scope, True), *_sub_configs(scope).values()]


def _sub_configs(scope: Scope) -> dict[str, _Part]:
    """The sub-configs of a config and theirs, by their paths, without a check of their values."""
    found: dict[str, _Part] = {}
    for name in [name for name, field in scope.spec.fields.items() if field.sub_config is not None]:
        try:
            value = scope.get(name)
            if isinstance(value, SubConfig):
                part = value.opened(value.library.load(value.model_type))
                written = any(isinstance(scope.raw.get(one), Mapping) for one in (name, f"{name}_dict"))
                given = written or (scope.flattened and scope.spec.flat == name)
                found[f"{name}."] = _Part(part, given)
                inner = _sub_configs(part).items()
                found |= {f"{name}.{path}": one._replace(given=given and one.given) for path, one in inner}
        except ArchspecError:
            continue
    return found
