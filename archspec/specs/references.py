"""What a spec's expressions read: the names in them, and the texts that a field is compared with."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from functools import lru_cache

from archspec.language.expression import SEEN, Expression, names
from archspec.specs.records import Module, Spec, leaves


def compared_texts(spec: Spec) -> dict[str, list[str]]:
    """Field -> the texts that a spec compares it with."""
    found: dict[str, set[str]] = {}
    for expression in expressions(spec):
        collect(expression.tree, spec.fields, found)
        for node in ast.walk(expression.tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "startswith"
            ):
                name, start = ast.unparse(node.func.value), node.args[0]
                default = spec.fields[name].default if name in spec.fields else None
                if default and isinstance(default.tree, ast.Constant) and isinstance(start, ast.Constant):
                    found.setdefault(name, set()).add(str(start.value) + str(default.tree.value))
    passed(spec, found)
    derived(spec, found)
    return {name: sorted(texts) for name, texts in found.items() if texts}


def collect(tree: ast.AST, fields: Container[str], found: dict[str, set[str]]) -> None:
    """Adds the texts that any comparison in a tree holds a field to; a field is a name or an attribute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            calls = [
                c for c in ast.walk(node) if isinstance(c, ast.Call) and isinstance(c.func, ast.Attribute)
            ]
            arguments = [argument for c in calls for argument in c.args]
            constants = [c for c in ast.walk(node) if isinstance(c, ast.Constant) and c not in arguments]
            texts = {c.value for c in constants if isinstance(c.value, str)}
            for part in ast.walk(node):
                name = (
                    part.id
                    if isinstance(part, ast.Name)
                    else part.attr
                    if isinstance(part, ast.Attribute)
                    else ""
                )
                if texts and name in fields:
                    found.setdefault(name, set()).update(texts)


def passed(spec: Spec, found: dict[str, set[str]]) -> None:
    """Adds the texts that a module's parameter is held to, for the fields that calls give it."""
    held: dict[tuple[str, str], set[str]] = {}
    for name, module in spec.modules.items():
        own: dict[str, set[str]] = {}
        for expression in (*module.where.values(), *module.require, *leaves(module.body)):
            collect(expression.tree, module.parameters, own)
        held |= {(name, parameter): texts for parameter, texts in own.items() if parameter not in spec.fields}
    if not held:
        return
    calls = [
        node
        for expression in expressions(spec)
        for node in ast.walk(expression.tree)
        if isinstance(node, ast.Call)
    ]
    for call in calls:
        called = ast.unparse(call.func)
        parameters = list(spec.modules[called].parameters) if called in spec.modules else []
        given = [
            *zip(parameters, call.args, strict=False),
            *((keyword.arg, keyword.value) for keyword in call.keywords),
        ]
        for parameter, value in given:
            if (
                isinstance(value, ast.Name)
                and value.id in spec.fields
                and parameter
                and (called, parameter) in held
            ):
                found.setdefault(value.id, set()).update(held[called, parameter])


def derived(spec: Spec, found: dict[str, set[str]]) -> None:
    """Adds the texts that a fixed value is held to, for the texts among the fields that it is computed from."""
    held: dict[str, set[str]] = {}
    for expression in expressions(spec):
        collect(expression.tree, spec.fixed.keys() - spec.fields.keys(), held)
    for name, texts in held.items():
        for field in names(spec.fixed[name].tree) & spec.fields.keys():
            default = spec.fields[field].default
            if "str" in spec.fields[field].types or (
                default and isinstance(getattr(default.tree, "value", None), str)
            ):
                found.setdefault(field, set()).update(texts)


def expressions(spec: Spec) -> Iterator[Expression]:
    """Every expression of a spec that a count depends on."""
    yield from spec.require
    yield from spec.fixed.values()
    yield from (field.default for field in spec.fields.values() if field.default)
    for module in spec.modules.values():
        yield from module_expressions(module)


def module_expressions(module: Module) -> Iterator[Expression]:
    """Those of one module, but for its ties and the defaults of its parameters."""
    yield from module.where.values()
    yield from module.require
    yield from (module.layer,) if module.layer is not None else ()
    yield from leaves(module.body)
    yield from output_embeddings(module)[1]


def output_embeddings(module: Module) -> tuple[list[str], list[Expression]]:
    """The paths that a module's `output_embeddings:` chooses between, and the conditions that choose."""
    said = module.output_embeddings
    paths: list[str] = []
    tests: list[Expression] = []
    pending = [said.tree] if said is not None else []
    while pending and said is not None:
        tree = pending.pop()
        if isinstance(tree, ast.IfExp):
            tests.append(said._replace(tree=tree.test))
            pending += [tree.body, tree.orelse]
        elif not isinstance(tree, ast.Constant):
            paths.append(ast.unparse(tree))
    return paths, tests


def conditions(spec: Spec) -> Iterator[Expression]:
    """Everything that a config must fulfil."""
    yield from spec.require
    for module in spec.modules.values():
        yield from module.require


@lru_cache(maxsize=SEEN)
def reads(tree: ast.AST) -> frozenset[str]:
    """The names that an expression reads, those in `given("field")` among them, and the fields of parts (`text_config.width`)."""
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "given"
    ]
    parts = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    given = {
        str(call.args[0].value) for call in calls if call.args and isinstance(call.args[0], ast.Constant)
    }
    return (
        names(tree) | given | {part for part in parts if all(word.isidentifier() for word in part.split("."))}
    )
