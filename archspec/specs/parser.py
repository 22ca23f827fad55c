"""Parse a spec file into records, with `extends` and `uses` resolved; report all of its problems at once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from archspec.errors import Place, Source, SpecError, did_you_mean
from archspec.language.expression import Expression
from archspec.language.values import KINDS, LAYERS, union
from archspec.language.yaml_reader import Mapping, Node, Scalar, Sequence
from archspec.language.yaml_reader import parse as parse_yaml
from archspec.specs.inheritance import Inheritance, inherit, take_shared
from archspec.specs.module_parser import ModuleParser
from archspec.specs.records import (
    FLOAT32,
    KEYS,
    MAX_LENGTH,
    OWN_KEYS,
    Field,
    Spec,
    SpecLibrary,
    camel_case,
)
from archspec.typing_light import Any

MAX_BRACKETS = 64  # in the type of a field

_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}
_STARTS = "-0123456789.[{("  # of numbers, lists, mappings and brackets

Loader = Callable[[str, Place], Spec]


def parse_spec(text: Source, load: Loader, library: SpecLibrary, compiled: Node | None = None) -> Spec:
    """Return the spec in a text; ``compiled`` is its document if it was compiled.

    ``load`` loads the specs that it names, ``library`` those of its sub-configs.

    Errors: :class:`SpecError` with all problems of the file at once.
    """
    parser = _Parser(text, load, library, checked=compiled is not None)
    return parser.spec(compiled or parse_yaml(text))


class _Parser(ModuleParser):
    """Parses one file: first the inherited parts, then its keys."""

    def __init__(self, text: Source, load: Loader, library: SpecLibrary, checked: bool) -> None:
        super().__init__(text, checked)
        self.load, self.library = load, library

    def spec(self, root: Node) -> Spec:
        keys = f"keys: {', '.join(KEYS)}"
        if not isinstance(root, Mapping):
            raise SpecError("a spec is a mapping of keys", root.place, help=keys)
        for key in root.items:
            if key not in KEYS:
                help_ = did_you_mean(key, KEYS) or keys
                self.problem(f"{key} is not a key of a spec", root.keys[key], "", help_)
        spec = self.taken_over(root)
        fields = self.add_fields(root, spec)
        spec, modules = self.with_modules(root, spec)
        spec = self.without_dropped(root, spec, fields | modules)
        spec = spec._replace(
            require=(*spec.require, *self.expressions(root, "require")),
            flat=self.text(root, "flat") if "flat" in root.items else spec.flat,
            refuse=self.text(root, "refuse"),
            notes=(*spec.notes, *self.notes(root)),
            header=_header(self.source.text),
            extends=self.text(root, "extends"),
            uses=tuple(self.names(root, "uses")),
            **self.own_keys(root),
        )
        if self.problems:
            raise SpecError(self.problems)
        return spec

    def taken_over(self, root: Mapping) -> Spec:
        """Return a spec of the file's name with only the inherited parts, of `extends` and `uses`."""
        model_type = self.text(root, "model_type")
        if not model_type:
            self.problem("model_type is missing", root.place, "", "a spec starts with model_type:")
        prefix = self.text(root, "prefix") or camel_case(model_type)
        parent = next(iter(self.loaded(root, "extends")), None)
        inherited = parent.base_model_prefix if parent else model_type.replace("-", "_")
        base_model_prefix = self.text(root, "base_model_prefix") or inherited
        names = (model_type, prefix, base_model_prefix)
        spec = Spec(*names, self.source, self.library, {}, {}, {}, {}, {}, {})
        for used in self.loaded(root, "uses"):
            spec.modules.update(take_shared(used, spec))
            spec.renames.update(used.renames)
            spec.fields.update(used.fields)
        return inherit(parent, spec) if parent else spec

    def add_fields(self, root: Mapping, spec: Spec) -> set[str]:
        """Replace inherited fields, aliases and fixed values by the file's, and return the names of these."""
        own = self.fields(self.mapping(root, "config"))
        aliases = self.mapping(root, "attribute_map")
        fixed = self.mapping(root, "fixed").items
        for name in own:
            for group in (spec.fixed, spec.readonly, spec.attribute_map):
                group.pop(name, None)
        for alias, node in aliases.items.items():
            spec.attribute_map[alias] = self.scalar(node)
            spec.fields.pop(alias, None)
        spec.fields.update(own)
        for name, node in fixed.items():
            if (value := self.value(node, f"fixed.{name}")) is not None:
                spec.fixed[name] = value
                if name not in own:
                    spec.fields.pop(name, None)
        for alias in aliases.items:
            if alias in spec.fields or alias in spec.fixed:
                message = f"{alias} is a field, and another name of one"
                self.problem(message, aliases.keys[alias], "attribute_map", "keep one of the two")
        return {*own, *aliases.items, *fixed}

    def with_modules(self, root: Mapping, spec: Spec) -> tuple[Spec, set[str]]:
        """Return the spec with the file's modules and architectures, and the names of these modules."""
        named = self.mapping(root, "architectures")
        described = self.modules(self.mapping(root, "modules"), spec.model_type, "modules")
        described |= self.modules(named, spec.model_type, "architectures")
        inheritance = Inheritance(described, self.bases, spec)
        spec.modules.update(inheritance.modules())
        self.problems += inheritance.problems
        own = {key.partition("(")[0]: key for key in named.items}
        for name, key in own.items():
            if name not in spec.modules and name not in spec.renames.values():
                help_ = did_you_mean(name, spec.modules)
                self.problem(f"{name} is not defined", named.keys[key], "architectures", help_)
        inherited = [name for name in spec.architectures if name not in self.names(root, "drop")]
        full = {*inherited} <= own.keys()  # then its order is used, too
        architectures = dict.fromkeys((*own, *spec.architectures) if full else (*spec.architectures, *own))
        return spec._replace(architectures=tuple(architectures)), set(described)

    def without_dropped(self, root: Mapping, spec: Spec, described: set[str]) -> Spec:
        """Return the spec with its readonly names, without the inherited names in `drop`."""
        place = root.keys.get("readonly", root.place)
        spec.readonly.update(dict.fromkeys(self.names(root, "readonly"), place))
        groups: list[dict[str, Any]] = [spec.modules, spec.fields, spec.fixed, spec.readonly]
        groups.append(spec.attribute_map)
        for name in self.names(root, "drop"):
            if name == "require":
                spec = spec._replace(require=())
                continue
            if name in described:
                help_ = "remove it from drop: a definition here replaces the parent's"
                self.problem(f"{name} is dropped, but defined here", root.keys["drop"], "", help_)
            elif not any(name in group for group in groups):
                help_ = did_you_mean(name, spec.modules)
                self.problem(f"{name} is not there to be dropped", root.keys["drop"], "", help_)
            for group in groups:
                group.pop(name, None)
            spec = spec._replace(architectures=tuple(kept for kept in spec.architectures if kept != name))
        return spec

    def fields(self, mapping: Mapping) -> dict[str, Field]:
        fields = {}
        for name, node in mapping.items.items():
            place = mapping.keys[name]
            if not (name.isidentifier() and name.isascii()):
                self.problem(f"{name!r} is not a field name", place, "config", "a field is a Python name")
            elif field := self.field(name, node, place):
                fields[name] = field
        return fields

    def field(self, name: str, node: Node, place: Place) -> Field | None:
        """Parse `LITERAL`, `= expression`, `or expression`, `TYPE = expression`, or `TYPE` if required."""
        path = f"config.{name}"
        if isinstance(node, Scalar):
            written, equals, _ = node.raw.partition("=")
            if (
                written.count("[") > MAX_BRACKETS
                and written.partition("[")[0].split("|")[-1].strip() in KINDS
            ):
                message = f"the type has more than {MAX_BRACKETS} brackets"
                self.problem(message, node.place, path, "write a shorter type, or `list`")
                return None
            text = node.quoted and not written.startswith(LAYERS)  # whose default has colons in it
            types = () if text or written.strip() == "None" else union(written)
            if types and not equals:
                return Field(name, types, None, False, place)
            if types or node.raw.startswith("="):  # quoted too, where YAML would read a colon in it
                default = self.parsed(node, path, len(written) + 1)
                return default and Field(name, types, default, not (types and _literal(default)), place)
            if node.raw.startswith("or "):
                default = self.parsed(node, path, 2)
                return default and Field(name, (), default, True, place, falsy=True)
        default = self.value(node, path)
        return default and Field(name, (), default, False, place)

    def value(self, node: Node, path: str) -> Expression | None:
        """Parse a literal as in YAML (true, null, text without quotes), or `= expression`."""
        if isinstance(node, Sequence):
            items = [item for inner in node.items if (item := self.value(inner, path)) is not None]
            tree = ast.List([item.tree for item in items], ast.Load())
            return Expression(tree, f"[{', '.join(item.text for item in items)}]", node.place, path)
        if not isinstance(node, Scalar):
            self.problem("one expression is expected here", node.place, path, "write a list as [1, 2]")
            return None
        text = node.text
        if node.raw.startswith("="):
            return self.parsed(node, path, 1)
        if not node.quoted and text not in _CONSTANTS and (text[0] in _STARTS or text.endswith(")")):
            return self.parsed(node, path)
        constant = text if node.quoted else _CONSTANTS.get(text, text)
        return Expression(ast.Constant(constant), text, node.place, path)

    def notes(self, root: Mapping) -> list[tuple[Expression, str]]:
        notes = []
        for condition, node in self.mapping(root, "notes").items.items():
            if (parsed := self.made(condition, root.keys["notes"], "notes")) is not None:
                notes.append((parsed, self.scalar(node)))
        return notes

    def own_keys(self, root: Mapping) -> dict[str, Any]:
        """Return the keys that a spec does not inherit, but from one of the same model type."""
        lengths = self.mapping(root, "max_length")
        lists = self.mapping(root, "keep_in_float32")
        for mapping, allowed in ((lengths, MAX_LENGTH), (lists, FLOAT32)):
            for key in mapping.items.keys() - {*allowed}:
                help_ = f"keys: {', '.join(allowed)}"
                self.problem(f"{key} is not a key here", mapping.keys[key], "", help_)
        found = {
            "runnable": tuple(self.runnable(root)),
            "max_length": self.named(lengths, "max_length"),
            "equal_lengths": tuple(self.names(root, "equal_lengths")),
            "keep_in_float32": {key: tuple(self.names(lists, key)) for key in lists.items},
            "former_fields": {
                name: self.scalar(node) for name, node in self.mapping(root, "former_fields").items.items()
            },
            "valid_config": self.data(self.mapping(root, "valid_config")),
        }
        return {key: found[key] for key in OWN_KEYS if key in root.items}

    def runnable(self, root: Mapping) -> Iterator[tuple[str, Expression]]:
        """Yield the conditions of running, each with its class, or '' for all classes."""
        node = root.items.get("runnable")
        for item in node.items if isinstance(node, Sequence) else [] if node is None else [node]:
            named = item.items if isinstance(item, Mapping) else {"": item}
            for name, condition in named.items():
                if not isinstance(condition, Scalar):
                    help_ = "one line each: - a % b == 0, or - Class: a % b == 0"
                    self.problem("runnable is a list of conditions", condition.place, "runnable", help_)
                elif (parsed := self.parsed(condition, "runnable")) is not None:
                    yield name, parsed

    def data(self, node: Node) -> Any:
        """Return a node as the plain data of a config."""
        if isinstance(node, Mapping):
            return {key: self.data(value) for key, value in node.items.items()}
        if isinstance(node, Sequence):
            return [self.data(item) for item in node.items]
        value = self.value(node, "valid_config")
        return ast.literal_eval(value.tree) if value is not None and _literal(value) else node.text

    def loaded(self, root: Mapping, key: str) -> list[Spec]:
        specs = []
        for name in self.names(root, key):
            try:
                specs.append(self.load(name, root.keys[key]))
            except SpecError as error:
                self.problems += error.problems
        return specs


def _literal(expression: Expression) -> bool:
    return not any(isinstance(node, ast.Name | ast.Call) for node in ast.walk(expression.tree))


def _header(text: str) -> str:
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# ").rstrip())
    return "\n".join(lines)
