"""Module classes of a spec file as records: signatures, attributes, local names, conditions and ties."""

from __future__ import annotations

import ast
import re

from archspec.errors import Place, Problem, Source, SpecError
from archspec.language.expression import Expression, parse, python
from archspec.language.yaml_reader import Mapping, Node, Scalar, Sequence
from archspec.language.yaml_reader import parse as parse_yaml
from archspec.specs.records import RESERVED, RUNS, Body, Contraction, Module, Runs, Tie

_TIE = re.compile(r"(?:\{[^{}]*\}|[^\s{])*")


class ModuleParser:
    """Parses the parts of one file and collects their problems."""

    def __init__(self, text: Source, checked: bool = False) -> None:
        self.source, self.checked = text, checked
        self.problems: list[Problem] = []
        self.bases: dict[str, Expression] = {}

    def modules(self, mapping: Mapping, home: str, path: str) -> dict[str, Module]:
        modules = {}
        for key, node in mapping.items.items():
            name, parameters = self.signature(key, mapping.keys[key], path)
            if name in modules:
                self.problem(f"{name} is defined twice", mapping.keys[key], path, "keep one of the two")
            if name and not (path == "architectures" and isinstance(node, Scalar) and node.empty):
                modules[name] = self.module(name, parameters, node, mapping.keys[key], home)
        return modules

    def signature(self, key: str, place: Place, path: str) -> tuple[str, dict[str, Expression | None]]:
        """Parse `Name` or `Name(parameter, other=default)` as Python does."""
        try:
            body = python(f"def {key if '(' in key else key + '()'}: ...", "exec").body  # type: ignore[attr-defined]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            body = []
        tree = body[0] if len(body) == 1 else None
        help_ = "write Name or Name(parameter, other=default)"
        if not isinstance(tree, ast.FunctionDef) or tree.returns:
            self.problem(f"{key!r} is not a class name", place, path, help_)
            return "", {}
        arguments = tree.args
        if arguments.vararg or arguments.kwarg or arguments.posonlyargs or arguments.kwonlyargs:
            self.problem("a module has plain parameters only", place, path, help_.replace("Name or ", ""))
            return "", {}
        defaults: list[ast.expr | None] = [None] * (len(arguments.args) - len(arguments.defaults))
        defaults += arguments.defaults
        parameters: dict[str, Expression | None] = {}
        for argument, default in zip(arguments.args, defaults, strict=True):
            written = ast.unparse(default) if default is not None else ""
            parameters[argument.arg] = self.made(written, place, f"{path}.{tree.name}") if written else None
        return tree.name, parameters

    def module(
        self, name: str, parameters: dict[str, Expression | None], node: Node, place: Place, home: str
    ) -> Module:
        if not isinstance(node, Mapping):
            return Module(name, parameters, self.part(node, name), {}, (), (), place, home)
        own = {key: value for key, value in node.items.items() if key not in RESERVED}
        body = self.part(Mapping(own, node.keys, node.place), name)
        where = self.named(self.mapping(node, "where"), f"{name}.where")
        base = node.items.get("extends")
        if isinstance(base, Scalar) and (call := self.parsed(base, f"{name}.extends")):
            self.bases[name] = call
        elif base is not None and not isinstance(base, Scalar):
            help_ = "write Name() or Name(argument)"
            self.problem("extends is one call of a module", base.place, f"{name}.extends", help_)
        require = tuple(self.expressions(node, "require", f"{name}."))
        ties: list[Tie] = []
        for key in ("tied", "alias"):
            ties += self.ties(self.mapping(node, key), f"{name}.{key}", key == "alias")
        path = node.items.get("output_embeddings")
        output = self.parsed(path, f"{name}.output_embeddings") if isinstance(path, Scalar) else None
        return Module(
            *(name, parameters, body, where, require, tuple(ties), place, home, None, output),
            runs=self.runs(self.mapping(node, "runs"), f"{name}.runs"),
            ops=tuple(self.expressions(node, "ops", f"{name}.")),
            cache=self.cache(node, f"{name}.cache"),
            saves=self.named(self.mapping(node, "saves"), f"{name}.saves"),
            returned=self.says(node, "returned"),
        )

    def named(self, mapping: Mapping, path: str) -> dict[str, Expression]:
        """Parse lines of `name: expression`."""
        found = {}
        for key, value in mapping.items.items():
            if isinstance(value, Scalar) and (parsed := self.parsed(value, f"{path}.{key}")):
                found[key] = parsed
        return found

    def cache(self, node: Mapping, path: str) -> dict[str, Expression] | None:
        """Return the shapes of a module's cache by name, or None for `cache: none`."""
        if self.says(node, "none"):
            return None
        return {} if self.says(node, "returned") else self.shapes(self.mapping(node, "cache"), path)

    def says(self, node: Mapping, word: str) -> bool:
        """Return True if `cache:` is a word."""
        value = node.items.get("cache")
        return isinstance(value, Scalar) and self.scalar(value) == word

    def shapes(self, mapping: Mapping, path: str) -> dict[str, Expression]:
        """Parse lines of `name: batch, size, size`."""
        found = {}
        for key, value in mapping.items.items():
            text = self.scalar(value)
            if (made := self.made(f"[{text}]", value.place, f"{path}.{key}")) is not None:
                found[key] = made
        return found

    def runs(self, mapping: Mapping, path: str) -> dict[str, Runs]:
        """Return the number of tokens of each attribute, or the axes of a call inside it."""
        found: dict[str, Runs] = {}
        for key, value in mapping.items.items():
            if isinstance(value, Scalar) and (parsed := self.parsed(value, f"{path}.{key}")):
                found[key] = parsed
            elif isinstance(value, Mapping):
                found[key] = self.named(value, f"{path}.{key}")
                for axis in found[key].keys() - {*RUNS}:  # type: ignore[union-attr]
                    help_ = f"axes: {', '.join(RUNS)}"
                    self.problem(f"{axis} is not an axis of a call", value.keys[axis], path, help_)
        return found

    def part(self, node: Node, path: str) -> Body:
        if isinstance(node, Mapping):
            parts = {key: self.part(value, f"{path}.{key}") for key, value in node.items.items()}
            return {key: self.numbered(key, part) for key, part in parts.items()}
        if isinstance(node, Sequence):
            return [self.part(value, f"{path}.{index}") for index, value in enumerate(node.items)]
        if node.empty:
            return {}
        return self.parsed(node, path) or {}

    def numbered(self, key: str, part: Body) -> Body:
        """Return a loop under a key with `{…}` as a mapping of names to constructors."""
        if "{" not in key or not isinstance(part, Expression):
            return part
        if not isinstance(part.tree, ast.GeneratorExp):
            self.problem(f"{key} needs a loop", part.place, part.path, "add: for i in range(n)")
            return part
        pieces = re.split(r"[{}]", key)  # texts and expressions in turn
        terms = [piece if i % 2 else repr(piece) for i, piece in enumerate(pieces)]
        text = " + ".join(f"str({term})" for term in terms)
        if (name := self.made(text, part.place, part.path)) is None:
            return part
        tree = ast.DictComp(key=name.tree, value=part.tree.elt, generators=part.tree.generators)
        return part._replace(tree=ast.copy_location(tree, part.tree))

    def ties(self, mapping: Mapping, path: str, always: bool) -> list[Tie]:
        """Parse `target: source`, with `{expression}` in both and `for`/`if` after the source."""
        ties = []
        for target, node in mapping.items.items():
            text = self.scalar(node)
            origin = _TIE.match(text).group()  # type: ignore[union-attr]  # it matches nothing, too
            rest = text[len(origin) :].strip()
            turns = None
            if rest:
                loops = rest if rest.startswith("for ") else f"for _ in range(1) {rest}"
                names = re.findall(r"\{([^{}]*)\}", target + origin)
                turns = self.made(f"[[{', '.join(names)}] {loops}]", node.place, f"{path}.{target}")
            elif "{" in target + origin:
                message = "a tie with {…} needs a loop"
                self.problem(message, mapping.keys[target], path, "add: for i in range(n)")
            ties.append(Tie(target, origin, turns, mapping.keys[target], always))
        return ties

    def expressions(self, mapping: Mapping, key: str, path: str = "") -> list[Expression]:
        node = mapping.items.get(key)
        if node is None:
            return []
        items = node.items if isinstance(node, Sequence) else [node]
        scalars = [item for item in items if isinstance(item, Scalar)]
        if len(scalars) != len(items):
            message = f"{key} is a list of expressions"
            self.problem(message, node.place, path + key, "one line each: - a % b == 0")
        return [found for item in scalars if (found := self.parsed(item, path + key)) is not None]

    def names(self, root: Mapping, key: str) -> list[str]:
        node = root.items.get(key)
        if isinstance(node, Sequence):
            return [self.scalar(item) for item in node.items]
        return self.scalar(node).split() if node is not None else []

    def mapping(self, parent: Mapping, key: str) -> Mapping:
        node = parent.items.get(key)
        if node is not None and not isinstance(node, Mapping):
            if not (isinstance(node, Scalar) and node.empty):
                self.problem(f"{key} is a mapping", node.place, key, "one `name: value` a line")
            node = None
        return node if isinstance(node, Mapping) else Mapping({}, {}, parent.place)

    def text(self, root: Mapping, key: str) -> str:
        node = root.items.get(key)
        return "" if node is None else self.scalar(node)

    def scalar(self, node: Node) -> str:
        if isinstance(node, Scalar):
            return node.text
        self.problem("text is expected here", node.place, "", "write one line of text")
        return ""

    def parsed(self, node: Scalar, path: str, skip: int = 0) -> Expression | None:
        try:
            return parse(node, path, skip, self.checked)
        except SpecError as error:
            self.problems += error.problems
            return None

    def made(self, text: str, place: Place, path: str) -> Expression | None:
        """Return a composed text as an expression at a place."""
        return self.parsed(Scalar(text, place, False, text), path)

    def problem(self, message: str, place: Place, path: str, help_: str) -> None:
        self.problems.append(Problem(message, place, path, help_))


def contractions(source: Source, compiled: Node | None = None) -> dict[str, Contraction]:
    """Return the table in a text; ``compiled`` is its document if it was compiled.

    Errors: :class:`SpecError` with all problems of the text.
    """
    parser = ModuleParser(source, checked=compiled is not None)
    root = compiled or parse_yaml(source)
    assert isinstance(root, Mapping)
    found = {}
    for key, node in root.items.items():
        name, parameters = parser.signature(key, root.keys[key], "contractions")
        assert isinstance(node, Mapping)
        inner = {key: value for key, value in node.items.items() if key in Contraction._fields[3:8]}
        found[name] = Contraction(
            name,
            parameters,
            parser.named(parser.mapping(node, "where"), f"{name}.where"),
            **parser.named(Mapping(inner, node.keys, node.place), name),
            cache=parser.shapes(parser.mapping(node, "cache"), f"{name}.cache"),
            require=tuple(parser.expressions(node, "require", f"{name}.")),
        )
    if parser.problems:
        raise SpecError(parser.problems)
    return found
