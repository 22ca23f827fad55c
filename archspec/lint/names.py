"""What the names of a spec mean without a config: every call, name and path, in branches taken or not.

The builder looks only at what one config reaches; :mod:`archspec.lint.checks` holds the rest to the same rules.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import NamedTuple

from archspec.errors import ArchspecError, Problem, did_you_mean
from archspec.language.expression import FUNCTIONS, Expression
from archspec.specs.records import Field, Module, Spec, leaves
from archspec.specs.torch_layers import LEAVES
from archspec.tree.builder import auto_class

CONTAINERS = ("Sequential", "ModuleList", "ModuleDict")
WRAPPERS = ("weight_norm", "replace_batch_norm")
EVERYWHERE = ("num_labels", "id2label", "model_type")


class Sub(NamedTuple):
    """A sub-config: the spec that describes it, None where only a config can say; whether its model type may vary."""

    spec: Spec | None
    dynamic: bool


class Place(NamedTuple):
    """Where an expression is read: its spec, and the module around it."""

    spec: Spec
    module: Module | None

    def knows(self, name: str) -> bool:
        """Whether a name is a field, an argument or a local name here."""
        local = (*self.module.parameters, *self.module.where) if self.module else ()
        return name in local or has_field(self.spec, name)

    def known(self) -> list[str]:
        local = [*self.module.parameters, *self.module.where] if self.module else []
        return [*local, *self.spec.fields, *self.spec.fixed, *self.spec.attribute_map]


def has_field(spec: Spec, name: str) -> bool:
    return name in EVERYWHERE or name in spec.attribute_map or name in spec.fields or name in spec.fixed


def sub_config_field(spec: Spec, name: str) -> tuple[Field, ast.Call] | None:
    """The field of a sub-config and its `Config(…)`, None for a field that is none."""
    field = spec.fields.get(spec.attribute_map.get(name, name))
    tree = field.default.tree if field and field.default else None
    if (
        field
        and isinstance(tree, ast.Call)
        and isinstance(tree.func, ast.Name)
        and tree.func.id in ("Config", "AutoConfig")
    ):
        return field, tree
    return None


def sub_config(place: Place, node: ast.expr) -> Sub | None:
    """The sub-config that an expression names; None where it is none, Sub(None, True) where it may be any."""
    module = place.module
    if isinstance(node, ast.Name) and module and node.id in module.where:
        return (
            Sub(None, True)
            if any(_declared(place.spec, name) for name in _results(module.where[node.id].tree))
            else None
        )
    if isinstance(node, ast.Name) and module and node.id in module.parameters:
        return Sub(None, True) if _takes_sub_config(place.spec, module, node.id) else None
    if isinstance(node, ast.Name):
        return _declared(place.spec, node.id)
    if isinstance(node, ast.Attribute):
        outer = sub_config(place, node.value)
        if outer is None or outer.spec is None:
            return outer
        return _declared(outer.spec, node.attr)
    return None


def _results(tree: ast.expr) -> Iterator[str]:
    """The names whose values an expression may have as they are: a field of a sub-config is no sub-config."""
    if isinstance(tree, ast.Name):
        yield tree.id
    elif isinstance(tree, ast.IfExp | ast.BoolOp):
        for part in (tree.body, tree.orelse) if isinstance(tree, ast.IfExp) else tree.values:
            yield from _results(part)


def _takes_sub_config(
    spec: Spec, module: Module, parameter: str, seen: frozenset[tuple[str, str]] = frozenset()
) -> bool:
    """Whether some call of a module may give it a sub-config for a parameter, if only by handing on one of its own."""
    if (module.name, parameter) in seen:
        return False
    seen |= {(module.name, parameter)}
    position = list(module.parameters).index(parameter)
    for caller in spec.modules.values():
        for expression in (*leaves(caller.body), *caller.where.values()):
            for node in ast.walk(expression.tree):
                if not (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Name)
                    and spec.module(node.func.id) == module
                ):
                    continue
                given = [
                    *node.args[position : position + 1],
                    *(k.value for k in node.keywords if k.arg in (parameter, None)),
                ]
                for name in (
                    part.id for argument in given for part in ast.walk(argument) if isinstance(part, ast.Name)
                ):
                    if name in caller.parameters and _takes_sub_config(spec, caller, name, seen):
                        return True
                    if name not in caller.parameters and _declared(spec, name):
                        return True
    return False


def _declared(spec: Spec, name: str) -> Sub | None:
    found = sub_config_field(spec, name)
    if found is None:
        return None
    tree = found[1]
    first = tree.args[0] if tree.args else None
    model_type = (
        first.id if isinstance(first, ast.Name) else first.value if isinstance(first, ast.Constant) else None
    )
    if not isinstance(model_type, str):
        return Sub(None, True)
    return Sub(
        spec.library.load(model_type), isinstance(tree.func, ast.Name) and tree.func.id == "AutoConfig"
    )


def called(place: Place, node: ast.Call) -> tuple[Spec, Module] | Problem | None:
    """The module that a call means; a problem where there is none, None where only a config can say."""
    assert isinstance(node.func, ast.Name)
    name, spec = node.func.id, place.spec
    sub = sub_config(place, node.args[0]) if node.args else None
    if (
        name.startswith("Auto")
        and name not in ("AutoModel", "AutoBackbone")
        and not name.startswith("AutoModelFor")
    ):
        return Problem(f"{name} is not an auto class", help="AutoModel, AutoModelFor…, AutoBackbone")
    if sub is not None and (sub.spec is None or (sub.dynamic and name.startswith("Auto"))):
        if (
            sub.spec is not None and not sub.spec.refuse and auto_class(sub.spec, name) is None
        ):  # not even its default
            return _no_class(sub.spec, name)
        own = spec.module(name)
        return (spec, own) if own is not None else None
    spec = sub.spec if sub and sub.spec else spec
    if name.startswith("Auto"):
        if spec.refuse:
            return None
        found = auto_class(spec, name)
        if found is None:
            return _no_class(spec, name)
        name = found
    module = spec.module(name)
    if module is None:
        known = [*spec.modules, *LEAVES, *FUNCTIONS, *CONTAINERS]
        return Problem(f"{name} is not described", help=did_you_mean(name, known))
    return spec, module


def _no_class(spec: Spec, name: str) -> Problem:
    return Problem(
        f"{spec.model_type} has no class for {name}", help=f"known: {', '.join(spec.architectures)}"
    )


def problems(expression: Expression, place: Place) -> Iterator[Problem]:
    """Names, fields, calls and arguments of an expression that mean nothing."""
    for message, node, help_ in _Visitor(place).visit(expression.tree, frozenset()):
        yield Problem(message, expression.at(node), expression.path, help_)


class _Visitor:
    """Walks an expression, branches and loops included; ``bound`` are the names of the loops around a node."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def visit(self, node: ast.AST, bound: frozenset[str]) -> Iterator[tuple[str, ast.AST, str]]:
        if isinstance(node, ast.Name):
            if node.id not in bound and not self.place.knows(node.id):
                known = [*self.place.known(), *bound]
                yield (
                    f"{node.id} is neither a config field nor a local name",
                    node,
                    did_you_mean(node.id, known),
                )
            return
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp):
            yield from self.loop(node, bound)
            return
        if isinstance(node, ast.Attribute):
            yield from self.attribute(node, bound)
        if isinstance(node, ast.Call):
            yield from self.call(node, bound)
            children: list[ast.AST] = [*node.args, *(keyword.value for keyword in node.keywords)]
            if isinstance(node.func, ast.Attribute):
                children.append(node.func.value)
        else:
            children = list(ast.iter_child_nodes(node))
        for child in children:
            yield from self.visit(child, bound)

    def loop(
        self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp, bound: frozenset[str]
    ) -> Iterator[tuple[str, ast.AST, str]]:
        for generator in node.generators:
            yield from self.visit(generator.iter, bound)
            bound |= {target.id for target in ast.walk(generator.target) if isinstance(target, ast.Name)}
            for test in generator.ifs:
                yield from self.visit(test, bound)
        for element in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            yield from self.visit(element, bound)

    def attribute(self, node: ast.Attribute, bound: frozenset[str]) -> Iterator[tuple[str, ast.AST, str]]:
        if isinstance(node.value, ast.Name) and node.value.id in bound:
            return
        sub = sub_config(self.place, node.value)
        if sub is None:
            if isinstance(node.value, ast.Name) and self.place.knows(node.value.id):
                yield (
                    f"{node.value.id} is no sub-config, it has no field {node.attr}",
                    node,
                    "declare it as Config(model_type)",
                )
        elif sub.spec is not None and not sub.spec.refuse and not has_field(sub.spec, node.attr):
            yield (
                f"{sub.spec.model_type} has no field {node.attr}",
                node,
                did_you_mean(node.attr, sub.spec.fields),
            )

    def call(self, node: ast.Call, bound: frozenset[str]) -> Iterator[tuple[str, ast.AST, str]]:
        if not isinstance(node.func, ast.Name):
            return
        name = node.func.id
        if name in FUNCTIONS or name in CONTAINERS or name == "given":
            if node.keywords:
                yield f"{name}() takes no keywords here", node, ""
        elif name in LEAVES:
            if detail := misfit(node):
                yield f"{name}: {detail}", node, "the arguments are those of torch's constructor"
        elif name in WRAPPERS:
            return
        else:
            found = called(self.place, node)
            if isinstance(found, Problem):
                yield found.message, node.func, found.help
            elif found is not None:
                yield from self.arguments(node, *found)

    def arguments(self, node: ast.Call, spec: Spec, module: Module) -> Iterator[tuple[str, ast.AST, str]]:
        switched = (
            bool(node.args)
            and sub_config(self.place, node.args[0]) is not None
            and spec is not self.place.spec
        )
        given = node.args[1:] if switched else node.args
        if len(given) > len(module.parameters) and not (node.args and sub_config(self.place, node.args[0])):
            yield f"{module.name} takes {len(module.parameters)} arguments, {len(given)} are given", node, ""
        filled = set(list(module.parameters)[: len(given)])
        for keyword in node.keywords:
            if keyword.arg is None:
                return
            if keyword.arg in module.parameters:
                filled.add(keyword.arg)
            elif not has_field(spec, keyword.arg):
                help_ = did_you_mean(keyword.arg, [*module.parameters, *spec.fields])
                yield f"{keyword.arg} is neither a parameter of {module.name} nor a field", keyword, help_
        for name, default in module.parameters.items():
            if default is None and name not in filled:
                yield f"{module.name} needs {name}", node, f"parameters: {', '.join(module.parameters)}"


def misfit(node: ast.Call) -> str:
    """Why a leaf's arguments do not fit torch's constructor; empty where they do."""
    assert isinstance(node.func, ast.Name)
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(
        keyword.arg is None for keyword in node.keywords
    ):
        return ""
    try:
        inspect.signature(LEAVES[node.func.id]).bind(
            *node.args, **{k.arg: k.value for k in node.keywords if k.arg}
        )
    except TypeError as error:
        return str(error)
    return ""


def safely(place: Place, expression: Expression) -> list[Problem]:
    """:func:`problems`, and those of specs that an expression needs."""
    try:
        return list(problems(expression, place))
    except ArchspecError as error:
        return [problem._replace(place=problem.place or expression.place) for problem in error.problems]
