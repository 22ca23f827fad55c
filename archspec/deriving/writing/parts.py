"""Under the writing: modules of a draft with parameters, bodies, ties and requirements, and how two are told
apart."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.modules import Template
from archspec.deriving.reading.values import (
    Choice,
    Mix,
    Mod,
)

Body = ast.expr | dict[str, Any] | list[Any]


class Module:
    """A module of the draft: its name, parameters, body, and what it says about ties and requirements."""

    def __init__(self, name: str, cls: type, home: str, path: tuple[str, ...]) -> None:
        self.name, self.cls, self.home, self.path = name, cls, home, path
        self.parameters: dict[str, ast.expr | None] = {}
        self.order: list[str] = []
        self.body: Body = {}
        self.require: list[ast.expr] = []
        self.tied: dict[str, str] = {}
        self.alias: dict[str, str] = {}
        self.notes: list[str] = []
        self.used: set[str] = set()
        self.template: Template | None = None
        self.attrs: dict[str, Any] = {}
        self.calls: dict[str, Module] = {}


class Dynamic:
    """Attributes that a loop sets: their name and the loop over the modules."""

    def __init__(self, key: ast.expr, modules: ast.expr) -> None:
        self.key, self.modules = key, modules


def as_module(value: Any) -> Any:
    """A choice between a module and something else, as the module that there is or is not."""
    if isinstance(value, Choice):
        then, other = as_module(value.then), as_module(value.other)
        if isinstance(then, Mod) or isinstance(other, Mod):
            return Mix(
                value.test,
                then if isinstance(then, Mod) else None,
                other if isinstance(other, Mod) else None,
                value.holds,
            )
    return value


def home_of(cls: type) -> str:
    """The model type whose spec describes what a config class configures."""
    return (
        str(getattr(cls, "model_type", ""))
        or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__.removesuffix("Config")).lower()
    )


def relocated_name(name: str, old: tuple[str, ...], new: tuple[str, ...]) -> str:
    """A field's absolute path where the same module stands at another sub-config."""
    if old == new or name.startswith("$"):
        return name
    prefix = ".".join(old) + "." if old else ""
    return ".".join((*new, name[len(prefix) :])) if name.startswith(prefix) else name


def relocated(node: ast.expr, old: tuple[str, ...], new: tuple[str, ...]) -> ast.expr:
    functions = {
        part.func.id
        for part in ast.walk(node)
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
    }
    return terms.substitute(
        node, {name: terms.name(relocated_name(name, old, new)) for name in terms.names(node) - functions}
    )


def named_text(node: ast.expr) -> ast.expr | None:
    """The text that a soft requirement wants to be one of some names (an activation's), if it is
    about one."""
    inner = node.values[-1] if isinstance(node, ast.BoolOp) else node
    while isinstance(inner, ast.Call) and isinstance(inner.args[0], ast.GeneratorExp):
        inner = inner.args[0].elt
    return inner.left if isinstance(inner, ast.Compare) and isinstance(inner.ops[0], ast.In) else None


def read_by(node: ast.expr, parts: Body) -> bool:
    """Whether expressions read any of the names that another one reads."""
    return any(terms.names(node) & terms.names(part) for part in expressions_of(parts))


def said_by(node: ast.expr, parts: Body) -> bool:
    """Whether expressions fail by themselves where a soft requirement does not hold."""
    *others, inner = node.values if isinstance(node, ast.BoolOp) else [node]
    given = {shown(terms.negation(other)) for other in others}
    looped = isinstance(inner, ast.Compare) and isinstance(
        inner.ops[0], ast.LtE
    )  # as many turns as a list is long
    while isinstance(inner, ast.Call) and isinstance(inner.args[0], ast.GeneratorExp):
        inner, looped = inner.args[0].elt, True
    whole = repr(
        [shown(_Reached(given, looped).visit(copy.deepcopy(part))) for part in expressions_of(parts)]
    )
    if isinstance(inner, ast.Compare) and isinstance(inner.ops[0], ast.NotEq):
        by = shown(inner.left)
        return (
            any(f"{op} {by}{end}" in whole for op in "/%" for end in (" ", ")", "'", ",", "]"))
            or f"{by} ** -" in whole
        )
    if isinstance(inner, ast.Compare) and isinstance(inner.ops[0], ast.IsNot):
        return _fails("null", shown(inner.left), whole)
    asked = [
        part
        for part in ast.walk(inner)
        if isinstance(part, ast.Call) and terms.text(part.func) in ("len", "is_list")
    ]
    return any(_fails(terms.text(part.func), shown(part.args[0]), whole) for part in asked) if asked else True


class _Reached(ast.NodeTransformer):
    """Leaves of an expression what is computed wherever some conditions hold; ``looped``: in every turn of a
    loop, too."""

    def __init__(self, given: set[str], looped: bool) -> None:
        self.given, self.looped = given, looped

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        if shown(node.test) in self.given:
            return ast.List([self.visit(node.test), self.visit(node.body)], ast.Load())
        if shown(terms.negation(node.test)) in self.given:
            return ast.List([self.visit(node.test), self.visit(node.orelse)], ast.Load())
        return ast.List([self.visit(node.test)], ast.Load())

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        kept = []
        for value in node.values:
            kept.append(self.visit(value))
            goes_on = value if isinstance(node.op, ast.And) else terms.negation(value)
            if shown(goes_on) not in self.given:
                break
        return ast.List(kept, ast.Load())

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> ast.AST:
        return self.generic_visit(node) if self.looped else self.visit(node.generators[0].iter)

    visit_GeneratorExp = visit_ListComp


def expressions_of(part: Any) -> Iterator[ast.expr]:
    """The expressions of a body, or of several."""
    if isinstance(part, ast.expr):
        yield part
    elif isinstance(part, Dynamic):
        yield part.modules
    else:
        for inner in part.values() if isinstance(part, dict) else part:
            yield from expressions_of(inner)


def _fails(asked: str, value: str, whole: str) -> bool:
    """Whether expressions calculate with what must be no list, or take an item or the length of what must be
    long enough."""
    name = rf"(?<![\w.]){re.escape(value)}"
    if asked == "len":
        return f"len({value}) ==" in whole or bool(re.search(rf"{name}\[", whole))
    signs = "*/%+-" if asked == "null" else "*/%-"
    return bool(re.search(rf"{name} [{signs}]|[{signs}] {name}(?![\w.\[(])", whole))


def is_none(node: Any) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def plain(name: str) -> str:
    """A local name without its mark and number; two loops of a class may share one."""
    return name.split(".")[0].lstrip("$") if name.startswith("$") else name


def shown(body: Any) -> Any:
    """A body as text, for comparison."""
    if isinstance(body, ast.expr):
        made = copy.deepcopy(body)
        for part in ast.walk(made):
            if isinstance(part, ast.Name):
                part.id = plain(part.id)
        return ast.unparse(made)
    if isinstance(body, Dynamic):
        return (shown(body.key), shown(body.modules))
    if isinstance(body, dict):
        return tuple((key, shown(value)) for key, value in body.items())
    return tuple(shown(value) for value in body)


def signature(module: Module) -> Any:
    prefix = ".".join(module.path) + "." if module.path else ""

    def relative(text: Any) -> Any:
        if isinstance(text, str):
            return text.replace(prefix, "") if prefix else text
        return tuple(relative(item) for item in text)

    ties = tuple(f"{a}: {b}" for a, b in (*module.tied.items(), *module.alias.items()))
    return relative(
        (shown(module.body), tuple(module.parameters), tuple(shown(node) for node in module.require), ties)
    )
