"""The expressions of a spec, the modules that it can reach, and the texts that a field is compared with."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator

from archspec.language.expression import Expression, callee, calls, names, text_of
from archspec.specs.records import Module, Spec, leaves, module_expressions

Texts = dict[str, set[str]]  # by field


def expressions(spec: Spec) -> Iterator[Expression]:
    """Yield every expression of a spec that a count depends on."""
    yield from (*spec.require, *spec.fixed.values())
    yield from (field.default for field in spec.fields.values() if field.default)
    for module in spec.modules.values():
        yield from module_expressions(module)


def reachable_modules(spec: Spec, starts: Iterable[Module | None]) -> dict[str, Module]:
    """Return some modules and all that they may contain, by name."""
    found: dict[str, Module] = {}
    pending = [*starts]
    while pending:
        module = pending.pop()
        if module is not None and module.name not in found:
            found[module.name] = module
            every = (*leaves(module.body), *module.where.values(), *module.parameters.values())
            pending += [spec.module(name) for one in every if one is not None for name in names(one.tree)]
    return found


def compared_texts(spec: Spec) -> dict[str, list[str]]:
    """Return the texts that a spec compares each field with, also as a module's parameter or a fixed value.

    For a text that is split, as `"1/4".split("/")`, they are two numbers.
    """
    found: Texts = {}
    every = [*expressions(spec)]
    for expression in every:
        collect(expression.tree, {*spec.fields, *spec.fixed}, found)
        for call in calls(expression.tree):
            if isinstance(call.func, ast.Attribute) and call.args:
                _collect_method(spec, call.func, text_of(call.args[0]), found)
    _collect_arguments(spec, every, found)
    for name in found.keys() - spec.fields.keys():
        texts = found.pop(name)
        for field in names(spec.fixed[name].tree) & spec.fields.keys():
            default = spec.fields[field].default
            if "str" in spec.fields[field].types or (default and _is_text(default.tree)):
                found.setdefault(field, set()).update(texts)
    return {name: sorted(texts) for name, texts in found.items() if texts}


def collect(tree: ast.AST, fields: Container[str], found: Texts) -> None:
    """Add the texts that comparisons in a tree compare a field with; a field is a name or an attribute."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        methods = (call for call in calls(node) if isinstance(call.func, ast.Attribute))
        arguments = [argument for call in methods for argument in call.args]
        texts = {text_of(part) for part in ast.walk(node) if part not in arguments and _is_text(part)}
        for part in ast.walk(node):
            name = part.id if isinstance(part, ast.Name) else getattr(part, "attr", "")
            if texts and name in fields:
                found.setdefault(name, set()).update(texts)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _collect_method(spec: Spec, method: ast.Attribute, text: str, found: Texts) -> None:
    name = ast.unparse(method.value)
    field = spec.fields.get(name)
    default = field.default.tree if field and field.default else None
    if method.attr == "startswith" and text and isinstance(default, ast.Constant):
        found.setdefault(name, set()).add(text + str(default.value))
    elif method.attr == "split" and text and field:  # parts that are numbers
        found.setdefault(name, set()).update((f"1{text}2", f"3{text}4"))


def _collect_arguments(spec: Spec, every: list[Expression], found: Texts) -> None:
    """Add the texts that a module's parameter is compared with, for the fields that calls pass to it."""
    compared: dict[str, Texts] = {name: {} for name in spec.modules}
    for name, module in spec.modules.items():
        for expression in (*module.where.values(), *module.require, *leaves(module.body)):
            collect(expression.tree, module.parameters.keys() - spec.fields.keys(), compared[name])
    for call in (call for expression in every for call in calls(expression.tree)):
        if texts := compared.get(callee(call)):
            given = dict(zip(spec.modules[callee(call)].parameters, call.args, strict=False))
            given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
            for parameter in texts.keys() & given.keys():
                value = given[parameter]
                if isinstance(value, ast.Name) and value.id in spec.fields:
                    found.setdefault(value.id, set()).update(texts[parameter])
