"""Parse the module classes of a spec file: signatures, attributes, local names, conditions and ties."""

from __future__ import annotations

import ast
import re

from archspec.errors import Place, Source, SpecError
from archspec.language.expression import Expression, python
from archspec.language.yaml_reader import Mapping, Node, Scalar, Sequence
from archspec.language.yaml_reader import parse as parse_yaml
from archspec.specs.part_reader import PartReader
from archspec.specs.records import RESERVED, RUNS, Body, Contraction, Module, Runs, Tie

_TIE = re.compile(r"((?:\{[^{}]*\}|[^\s{])*)\s*(.*)", re.DOTALL)
_SIGNATURE = "write Name or Name(parameter, other=default)"
Parameters = dict[str, Expression | None]


class ModuleParser:
    """Parses the modules of one file, without those that they extend."""

    def __init__(self, reader: PartReader, home: str) -> None:
        self.reader, self.home = reader, home

    def modules(self, mapping: Mapping, path: str) -> dict[str, Module]:
        modules: dict[str, Module] = {}
        for key, node in mapping.items.items():
            place = mapping.keys[key]
            name, parameters = parse_signature(self.reader, key, place, path)
            if name in modules:
                self.reader.problem(f"{name} is defined twice", place, path, "remove one of the two")
            if name and not (path == "architectures" and isinstance(node, Scalar) and node.empty):
                modules[name] = self._module(name, parameters, node, place)
        return modules

    def _module(self, name: str, parameters: Parameters, node: Node, place: Place) -> Module:
        if not isinstance(node, Mapping):
            return Module(name, parameters, self._part(node, name), place, self.home)
        reader, cache = self.reader, node.items.get("cache")
        word = cache.text if isinstance(cache, Scalar) and cache.text in ("none", "returned") else ""
        own = {key: value for key, value in node.items.items() if key not in RESERVED}
        single = ("extends", "output_embeddings")
        calls = {
            key: reader.expression(node.items[key], f"{name}.{key}") for key in single if key in node.items
        }
        return Module(
            name,
            parameters,
            self._part(node._replace(items=own), name),
            place,
            self.home,
            where=reader.named_expressions(reader.mapping(node, "where"), f"{name}.where"),
            require=reader.expressions(node, "require", f"{name}."),
            ties=(*self._ties(node, "tied", name), *self._ties(node, "alias", name)),
            **calls,
            runs=self._runs(reader.mapping(node, "runs"), f"{name}.runs"),
            ops=reader.expressions(node, "ops", f"{name}."),
            cache=_cache(reader, node, name, word),
            saves=reader.named_expressions(reader.mapping(node, "saves"), f"{name}.saves"),
            returned=word == "returned",
        )

    def _runs(self, mapping: Mapping, path: str) -> dict[str, Runs]:
        """Return the number of tokens of each attribute, or the axes inside it."""
        found: dict[str, Runs | None] = {}
        for key, value in mapping.items.items():
            if isinstance(value, Mapping):
                found[key] = self.reader.named_expressions(
                    self.reader.mapping(mapping, key, RUNS), f"{path}.{key}"
                )
            else:
                found[key] = self.reader.expression(value, f"{path}.{key}")
        return {key: runs for key, runs in found.items() if runs is not None}

    def _part(self, node: Node, path: str) -> Body:
        if isinstance(node, Mapping):
            parts = {key: self._part(value, f"{path}.{key}") for key, value in node.items.items()}
            return {key: self._attribute(key, part) for key, part in parts.items()}
        if isinstance(node, Sequence):
            return [self._part(value, f"{path}.{index}") for index, value in enumerate(node.items)]
        return {} if node.empty else self.reader.expression(node, path) or {}

    def _attribute(self, key: str, part: Body) -> Body:
        """Return a loop under a key with `{…}` as a mapping of names to constructors."""
        if "{" not in key or not isinstance(part, Expression):
            return part
        if not isinstance(part.tree, ast.GeneratorExp):
            self.reader.problem(f"{key} needs a loop", part.place, part.path, "add a loop: for i in range(n)")
            return part
        pieces = re.split(r"[{}]", key)  # texts and expressions in turn
        terms = [piece if i % 2 else repr(piece) for i, piece in enumerate(pieces)]
        text = " + ".join(f"str({term})" for term in terms)
        if (name := self.reader.compose(text, part.place, part.path)) is None:
            return part
        tree = ast.DictComp(key=name.tree, value=part.tree.elt, generators=part.tree.generators)
        return part._replace(tree=ast.copy_location(tree, part.tree))

    def _ties(self, node: Mapping, key: str, name: str) -> list[Tie]:
        """Parse `target: source`, with `{expression}` in both and `for`/`if` after the source."""
        ties, mapping, path = [], self.reader.mapping(node, key), f"{name}.{key}"
        for target, value in mapping.items.items():
            source, rest = _TIE.match(self.reader.scalar(value)).groups()  # type: ignore[union-attr]
            place, turns = mapping.keys[target], None
            if rest:
                loops = rest if rest.startswith("for ") else f"for _ in range(1) {rest}"
                names = ", ".join(re.findall(r"\{([^{}]*)\}", target + source))
                turns = self.reader.compose(f"[[{names}] {loops}]", value.place, f"{path}.{target}")
            elif "{" in target + source:
                self.reader.problem(
                    "a tie with {…} needs a loop", place, path, "add a loop: for i in range(n)"
                )
            ties.append(Tie(target, source, turns, place, key == "alias"))
        return ties


def _cache(reader: PartReader, node: Mapping, name: str, word: str) -> dict[str, Expression] | None:
    if word:
        return None if word == "none" else {}
    return reader.shapes(reader.mapping(node, "cache"), f"{name}.cache")


def parse_signature(reader: PartReader, key: str, place: Place, path: str) -> tuple[str, Parameters]:
    """Parse `Name` or `Name(parameter, other=default)` as Python does; an empty name after a problem."""
    try:
        [tree] = python(f"def {key if '(' in key else key + '()'}: ...", "exec").body  # type: ignore[attr-defined]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    found = tree.args if isinstance(tree, ast.FunctionDef) and not tree.returns else None
    if found is None or found.vararg or found.kwarg or found.posonlyargs or found.kwonlyargs:
        reader.problem(f"{key!r} is not a class name with plain parameters", place, path, _SIGNATURE)
        return "", {}
    parameters: Parameters = {argument.arg: None for argument in found.args}
    for name, default in zip(reversed(parameters), reversed(found.defaults), strict=False):
        parameters[name] = reader.compose(ast.unparse(default), place, f"{path}.{tree.name}")
    return tree.name, parameters


def contractions(source: Source, compiled: Node | None = None) -> dict[str, Contraction]:
    """Return the table in a text; ``compiled`` is its document if it was compiled.

    Errors: :class:`SpecError` with all problems of the text.
    """
    reader = PartReader(source, checked=compiled is not None)
    root = compiled or parse_yaml(source)
    assert isinstance(root, Mapping)
    found = {}
    for key, node in root.items.items():
        name, parameters = parse_signature(reader, key, root.keys[key], "contractions")
        assert isinstance(node, Mapping)
        numbers = {key: value for key, value in node.items.items() if key in Contraction._fields[3:8]}
        found[name] = Contraction(
            name,
            parameters,
            reader.named_expressions(reader.mapping(node, "where"), f"{name}.where"),
            **reader.named_expressions(Mapping(numbers, node.keys, node.place), name),
            cache=reader.shapes(reader.mapping(node, "cache"), f"{name}.cache"),
            require=reader.expressions(node, "require", f"{name}."),
        )
    if reader.problems:
        raise SpecError(reader.problems)
    return found
