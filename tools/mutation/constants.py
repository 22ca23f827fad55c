"""What a condition comes to for every config of a spec: by its fixed values, and by the types of its fields.

A line that is taken over from another spec may speak of what never is here: a null that is not allowed, a
flag that is fixed.
"""

from __future__ import annotations

import ast

from archspec.language.expression import calls
from archspec.specs.records import Module, Spec
from archspec.specs.references import expressions


def settled(tree: ast.expr, module: Module, spec: Spec) -> bool | None:
    """Whether an expression is true for every config, or false; None where that depends."""
    if isinstance(tree, ast.Constant):
        return bool(tree.value)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        inner = settled(tree.operand, module, spec)
        return None if inner is None else not inner
    if isinstance(tree, ast.BoolOp):
        whole = isinstance(tree.op, ast.And)
        values = [settled(value, module, spec) for value in tree.values]
        return not whole if (not whole) in values else None if None in values else whole
    if isinstance(tree, ast.Compare) and isinstance(tree.ops[0], ast.Is | ast.IsNot):
        null = isinstance(tree.comparators[0], ast.Constant) and tree.comparators[0].value is None
        if null and isinstance(tree.left, ast.Name) and _never_null(tree.left.id, module, spec):
            return isinstance(tree.ops[0], ast.IsNot)
    if isinstance(tree, ast.Name) and tree.id not in module.parameters and not handed_on(tree.id, spec):
        found = module.where.get(tree.id) or spec.fixed.get(tree.id)
        return settled(found.tree, module, spec) if found is not None else None
    return None


def _never_null(name: str, module: Module, spec: Spec) -> bool:
    field = spec.fields.get(spec.attribute_map.get(name, name))
    if field is None or name in (*module.where, *module.parameters, *spec.fixed) or handed_on(name, spec):
        return False
    default = field.default.tree if field.default is not None else None
    constant = isinstance(default, ast.Constant) and default.value is not None
    return constant and not field.computed and "None" not in field.types


def handed_on(name: str, spec: Spec) -> bool:
    """Whether a call gives a field another value for all that is inside."""
    every = (call for expression in expressions(spec) for call in calls(expression.tree))
    return any(keyword.arg in (name, None) for call in every for keyword in call.keywords)
