"""Parse a spec file into records, with `extends` and `uses` resolved; report all of its problems at once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import takewhile

from archspec.errors import Place, Source, SpecError, did_you_mean
from archspec.language.expression import Expression
from archspec.language.values import LAYERS, union
from archspec.language.yaml_reader import Mapping, Node, Scalar, Sequence
from archspec.language.yaml_reader import parse as parse_yaml
from archspec.specs.inheritance import Inheritance, inherit, take_shared
from archspec.specs.module_parser import ModuleParser
from archspec.specs.part_reader import PartReader
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
    root = compiled or parse_yaml(text)
    keys = f"keys: {', '.join(KEYS)}"
    if not isinstance(root, Mapping):
        raise SpecError("a spec is a mapping of keys", root.place, help=keys)
    reader = PartReader(text, checked=compiled is not None)
    for key in (key for key in root.items if key not in KEYS):
        help_ = did_you_mean(key, KEYS) or keys
        reader.problem(f"{key} is not a key of a spec", root.keys[key], "", help_)
    spec = _SpecParser(reader, root, load).spec(library)
    if reader.problems:
        raise SpecError(reader.problems)
    return spec


class _SpecParser:
    """Parses one file: first the inherited parts, then its keys."""

    def __init__(self, reader: PartReader, root: Mapping, load: Loader) -> None:
        self.reader, self.root, self.load = reader, root, load

    def spec(self, library: SpecLibrary) -> Spec:
        spec = self.inherited(library)
        fields = self.add_fields(spec)
        spec, modules = self.with_modules(spec)
        spec = self.without_dropped(spec, fields | modules)
        values = {key: self.value_of(key) for key in (*_LAST_KEYS, *OWN_KEYS) if key in self.root.items}
        for key in ("require", "notes"):
            values[key] = (*getattr(spec, key), *values.get(key, ()))
        return spec._replace(**values, header=_header(self.reader.source.text))

    def inherited(self, library: SpecLibrary) -> Spec:
        """Return a spec of the file's name with only the parts of `extends` and `uses`."""
        model_type = self.reader.text(self.root, "model_type")
        if not model_type:
            self.reader.problem(
                "model_type is missing", self.root.place, "", "a spec starts with model_type:"
            )
        prefix = self.reader.text(self.root, "prefix") or camel_case(model_type)
        parent = next(iter(self.loaded("extends")), None)
        base_model_prefix = parent.base_model_prefix if parent else model_type.replace("-", "_")
        base_model_prefix = self.reader.text(self.root, "base_model_prefix") or base_model_prefix
        names = (model_type, prefix, base_model_prefix)
        spec = Spec(*names, self.reader.source, library, {}, {}, {}, {}, {}, {})
        for used in self.loaded("uses"):
            spec.modules.update(take_shared(used, spec))
            spec.renames.update(used.renames)
            spec.fields.update(used.fields)
        return inherit(parent, spec) if parent else spec

    def loaded(self, key: str) -> list[Spec]:
        specs = []
        for name in self.reader.texts(self.root, key):
            try:
                specs.append(self.load(name, self.root.keys[key]))
            except SpecError as error:
                self.reader.problems += error.problems
        return specs

    def add_fields(self, spec: Spec) -> set[str]:
        """Replace inherited fields, aliases and fixed values by the file's, and return the names of these."""
        own = self.fields()
        aliases = self.reader.mapping(self.root, "attribute_map")
        fixed = self.reader.mapping(self.root, "fixed").items
        for name in own:
            for group in (spec.fixed, spec.readonly, spec.attribute_map):
                group.pop(name, None)
        for alias, node in aliases.items.items():
            spec.attribute_map[alias] = self.reader.scalar(node)
            spec.fields.pop(alias, None)
        spec.fields.update(own)
        for name, node in fixed.items():
            if (value := self.literal(node, f"fixed.{name}")) is not None:
                spec.fixed[name] = value
                if name not in own:
                    spec.fields.pop(name, None)
        for alias in aliases.items:
            if alias in spec.fields or alias in spec.fixed:
                message = f"{alias} is a field, and another name of one"
                self.reader.problem(message, aliases.keys[alias], "attribute_map", "keep one of the two")
        return {*own, *aliases.items, *fixed}

    def with_modules(self, spec: Spec) -> tuple[Spec, set[str]]:
        """Return the spec with the file's modules and architectures, and the names of these modules."""
        named = self.reader.mapping(self.root, "architectures")
        parser = ModuleParser(self.reader, spec.model_type)
        modules = parser.modules(self.reader.mapping(self.root, "modules"), "modules")
        modules |= parser.modules(named, "architectures")
        inheritance, merged = Inheritance(modules, parser.bases, spec), dict(modules)
        for name, module in modules.items():
            try:
                merged[name] = inheritance.merge(module)
            except SpecError as error:
                self.reader.problems += error.problems
        spec.modules.update(merged)
        own = {key.partition("(")[0]: key for key in named.items}
        for name, key in own.items():
            if name not in spec.modules and name not in spec.renames.values():
                help_ = did_you_mean(name, spec.modules)
                self.reader.problem(f"{name} is not defined", named.keys[key], "architectures", help_)
        dropped = self.reader.texts(self.root, "drop")
        full = {
            name for name in spec.architectures if name not in dropped
        } <= own.keys()  # uses its order, too
        architectures = dict.fromkeys((*own, *spec.architectures) if full else (*spec.architectures, *own))
        return spec._replace(architectures=tuple(architectures)), set(modules)

    def without_dropped(self, spec: Spec, own: set[str]) -> Spec:
        """Return the spec with its readonly names, without the inherited names in `drop`."""
        place = self.root.keys.get("readonly", self.root.place)
        spec.readonly.update(dict.fromkeys(self.reader.texts(self.root, "readonly"), place))
        groups: list[dict[str, Any]] = [spec.modules, spec.fields, spec.fixed, spec.readonly]
        groups.append(spec.attribute_map)
        for name in self.reader.texts(self.root, "drop"):
            if name == "require":
                spec = spec._replace(require=())
                continue
            if name in own:
                help_ = "remove it from drop: a definition here replaces the parent's"
                self.reader.problem(f"{name} is dropped, but defined here", self.root.keys["drop"], "", help_)
            elif not any(name in group for group in groups):
                help_ = did_you_mean(name, spec.modules)
                self.reader.problem(f"{name} is not there to be dropped", self.root.keys["drop"], "", help_)
            for group in groups:
                group.pop(name, None)
            spec = spec._replace(architectures=tuple(kept for kept in spec.architectures if kept != name))
        return spec

    def fields(self) -> dict[str, Field]:
        mapping = self.reader.mapping(self.root, "config")
        fields = {}
        for name, node in mapping.items.items():
            place = mapping.keys[name]
            if not (name.isidentifier() and name.isascii()):
                help_ = "a field is a Python name"
                self.reader.problem(f"{name!r} is not a field name", place, "config", help_)
            elif field := self.field(name, node, place):
                fields[name] = field
        return fields

    def field(self, name: str, node: Node, place: Place) -> Field | None:
        """Parse `LITERAL`, `= expression`, `or expression`, `TYPE = expression`, or `TYPE` if required."""
        path = f"config.{name}"
        if isinstance(node, Scalar):
            written, equals, _ = node.raw.partition("=")
            if written.count("[") > MAX_BRACKETS:
                message = f"the type has more than {MAX_BRACKETS} brackets"
                self.reader.problem(message, node.place, path, "write a shorter type, or `list`")
                return None
            text = node.quoted and not written.startswith(LAYERS)  # whose default has colons in it
            types = () if text or written.strip() == "None" else union(written)
            if types and not equals:
                return Field(name, types, None, False, place)
            if types or node.raw.startswith("="):  # quoted too, where YAML would read a colon in it
                default = self.reader.expression(node, path, len(written) + 1)
                return default and Field(name, types, default, not (types and _literal(default)), place)
            if node.raw.startswith("or "):
                default = self.reader.expression(node, path, 2)
                return default and Field(name, (), default, True, place, falsy=True)
        default = self.literal(node, path)
        return default and Field(name, (), default, False, place)

    def literal(self, node: Node, path: str) -> Expression | None:
        """Parse a literal as in YAML (true, null, text without quotes), or `= expression`."""
        if isinstance(node, Sequence):
            items = [item for inner in node.items if (item := self.literal(inner, path)) is not None]
            tree = ast.List([item.tree for item in items], ast.Load())
            return Expression(tree, f"[{', '.join(item.text for item in items)}]", node.place, path)
        if not isinstance(node, Scalar):
            help_ = "write a list as [1, 2]"
            self.reader.problem("one expression is expected here", node.place, path, help_)
            return None
        text = node.text
        if node.raw.startswith("="):
            return self.reader.expression(node, path, 1)
        if not node.quoted and text not in _CONSTANTS and (text[0] in _STARTS or text.endswith(")")):
            return self.reader.expression(node, path)
        constant = text if node.quoted else _CONSTANTS.get(text, text)
        return Expression(ast.Constant(constant), text, node.place, path)

    def value_of(self, key: str) -> Any:
        """Return the value of a key in its form."""
        reader, root = self.reader, self.root
        match KEYS[key].form:
            case "text":
                return reader.text(root, key)
            case "texts":
                return reader.texts(root, key)
            case "expressions":
                return reader.expressions(root, key)
            case "texts_by_name":
                lines = reader.mapping(root, key).items.items()
                parsed = [
                    (reader.composed(one, root.keys[key], key), reader.scalar(node)) for one, node in lines
                ]
                return tuple(note for note in parsed if note[0] is not None)
            case "runnable":
                return tuple(self.runnable())
            case "max_length":
                return reader.named(reader.mapping(root, key, MAX_LENGTH), key)
            case "float32":
                lists = reader.mapping(root, key, FLOAT32)
                return {name: reader.texts(lists, name) for name in lists.items}
            case "former":
                return {name: reader.scalar(node) for name, node in reader.mapping(root, key).items.items()}
            case _:
                return self.data(reader.mapping(root, key))

    def runnable(self) -> Iterator[tuple[str, Expression]]:
        """Yield the conditions of running, each with its class, or '' for all classes."""
        node = self.root.items["runnable"]
        for item in node.items if isinstance(node, Sequence) else [node]:
            named = item.items if isinstance(item, Mapping) else {"": item}
            for name, condition in named.items():
                if not isinstance(condition, Scalar):
                    help_ = "one line each: - a % b == 0, or - Class: a % b == 0"
                    self.reader.problem(
                        "runnable is a list of conditions", condition.place, "runnable", help_
                    )
                elif (parsed := self.reader.expression(condition, "runnable")) is not None:
                    yield name, parsed

    def data(self, node: Node) -> Any:
        """Return a node as the plain data of a config."""
        if isinstance(node, Mapping):
            return {key: self.data(value) for key, value in node.items.items()}
        if isinstance(node, Sequence):
            return [self.data(item) for item in node.items]
        value = self.literal(node, "valid_config")
        return ast.literal_eval(value.tree) if value is not None and _literal(value) else node.text


_LAST_KEYS = ("flat", "require", "refuse", "notes", "extends", "uses")


def _literal(expression: Expression) -> bool:
    return not any(isinstance(node, ast.Name | ast.Call) for node in ast.walk(expression.tree))


def _header(text: str) -> str:
    """Return the comment at the top of a file."""
    lines = takewhile(lambda line: line.startswith("#"), text.splitlines())
    return "\n".join(line.lstrip("# ").rstrip() for line in lines)
