"""Writing, 4 of 5: the config section, the fields that the modules read with transformers' types and
defaults."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
from typing import Any, NamedTuple

from archspec.deriving.reading import terms
from archspec.deriving.reading.attributes import STILL
from archspec.deriving.reading.resolution import BACKBONE_REQUIRE, ConfigModel
from archspec.deriving.reading.values import MISSING
from archspec.deriving.writing.parts import home_of, shown
from archspec.deriving.writing.texts import line, quoted
from archspec.reference.classes import readonly_names


class Fields(NamedTuple):
    """What a draft says of its config."""

    config: dict[str, str]
    fixed: dict[str, str]
    require: list[str]
    readonly: list[str]
    attribute_map: dict[str, str]
    parts: dict[str, str]  # sub-config -> its default model type
    notes: list[str]

    def lines(self) -> list[str]:
        lines: list[str] = []
        if self.attribute_map:
            lines += ["attribute_map:", *(f"  {alias}: {name}" for alias, name in self.attribute_map.items())]
        if self.config:
            lines.append("config:")
            for name, text in self.config.items():
                lines += (
                    line(name, text, 2)
                    if text.startswith(("= ", "or ")) or quoted(text) == text
                    else [f"  {name}: {text}"]
                )
        if self.fixed:
            lines.append("fixed:")
            for name, text in self.fixed.items():
                lines += (
                    line(name, text, 2)
                    if text.startswith("= ") or quoted(text) == text
                    else [f"  {name}: {text}"]
                )
        if self.readonly:
            lines.append(f"readonly: {' '.join(self.readonly)}")
        if self.require:
            lines += ["require:", *(f"  - {quoted(text)}" for text in self.require)]
        return [*(f"# {note}" for note in self.notes), *lines]


def fields_of(model: ConfigModel, used: set[str]) -> Fields:
    """The section for the fields that are used, directly or by the default of another."""
    known = {*model.types, *model.extras, *model.fixed}
    parts = sub_configs(model)
    if model.backbone and "stage_names" in model.fixed:  # a config that asks for other stages is refused
        used = {*used, "out_features", "out_indices"}
    wanted: set[str] = set()
    open_names = {name.split(".")[0] for name in used}
    require: list[ast.expr] = []
    while True:
        more = [name for name in open_names if name in known | parts.keys() and name not in wanted]
        for name in more:
            wanted.add(name)
            for node in (model.computed.get(name), model.fixed.get(name), model.extras.get(name)):
                if isinstance(node, ast.expr):
                    open_names |= {part.split(".")[0] for part in _read(node)}
        if more:
            continue
        require = [
            node
            for node in model.require
            if {part.split(".")[0] for part in _read(node)} <= known | parts.keys()
        ]
        extra = {part.split(".")[0] for node in require for part in _read(node)} - wanted
        if not extra:
            break
        open_names |= extra
    if (
        model.backbone
        and wanted & {"out_features", "out_indices"}
        and not {"out_features", "out_indices"} <= wanted
    ):
        return fields_of(model, {*used, "out_features", "out_indices"})
    if model.backbone and wanted & {"out_features", "out_indices"}:
        require += [ast.parse(text, mode="eval").body for text in BACKBONE_REQUIRE]
    require += [node for name in model.checks if name in wanted for node in model.checks[name]]
    config, fixed, notes = {}, {}, list(model.notes)
    for name in [
        *model.types,
        *model.extras,
        *(n for n in (*model.computed, *model.fixed) if n not in model.types),
    ]:
        if name not in wanted or name in config or name in fixed or name == "num_labels":
            continue
        if name in parts:
            config[name] = parts[name][1]
        elif name in model.fixed and any(
            isinstance(part, ast.Dict | ast.DictComp) for part in ast.walk(model.fixed[name])
        ):
            notes.append(f"{name} is a dict that is made of other fields")
        elif name in model.fixed:
            if name in model.kept and (raw := declaration(model, name)) is not None:
                config[name] = raw
            fixed[name] = (
                f"= {clean(model.fixed[name])}"
                if not terms.is_constant(model.fixed[name])
                else literal(terms.value_of(model.fixed[name]))
            )
        else:
            text = declaration(model, name)
            if text is None:
                notes.append(f"the default of {name} cannot be written here")
            else:
                config[name] = text
    labels = getattr(model.real, "num_labels", 2)
    if "num_labels" in open_names and isinstance(labels, int) and "num_labels" in model.declared:
        fixed["num_labels"] = (
            f"= given('num_labels', {labels})"  # a field of its own is set after id2label, which it replaces
        )
    elif "num_labels" in open_names and isinstance(labels, int) and labels != 2:
        config["num_labels"] = str(labels)
    others = getattr(model.cls, "attribute_map", {})
    aliases = {alias: name for alias, name in others.items() if name in wanted and alias != name}
    texts = [clean(node) for node in require]
    readonly = sorted(readonly_names(model.cls))
    return Fields(
        config,
        fixed,
        texts,
        readonly,
        aliases,
        {name: parts[name][0] for name in parts if name in wanted},
        notes,
    )


def clean(node: ast.expr) -> str:
    """An expression with its loops' variables as plain names."""
    return str(shown(node))


def _read(node: ast.expr) -> set[str]:
    functions = {
        part.func.id
        for part in ast.walk(node)
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
    }
    bound = {
        n for part in ast.walk(node) if isinstance(part, ast.comprehension) for n in terms.names(part.target)
    }
    return {name for name in terms.names(node) - functions - bound if not name.startswith("$")}


def declaration(model: ConfigModel, name: str) -> str | None:
    """`32000`, `= hidden_size // num_attention_heads`, `or hidden_size`, `int | None = 1536`, `int`."""
    types = model.types.get(name, ())
    if name in model.computed and name in model.early:
        kinds = [kind for kind in types if kind != "None"] or ["int"]
        return f"{' | '.join(kinds)} | None = {clean(model.computed[name])}"
    if name in model.extras:
        default = model.extras[name]
        if isinstance(default, ast.expr):
            return f"int | None = {clean(default)}"
        return (
            "int | None = None"
            if default is None
            else f"{type(default).__name__} | None = {literal(default, True)}"
        )
    default = model.defaults.get(name, MISSING)
    if name in model.computed and (default in (None, MISSING) or name not in model.declared):
        return f"{'or' if name in model.falsy else '='} {clean(model.computed[name])}"
    if default is MISSING:
        return " | ".join(types) if types else "int"
    if isinstance(default, tuple):
        default = list(default)
    try:
        json.dumps(default)
        node = terms.constant(default)
    except (TypeError, ValueError):
        return None
    kinds = list(types) or ([type(default).__name__] if default is not None else ["int", "None"])
    own = "None" if default is None else type(default).__name__
    if own == "float" and set(kinds) <= {"float", "int"}:
        return literal(default)
    numbers = own == "list" and all(type(item) is int for item in default)
    if kinds == [own] and (own in ("int", "bool", "str") or numbers):
        return literal(default)
    if own not in kinds:
        kinds.append(own)
    kinds = [kind for kind in ("list", "str", "bool", "float", "int", "dict") if kind in kinds] + (
        ["None"] if "None" in kinds else []
    )
    return f"{' | '.join(kinds)} = {terms.text(node)}"


def literal(value: Any, typed: bool = False) -> str:
    """A plain default as YAML writes it."""
    if isinstance(value, bool | None):
        return repr(value) if typed else {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, str) and not typed:
        return (
            value
            if value.replace("_", "a").replace("-", "a").isalnum()
            and value not in _WORDS
            and not value[0].isdigit()
            and value[0] != "-"
            else quoted_text(value)
        )
    return terms.text(terms.constant(value))


_WORDS = {"true", "false", "null", "on", "off", "yes", "no", "int", "float", "bool", "str", "list", "dict"}


def quoted_text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def sub_configs(model: ConfigModel) -> dict[str, tuple[str, str]]:
    """Sub-config field -> its default model type and its line."""
    found: dict[str, tuple[str, str]] = {}
    for name, spec in getattr(model.cls, "sub_configs_defaults", {}).items():
        fixed = hasattr(spec.config_class, "to_dict") and inspect.isclass(spec.config_class)
        default = getattr(model.real, name, None)
        kind = (
            home_of(type(default)) if default is not None else spec.model_type or home_of(spec.config_class)
        )
        function = "Config" if fixed else "AutoConfig"
        merged = ["merge=True"] if fills_in(model.cls, name) else []
        given = (
            spec.init_kwargs
            if default is None or kind == (spec.model_type or kind)
            else other_than_default(default)
        )
        options = [
            f"{key}={terms.text(terms.constant(value))}"
            for key, value in given.items()
            if key != "model_type" and (plain_value(value) or inner_default(default, key, value))
        ]
        for field in model.parts.get(name, {}):
            seen = getattr(default, field, MISSING)
            if (
                seen is not MISSING
                and plain_value(seen)
                and not any(option.startswith(f"{field}=") for option in options)
            ):
                options.append(f"{field}={terms.text(terms.constant(seen))}")
        if spec.optional:
            null = terms.negation(terms.either(model.made.get(name, [])))
            options.append(f"optional={clean(null)}")
        first = kind if kind.isidentifier() else repr(kind)
        text = f"{function}({', '.join([first, *merged, *options])})"
        found[name] = (kind, text if quoted(text) == text else f"= {text}")  # a text that is quoted is a text
    for name, value in vars(model.real).items():
        if name not in found and hasattr(type(value), "model_type") and hasattr(value, "to_dict"):
            kind = home_of(type(value))
            found[name] = (kind, f"Config({kind if kind.isidentifier() else repr(kind)})")
    return found


def other_than_default(config: Any) -> dict[str, Any]:
    """The fields of a config object that its class by itself gives other values."""
    try:
        plain = type(config)()
    except Exception:  # a class may demand whatever it likes
        return {}
    names = (
        [field.name for field in dataclasses.fields(config) if field.name[0] != "_"]
        if dataclasses.is_dataclass(config)
        else []
    )
    if hasattr(config, "set_output_features_output_indices"):
        names.append("out_features")
    pairs = {name: (getattr(config, name, None), getattr(plain, name, None)) for name in names}
    return {name: value for name, (value, usual) in pairs.items() if value != usual and name not in STILL}


def fills_in(cls: type, name: str) -> bool:
    """Whether `__post_init__` puts a sub-config's defaults into one that is given: `{**….init_kwargs,
    **self.name}`."""
    function = getattr(cls, "__post_init__", None)
    try:
        source = inspect.getsource(function) if function is not None else ""
    except (OSError, TypeError):
        return False
    return f'sub_configs_defaults["{name}"].init_kwargs, **self.{name}' in " ".join(source.split())


def inner_default(config: Any, name: str, value: Any) -> bool:
    """Whether a default is that of a sub-config of the sub-config, in plain values."""
    return (
        isinstance(value, dict)
        and name in getattr(type(config), "sub_configs_defaults", {})
        and plain_value(value, True)
    )


def plain_value(value: Any, dicts: bool = False) -> bool:
    if isinstance(value, dict) and not dicts:
        return False
    try:
        terms.constant(value)
    except TypeError:
        return False
    return True
