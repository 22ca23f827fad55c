"""Writing, 5 of 5: a module as lines of YAML."""

from __future__ import annotations

import ast
import copy
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.writing.naming import named
from archspec.deriving.writing.parts import Body, Dynamic, Module, expressions_of, plain
from archspec.language.operations import FUNCTIONS
from archspec.specs.records import RESERVED

WIDTH = 126
_RISKY = re.compile(r": |:$| #|^[\[{\"'&*!|>%@`\-?#,\]}]")


class Names:
    """Local names of a module without marks: those of one expression never meet, nor do they hide a field."""

    def __init__(self, module: Module, fields: set[str]) -> None:
        self.prefix = ".".join(module.path) + "." if module.path else ""
        relative = {
            name.removeprefix(self.prefix).split(".")[0] for name in module.used if not name.startswith("$")
        }
        self.fields, self.taken = fields, {name for name in relative if name in fields}
        self.parameters = {}
        for name in module.order:
            self.parameters[f"${name}"] = f"own_{name}" if name in self.taken else name

    def add(self, mark: str, name: str) -> str:
        """A name for a mark that holds in the whole module."""
        used = {*self.fields, *self.parameters.values(), *FUNCTIONS}
        chosen, count = name, 1
        while chosen in used:
            count += 1
            chosen = f"{name}_{count}"
        self.parameters[mark] = chosen
        return chosen

    def applied(self, node: ast.expr) -> ast.expr:
        """The expression with names as the spec has them."""
        mapping = dict(self.parameters)
        found = copy.deepcopy(node)
        for part in ast.walk(found):
            if isinstance(part, ast.Name) and part.id.startswith("$") and part.id not in mapping:
                base, count = plain(part.id), 1
                chosen = base if base not in self.taken else f"{base}_"
                while chosen in mapping.values():
                    count += 1
                    chosen = f"{base}_{count}"
                mapping[part.id] = chosen
        for part in ast.walk(found):
            if isinstance(part, ast.Name):
                part.id = mapping.get(part.id, part.id.removeprefix(self.prefix) if self.prefix else part.id)
        return found

    def relative(self, text: str) -> str:
        """A tie with its fields as the module's own config calls them."""
        return re.sub(rf"(?<![\w.]){re.escape(self.prefix)}", "", text) if self.prefix else text

    def text(self, node: ast.expr) -> str:
        return loop_text(self.applied(node))


def loop_text(node: ast.expr) -> str:
    """A loop without its brackets."""
    if not isinstance(node, ast.ListComp):
        return terms.text(node)
    element = terms.text(node.elt)
    if isinstance(node.elt, ast.IfExp):
        element = f"({element})"
    return f"{element}{terms.text(ast.ListComp(ast.Name('x'), node.generators))[2:-1]}"


def dynamic_key(node: ast.expr) -> str:
    """`"layer" + str(i)` as `layer{i}`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return dynamic_key(node.left) + dynamic_key(node.right)
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Call) and terms.text(node.func) == "str":
        return f"{{{terms.text(node.args[0])}}}"
    return f"{{{terms.text(node)}}}"


def quoted(text: str) -> str:
    """A scalar as YAML takes it without changing it."""
    return "'" + text.replace("'", "''") + "'" if _RISKY.search(text) or not text else text


def line(key: str, text: str, indent: int) -> list[str]:
    """`key: text`, over several lines where it is long."""
    lead = " " * indent
    shown = quoted(text)
    if len(lead) + len(key) + 2 + len(shown) <= WIDTH or shown != text:
        return [f"{lead}{key}: {shown}"]
    wrapped = textwrap.wrap(
        text,
        WIDTH - 4 - indent,
        initial_indent=f"{lead}{key}: ",
        subsequent_indent=f"{lead}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return wrapped


def body_lines(names: Names, body: Any, indent: int) -> list[str]:
    """The attributes of a module, or the items of a Sequential."""
    lead = " " * indent
    lines: list[str] = []
    if isinstance(body, dict):
        for key, value in body.items():
            if isinstance(value, Dynamic):
                pair = names.applied(ast.Tuple([value.key, value.modules], ast.Load()))
                assert isinstance(pair, ast.Tuple)
                lines += line(quoted(dynamic_key(pair.elts[0])), loop_text(pair.elts[1]), indent)
            elif isinstance(value, ast.Dict) and _named_plainly(value):
                keys = map(terms.value_of, filter(None, value.keys))
                parts = dict(zip(keys, value.values, strict=True))
                lines += [f"{lead}{_key(key)}:", *body_lines(names, parts, indent + 2)]
            elif isinstance(value, ast.expr):
                lines += line(_key(key), names.text(value), indent)
            else:
                lines += [f"{lead}{_key(key)}:", *body_lines(names, value, indent + 2)]
    elif isinstance(body, list):
        for value in body:
            lines.append(f"{lead}- {quoted(names.text(value))}")
    return lines


def _named_plainly(value: ast.Dict) -> bool:
    """Whether a ModuleDict is a submodule without a class of its own, its names as any attribute's."""
    names = [key.value if isinstance(key, ast.Constant) else "" for key in value.keys]
    return all(str(name).isidentifier() and name not in RESERVED for name in names)


def _key(key: str) -> str:
    return f"'{key}'" if key in ("on", "off", "yes", "no", "true", "false", "null", "y", "n") else key


def module_lines(module: Module, fields: set[str]) -> list[str]:
    """The whole module, at the indentation of `modules:`."""
    names = Names(module, fields)
    body, required, where = shortened(module)
    for mark, (name, _) in where.items():
        names.add(mark, name)
    arguments = []
    for name in module.order:
        default = module.parameters[name]
        shown = names.parameters[f"${name}"]
        arguments.append(shown if default is None else f"{shown}={terms.text(default)}")
    head = f"{module.name}({', '.join(arguments)})" if arguments else module.name
    lines = [f"  # {note}" for note in dict.fromkeys(module.notes)]
    require = [names.text(node) for node in required]
    special = bool(require or module.tied or module.alias)
    if isinstance(module.body, ast.expr) and not special:
        return [*lines, *line(head, names.text(module.body), 2)]
    lines.append(f"  {head}:")
    if where:
        lines.append("    where:")
        for mark, (_, node) in where.items():
            lines += line(names.parameters[mark], terms.text(names.applied(node)), 6)
    if require:
        lines += ["    require:", *(f"      - {quoted(text)}" for text in require)]
    if isinstance(module.body, ast.expr):
        raise ValueError(f"{module.name}: a body that is one expression has no requirements")
    lines += body_lines(names, body, 4)
    for key, ties in (("tied", module.tied), ("alias", module.alias)):
        if ties:
            lines.append(f"    {key}:")
            for target, source in ties.items():
                lines.append(f"      {quoted(names.relative(target))}: {quoted(names.relative(source))}")
    return lines


def shortened(module: Module) -> tuple[Body, list[ast.expr], dict[str, tuple[str, ast.expr]]]:
    """A module's body and requirements, in terms of names for what they say twice."""
    if isinstance(module.body, ast.expr):
        return module.body, module.require, {}
    found = list(expressions_of(module.body))
    made, where = named([*found, *module.require])
    return replaced(module.body, iter(made)), made[len(found) :], where


def replaced(body: Any, made: Iterator[ast.expr]) -> Any:
    """A body with other expressions, in the same order."""
    if isinstance(body, ast.expr):
        return next(made)
    if isinstance(body, Dynamic):
        return Dynamic(body.key, next(made))
    if isinstance(body, dict):
        return {key: replaced(part, made) for key, part in body.items()}
    return [replaced(part, made) for part in body]
