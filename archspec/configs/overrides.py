"""Fields that are set from outside (``text_config.num_hidden_layers=2``), checked and put into a config."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from archspec.configs.json_text import nesting, unique_keys
from archspec.configs.origin import Origin, RawConfig
from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ConfigError, Place, Problem, Source, did_you_mean
from archspec.language.values import describe, fits, union
from archspec.specs.exported import config_fields, former_fields
from archspec.specs.records import Spec
from archspec.typing_light import Any, NoReturn

_PATH = r"[A-Za-z_]\w*(?:\.[\w\-]+)*$"
_SETTING = r"\s*" + _PATH.removesuffix("$") + r"\s*=(?!=)"
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_SAYS_THE_SAME = {"num_labels": ("id2label", "label2id"), "id2label": ("num_labels",)}
_ALWAYS = ("model_type", "architectures", "num_labels", "id2label")
# at the top of a whole config
_OF_BYTES = ("dtype", "torch_dtype", "quantization_config", "compression_config", "quantization")


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
    if nesting(value):
        _refuse(text, start, f"{path}: nested too deep", "give a value that a config can have")
    try:
        return path, json.loads(value, parse_constant=_no_constant, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        if value[0] in '[{"':
            _refuse(text, start + error.pos, f"{path}: not JSON: {error.msg}", "a value is JSON, or a word")
    except ValueError as error:
        detail = "a number of more than 4,300 digits" if "digits" in str(error) else str(error)
        _refuse(text, start, f"{path}: {detail}", "give a value that a config can have")
    return path, value


def parse_settings(texts: Iterable[str]) -> dict[str, Any]:
    """The fields that texts set, one or several each. Errors: as :func:`parse_override`; a field set twice.

    >>> parse_settings(["n_layer=2,n_head=4", "activation_function=relu"])
    {'n_layer': 2, 'n_head': 4, 'activation_function': 'relu'}
    """
    found: dict[str, Any] = {}
    for one in (one for text in texts for one in one_by_one(text)):
        path, value = parse_override(one)
        if path in found:
            _refuse(one, 0, f"{path} is set twice", "keep one of the two")
        found[path] = value
    return found


def one_by_one(text: str) -> list[str]:
    """The settings that one text holds: it is cut at commas that a field and `=` follow.

    Commas within brackets and quotes are a value's own, as are those of a list of values.

    >>> one_by_one('hidden_size=64, text_config.layer_types=["a","b"],id2label={"0": "x,y=1"}')
    ['hidden_size=64', 'text_config.layer_types=["a","b"]', 'id2label={"0": "x,y=1"}']
    >>> one_by_one("hidden_size=64,128,num_hidden_layers=2:4")
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
    """The parts between commas that are in no bracket and no quotes, each with its offset."""
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
    """Holds the paths of overrides to the fields that configs have; the config has them written in.

    Errors: :class:`ConfigError`, all at once, for a name that neither the spec nor transformers knows, for a
    field that transformers sets itself, and for a value that it does not take of a field that no count
    depends on.
    """
    scope = Scope(spec, config.raw, config.origin)
    found = (_fault(*_leaf(scope, path.split(".")), path, config.origin) for path in overrides)
    if problems := [problem for problem in found if problem]:
        raise ConfigError(problems)


def idle_fields(spec: Spec, paths: Iterable[str], config: RawConfig) -> dict[str, str]:
    """Of the paths of overrides those that neither counts nor costs depend on, each with a sentence on it.

    transformers has such a field, or had it: dropout, `n_ctx` of GPT-2, `rope_theta`. The sentence says which
    field is read in its place, where there is one. ``config`` is the config that the overrides are for.

    >>> from archspec.configs.reader import read_config
    >>> from archspec.specs.library import shipped
    >>> gpt2 = read_config({"model_type": "gpt2"})
    >>> idle_fields(shipped().load("gpt2"), ["n_ctx", "n_layer"], gpt2)
    {'n_ctx': 'n_ctx enters no count of gpt2; n_positions does'}
    """
    scope, found = Scope(spec, config.raw, config.origin), dict[str, str]()
    for path in paths:
        inner, (name, *_) = _leaf(scope, path.split("."))
        if _is_idle(inner, name):
            instead = former_fields(inner.spec.model_type).get(name, "")
            more = f"; {instead} does" if instead in inner.spec.fields else ""
            found[path] = f"{path} enters no count of {inner.spec.model_type}{more}"
    return found


def override_notes(spec: Spec, paths: Sequence[str], config: RawConfig) -> dict[str, str]:
    """What is to be said of overrides that no count of parameters depends on, by their paths."""
    found = idle_fields(spec, paths, config)
    scope = Scope(spec, config.raw, config.origin)
    for path in paths:
        inner, (name, *_) = _leaf(scope, path.split("."))
        if _only_costs(inner, name):
            found[path] = f"{path} enters no count of parameters, but may enter the costs of a call"
        elif path in _OF_BYTES:
            found[path] = f"{path} enters no count of parameters, but their bytes"
    return found


def _leaf(scope: Scope, parts: list[str]) -> tuple[Scope, list[str]]:
    """The innermost sub-config on a path, and what is left of the path there."""
    name = scope.canonical(parts[0])
    if len(parts) > 1 and name in scope.spec.fields and isinstance(value := scope.get(name), SubConfig):
        return _leaf(value.scope, parts[1:])
    return scope, parts


def _is_idle(scope: Scope, name: str) -> bool:
    """Whether a field is one of transformers' that the spec does not have, as nothing depends on it."""
    if scope.has(name) or name in _ALWAYS or scope.origin.path + name in _OF_BYTES:
        return False
    part = _flat_part(scope)
    return name in _kinds(scope) and not (part is not None and part.has(name))


def _only_costs(scope: Scope, name: str) -> bool:
    field = scope.spec.fields.get(scope.canonical(name))
    return field is not None and field.only_costs


def _kinds(scope: Scope) -> dict[str, str]:
    """The fields that configs of a type have or had, with the values that they take."""
    part = _flat_part(scope)
    inner = _kinds(part) if part is not None and scope.flattened else {}
    known = scope.spec.model_type
    return {**inner, **dict.fromkeys(former_fields(known), "any"), **config_fields(known)}


def _flat_part(scope: Scope) -> Scope | None:
    """The sub-config that fields at the top belong to, of a type that has one."""
    part = scope.get(scope.spec.flat) if scope.spec.flat else None
    return part.scope if isinstance(part, SubConfig) else None


def _fault(scope: Scope, parts: list[str], path: str, origin: Origin) -> Problem | None:
    """What is wrong with the last name of a path, or None; the config around it, and what is left of it."""
    spec, given, name = scope.spec, parts[0], scope.canonical(parts[0])
    if len(parts) == 1 and (name in _ALWAYS or path in _OF_BYTES):
        return None
    if name in spec.fixed:
        return origin.problem(path, f"transformers sets {name} of {spec.model_type} itself", "leave it out")
    if name == "id2label":
        return None
    if name in spec.fields:
        return _field_fault(scope, parts, path, origin)
    part = _flat_part(scope)
    if part is not None and part.has(name):
        message = f"belongs to {spec.flat}, which this config has"
        return None if scope.flattened else origin.problem(path, message, f"write {spec.flat}.{path}")
    kinds = _kinds(scope)
    if given in kinds:
        return _kind_fault(scope, parts, kinds[given], path, origin)
    known = [*spec.fields, *spec.attribute_map, *_ALWAYS, *kinds]
    help_ = did_you_mean(name, known) or f"archspec sensitivity {spec.model_type} shows what counts read"
    return origin.problem(path, f"a config of {spec.model_type} has no field {name}", help_)


def _field_fault(scope: Scope, parts: list[str], path: str, origin: Origin) -> Problem | None:
    """What is wrong with an override of a field of the spec; its value is held to the spec elsewhere."""
    name = scope.canonical(parts[0])
    if _only_costs(scope, name):
        return _kind_fault(scope, parts, _kinds(scope).get(name, "any"), path, origin)
    if len(parts) == 1 or isinstance(scope.get(name), dict):
        return None
    message = f"{name} is not a sub-config"
    return origin.problem(path, message, f"declared at {scope.spec.fields[name].place}")


def _kind_fault(scope: Scope, parts: list[str], kind: str, path: str, origin: Origin) -> Problem | None:
    """That transformers does not take the value of a field that no count depends on."""
    value = scope.raw.get(scope.canonical(parts[0]))
    if fits(value, union(kind)):
        return None
    expected = kind.replace("None", "null").replace(" | ", " or ")
    return origin.problem(path, f"{describe(value)} is not {expected}", "transformers refuses it, too")
