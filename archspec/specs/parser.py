"""Parse a spec file into records, with `extends` and `uses` resolved; report all of its problems at once."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import takewhile
from keyword import iskeyword

from archspec.errors import Place, Source, SpecError, did_you_mean
from archspec.language.expression import Expression
from archspec.language.values import LAYERS, parse_kinds
from archspec.language.yaml_reader import Mapping, Node, Scalar, Sequence
from archspec.specs.inheritance import inherit, merge_base, take_shared
from archspec.specs.module_parser import ModuleParser
from archspec.specs.records import FLOAT32, KEYS, MAX_LENGTH, Field, Spec, SpecLibrary, camel_case
from archspec.typing_light import Any

MAX_BRACKETS = 64  # in the type of a field
_GROUPS = ("modules", "fields", "fixed", "readonly", "attribute_map")  # of names that `drop:` removes
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}
_STARTS = "-0123456789.[{("  # of numbers, lists, mappings and brackets

Loader = Callable[[str, Place], Spec]


def parse_spec(text: Source, load: Loader, library: SpecLibrary, compiled: Node | None = None) -> Spec:
    """Return the spec in a text, or its ``compiled`` document. Errors: :class:`SpecError` with all problems.

    ``load`` loads the specs that it names, ``library`` those of its sub-configs.
    """
    parser = _SpecParser(text, compiled)
    for key in (key for key in parser.root.items if key not in KEYS):
        help_ = did_you_mean(key, KEYS) or f"choose from: {', '.join(KEYS)}"
        parser.problem(f"{key} is not a key of a spec", parser.root.keys[key], "", help_)
    spec = parser.spec(load, library)
    if parser.problems:
        raise SpecError(parser.problems)
    return spec


class _SpecParser(ModuleParser):
    """Parses one file: first the inherited parts, then its keys."""

    def spec(self, load: Loader, library: SpecLibrary) -> Spec:
        spec = self.start_spec(load, library)
        own = self.add_fields(spec)
        spec = self.add_modules(spec, own)
        spec = self.without_dropped(spec, own)
        values = {key: read(self, key) for key, read in _READERS.items() if key in self.root.items}
        for key in ("require", "notes"):
            values[key] = (*getattr(spec, key), *values.get(key, ()))
        comments = takewhile(lambda line: line.startswith("#"), self.source.text.splitlines())
        return spec._replace(**values, header="\n".join(line.lstrip("# ").rstrip() for line in comments))

    def start_spec(self, load: Loader, library: SpecLibrary) -> Spec:
        """Return a spec of the file's name with only the parts of `extends` and `uses`."""
        root = self.root
        model_type = self.text(root, "model_type")
        if not model_type:
            self.problem("model_type is missing", root.place, "", "write model_type: and the file name")
        prefix = self.text(root, "prefix") or camel_case(model_type)
        parent = next(self.load_specs("extends", load), None)
        base = parent.base_model_prefix if parent else model_type.replace("-", "_")
        names = (model_type, prefix, self.text(root, "base_model_prefix") or base)
        spec = Spec(*names, self.source, library, {}, {}, {}, {}, {}, {})
        for used in self.load_specs("uses", load):
            spec.modules.update(take_shared(used, spec))
            spec.renames.update(used.renames)
            spec.fields.update(used.fields)
        return inherit(parent, spec) if parent else spec

    def load_specs(self, key: str, load: Loader) -> Iterator[Spec]:
        for name in self.texts(self.root, key):
            try:
                yield load(name, self.root.keys[key])
            except SpecError as error:
                self.problems += error.problems

    def add_fields(self, spec: Spec) -> set[str]:
        """Replace inherited fields, aliases and fixed values by the file's, and return the names of these."""
        own = dict(self.fields())
        aliases = self.mapping(self.root, "attribute_map")
        fixed = self.mapping(self.root, "fixed").items
        for name in own:
            for group in (spec.fixed, spec.readonly, spec.attribute_map):
                group.pop(name, None)
        for alias, node in aliases.items.items():
            spec.attribute_map[alias] = self.scalar(node)
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
                self.problem(message, aliases.keys[alias], "attribute_map", "remove one of the two")
        return {*own, *aliases.items, *fixed}

    def add_modules(self, spec: Spec, names: set[str]) -> Spec:
        """Return the spec with the file's modules and architectures; add the modules to the ``names``."""
        listed = self.mapping(self.root, "architectures")
        modules = self.modules(self.mapping(self.root, "modules"), "modules", spec.model_type)
        modules |= self.modules(listed, "architectures", spec.model_type)
        merged = dict(modules)
        for name, module in modules.items():
            try:
                merged[name] = merge_base(module, modules, spec)
            except SpecError as error:
                self.problems += error.problems
        spec.modules.update(merged)
        names.update(merged)
        own = {key.partition("(")[0]: key for key in listed.items}
        for name, key in own.items():
            if name not in spec.modules and name not in spec.renames.values():
                help_ = did_you_mean(name, spec.modules)
                self.problem(f"{name} is not defined", listed.keys[key], "architectures", help_)
        kept = {*spec.architectures} - {*self.texts(self.root, "drop")}
        order = (*own, *spec.architectures) if kept <= own.keys() else (*spec.architectures, *own)
        return spec._replace(architectures=tuple(dict.fromkeys(order)))

    def without_dropped(self, spec: Spec, own: set[str]) -> Spec:
        """Return the spec with its readonly names, without the inherited names in `drop`."""
        place = self.root.keys.get("readonly", self.root.place)
        spec.readonly.update(dict.fromkeys(self.texts(self.root, "readonly"), place))
        dropped = self.texts(self.root, "drop")
        for name in dropped:
            groups = [group for key in _GROUPS if name in (group := getattr(spec, key))]
            if name == "require":
                spec = spec._replace(require=())
            elif name in own:
                help_ = "remove it from drop: a definition here replaces the parent's"
                self.problem(f"{name} is dropped, but defined here", self.root.keys["drop"], "", help_)
            elif not groups:
                help_ = did_you_mean(name, {*spec.modules} - own)
                message = f"{name} is not defined in the parent spec"
                self.problem(message, self.root.keys["drop"], "drop", help_ or f"remove {name} from drop")
            for group in groups:
                del group[name]
        return spec._replace(architectures=tuple(name for name in spec.architectures if name not in dropped))

    def fields(self) -> Iterator[tuple[str, Field]]:
        mapping = self.mapping(self.root, "config")
        for name, node in mapping.items.items():
            place = mapping.keys[name]
            if not (name.isidentifier() and name.isascii()) or iskeyword(name):
                plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
                is_plain = plain.isidentifier() and not iskeyword(plain)
                help_ = f"use letters, digits and underscores, e.g. {plain if is_plain else 'hidden_size'}"
                help_ = "choose a name that is not a Python keyword" if iskeyword(name) else help_
                self.problem(f"{name!r} is not a field name", place, "config", help_)
            elif field := self.field(name, node, place):
                yield name, field

    def field(self, name: str, node: Node, place: Place) -> Field | None:
        """Parse `LITERAL`, `= expression`, `or expression`, `TYPE = expression`, or `TYPE` if required."""
        path = f"config.{name}"
        if isinstance(node, Scalar):
            written, equals, _ = node.raw.partition("=")
            if written.count("[") > MAX_BRACKETS:
                message = f"the type has more than {MAX_BRACKETS} brackets"
                self.problem(message, node.place, path, "write a shorter type, or list")
                return None
            text = node.quoted and not written.startswith(LAYERS)  # whose default has colons in it
            types = () if text or written.strip() == "None" else parse_kinds(written)
            if types and not equals:
                return Field(name, types, None, False, place)
            if types or node.raw.startswith("="):  # quoted too, where YAML would read a colon in it
                default = self.expression(node, path, len(written) + 1)
                return default and Field(name, types, default, not (types and _is_literal(default)), place)
            if node.raw.startswith("or "):
                default = self.expression(node, path, 2)
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
            return self.expression(node, path, 0, "write a list as [1, 2]")
        text = node.text
        if node.raw.startswith("="):
            return self.expression(node, path, 1)
        if not node.quoted and text not in _CONSTANTS and (text[0] in _STARTS or text.endswith(")")):
            return self.expression(node, path)
        constant = text if node.quoted else _CONSTANTS.get(text, text)
        return Expression(ast.Constant(constant), text, node.place, path)

    def notes(self, key: str) -> tuple[tuple[Expression, str], ...]:
        mapping = self.mapping(self.root, key)
        texts = {condition: self.scalar(node) for condition, node in mapping.items.items()}
        found = ((self.compose(one, mapping.keys[one], key), text) for one, text in texts.items())
        return tuple((condition, text) for condition, text in found if condition is not None)

    def read_runnable(self, key: str) -> tuple[tuple[str, Expression], ...]:
        """Return the conditions of running, each with its class, or '' for all classes."""
        node = self.root.items[key]
        parts = node.items if isinstance(node, Sequence) else [node]
        named = [one.items if isinstance(one, Mapping) else {"": one} for one in parts]
        help_ = "write one condition per line: - a % b == 0, or - Class: a % b == 0"
        every = [(name, inner) for one in named for name, inner in one.items()]
        found = ((name, self.expression(inner, key, 0, help_)) for name, inner in every)
        return tuple((name, condition) for name, condition in found if condition is not None)

    def data(self, node: Node) -> Any:
        if isinstance(node, Mapping):
            return {key: self.data(value) for key, value in node.items.items()}
        if isinstance(node, Sequence):
            return [self.data(item) for item in node.items]
        value = self.literal(node, "valid_config")
        return ast.literal_eval(value.tree) if value is not None and _is_literal(value) else node.text


def _texts(parser: _SpecParser, key: str, names: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    mapping = parser.mapping(parser.root, key, names)
    return {name: parser.texts(mapping, name) for name in mapping.items}


_READERS: dict[str, Callable[[_SpecParser, str], Any]] = {  # of the keys that nothing else reads
    **dict.fromkeys(("flat", "refuse", "extends", "inputs"), lambda own, key: own.text(own.root, key)),
    **dict.fromkeys(("uses", "equal_lengths"), lambda own, key: own.texts(own.root, key)),
    "require": lambda own, key: own.expressions(own.root, key),
    "notes": _SpecParser.notes,
    "runnable": _SpecParser.read_runnable,
    "max_length": lambda own, key: own.named_expressions(own.root, key, allowed=MAX_LENGTH),
    "keep_in_float32": lambda own, key: _texts(own, key, FLOAT32),
    "former_fields": lambda own, key: {name: " ".join(texts) for name, texts in _texts(own, key).items()},
    "valid_config": lambda own, key: own.data(own.mapping(own.root, key)),
}


def _is_literal(expression: Expression) -> bool:
    return not any(isinstance(node, ast.Name | ast.Call) for node in ast.walk(expression.tree))
