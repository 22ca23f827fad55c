"""From a tensor's name back to the lines of the spec that give it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from archspec.errors import Place
from archspec.language.expression import Expression, callee
from archspec.specs.records import Body, Module, Spec
from archspec.tree.builder import Node
from archspec.tree.tensors import modules
from archspec.verifying.places import once, read_places

_DEPTH = 20


def trail(root: Node, name: str) -> list[Place]:
    """The lines on the way to a tensor or module, the outermost first; the last one gives it, or would.

    Where the tree has no such name, the last place is the expression that decided against it, or the
    module that lacks the attribute.
    """
    found = [root.module.place] if root.module else []
    node: Node | None = root
    owner, scope = root.module, root.scope
    body: Body | None = None
    parts = name.split(".") if name else []
    while node is not None:
        if node.module is not None:
            owner, scope, body = node.module, node.scope, node.module.body
        said = _Said([], [])
        if body is not None and owner is not None and scope is not None:
            said = _said(body, owner, scope.spec)
            if isinstance(body, Expression):
                found += read_places(body, owner, scope)  # the arguments of the calls
            found += said.calls
        if not parts or node.leaf:
            break
        given, giver = said.attribute(parts[0])
        child = node.children.get(parts[0])
        if isinstance(body, list) and owner is not None:  # an item too few moves those after it
            found.append(owner.place)
        if isinstance(given, Expression):
            found += [*read_places(given, giver, scope), given.place]
        elif child is None and node.module is not None:
            found.append(defining(node))
        elif child is None and owner is not None and said.bodies:  # in a submodule without a class of its own
            found.append(owner.place)
        body = given if isinstance(given, dict | list) else None
        node, parts = child, parts[1:]
    lines = {(place.source.name, place.line): place for place in found}  # the last mention of a line
    order = dict.fromkeys((place.source.name, place.line) for place in reversed(found))
    return [lines[line] for line in order][::-1]


def defining(node: Node) -> Place:
    """The line of the class that has a module's attributes: its own, or that of the one it is given by."""
    assert node.module is not None and node.scope is not None
    calls = _said(node.module.body, node.module, node.scope.spec).calls
    return calls[-1] if calls else node.module.place


def tie_places(root: Node, name: str, source: str) -> list[Place]:
    """The lines that tie a tensor, then the modules with both ends, which may lack a tie, the inner first."""
    ties: list[Place] = []
    holders: list[Place] = []
    for prefix, node in modules(root):
        inside = prefix + "." if prefix else ""
        for target, origin, tie in node.ties:
            if any(f"{name}.".startswith(f"{inside}{end}.") for end in (target, origin)):
                ties.append(tie.place)
        if node.module is not None and all(end.startswith(inside) for end in (name, source) if end):
            holders.append(defining(node))
    return once([*ties, *holders[::-1]])


class _Said(NamedTuple):
    """Attributes, each with the module whose names it reads; and the lines on the way to them."""

    bodies: list[tuple[dict[str, Body], Module]]
    calls: list[Place]

    def attribute(self, name: str) -> tuple[Body | None, Module | None]:
        """An attribute, and the module that gives it; a loop may name it (`expert_{i}`)."""
        for body, module in self.bodies:
            for key, part in body.items():
                pattern = re.sub(r"\\\{[^{}]*\\\}", ".+", re.escape(key)) if "{" in key else ""
                if key == name or (pattern and re.fullmatch(pattern, name)):
                    return part, module
        return None, None


def _said(body: Body, owner: Module, spec: Spec) -> _Said:
    """What a body says; of one that is a call, what the modules say that it may be."""
    if not isinstance(body, Expression):
        return _Said([(_by_name(body), owner)], [])
    found = _Said([], [body.place])
    pending, seen = [body], 0
    while pending and seen < _DEPTH:
        expression, seen = pending.pop(), seen + 1
        for module in _called(expression.tree, spec):
            found.calls.append(module.place)
            if isinstance(module.body, Expression):
                pending.append(module.body)
                found.calls.append(module.body.place)
            else:
                found.bodies.append((_by_name(module.body), module))
    return found


def _by_name(body: dict[str, Body] | list[Body]) -> dict[str, Body]:
    return body if isinstance(body, dict) else {str(index): item for index, item in enumerate(body)}


def _called(tree: ast.expr, spec: Spec) -> Iterator[Module]:
    """The modules that an expression may be, whichever branch it takes; not those that are handed to them."""
    if isinstance(tree, ast.IfExp):
        yield from _called(tree.body, spec)
        yield from _called(tree.orelse, spec)
    elif isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute):  # .routed(…)
        yield from _called(tree.func.value, spec)
    elif module := spec.module(callee(tree)):
        yield module
