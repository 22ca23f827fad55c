"""From a tensor's name back to the lines of the spec that give it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import Place
from archspec.language.expression import Expression, names
from archspec.specs.records import Module, Part, Spec, leaves
from archspec.tree.builder import Node
from archspec.tree.tensors import modules

_DEPTH = 20


def trail(root: Node, name: str) -> list[Place]:
    """The lines on the way to a tensor or module, the outermost first; the last one gives it, or would.

    Where the tree has no such name, the last place is the expression that decided against it, or the
    module that lacks the attribute.
    """
    found = [root.module.place] if root.module else []
    node: Node | None = root
    body: Part | None = None
    owner = root.module
    scope = root.scope
    parts = name.split(".") if name else []
    while node is not None:
        if node.module is not None:
            owner, scope, body = node.module, node.scope, node.module.body
        bodies: list[tuple[dict[str, Part], Module]] = []
        if body is not None and owner is not None and scope is not None:
            bodies, calls = _bodies(body, owner, scope.spec)
            if isinstance(body, Expression):
                found += read_places(body, owner, scope)  # the arguments of the calls
            found += calls
        if not parts or node.leaf:
            break
        child = node.children.get(parts[0])
        given, giver = next(
            ((part, by) for inner, by in bodies if (part := _given(inner, parts[0])) is not None),
            (None, owner),
        )
        if isinstance(body, list) and owner is not None:  # an item too few moves those after it
            found.append(owner.place)
        if isinstance(given, Expression):
            found += [*read_places(given, giver, scope), given.place]
        elif child is None and node.module is not None:
            found.append(defining(node))
        elif child is None and owner is not None and bodies:  # within a submodule without a class of its own
            found.append(owner.place)
        body = given if isinstance(given, dict | list) else None
        node = child
        parts = parts[1:]
    return _unique(found)


def _given(body: dict[str, Part], name: str) -> Part | None:
    """What a body says of an attribute; a loop may name it (`expert_{i}`)."""
    if name in body:
        return body[name]
    for key, part in body.items():
        if "{" in key and re.fullmatch(re.sub(r"\\\{[^{}]*\\\}", ".+", re.escape(key)), name):
            return part
    return None


def defining(node: Node) -> Place:
    """The line of the class that has a module's attributes: its own, or that of the one it is given by."""
    assert node.module is not None and node.scope is not None
    calls = _bodies(node.module.body, node.module, node.scope.spec)[1]
    return calls[-1] if calls else node.module.place


def _bodies(
    body: Part, owner: Module, spec: Spec
) -> tuple[list[tuple[dict[str, Part], Module]], list[Place]]:
    """The attributes that a body gives, with the module whose local names they read, and the lines of the calls on the way."""
    if isinstance(body, dict):
        return [(body, owner)], []
    if isinstance(body, list):
        return [({str(index): item for index, item in enumerate(body)}, owner)], []
    found: list[tuple[dict[str, Part], Module]] = []
    places = [body.place]
    pending, seen = [body], 0
    while pending and seen < _DEPTH:
        expression, seen = pending.pop(), seen + 1
        for module in _called(expression.tree, spec):
            places.append(module.place)
            if isinstance(module.body, Expression):
                pending.append(module.body)
                places.append(module.body.place)
            elif isinstance(module.body, list):
                found.append(({str(index): item for index, item in enumerate(module.body)}, module))
            else:
                found.append((module.body, module))
    return found, places


def _called(tree: ast.expr, spec: Spec) -> Iterator[Module]:
    """The modules that an expression may be, whichever branch it takes; not those that are handed to them."""
    if isinstance(tree, ast.IfExp):
        yield from _called(tree.body, spec)
        yield from _called(tree.orelse, spec)
    elif isinstance(tree, ast.Call) and isinstance(
        tree.func, ast.Attribute
    ):  # .routed(…), .requires_grad_(…)
        yield from _called(tree.func.value, spec)
    elif (
        isinstance(tree, ast.Call)
        and isinstance(tree.func, ast.Name)
        and (module := spec.module(tree.func.id))
    ):
        yield module


def read_places(expression: Expression, module: Module | None, scope: Scope | None) -> list[Place]:
    """The lines of the local names, of the derived fields and of the defaults in use that an expression reads."""
    found: list[Place] = []
    defaults = _part_places(expression.tree, scope) if scope is not None else []
    pending, seen = list(names(expression.tree)), set[str]()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        definition: Expression | None = None
        if module is not None and name in module.where:
            definition = module.where[name]
        elif scope is not None:
            field = scope.spec.fields.get(scope.canonical(name))
            fixed = scope.spec.fixed.get(scope.canonical(name))
            definition = (
                fixed
                if fixed is not None
                else field.default
                if field is not None and field.computed
                else None
            )
            if definition is None and field is not None and field.name not in scope.raw:
                defaults.append(field.place)
        if definition is not None:
            found.append(definition.place)
            pending += names(definition.tree)
            defaults += _part_places(definition.tree, scope) if scope is not None else []
    return defaults + found  # read backwards, the defaults come last


def _part_places(tree: ast.expr, scope: Scope) -> list[Place]:
    """The lines of the fields of sub-configs that an expression reads, those that are derived or left out of the config."""
    found: list[Place] = []
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
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


def within(place: Place, expression: Expression) -> bool:
    """Whether a place is in an expression, which may run over several lines."""
    first = expression.place.line
    return (
        place.source.name == expression.place.source.name
        and first <= place.line <= first + expression.text.count("\n")
    )


def tie_place(root: Node, name: str, source: str) -> list[Place]:
    """The lines that tie a tensor, then the modules that have both ends and may lack a tie, the innermost first."""
    ties: list[Place] = []
    holders: list[Place] = []
    for prefix, node in modules(root):
        for target, origin, tie in node.ties:
            ends = [f"{prefix}.{end}" if prefix else end for end in (target, origin)]
            if any(end == name or name.startswith(end + ".") for end in ends):
                ties.append(tie.place)
        inside = not prefix or all(given.startswith(prefix + ".") for given in (name, source) if given)
        if node.module is not None and inside:
            holders.append(defining(node))
    return list(dict.fromkeys([*ties, *holders[::-1]]))


def top_missing(name: str, known: set[str]) -> str:
    """The shortest prefix of a tensor's name that the other side has nothing under.

    >>> top_missing("layers.2.mlp.weight", {"layers", "layers.1", "layers.1.mlp", "layers.1.mlp.weight"})
    'layers.2'
    """
    parts = name.split(".")
    prefixes = (".".join(parts[:end]) for end in range(1, len(parts) + 1))
    return next((prefix for prefix in prefixes if prefix not in known), name)


def prefixes(all_names: list[str]) -> set[str]:
    """Every name and every dotted beginning of one."""
    found: set[str] = set()
    for name in all_names:
        while name and name not in found:
            found.add(name)
            name = name.rpartition(".")[0]
    return found


def refused_places(spec: Spec, tree: Node | None, owners: tuple[str, ...]) -> list[Place]:
    """The lines of transformers classes that refuse what a spec counts, the innermost first.

    Any of them may be the one that should say so, or should have the others; then the way to the first that is built.
    """
    built = _built(tree, owners) if tree is not None else {}
    found: list[Place] = []
    for number, name in enumerate(owners):
        module, scope = (
            (built[name][1].module, built[name][1].scope) if name in built else (spec.module(name), None)
        )
        if module is None:
            continue
        parts = (
            [] if found or name == owners[0] else _parts(built, name, number)
        )  # those that refused go by other names here
        for one in (module, *parts):
            found.append(one.place)
            for condition in one.require:
                found += [condition.place, *read_places(condition, one, scope)[::-1]]
            found += [local.place for local in one.where.values()]
        if name in built and number and owners[number - 1] not in built:  # where it would be called
            found += [part.place for part in leaves(module.body) if owners[number - 1] in names(part.tree)]
    way = next((trail(tree, built[name][0]) for name in owners if tree is not None and name in built), [])
    inner = (
        _parts(built, owners[0], 1) if owners else []
    )  # what they are called with is computed where it was refused
    said = [place for one in inner for place in (one.place, *(condition.place for condition in one.require))]
    return list(dict.fromkeys([*found, *way[::-1], *said]))


def _built(tree: Node, owners: tuple[str, ...]) -> dict[str, tuple[str, Node]]:
    """The first module of each class, of those that refuse one: each beneath the outer ones, where that can be.

    A class that the outer ones do not have has another name there.
    """
    nodes: dict[str, list[tuple[str, Node]]] = {}
    for path, node in modules(tree):
        if node.module is not None:
            nodes.setdefault(node.cls, []).append((path, node))
    found: dict[str, tuple[str, Node]] = {}
    outer = ""
    for name in dict.fromkeys(owners[::-1]):
        beneath = [
            (path, node) for path, node in nodes.get(name, ()) if not outer or path.startswith(outer + ".")
        ]
        if beneath:
            found[name] = beneath[0]
            outer = beneath[0][0]
    return found


def _parts(built: dict[str, tuple[str, Node]], name: str, depth: int) -> list[Module]:
    """The modules that are attributes of one, or of those, and so on: the nearest first."""
    found: list[Module] = []
    level = [built[name][1]] if name in built else []
    while depth and level:
        level = [part for node in level for part in _attributes(node)]
        found += [node.module for node in level if node.module]
        depth -= 1
    return list({id(module): module for module in found}.values())


def _attributes(node: Node) -> Iterator[Node]:
    """A module's attributes, those in a list as well."""
    for child in node.children.values():
        yield from (child,) if child.module is not None or child.leaf else _attributes(child)


def _unique(places: list[Place]) -> list[Place]:
    """Each line once, at its last mention."""
    last = {(place.source.name, place.line): place for place in places}
    seen: set[tuple[str, int]] = set()
    ordered = []
    for place in reversed(places):
        key = (place.source.name, place.line)
        if key not in seen:
            seen.add(key)
            ordered.append(last[key])
    return ordered[::-1]
