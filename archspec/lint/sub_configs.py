"""Which sub-config an expression names, as far as that can be told without a config."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from archspec.language.trees import callee, calls, text_of
from archspec.lint.contexts import Context
from archspec.specs.records import Module, Spec, leaves


class Sub(NamedTuple):
    """A sub-config: its spec, None where only a config can say; whether its model type may vary."""

    spec: Spec | None
    dynamic: bool


ANY = Sub(None, True)


def sub_config(context: Context, node: ast.expr) -> Sub | None:
    """The sub-config that an expression names; None where it is none, :data:`ANY` where it may be any."""
    spec, module = context
    if isinstance(node, ast.Attribute):
        outer = sub_config(context, node.value)
        return declared(outer.spec, node.attr) if outer is not None and outer.spec is not None else outer
    if not isinstance(node, ast.Name):
        return None
    if module and node.id in module.where:
        return ANY if any(declared(spec, name) for name in _results(module.where[node.id].tree)) else None
    if module and node.id in module.parameters:
        return ANY if _takes_sub_config(spec, module, node.id, frozenset()) else None
    return declared(spec, node.id)


def declared(spec: Spec, name: str) -> Sub | None:
    """The sub-config that a field is by its default; None for a field that is none."""
    field = spec.fields.get(spec.attribute_map.get(name, name))
    call = field.sub_config if field else None
    if call is None:
        return None
    first = call.args[0] if call.args else None
    model_type = first.id if isinstance(first, ast.Name) else text_of(first)
    return Sub(spec.library.load(model_type), callee(call) == "AutoConfig") if model_type else ANY


def _results(tree: ast.expr) -> Iterator[str]:
    """The names whose values an expression may have as they are: a field of a sub-config is no sub-config."""
    if isinstance(tree, ast.Name):
        yield tree.id
    elif isinstance(tree, ast.IfExp | ast.BoolOp):
        for part in (tree.body, tree.orelse) if isinstance(tree, ast.IfExp) else tree.values:
            yield from _results(part)


def _takes_sub_config(spec: Spec, module: Module, parameter: str, seen: frozenset[tuple[str, str]]) -> bool:
    """Whether some call of a module may give a parameter a sub-config, if only by handing on its own."""
    if (module.name, parameter) in seen:
        return False
    seen |= {(module.name, parameter)}
    return any(
        _takes_sub_config(spec, caller, name, seen) if name in caller.parameters else declared(spec, name)
        for caller in spec.modules.values()
        for name in _given(spec, module, parameter, caller)
    )


def _given(spec: Spec, module: Module, parameter: str, caller: Module) -> Iterator[str]:
    """The names in what a caller's calls of a module give for one of its parameters."""
    position = list(module.parameters).index(parameter)
    for expression in (*leaves(caller.body), *caller.where.values()):
        for call in calls(expression.tree):
            if spec.module(callee(call)) != module:
                continue
            given = call.args[position : position + 1]
            given += [keyword.value for keyword in call.keywords if keyword.arg in (parameter, None)]
            yield from (n.id for tree in given for n in ast.walk(tree) if isinstance(n, ast.Name))
