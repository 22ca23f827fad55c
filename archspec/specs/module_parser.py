"""Parse the parts of a spec file: texts, expressions, and module classes. All problems are collected."""

from __future__ import annotations

import ast
import re

from archspec.errors import Place, Problem, Source, SpecError
from archspec.language.expression import Expression, parse, python
from archspec.language.yaml_reader import Mapping, Node, Scalar, Sequence
from archspec.language.yaml_reader import parse as parse_yaml
from archspec.specs.records import (
    AFTER,
    KEYS,
    MODALITIES,
    OTHER_SIZES,
    RESERVED,
    RUNS,
    Body,
    Contraction,
    Module,
    Runs,
    Tie,
)
from archspec.typing_light import Any

_TIE = re.compile(r"((?:\{[^{}]*\}|[^\s{])*)\s*(.*)", re.DOTALL)
_OTHER_SIZES = ", or "  # before the end of `sizes:` of a module that takes other sizes, too
_SIGNATURE = "write Name or Name(parameter, other=default)"
Parameters = dict[str, Expression | None]


class PartReader:
    """Reads the nodes of one file; the text of a ``compiled`` document is not checked again."""

    def __init__(self, source: Source, compiled: Node | None) -> None:
        root = compiled or parse_yaml(source)
        if not isinstance(root, Mapping):
            help_ = f"choose from: {', '.join(KEYS)}"
            raise SpecError("a spec must be a mapping of keys", root.place, help=help_)
        self.source, self.root, self.checked = source, root, compiled is not None
        self.problems: list[Problem] = []

    def problem(self, message: str, place: Place, path: str, help_: str) -> None:
        self.problems.append(Problem(message, place, path, help_))

    def expression(self, node: Node, path: str, skip: int = 0, help_: str = "") -> Expression | None:
        """Return a scalar, without ``skip`` leading characters, as an expression; None after a problem."""
        if not isinstance(node, Scalar):
            self.problem("this must be an expression", node.place, path, help_ or "write it on one line")
            return None
        try:
            return parse(node, path, skip, self.checked)
        except SpecError as error:
            self.problems += error.problems
            return None

    def compose(self, text: str, place: Place, path: str) -> Expression | None:
        return self.expression(Scalar(text, place, False, text), path)

    def expressions(self, parent: Mapping, key: str, path: str = "") -> tuple[Expression, ...]:
        """Return the expressions under a key: one, or a list."""
        node = parent.items.get(key)
        items = node.items if isinstance(node, Sequence) else [] if node is None else [node]
        help_ = "write one condition per line: - a % b == 0"
        found = (self.expression(item, path + key, 0, help_) for item in items)
        return tuple(one for one in found if one is not None)

    def single_expressions(self, parent: Mapping, keys: tuple[str, ...], path: str) -> dict[str, Any]:
        """Return the expressions under some keys of which each has one."""
        return {key: self.expression(parent.items[key], path + key) for key in keys if key in parent.items}

    def named_expressions(
        self, parent: Mapping, key: str, path: str = "", allowed: tuple[str, ...] = ()
    ) -> dict[str, Expression]:
        """Return the lines of `name: expression` under a key."""
        nodes = self.mapping(parent, key, allowed).items
        found = {name: self.expression(node, f"{path}{key}.{name}") for name, node in nodes.items()}
        return {name: one for name, one in found.items() if one is not None}

    def shapes(self, parent: Mapping, key: str, path: str) -> dict[str, Expression]:
        """Return the lines of `name: batch, size, size` under a key as lists of sizes."""
        nodes = self.mapping(parent, key).items
        texts = {name: (f"[{self.scalar(node)}]", node.place) for name, node in nodes.items()}
        found = {name: self.compose(*text, f"{path}{key}.{name}") for name, text in texts.items()}
        return {name: one for name, one in found.items() if one is not None}

    def mapping(self, parent: Mapping, key: str, allowed: tuple[str, ...] = ()) -> Mapping:
        """Return the mapping under a key, an empty one if it is missing; its keys may be a closed set."""
        node = parent.items.get(key)
        if not isinstance(node, Mapping):
            if node is not None and not (isinstance(node, Scalar) and node.empty):
                self.problem(f"{key} must be a mapping", node.place, "", "write one `name: value` per line")
            return Mapping({}, {}, parent.place)
        for name in (name for name in node.items if allowed and name not in allowed):
            help_ = f"choose from: {', '.join(allowed)}"
            self.problem(f"{name} is not a key here", node.keys[name], "", help_)
        return node

    def texts(self, parent: Mapping, key: str) -> tuple[str, ...]:
        """Return the names under a key: a list, or words of one text."""
        node = parent.items.get(key)
        if isinstance(node, Sequence):
            return tuple(map(self.scalar, node.items))
        return tuple(self.text(parent, key).split())

    def text(self, parent: Mapping, key: str) -> str:
        """Return the text under a key, an empty one if it is missing."""
        return self.scalar(parent.items[key]) if key in parent.items else ""

    def scalar(self, node: Node) -> str:
        if isinstance(node, Scalar):
            return node.text
        self.problem("this must be a string", node.place, "", "write it on one line")
        return ""


class ModuleParser(PartReader):
    """Parses the modules of a file, without those that they extend."""

    def modules(self, mapping: Mapping, path: str, home: str) -> dict[str, Module]:
        modules: dict[str, Module] = {}
        for key, node in mapping.items.items():
            place = mapping.keys[key]
            name, parameters = self.signature(key, place, path)
            if name in modules:
                self.problem(f"{name} is defined twice", place, path, "remove one of the two")
            if name and not (path == "architectures" and isinstance(node, Scalar) and node.empty):
                modules[name] = self._module(name, parameters, node, place, home)
        return modules

    def _module(self, name: str, parameters: Parameters, node: Node, place: Place, home: str) -> Module:
        if not isinstance(node, Mapping):
            return Module(name, parameters, self._part(node, name), place, home)
        path, cache = f"{name}.", node.items.get("cache")
        word = cache.text if isinstance(cache, Scalar) and cache.text in ("none", "returned") else ""
        own = {key: value for key, value in node.items.items() if key not in RESERVED}
        return Module(
            name,
            parameters,
            self._part(node._replace(items=own), name),
            place,
            home,
            where=self.named_expressions(node, "where", path),
            require=self.expressions(node, "require", path),
            ties=(*self._ties(node, "tied", name), *self._ties(node, "alias", name)),
            **self.single_expressions(node, ("extends", "output_embeddings"), path),
            sizes=self._sizes(node, path),
            other_sizes=self.text(node, "sizes").partition(_OTHER_SIZES)[2],
            inputs=self._inputs(node),
            branches=self.texts(node, "branches"),
            after=self.named_expressions(node, "after", path, AFTER),
            placeholders=self.named_expressions(node, "placeholders", path, (*MODALITIES,)),
            needs=self.texts(node, "needs"),
            runs=self._runs(self.mapping(node, "runs"), f"{name}.runs."),
            ops=self.expressions(node, "ops", path),
            cache=None if word == "none" else {} if word else self.shapes(node, "cache", path),
            saves=self.named_expressions(node, "saves", path),
            returned=word == "returned",
        )

    def _sizes(self, node: Mapping, path: str) -> Expression | None:
        """Return the line `sizes: height, width` as a list."""
        given = node.items.get("sizes")
        if given is None:
            return None
        text, _, others = self.scalar(given).partition(_OTHER_SIZES)
        if others not in ("", *OTHER_SIZES):
            help_ = f"end it with one of: {', '.join(f'`, or {one}`' for one in OTHER_SIZES)}"
            self.problem(f"{others} is not a kind of sizes", given.place, f"{path}sizes", help_)
        return self.compose(f"[{text}]", given.place, f"{path}sizes")

    def _inputs(self, node: Mapping) -> dict[str, tuple[str, ...]] | str | None:
        """Return the attributes that run on each modality, or the modality that all of them run on."""
        given = node.items.get("inputs")
        if not isinstance(given, Mapping):
            return self.text(node, "inputs") or None
        found = self.mapping(node, "inputs", (*MODALITIES,))
        return {name: self.texts(found, name) for name in found.items}

    def _runs(self, mapping: Mapping, path: str) -> dict[str, Runs]:
        """Return the number of tokens of each attribute, or the axes inside it."""
        found: dict[str, Runs] = {}
        for key, value in mapping.items.items():
            if isinstance(value, Mapping):
                found[key] = self.named_expressions(mapping, key, path, RUNS)
            elif (tokens := self.expression(value, path + key)) is not None:
                found[key] = tokens
        return found

    def _part(self, node: Node, path: str) -> Body:
        if isinstance(node, Mapping):
            parts = {key: self._part(value, f"{path}.{key}") for key, value in node.items.items()}
            return {key: self._attribute(key, part) for key, part in parts.items()}
        if isinstance(node, Sequence):
            return [self._part(value, f"{path}.{index}") for index, value in enumerate(node.items)]
        return {} if node.empty else self.expression(node, path) or {}

    def _attribute(self, key: str, part: Body) -> Body:
        """Return a loop under a key with `{…}` as a mapping of names to constructors."""
        if "{" not in key or not isinstance(part, Expression):
            return part
        if not isinstance(part.tree, ast.GeneratorExp):
            self.problem(f"{key} needs a loop", part.place, part.path, "add a loop: for i in range(n)")
            return part
        pieces = re.split(r"[{}]", key)  # texts and expressions in turn
        terms = [piece if i % 2 else repr(piece) for i, piece in enumerate(pieces)]
        text = " + ".join(f"str({term})" for term in terms)
        if (name := self.compose(text, part.place, part.path)) is None:
            return part
        tree = ast.DictComp(key=name.tree, value=part.tree.elt, generators=part.tree.generators)
        return part._replace(tree=ast.copy_location(tree, part.tree))

    def _ties(self, node: Mapping, key: str, name: str) -> list[Tie]:
        """Parse `target: source`, with `{expression}` in both and `for`/`if` after the source."""
        ties, mapping, path = [], self.mapping(node, key), f"{name}.{key}"
        for target, value in mapping.items.items():
            source, rest = _TIE.match(self.scalar(value)).groups()  # type: ignore[union-attr]
            place, turns = mapping.keys[target], None
            if rest:
                loops = rest if rest.startswith("for ") else f"for _ in range(1) {rest}"
                names = ", ".join(re.findall(r"\{([^{}]*)\}", target + source))
                turns = self.compose(f"[[{names}] {loops}]", value.place, f"{path}.{target}")
            elif "{" in target + source:
                self.problem("a tie with {…} needs a loop", place, path, "add a loop: for i in range(n)")
            ties.append(Tie(target, source, turns, place, key == "alias"))
        return ties

    def signature(self, key: str, place: Place, path: str) -> tuple[str, Parameters]:
        """Parse `Name` or `Name(parameter, other=default)` as Python does; an empty name after a problem."""
        try:
            [tree] = python(f"def {key if '(' in key else key + '()'}: ...", "exec").body  # type: ignore[attr-defined]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            tree = None
        found = tree.args if isinstance(tree, ast.FunctionDef) and not tree.returns else None
        if found is None or found.vararg or found.kwarg or found.posonlyargs or found.kwonlyargs:
            self.problem(f"{key!r} is not a class name with plain parameters", place, path, _SIGNATURE)
            return "", {}
        parameters: Parameters = {argument.arg: None for argument in found.args}
        for name, default in zip(reversed(parameters), reversed(found.defaults), strict=False):
            parameters[name] = self.compose(ast.unparse(default), place, f"{path}.{tree.name}")
        return tree.name, parameters


def contractions(source: Source, compiled: Node | None = None) -> dict[str, Contraction]:
    """Return the table in a text. Errors: :class:`SpecError` with all problems of the text."""
    parser, found = ModuleParser(source, compiled), {}
    for key, node in parser.root.items.items():
        name, parameters = parser.signature(key, parser.root.keys[key], "contractions")
        assert isinstance(node, Mapping)
        found[name] = Contraction(
            name,
            parameters,
            parser.named_expressions(node, "where", f"{name}."),
            **parser.single_expressions(node, Contraction._fields[3:8], f"{name}."),
            cache=parser.shapes(node, "cache", f"{name}."),
            require=parser.expressions(node, "require", f"{name}."),
        )
    if parser.problems:
        raise SpecError(parser.problems)
    return found
