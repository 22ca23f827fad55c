"""The lines that an expression of a spec depends on."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import Place
from archspec.language.expression import Expression, names
from archspec.specs.records import Module


def read_places(expression: Expression, module: Module | None, scope: Scope | None) -> list[Place]:
    """The lines of the local names, derived fields and defaults in use that an expression reads.

    Those of defaults come first, which are the last to be blamed, as the lines are read backwards.
    """
    defaults = _in_parts(expression.tree, scope)
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
                declared = field.sub_config  # its type and what it is given may be derived
                pending += sorted(names(declared) & scope.spec.fixed.keys()) if declared is not None else []
        if definition is not None:
            found.append(definition.place)
            pending += sorted(names(definition.tree))
            defaults += _in_parts(definition.tree, scope)
    return defaults + found


def _in_parts(tree: ast.expr, scope: Scope | None) -> list[Place]:
    """The lines of the sub-configs' fields that an expression reads: those derived, or left out."""
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


def within(place: Place, expression: Expression) -> bool:
    """Whether a place is in an expression, which may run over several lines."""
    first = expression.place.line
    last = first + expression.text.count("\n")
    return place.source.name == expression.place.source.name and first <= place.line <= last


def once(places: Iterable[Place]) -> list[Place]:
    """Each place once, at its first mention."""
    return list(dict.fromkeys(places))
