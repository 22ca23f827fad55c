"""Fields that are set from outside (``text_config.num_hidden_layers=2``), checked and put into a config."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from archspec.configs.origin import Origin, RawConfig
from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ConfigError, Place, Problem, Source, did_you_mean
from archspec.specs.records import Spec
from archspec.typing_light import Any, NoReturn

_PATH = r"[A-Za-z_]\w*(?:\.[\w\-]+)*$"
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_SAYS_THE_SAME = {"num_labels": ("id2label", "label2id"), "id2label": ("num_labels",)}
_ALWAYS = ("model_type", "architectures", "num_labels", "id2label")


def owner(scope: Scope, path: str) -> tuple[Scope, str]:
    """The config that has the last name of a field's dotted path, and that name."""
    *outer, leaf = path.split(".")
    for name in outer:
        scope = scope.get(name).scope
    return scope, leaf


def parse_override(text: str) -> tuple[str, Any]:
    """A field's dotted path and its value; the value is JSON, or else text.

    Errors: :class:`ConfigError` for text without ``=``, for a path that is no field's, for broken JSON and
    for Python's ``True``, ``False`` and ``None``.

    >>> parse_override("text_config.num_hidden_layers=2"), parse_override("feed_forward_proj=gated-gelu")
    (('text_config.num_hidden_layers', 2), ('feed_forward_proj', 'gated-gelu'))
    """
    path, equals, value = text.partition("=")
    path = path.strip()
    if not equals:
        _refuse(text, 0, f"{text!r} is not an override", "write field=value")
    if not re.match(_PATH, path):
        _refuse(text, 0, f"{path!r} is not a field", "write field=value, or sub_config.field=value")
    start = len(text) - len(value.lstrip())
    value = value.strip()
    if value in _PYTHON:
        _refuse(text, start, f"{path}: {value} is not a JSON value", f"write {_PYTHON[value]}")
    if not value:
        _refuse(text, start, f"{path}: no value is given", 'write null for none, "" for the empty text')
    try:
        return path, json.loads(value, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        if value[0] in '[{"':
            _refuse(text, start + error.pos, f"{path}: not JSON: {error.msg}", "a value is JSON, or a word")
    except (ValueError, RecursionError) as error:
        digits = "a number of more than 4,300 digits" if "digits" in str(error) else str(error)
        detail = "nested too deep" if isinstance(error, RecursionError) else digits
        _refuse(text, start, f"{path}: {detail}", "give a value that a config can have")
    return path, value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number that a config can have")


def _refuse(text: str, offset: int, message: str, help_: str) -> NoReturn:
    raise ConfigError(message, Place(Source("override", text), 1, offset + 1), help=help_)


def as_typed(path: str, value: Any) -> str:
    """An override as it would be typed, for messages."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return f"{path}={text[:200]}"


def overridden(config: RawConfig, overrides: Mapping[str, Any]) -> RawConfig:
    """A config with fields set anew, which its origin tells. Errors: those of :func:`apply`."""
    raw, origin = config
    texts = {path: as_typed(path, value) for path, value in overrides.items()}
    origin = origin._replace(overrides={**origin.overrides, **texts})
    return RawConfig(raw, origin._replace(opened=apply(raw, overrides, origin).union(origin.opened)))


def apply(raw: dict[str, Any], overrides: Mapping[str, Any], origin: Origin) -> frozenset[str]:
    """Writes overrides into a config, and gives the paths of the sub-configs that it had to open.

    ``num_labels`` takes the config's ``id2label`` away, and ``id2label`` its ``num_labels``.

    Errors: :class:`ConfigError` for a path through something that is no sub-config, and for a mapping that
    would replace a sub-config whole.
    """
    opened: set[str] = set()
    for path, value in overrides.items():
        if not isinstance(path, str) or not re.match(_PATH, path):
            raise ConfigError(f"override: {path!r} is not a field", help="write sub_config.field")
        *outer, leaf = path.split(".")
        inside = raw
        for depth, name in enumerate(outer):
            whole = ".".join(outer[: depth + 1])
            if inside.get(name) is None:
                inside[name] = {}
                opened.add(whole)
            if not isinstance(inside[name], dict):
                message = f"{whole} is {json.dumps(inside[name], default=str)[:60]}, not a sub-config"
                raise ConfigError(origin.problem(path, message, f"set {whole} as a whole"))
            inside = inside[name]
        whole_part = isinstance(value, Mapping) and isinstance(inside.get(leaf), dict)
        if whole_part and leaf not in ("id2label", "label2id"):
            help_ = f"set its fields one by one: {path}.{next(iter(value), 'field')}=…"
            message = "is given by the config, and would be replaced whole"
            raise ConfigError(origin.problem(path, message, help_))
        inside[leaf] = value
        for other in _SAYS_THE_SAME.get(leaf, ()):
            if ".".join([*outer, other]) not in overrides:
                inside.pop(other, None)
    return frozenset(opened)


def check_overrides(spec: Spec, overrides: Iterable[str], config: RawConfig) -> None:
    """Holds the paths of overrides to the fields that a spec knows; the config has them written in.

    Errors: :class:`ConfigError`, all at once, for a name that no count depends on and for a field that
    transformers sets itself.
    """
    scope = Scope(spec, config.raw, config.origin)
    found = (_unknown(scope, path, path.split("."), config.origin) for path in overrides)
    if problems := [problem for problem in found if problem]:
        raise ConfigError(problems)


def _unknown(scope: Scope, path: str, parts: list[str], origin: Origin) -> Problem | None:
    """What is wrong with one path, seen from a config; None where the spec knows it."""
    spec, name = scope.spec, scope.canonical(parts[0])
    if len(parts) == 1 and name in _ALWAYS:
        return None
    if name in spec.fixed:
        return origin.problem(path, f"transformers sets {name} of {spec.model_type} itself", "leave it out")
    if name == "id2label":
        return None
    if name not in spec.fields:
        if spec.flat and isinstance(part := scope.get(spec.flat), SubConfig) and part.scope.has(name):
            message = f"belongs to {spec.flat}, which this config has"
            return None if scope.flattened else origin.problem(path, message, f"write {spec.flat}.{path}")
        known = [*spec.fields, *spec.attribute_map, *_ALWAYS]
        message = f"no count of {spec.model_type} depends on {name}"
        help_ = did_you_mean(name, known) or "archspec tree shows what the counts read"
        return origin.problem(path, message, help_)
    if len(parts) == 1:
        return None
    value = scope.get(name)
    if isinstance(value, SubConfig):
        return _unknown(value.scope, path, parts[1:], origin)
    if isinstance(value, dict):
        return None
    return origin.problem(path, f"{name} is not a sub-config", f"declared at {spec.fields[name].place}")
