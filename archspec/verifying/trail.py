"""The lines of a spec that a tensor comes from, or that an expression depends on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import Place
from archspec.language.expression import Expression, callee, names
from archspec.specs.records import Body, Module, Spec
from archspec.tree.builder import Node
from archspec.tree.tensors import modules

_MAX_CALLS = 20  # calls of calls that are followed
Attributes = list[tuple[dict[str, Body], Module]]  # with the module whose names they read


def trail_of(root: Node, name: str) -> list[Place]:
    """Return the lines on the way to a tensor or module, the outermost first.

    The last one defines it. If the tree does not have the name, the last one is the expression that decided
    against it, or the module that lacks the attribute.
    """
    found = [root.module.place] if root.module else []
    node: Node | None = root
    owner, scope = root.module, root.scope
    body: Body | None = None
    parts = name.split(".") if name else []
    while node is not None:
        if node.module is not None:
            owner, scope, body = node.module, node.scope, node.module.body
        attributes: Attributes = []
        if body is not None and owner is not None and scope is not None:
            attributes, calls = _attributes(body, owner, scope.spec)
            arguments = read_places(body, owner, scope) if isinstance(body, Expression) else []
            found += [*arguments, *calls]
        if not parts or node.leaf:
            break
        given, giver = _attribute(attributes, parts[0])
        child = node.children.get(parts[0])
        if isinstance(body, list) and owner is not None:  # a missing item moves those after it
            found.append(owner.place)
        if isinstance(given, Expression):
            found += [*read_places(given, giver, scope), given.place]
        elif child is None and node.module is not None:
            found.append(defining_place(node))
        elif child is None and owner is not None and attributes:  # in a submodule without a class
            found.append(owner.place)
        body = given if isinstance(given, dict | list) else None
        node, parts = child, parts[1:]
    lines = {(place.source.name, place.line): place for place in found}  # the last mention of a line
    order = dict.fromkeys((place.source.name, place.line) for place in reversed(found))
    return [lines[line] for line in order][::-1]


def defining_place(node: Node) -> Place:
    """Return the line of the class that defines a module's attributes, perhaps a class that it calls."""
    assert node.module is not None and node.scope is not None
    calls = _attributes(node.module.body, node.module, node.scope.spec)[1]
    return calls[-1] if calls else node.module.place


def tie_places(root: Node, name: str, source: str) -> list[Place]:
    """Return the lines that tie a tensor, then modules that may lack a tie, innermost first."""
    ties: list[Place] = []
    holders: list[Place] = []
    for prefix, node in modules(root):
        inside = prefix + "." if prefix else ""
        for target, origin, tie in node.ties:
            if any(f"{name}.".startswith(f"{inside}{end}.") for end in (target, origin)):
                ties.append(tie.place)
        if node.module is not None and all(end.startswith(inside) for end in (name, source) if end):
            holders.append(defining_place(node))
    return unique_places([*ties, *holders[::-1]])


def _attribute(attributes: Attributes, name: str) -> tuple[Body | None, Module | None]:
    """Return an attribute, and the module that has it; the name may be a pattern of a loop (`expert_{i}`)."""
    for body, module in attributes:
        for key, part in body.items():
            pattern = re.sub(r"\\\{[^{}]*\\\}", ".+", re.escape(key)) if "{" in key else ""
            if key == name or (pattern and re.fullmatch(pattern, name)):
                return part, module
    return None, None


def _attributes(body: Body, owner: Module, spec: Spec) -> tuple[Attributes, list[Place]]:
    """Return the attributes of a body, or of the modules that it may call; and the lines of these calls."""
    if not isinstance(body, Expression):
        return [(_by_name(body), owner)], []
    found: Attributes = []
    calls = [body.place]
    pending = [body]
    for _ in range(_MAX_CALLS):
        for module in _called_modules(pending.pop().tree, spec) if pending else ():
            calls.append(module.place)
            if isinstance(module.body, Expression):
                pending.append(module.body)
                calls.append(module.body.place)
            else:
                found.append((_by_name(module.body), module))
    return found, calls


def _by_name(body: dict[str, Body] | list[Body]) -> dict[str, Body]:
    return body if isinstance(body, dict) else {str(index): item for index, item in enumerate(body)}


def _called_modules(tree: ast.expr, spec: Spec) -> Iterator[Module]:
    """Yield the modules that an expression may be, whichever branch it takes, without their arguments."""
    if isinstance(tree, ast.IfExp):
        yield from _called_modules(tree.body, spec)
        yield from _called_modules(tree.orelse, spec)
    elif isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute):  # .routed(…)
        yield from _called_modules(tree.func.value, spec)
    elif module := spec.module(callee(tree)):
        yield module


def read_places(expression: Expression, module: Module | None, scope: Scope | None) -> list[Place]:
    """Return the lines that an expression reads: defaults in use, then local names and computed fields."""
    defaults = _part_places(expression.tree, scope)
    found: list[Place] = []
    pending, seen = sorted(names(expression.tree)), set[str]()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        definition = module.where.get(name) if module is not None else None
        if definition is None and scope is not None:
            field = scope.spec.fields.get(scope.canonical(name))
            definition = scope.spec.fixed.get(scope.canonical(name))
            if definition is None and field is not None and field.computed:
                definition = field.default
            if definition is None and field is not None and field.name not in scope.raw:
                defaults.append(field.place)
                declared = field.sub_config  # may read derived fields
                pending += sorted(names(declared) & scope.spec.fixed.keys()) if declared is not None else []
        if definition is not None:
            found.append(definition.place)
            pending += sorted(names(definition.tree))
            defaults += _part_places(definition.tree, scope)
    return defaults + found


def _part_places(tree: ast.expr, scope: Scope | None) -> list[Place]:
    """Return the lines of the derived or omitted fields of sub-configs that an expression reads."""
    found: list[Place] = []
    for node in ast.walk(tree) if scope is not None else ():
        if scope is None or not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
            continue
        part = scope.values.get(scope.canonical(node.value.id))
        if not isinstance(part, SubConfig):
            continue
        name = part.scope.canonical(node.attr)
        field, value = part.scope.spec.fields.get(name), part.scope.spec.fixed.get(name)
        if value is not None:
            found.append(value.place)
        elif field is not None and name not in part.scope.raw:
            found.append(field.place)
            value = field.default
        found += read_places(value, None, part.scope) if value is not None else []
    return found


def unique_places(places: Iterable[Place]) -> list[Place]:
    """Return each place once, at its first mention."""
    return list(dict.fromkeys(places))
