"""Module classes of a spec file read into records: signatures, attributes, local names, conditions and ties."""

from __future__ import annotations

import ast
import re

from archspec.errors import Place, Problem, Source, SpecError
from archspec.language.expression import Expression, parse, python
from archspec.language.yaml_nodes import Mapping, Node, Scalar, Sequence
from archspec.specs.records import RESERVED, Module, Part, Tie

_TIE = re.compile(r"(?:\{[^{}]*\}|[^\s{])*")


class ModuleParser:
    """Reads the parts of one file; problems are collected, so that one run shows them all."""

    def __init__(self, text: Source) -> None:
        self.source = text
        self.problems: list[Problem] = []
        self.bases: dict[str, Expression] = {}

    def modules(self, mapping: Mapping, home: str, path: str) -> dict[str, Module]:
        modules = {}
        for key, node in mapping.items.items():
            name, parameters = self.signature(key, mapping.keys[key], path)
            if name in modules:
                self.problem(f"{name} is described twice", mapping.keys[key], path, "keep one of the two")
            if name and not (path == "architectures" and isinstance(node, Scalar) and node.empty):
                modules[name] = self.module(name, parameters, node, mapping.keys[key], home)
        return modules

    def signature(self, key: str, place: Place, path: str) -> tuple[str, dict[str, Expression | None]]:
        """`Name` or `Name(parameter, other=default)`, read as Python reads it."""
        try:
            body = python(f"def {key if '(' in key else key + '()'}: ...", "exec").body  # type: ignore[attr-defined]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            body = []
        tree = body[0] if len(body) == 1 else None
        if not isinstance(tree, ast.FunctionDef) or tree.returns:
            self.problem(
                f"{key!r} is not a class name", place, path, "write Name or Name(parameter, other=default)"
            )
            return "", {}
        arguments = tree.args
        if arguments.vararg or arguments.kwarg or arguments.posonlyargs or arguments.kwonlyargs:
            self.problem(
                "a module has plain parameters only", place, path, "write Name(parameter, other=default)"
            )
            return "", {}
        defaults: list[ast.expr | None] = [None] * (len(arguments.args) - len(arguments.defaults))
        defaults += arguments.defaults
        parameters: dict[str, Expression | None] = {}
        for argument, default in zip(arguments.args, defaults, strict=True):
            parameters[argument.arg] = None
            if default is not None:
                scalar = Scalar(ast.unparse(default), place, False, ast.unparse(default))
                parameters[argument.arg] = self.parsed(scalar, f"{path}.{tree.name}", 0)
        return tree.name, parameters

    def module(
        self, name: str, parameters: dict[str, Expression | None], node: Node, place: Place, home: str
    ) -> Module:
        where: dict[str, Expression] = {}
        require: list[Expression] = []
        ties: list[Tie] = []
        output: Expression | None = None
        body: Part
        if isinstance(node, Mapping):
            reserved = {key: value for key, value in node.items.items() if key in RESERVED}
            own = {key: value for key, value in node.items.items() if key not in RESERVED}
            body = self.part(Mapping(own, node.keys, node.place), name)
            for local, value in self.mapping(node, "where").items.items():
                if isinstance(value, Scalar) and (parsed := self.parsed(value, f"{name}.where.{local}")):
                    where[local] = parsed
            if isinstance(base := reserved.get("extends"), Scalar) and (
                call := self.parsed(base, f"{name}.extends")
            ):
                self.bases[name] = call
            elif base is not None and not isinstance(base, Scalar):
                self.problem(
                    "extends is one call of a module",
                    base.place,
                    f"{name}.extends",
                    "write Name() or Name(argument)",
                )
            require = self.expressions(node, "require", f"{name}.")
            for key in ("tied", "alias"):
                if key in reserved:
                    ties += self.ties(self.mapping(node, key), f"{name}.{key}", key == "alias")
            if isinstance(said := reserved.get("output_embeddings"), Scalar):
                output = self.parsed(said, f"{name}.output_embeddings")
        else:
            body = self.part(node, name)
        return Module(name, parameters, body, where, tuple(require), tuple(ties), place, home, None, output)

    def part(self, node: Node, path: str) -> Part:
        if isinstance(node, Mapping):
            return {
                key: self.numbered(key, self.part(value, f"{path}.{key}"))
                for key, value in node.items.items()
            }
        if isinstance(node, Sequence):
            return [self.part(value, f"{path}.{index}") for index, value in enumerate(node.items)]
        if node.empty:
            return {}
        return self.parsed(node, path) or {}

    def numbered(self, key: str, part: Part) -> Part:
        """Under a key with `{…}`, a loop gives one attribute a turn: the part becomes a mapping of names to constructors."""
        if "{" not in key or not isinstance(part, Expression):
            return part
        if not isinstance(part.tree, ast.GeneratorExp):
            self.problem(f"{key} needs a loop", part.place, part.path, "add: for i in range(n)")
            return part
        pieces = [
            piece for text in key.split("{") for piece in text.split("}")
        ]  # texts and expressions in turn
        terms = [piece if i % 2 else repr(piece) for i, piece in enumerate(pieces)]
        text = " + ".join(f"str({term})" for term in terms)
        if (name := self.parsed(Scalar(text, part.place, False, text), part.path)) is None:
            return part
        tree = ast.DictComp(key=name.tree, value=part.tree.elt, generators=part.tree.generators)
        return part._replace(tree=ast.copy_location(tree, part.tree))

    def ties(self, mapping: Mapping, path: str, always: bool) -> list[Tie]:
        """`target: source`, with `{expression}` in both and `for`/`if` after the source."""
        ties = []
        for target, node in mapping.items.items():
            text = self.scalar(node)
            origin = _TIE.match(text).group()  # type: ignore[union-attr]  # it matches nothing, too
            rest = text[len(origin) :]
            turns = None
            if rest.strip():
                loops = (
                    rest.strip() if rest.strip().startswith("for ") else f"for _ in range(1) {rest.strip()}"
                )
                assert isinstance(node, Scalar)
                names = re.findall(r"\{([^{}]*)\}", target + origin)
                listed = f"[[{', '.join(names)}] {loops}]"
                turns = self.parsed(Scalar(listed, node.place, False, listed), f"{path}.{target}", 0)
            elif "{" in target + origin:
                self.problem(
                    "a tie with {…} needs a loop", mapping.keys[target], path, "add: for i in range(n)"
                )
            ties.append(Tie(target, origin, turns, mapping.keys[target], always))
        return ties

    def expressions(self, mapping: Mapping, key: str, path: str = "") -> list[Expression]:
        node = mapping.items.get(key)
        if node is None:
            return []
        items = node.items if isinstance(node, Sequence) else [node]
        scalars = [item for item in items if isinstance(item, Scalar)]
        if len(scalars) != len(items):
            self.problem(
                f"{key} is a list of expressions", node.place, path + key, "one line each: - a % b == 0"
            )
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
            return parse(node, path, skip)
        except SpecError as error:
            self.problems += error.problems
            return None

    def problem(self, message: str, place: Place, path: str, help_: str) -> None:
        self.problems.append(Problem(message, place, path, help_))
