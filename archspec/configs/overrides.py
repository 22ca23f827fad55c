"""Overrides, such as ``text_config.num_hidden_layers=2``: parsed, written into a config, and checked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from archspec.configs.checks import SYNONYMS
from archspec.configs.json_text import find_deep_nesting, unique_keys
from archspec.configs.origin import RawConfig, spec_line
from archspec.configs.scope import Scope, SubConfig
from archspec.errors import OVERRIDE, ConfigError, Place, Source, did_you_mean, list_names
from archspec.language.values import describe, has_kind, names_of, parse_kinds
from archspec.specs.exported import config_fields, former_fields
from archspec.specs.records import Spec
from archspec.typing_light import Any, NoReturn

_PATH = r"[A-Za-z_]\w*(?:\.[\w\-]+)*"
_SETTING = rf"\s*{_PATH}\s*=(?!=)"
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_SAME_MEANING = {"num_labels": ("id2label", "label2id"), "id2label": ("num_labels",)}
_ALWAYS = ("model_type", "architectures", "num_labels", "id2label")
_BYTES = ("dtype", "torch_dtype", "quantization_config", "compression_config", "quantization")
_CHANGED = {"costs": "it may affect the costs of a forward pass", "bytes": "it affects their bytes"}


def owner(scope: Scope, path: str) -> tuple[Scope, str]:
    """Return the scope that the last name of a dotted path belongs to, and that name."""
    *outer, leaf = path.split(".")
    for name in outer:
        scope = scope.get(name).scope
    return scope, leaf


def parse_override(text: str) -> tuple[str, Any]:
    """Return a field's dotted path and its value: JSON, or else text.

    Errors: :class:`ConfigError` for text without ``=``, for an invalid path, for broken JSON and for Python's
    ``True``, ``False`` and ``None``.

    >>> parse_override("text_config.num_hidden_layers=2"), parse_override("feed_forward_proj=gated-gelu")
    (('text_config.num_hidden_layers', 2), ('feed_forward_proj', 'gated-gelu'))
    """
    path, equals, rest = text.partition("=")
    path, value, start = path.strip(), rest.strip(), len(text) - len(rest.lstrip())
    if not equals or not re.fullmatch(_PATH, path):
        message = f"{path!r} is not a field name" if equals else "the value is missing"
        _refuse(text, 0, message, f"write {path if not equals else 'field'}=value, or sub_config.field=value")
    if value in _PYTHON:
        _refuse(text, start, f"{value} is not a JSON value", f"write {path}={_PYTHON[value]}")
    if not value:
        help_ = f'write {path}=VALUE; null is None, and "" is an empty string'
        _refuse(text, start, "the value is missing", help_)
    if several := re.match(rf"[^\s\"\[{{]+\s+({_PATH})\s*=", value):
        help_ = f"separate overrides with commas: {path}={value.split()[0]},{several[1]}=…"
        _refuse(text, start, "two overrides are separated by a space", help_)
    if find_deep_nesting(value):
        _refuse(text, start, "the value is nested too deep", "remove brackets")
    try:
        return path, json.loads(value, parse_constant=_no_constant, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        if value[0] in '[{"':
            message = f"invalid JSON: {error.msg} at character {start + error.pos + 1}"
            _refuse(text, start + error.pos, message, "correct the JSON")
    except ValueError as error:
        detail = "the number has more than 4,300 digits" if "digits" in str(error) else str(error)
        _refuse(text, start, detail, "correct the value")
    return path, value


def parse_settings(texts: Iterable[str]) -> dict[str, Any]:
    """Return the overrides in texts of one or several each. Errors: as :func:`parse_override`.

    >>> parse_settings(["n_layer=2,n_head=4", "activation_function=relu"])
    {'n_layer': 2, 'n_head': 4, 'activation_function': 'relu'}
    """
    found: dict[str, Any] = {}
    for one in (one for text in texts for one in split_settings(text)):
        path, value = parse_override(one)
        if path in found:
            _refuse(one, 0, f"{path} is set twice", "remove one of the two")
        found[path] = value
    return found


def split_settings(text: str) -> list[str]:
    """Cut a text of several overrides at commas that a field and `=` follow.

    Commas within brackets and quotes belong to a value, and so do those of a list of values.

    >>> split_settings('hidden_size=64, text_config.layer_types=["a","b"],id2label={"0": "x,y=1"}')
    ['hidden_size=64', 'text_config.layer_types=["a","b"]', 'id2label={"0": "x,y=1"}']
    >>> split_settings("hidden_size=64,128,num_hidden_layers=2:4")
    ['hidden_size=64,128', 'num_hidden_layers=2:4']
    """
    found: list[str] = []
    for _, part in split_at_commas(text):
        if not found or re.match(_SETTING, part):
            found.append(part.strip())
        else:
            found[-1] += f",{part}"
    return found


def split_at_commas(text: str) -> Iterator[tuple[int, str]]:
    """Yield the parts between commas outside of brackets and quotes, each with its offset."""
    depth, quoted, start = 0, False, 0
    for position, letter in enumerate(text):
        if letter == '"' and text[position - 1 : position] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += (letter in "([{") - (letter in ")]}")
            if letter == "," and depth == 0:
                yield start, text[start:position]
                start = position + 1
    yield start, text[start:]


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


def _refuse(text: str, offset: int, message: str, help_: str) -> NoReturn:
    raise ConfigError(message, Place(Source(OVERRIDE, text), 1, offset + 1), help=help_)


def as_typed(path: str, value: Any) -> str:
    """Return an override as it would be typed, for messages."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return f"{path}={text[:200]}"


def apply_overrides(config: RawConfig, overrides: Mapping[str, Any]) -> RawConfig:
    """Write overrides into a config, and return it with an origin that lists them.

    ``num_labels`` removes the config's ``id2label``, and ``id2label`` its ``num_labels``.

    Errors: :class:`ConfigError` for a path through a value that is not a sub-config, and for a mapping that
    would replace a sub-config.
    """
    raw, origin = config
    texts = {path: as_typed(path, value) for path, value in overrides.items()}
    origin, opened = origin._replace(overrides={**origin.overrides, **texts}), {*origin.opened}
    for path, value in overrides.items():
        if not re.fullmatch(_PATH, path):
            raise ConfigError(f"{path!r} is not a field name", help="write field, or sub_config.field")
        *outer, leaf = path.split(".")
        inside, part = raw, ""
        for name in outer:
            part = f"{part}.{name}" if part else name
            if inside.get(name) is None:
                inside[name] = {}
                opened.add(part)
            if not isinstance(inside[name], dict):
                message = f"{part} is {json.dumps(inside[name], default=str)[:60]}, not a sub-config"
                raise ConfigError(origin.problem(path, message, f"set {part} itself"))
            inside = inside[name]
        is_part = isinstance(value, Mapping) and isinstance(inside.get(leaf), dict)
        if is_part and leaf not in ("id2label", "label2id"):
            help_ = f"set its fields one by one: {path}.{next(iter(value), 'field')}=…"
            message = f"the mapping would replace the whole sub-config {path}"
            raise ConfigError(origin.problem(path, message, help_))
        inside[leaf] = value
        for other in _SAME_MEANING.get(leaf, ()):
            if ".".join([*outer, other]) not in overrides:
                inside.pop(other, None)
    return RawConfig(raw, origin._replace(opened=frozenset(opened)))


_Target = tuple[Scope, list[str], str]  # the innermost sub-config, the names left there, and their effect


def check_overrides(spec: Spec, overrides: Iterable[str], config: RawConfig) -> None:
    """Raise :class:`ConfigError` with all problems of overrides that are already written into the config.

    These are unknown names, fields that transformers sets, and invalid values of fields that no count reads.
    """
    found = ((path, _fault(*target, path)) for path, target in _targets(spec, overrides, config))
    if problems := [config.origin.problem(path, *fault) for path, fault in found if fault]:
        raise ConfigError(problems)


def idle_fields(spec: Spec, paths: Iterable[str], config: RawConfig) -> dict[str, str]:
    """Return a sentence for each override of the config that changes neither counts nor costs.

    >>> from archspec.configs.reader import read_config
    >>> from archspec.specs.library import shipped_library
    >>> gpt2 = read_config({"model_type": "gpt2"})
    >>> idle_fields(shipped_library().load("gpt2"), ["n_ctx", "n_layer"], gpt2)
    {'n_ctx': 'n_ctx does not affect any count; n_positions does'}
    """
    found: dict[str, str] = {}
    for path, (scope, names, effect) in _targets(spec, paths, config):
        if effect == "idle":
            successor = former_fields(scope.spec.model_type).get(names[0], "")
            more = f"; {successor} does" if successor in scope.spec.fields else ""
            found[path] = f"{path} does not affect any count{more}"
    return found


def override_notes(spec: Spec, paths: Sequence[str], config: RawConfig) -> dict[str, str]:
    """Return a sentence for each override that does not change the number of parameters."""
    found = idle_fields(spec, paths, config)
    for path, (_, _, effect) in _targets(spec, paths, config):
        if more := _CHANGED.get(effect):
            found[path] = f"{path} does not affect the number of parameters; {more}"
    return found


def _targets(spec: Spec, paths: Iterable[str], config: RawConfig) -> Iterator[tuple[str, _Target]]:
    scope = Scope(spec, config.raw, config.origin)
    return ((path, _target(scope, path, path.split("."))) for path in paths)


def _target(scope: Scope, path: str, names: list[str]) -> _Target:
    """Find the field of an override and its effect.

    That is `counts`, `costs`, `bytes`, `class`, `computed` (transformers sets the field), `part` (a field of
    the sub-config ``spec.flat``), `idle` (a field of transformers that no count reads) or `unknown`.
    """
    name, spec = scope.canonical(names[0]), scope.spec
    if len(names) > 1 and name in spec.fields and isinstance(value := scope.get(name), SubConfig):
        return _target(value.scope, path, names[1:])
    if path in _BYTES:
        return scope, names, "bytes"
    if name == "id2label" or (len(names) == 1 and name in _ALWAYS):
        return scope, names, "class"
    if name in spec.fixed:
        return scope, names, "computed"
    if name in spec.fields:
        return scope, names, "costs" if spec.fields[name].only_costs else "counts"
    if (part := _flat_part(scope)) is not None and part.has(name):
        return scope, names, "part"
    return scope, names, "idle" if names[0] in _field_kinds(scope) else "unknown"


def _field_kinds(scope: Scope) -> dict[str, str]:
    """Return the fields that configs of a type have or had, with the types of their values."""
    part = _flat_part(scope)
    inner = _field_kinds(part) if part is not None and scope.flattened else {}
    model_type = scope.spec.model_type
    return {**inner, **dict.fromkeys(former_fields(model_type), "any"), **config_fields(model_type)}


def _flat_part(scope: Scope) -> Scope | None:
    part = scope.get(scope.spec.flat) if scope.spec.flat else None
    return part.scope if isinstance(part, SubConfig) else None


def _fault(scope: Scope, names: list[str], effect: str, path: str) -> tuple[str, str] | None:
    spec, name = scope.spec, scope.canonical(names[0])
    if effect == "computed":
        return f"is computed by transformers for {spec.model_type}", f"remove {path}"
    if effect == "counts" and len(names) > 1 and not isinstance(scope.get(name), dict):
        return f"{name} is not a sub-config{spec_line(spec.fields[name].place)}", f"set {name} itself"
    if effect == "part" and not scope.flattened:
        return f"belongs to {spec.flat}, which this config has", f"write {spec.flat}.{path}"
    if effect in ("costs", "idle"):
        kind = _field_kinds(scope).get(names[0] if effect == "idle" else name, "any")
        value = scope.raw.get(name)
        wanted = names_of(kind.split(" | "))
        fault = f"must be {wanted}, not {describe(value)}", f"write {wanted}"
        return None if has_kind(value, parse_kinds(kind)) else fault
    if effect == "unknown":
        return f"{spec.model_type} has no field {name}", _near_fields(scope, name, len(names) > 1)
    return None


def _near_fields(scope: Scope, name: str, is_part: bool) -> str:
    """Return a help line with the fields that an unknown name can mean: of this config, or of a part."""
    spec, parts = scope.spec, scope.parts()
    inside = [f"{part}.{name}" for part, inner in parts.items() if inner.has(name)]
    same = [scope.canonical(one) for one in SYNONYMS.get(name, ()) if scope.canonical(one) in spec.fields]
    if not is_part and (found := inside or same[:1]):
        return f"did you mean {list_names(found)}?"
    if is_part and not parts:
        return f"{spec.model_type} has no sub-configs: leave out {name!r} and the dot"
    known = [*parts] if is_part else [*spec.fields, *spec.attribute_map, *_ALWAYS, *_field_kinds(scope)]
    words = sorted({one for one in known if re.search(rf"(^|_){re.escape(name)}(_|$)", one)}, key=len)
    if words:
        return f"did you mean {list_names(words[:3])}?"
    near = did_you_mean(name, [one for one in known if one[:1] != "_"])
    return near or f"run archspec sensitivity {spec.model_type} to see the fields that affect counts"
