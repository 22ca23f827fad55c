"""A spec file read into records, with `extends` and `uses` resolved; all problems of a file at once."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from archspec.errors import Place, Problem, Source, SpecError, did_you_mean
from archspec.language import yaml_reader as source
from archspec.language.expression import Expression
from archspec.specs.inheritance import Inheritance
from archspec.specs.module_parser import ModuleParser
from archspec.specs.records import KEYS, TYPES, Field, Module, Spec, SpecLibrary, camel_case

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*$")
_FIELD_TYPE = re.compile(r"(?:list\[[a-z| \[\]]*\]|[A-Za-z]+)(?:\s*\|\s*(?:list\[[a-z| \[\]]*\]|[A-Za-z]+))*")

Loader = Callable[[str, Place], Spec]


def parse_spec(text: Source, load: Loader, library: SpecLibrary) -> Spec:
    """A spec from its text; ``load`` gives the specs that it names, ``library`` those of its sub-configs.

    Errors: :class:`SpecError` with all problems of the file at once.
    """
    return _Parser(text, load, library).spec()


class _Parser(ModuleParser):
    """Reads one file as a whole."""

    def __init__(self, text: Source, load: Loader, library: SpecLibrary) -> None:
        super().__init__(text)
        self.load, self.library = load, library

    def spec(self) -> Spec:
        root = source.parse(self.source)
        if not isinstance(root, source.Mapping):
            raise SpecError(
                Problem("a spec is a mapping of keys", root.place, "", f"keys: {', '.join(KEYS)}")
            )
        for key in root.items:
            if key not in KEYS:
                help_ = did_you_mean(key, KEYS) or f"keys: {', '.join(KEYS)}"
                self.problem(f"{key} is not a key of a spec", root.keys[key], "", help_)
        model_type = self.text(root, "model_type")
        if not model_type:
            self.problem("the spec has no model_type", root.place, "", "a spec starts with model_type:")
        prefix = self.text(root, "prefix") or camel_case(model_type)
        parent = self.loaded(root, "extends")
        inherited = parent[0].base_model_prefix if parent else model_type.replace("-", "_")
        base_model_prefix = self.text(root, "base_model_prefix") or inherited
        fields: dict[str, Field] = {}
        fixed: dict[str, Expression] = {}
        readonly: dict[str, Place] = {}
        attribute_map: dict[str, str] = {}
        modules: dict[str, Module] = {}
        renames: dict[str, str] = {}
        architectures: list[str] = []
        require: list[Expression] = []
        for used in self.loaded(root, "uses"):
            modules |= _named_base(used, model_type, base_model_prefix)
            renames |= used.renames
            fields |= used.fields
        for spec in parent[:1]:
            attribute_map |= spec.attribute_map
            fields |= spec.fields
            fixed |= spec.fixed
            readonly |= spec.readonly
            require += spec.require
            self.inherit(spec, (model_type, prefix, base_model_prefix), modules, renames, architectures)
        own = self.fields(self.mapping(root, "config"))
        fields |= own
        for name in own:
            fixed.pop(name, None)
        aliases = self.mapping(root, "attribute_map")
        attribute_map = {alias: name for alias, name in attribute_map.items() if alias not in own}
        attribute_map |= {alias: self.scalar(node) for alias, node in aliases.items.items()}
        fields = {name: field for name, field in fields.items() if name in own or name not in aliases.items}
        settled = self.mapping(root, "fixed").items
        for name, node in settled.items():
            if (value := self.value(node, f"fixed.{name}")) is not None:
                fixed[name] = value
                if name not in own:
                    fields.pop(name, None)
        for alias in aliases.items.keys() & (fields.keys() | fixed.keys()):
            self.problem(
                f"{alias} is a field, and another name of one",
                aliases.keys[alias],
                "attribute_map",
                "keep one of the two",
            )
        described = self.modules(self.mapping(root, "modules"), model_type, "modules")
        named = self.mapping(root, "architectures")
        described |= self.modules(named, model_type, "architectures")
        inheritance = Inheritance(described, self.bases, modules, renames)
        modules = {**modules, **inheritance.modules()}
        self.problems += inheritance.problems
        own_architectures = {key.partition("(")[0]: key for key in named.items}
        architectures += [name for name in own_architectures if name not in architectures]
        for name, key in own_architectures.items():
            if name not in modules and name not in renames.values():
                self.problem(
                    f"{name} is not described", named.keys[key], "architectures", did_you_mean(name, modules)
                )
        readonly |= dict.fromkeys(self.names(root, "readonly"), root.keys.get("readonly", root.place))
        for name in self.names(root, "drop"):
            if name == "require":
                require.clear()
                continue
            if any(name in here for here in (own, described, settled, aliases.items)):
                help_ = "leave it out of drop: what is described here takes the parent's place"
                self.problem(f"{name} is dropped, and described here", root.keys["drop"], "", help_)
            elif not any(name in known for known in (modules, fields, fixed, readonly, attribute_map)):
                self.problem(
                    f"{name} is not there to be dropped", root.keys["drop"], "", did_you_mean(name, modules)
                )
            modules.pop(name, None)
            fields.pop(name, None)
            fixed.pop(name, None)
            readonly.pop(name, None)
            attribute_map.pop(name, None)
            architectures = [kept for kept in architectures if kept != name]
        require += self.expressions(root, "require")
        flat = self.text(root, "flat") if "flat" in root.items else (parent[0].flat if parent else "")
        inherited_notes = parent[0].notes if parent else ()
        if self.problems:
            raise SpecError(self.problems)
        return Spec(
            model_type=model_type,
            prefix=prefix,
            base_model_prefix=base_model_prefix,
            source=self.source,
            attribute_map=attribute_map,
            fields=fields,
            fixed=fixed,
            readonly=readonly,
            flat=flat,
            require=tuple(require),
            modules=modules,
            architectures=tuple(architectures),
            renames=renames,
            refuse=self.text(root, "refuse"),
            notes=inherited_notes + tuple(self.notes(root)),
            header=_header(self.source.text),
            library=self.library,
        )

    def inherit(
        self,
        spec: Spec,
        to: tuple[str, str, str],
        modules: dict[str, Module],
        renames: dict[str, str],
        names: list[str],
    ) -> None:
        """The parent's modules under the child's prefixes; calls inside them follow by ``renames``."""
        model_type, prefix, base_model_prefix = to

        def renamed(name: str) -> str:
            return prefix + name[len(spec.prefix) :] if name.startswith(spec.prefix) else name

        for name, module in spec.modules.items():
            own = module.home == spec.model_type
            new = renamed(name) if own else name
            attributes = {spec.base_model_prefix: base_model_prefix} if own else {}
            modules[new] = _reattributed(module, attributes)._replace(
                name=new, home=model_type if own else module.home
            )
            if new != name:
                renames[name] = new
        renames |= {old: renames.get(new, new) for old, new in spec.renames.items()}
        names += [renames.get(name, name) for name in spec.architectures]

    def fields(self, mapping: source.Mapping) -> dict[str, Field]:
        fields = {}
        for name, node in mapping.items.items():
            place, path = mapping.keys[name], f"config.{name}"
            if not _NAME.match(name):
                self.problem(f"{name!r} is not a field name", place, "config", "a field is a Python name")
            elif isinstance(node, source.Sequence):
                if (default := self.value(node, path)) is not None:
                    fields[name] = Field(name, (), default, False, place)
            elif not isinstance(node, source.Scalar):
                self.problem("a default is one expression", node.place, path, "write a list as [1, 2]")
            elif (field := self.field(name, node, place, path)) is not None:
                fields[name] = field
        return fields

    def field(self, name: str, node: source.Scalar, place: Place, path: str) -> Field | None:
        """`LITERAL`, `= expression`, `or expression`, `TYPE = expression`, or `TYPE` alone where the field is required."""
        text = node.raw
        if not node.quoted and (match := _FIELD_TYPE.match(text)):
            types = tuple(part.strip() for part in match.group().split("|"))
            if all(part.partition("[")[0] in TYPES for part in types) and types != ("None",):
                rest = text[match.end() :].lstrip()
                if not rest:
                    return Field(name, types, None, False, place)
                if rest.startswith("="):
                    default = self.parsed(node, path, len(text) - len(rest) + 1)
                    return default and Field(name, types, default, not _literal(default), place)
        if text.startswith("="):  # quoted too, where YAML would read a colon in it
            default = self.parsed(node, path, 1)
            return default and Field(name, (), default, True, place)
        if text.startswith("or "):
            default = self.parsed(node, path, 2)
            return default and Field(name, (), default, True, place, falsy=True)
        default = self.value(node, path)
        return default and Field(name, (), default, False, place)

    def value(self, node: source.Node, path: str) -> Expression | None:
        """A literal as YAML writes it (true, null, text without quotes), or `= expression`."""
        if isinstance(node, source.Sequence):
            items = [item for inner in node.items if (item := self.value(inner, path)) is not None]
            text = ", ".join(item.text for item in items)
            return Expression(
                ast.List([item.tree for item in items], ast.Load()), f"[{text}]", node.place, path
            )
        if not isinstance(node, source.Scalar):
            self.problem("one expression is expected here", node.place, path, "write a list as [1, 2]")
            return None
        constant: Any = node.text
        if node.raw.startswith("="):
            return self.parsed(node, path, 1)
        if not node.quoted:
            constants = {"true": True, "false": False, "null": None, "~": None, "": None}
            if node.text in constants:
                constant = constants[node.text]
            elif node.text[0] in "-0123456789.[{(" or node.text.endswith(")"):
                return self.parsed(node, path, 0)
        return Expression(ast.Constant(constant), node.text, node.place, path)

    def notes(self, root: source.Mapping) -> list[tuple[Expression, str]]:
        notes = []
        for condition, node in self.mapping(root, "notes").items.items():
            scalar = source.Scalar(condition, root.keys["notes"], False, condition)
            if (parsed := self.parsed(scalar, "notes")) is not None:
                notes.append((parsed, self.scalar(node)))
        return notes

    def loaded(self, root: source.Mapping, key: str) -> list[Spec]:
        specs = []
        for name in self.names(root, key):
            try:
                specs.append(self.load(name, root.keys[key]))
            except SpecError as error:
                self.problems += error.problems
        return specs


def _named_base(used: Spec, model_type: str, base_model_prefix: str) -> dict[str, Module]:
    """A shared part's modules; the base model, where its heads call it `base_model`, under the own name for it."""
    if used.base_model_prefix != "base_model":
        return used.modules
    attributes = {"base_model": base_model_prefix}
    return {
        name: _reattributed(module, attributes)._replace(home=model_type)
        for name, module in used.modules.items()
    }


def _reattributed(module: Module, attributes: dict[str, str]) -> Module:
    """The module with some of its attributes under other names, in the paths of its ties too."""

    def path(text: str) -> str:
        return ".".join(attributes.get(part, part) for part in text.split("."))

    if all(old == new for old, new in attributes.items()) or not isinstance(module.body, dict):
        return module
    body = {attributes.get(name, name): part for name, part in module.body.items()}
    ties = tuple(tie._replace(target=path(tie.target), source=path(tie.source)) for tie in module.ties)
    return module._replace(body=body, ties=ties)


def _literal(expression: Expression) -> bool:
    return not any(isinstance(node, ast.Name | ast.Call) for node in ast.walk(expression.tree))


def _header(text: str) -> str:
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# ").rstrip())
    return "\n".join(lines)
