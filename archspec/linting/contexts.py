"""The expressions of a spec with the names that they may use, and the sub-configs that they refer to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from archspec.language.expression import Expression
from archspec.language.trees import callee, text_of
from archspec.specs.records import AUTO, AXES, OPTIONS, TRAINING, Field, Module, Spec
from archspec.specs.references import module_expressions, reachable

EVERYWHERE = ("num_labels", "id2label", "model_type")


class Context(NamedTuple):
    """The spec of an expression, and the module around it."""

    spec: Spec
    module: Module | None = None

    def known(self) -> list[str]:
        """Return the parameters, local names and fields."""
        module = self.module
        local = [*module.parameters, *module.where, *AXES, *TRAINING, "layer_idx"] if module else []
        return [*local, *self.spec.fields, *self.spec.fixed, *self.spec.attribute_map]

    def knows(self, name: str) -> bool:
        """Return True for a name that an expression here may use."""
        return name in EVERYWHERE or name in self.known()


def reached(spec: Spec) -> list[Module]:
    """Return the modules that a spec's architectures use, and all modules of its file."""
    own = [module for module in spec.modules.values() if module.place.source.name == spec.source.name]
    return [*reachable(spec, [*map(spec.module, spec.architectures), *own]).values()]


def expressions(spec: Spec) -> Iterator[tuple[Context, Expression]]:
    """Yield every expression that the spec's architectures can reach, with its context."""
    top = [expression for field in spec.fields.values() for expression in _defaults(field)]
    top += [*spec.fixed.values(), *spec.require, *spec.max_length.values()]
    top += [*(condition for condition, _ in spec.notes), *(condition for _, condition in spec.runnable)]
    yield from ((Context(spec), expression) for expression in top)
    for module in reached(spec):
        own = [*module.parameters.values(), *module_expressions(module), *(tie.turns for tie in module.ties)]
        yield from ((Context(spec, module), expression) for expression in own if expression is not None)


def _defaults(field: Field) -> list[Expression]:
    """Return a field's default; of a sub-config, the expressions in its call, except the model type."""
    default, call = field.default, field.sub_config
    if default is None or call is None:
        return [default] if default is not None else []
    trees = [tree for tree in call.args if tree is not call.args[0] or not isinstance(tree, ast.Name)]
    trees += [k.value for k in call.keywords if k.arg not in OPTIONS or k.arg == "optional"]
    return [default._replace(tree=tree) for tree in trees]


class Sub(NamedTuple):
    """A sub-config: its spec (None if it depends on the config), and whether its model type may vary."""

    spec: Spec | None = None
    dynamic: bool = True


def sub_config(context: Context, node: ast.expr) -> Sub | None:
    """Return the sub-config that an expression names; one without a spec if it may be any."""
    spec, module = context
    if isinstance(node, ast.Attribute):
        outer = sub_config(context, node.value)
        return declared(outer.spec, node.attr) if outer is not None and outer.spec is not None else outer
    if not isinstance(node, ast.Name):
        return None
    if module and node.id in module.where:
        return Sub() if any(declared(spec, name) for name in _results(module.where[node.id].tree)) else None
    if module and node.id in module.parameters:
        return Sub() if _asked_for_fields(module, node.id) else None
    return declared(spec, node.id)


def declared(spec: Spec, name: str) -> Sub | None:
    """Return the sub-config that a field's default creates; None for other fields."""
    field = spec.fields.get(spec.attribute_map.get(name, name))
    call = field.sub_config if field else None
    if call is None:
        return None
    first = call.args[0] if call.args else None
    model_type = first.id if isinstance(first, ast.Name) else text_of(first)
    return Sub(spec.library.load(model_type), callee(call) == "AutoConfig") if model_type else Sub()


def _results(tree: ast.expr) -> list[str]:
    """Return the names that an expression may evaluate to, without fields of these."""
    if isinstance(tree, ast.Name):
        return [tree.id]
    parts = [tree.body, tree.orelse] if isinstance(tree, ast.IfExp) else getattr(tree, "values", [])
    return [name for part in parts for name in _results(part)]


def _asked_for_fields(module: Module, parameter: str) -> bool:
    """Return True if a module or an auto class reads fields of a parameter: it may be a sub-config."""
    nodes = (node for one in module_expressions(module) for node in ast.walk(one.tree))
    for node in nodes:
        asked = node.value if isinstance(node, ast.Attribute) else None
        if isinstance(node, ast.Call) and node.args and callee(node).startswith(AUTO):
            asked = node.args[0]
        if isinstance(asked, ast.Name) and asked.id == parameter:
            return True
    return False
