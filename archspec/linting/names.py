"""Check the names, fields, calls and arguments of expressions without a config, in all branches.

The builder checks only the branches that one config takes.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from archspec.costs.media.groups import OF_ALL
from archspec.errors import ArchspecError, Problem, did_you_mean
from archspec.language.expression import Expression, callee, text_of
from archspec.language.operations import FUNCTIONS
from archspec.specs.records import AUTO, AXES, OPTIONS, TRAINING, Field, Module, Spec, module_expressions
from archspec.specs.references import reachable_modules
from archspec.specs.torch_layers import LEAVES
from archspec.tree.node import auto_class

CONTAINERS = ("Sequential", "ModuleList", "ModuleDict")
WRAPPERS = ("weight_norm", "replace_batch_norm")
EVERYWHERE = ("num_labels", "id2label", "model_type")
_LOOPS = (ast.ListComp, ast.GeneratorExp, ast.DictComp)
Found = Iterator[tuple[str, ast.AST, str]]  # a message, the node it is about, and a help line


class Context(NamedTuple):
    """The spec of an expression, and the module around it."""

    spec: Spec
    module: Module | None = None

    def known_names(self) -> list[str]:
        module, spec = self.module, self.spec
        local = [*module.parameters, *module.where, *AXES, *TRAINING, "layer_idx"] if module else []
        return [*local, *spec.fields, *spec.fixed, *spec.attribute_map]

    def knows(self, name: str) -> bool:
        return name in EVERYWHERE or name in self.known_names()


class SubConfig(NamedTuple):
    """A sub-config: its spec (None if it depends on the config), and whether its model type may vary."""

    spec: Spec | None = None
    dynamic: bool = True


def modules_of_spec(spec: Spec) -> list[Module]:
    """Return the modules that a spec's architectures use, and all modules of its file."""
    own = [module for module in spec.modules.values() if module.place.source.name == spec.source.name]
    return [*reachable_modules(spec, [*map(spec.module, spec.architectures), *own]).values()]


def expressions(spec: Spec) -> Iterator[tuple[Context, Expression]]:
    """Yield every expression that the spec's architectures can reach, with its context."""
    top = [expression for field in spec.fields.values() for expression in _defaults(field)]
    top += [*spec.fixed.values(), *spec.require, *spec.max_length.values()]
    top += [*(condition for condition, _ in spec.notes), *(condition for _, condition in spec.runnable)]
    yield from ((Context(spec), expression) for expression in top)
    for module in modules_of_spec(spec):
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


def declared_sub_config(spec: Spec, name: str) -> SubConfig | None:
    """Return the sub-config that a field's default creates; None for other fields."""
    field = spec.fields.get(spec.attribute_map.get(name, name))
    call = field.sub_config if field else None
    if call is None:
        return None
    first = call.args[0] if call.args else None
    model_type = first.id if isinstance(first, ast.Name) else text_of(first)
    is_dynamic = callee(call) == "AutoConfig"
    return SubConfig(spec.library.load(model_type), is_dynamic) if model_type else SubConfig()


def _sub_config(context: Context, node: ast.expr | None) -> SubConfig | None:
    """Return the sub-config that an expression names; one without a spec if it may be any."""
    spec, module = context
    if isinstance(node, ast.Attribute):
        outer = _sub_config(context, node.value)
        return declared_sub_config(outer.spec, node.attr) if outer and outer.spec is not None else outer
    if not isinstance(node, ast.Name):
        return None
    if module and node.id in module.where:
        is_any = any(declared_sub_config(spec, name) for name in _results(module.where[node.id].tree))
    elif module and node.id in module.parameters:
        is_any = _reads_fields(module, node.id)
    else:
        return declared_sub_config(spec, node.id)
    return SubConfig() if is_any else None


def _results(tree: ast.expr) -> list[str]:
    """Return the names that an expression may evaluate to, without fields of these."""
    if isinstance(tree, ast.Name):
        return [tree.id]
    parts = [tree.body, tree.orelse] if isinstance(tree, ast.IfExp) else getattr(tree, "values", [])
    return [name for part in parts for name in _results(part)]


def _reads_fields(module: Module, parameter: str) -> bool:
    """Return True if a module or an auto class reads fields of a parameter: it may be a sub-config."""
    nodes = [node for one in module_expressions(module) for node in ast.walk(one.tree)]
    read = [node.value for node in nodes if isinstance(node, ast.Attribute)]
    for call in (node for node in nodes if isinstance(node, ast.Call) and callee(node).startswith(AUTO)):
        read += call.args[:1]
    return any(isinstance(node, ast.Name) and node.id == parameter for node in read)


def problems(context: Context, expression: Expression) -> list[Problem]:
    """Return the unknown names, fields, calls and arguments of an expression, and errors of other specs."""
    place_of, path = expression.place_of, expression.path
    try:
        faults = [*_faults(expression.tree, context)]
        return [Problem(message, place_of(node), path, help_) for message, node, help_ in faults]
    except ArchspecError as error:
        return [problem._replace(place=problem.place or expression.place) for problem in error.problems]


def _faults(tree: ast.expr, context: Context) -> Found:
    nodes = list(ast.walk(tree))
    constructors = {node.func for node in nodes if isinstance(node, ast.Call)}
    bound = {name for node in nodes if isinstance(node, _LOOPS) for name in _loop_names(node)}
    for node in nodes:
        if isinstance(node, ast.Call):
            yield from _call(node, context)
        elif node in constructors or node in bound:
            continue
        elif isinstance(node, ast.Attribute) and node.value not in bound:
            yield from _attribute(node, context)
        elif isinstance(node, ast.Name) and not context.knows(node.id):
            if node.id in LEAVES or context.spec.module(node.id) is not None:
                yield f"{node.id} is a module, not a value", node, f"write {node.id}() with its arguments"
                continue
            own = [name for name in context.known_names() if name not in (*AXES, *TRAINING)]
            help_ = did_you_mean(node.id, [*own, *(name.id for name in bound)])
            yield f"{node.id} is neither a config field nor a local name", node, help_


def _loop_names(loop: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> list[ast.Name]:
    targets = (node for generator in loop.generators for node in ast.walk(generator.target))
    turns = {node.id for node in targets if isinstance(node, ast.Name)}
    inside = {*ast.walk(loop)} - {*ast.walk(loop.generators[0].iter)}
    return [node for node in inside if isinstance(node, ast.Name) and node.id in turns]


def _attribute(node: ast.Attribute, context: Context) -> Found:
    sub = _sub_config(context, node.value)
    if sub is None and isinstance(node.value, ast.Name) and context.knows(node.value.id):
        message = f"{node.value.id} is not a sub-config, so it does not have {node.attr}"
        yield message, node, f"declare {node.value.id} in config: as Config(model_type)"
    spec = sub.spec if sub is not None else None
    if spec is not None and not spec.refuse and not Context(spec).knows(node.attr):
        message = f"{node.attr} is not a field of {spec.model_type}"
        yield message, node, did_you_mean(node.attr, spec.fields)


def _call(node: ast.Call, context: Context) -> Found:
    name, contraction = callee(node), context.spec.library.contractions().get(callee(node))
    if name in FUNCTIONS or name in CONTAINERS or name in ("given", *OF_ALL):
        if node.keywords:
            yield f"{name}() does not take keyword arguments", node, "pass them by position"
    elif name in LEAVES:
        yield from _check_binding(node, name, inspect.signature(LEAVES[name]), node.args)
    elif contraction:
        yield from _check_binding(node, name, _signature(contraction.parameters), node.args)
    elif name and name not in WRAPPERS:
        yield from _module_call(node, context, name)


def _module_call(node: ast.Call, context: Context, name: str) -> Found:
    """Check a call of a module or an auto class, maybe with a sub-config first."""
    is_auto, sub = name.startswith(AUTO), _sub_config(context, node.args[0] if node.args else None)
    if is_auto and name not in AUTO and not name.startswith("AutoModelFor"):
        help_ = "choose from: AutoModel, AutoModelFor…, AutoBackbone"
        yield f"{name} is not an auto class", node.func, help_
        return
    spec = sub.spec if sub else context.spec
    if is_auto and spec is not None and not spec.refuse and auto_class(spec, name) is None:
        help_ = f"choose from its classes: {', '.join(spec.architectures)}"
        yield f"{name} is not available for {spec.model_type}", node.func, help_
        return
    is_open = sub is not None and (sub.spec is None or (sub.dynamic and is_auto))  # for a config to decide
    owner = context.spec if is_open or spec is None else spec
    if is_auto and not is_open and owner.refuse:
        return
    found = name if is_open or not is_auto else auto_class(owner, name) or ""
    module = owner.module(found)
    if module is not None:
        excess = sub is not None and len(node.args) > len(module.parameters)
        args = node.args[1:] if excess or (sub and owner is not context.spec) else node.args
        yield from _check_binding(node, module.name, _signature(module.parameters), args, owner)
    elif not is_open:
        known = [*owner.modules, *LEAVES, *FUNCTIONS, *CONTAINERS, *owner.library.contractions()]
        help_ = did_you_mean(found, known) or f"define {found} under modules:"
        yield f"{found} is not defined", node.func, help_
    elif is_auto and spec is not None and not spec.refuse:
        default = spec.module(auto_class(spec, name) or "")  # a config may replace it
        if default is not None:
            signature = _signature(default.parameters)
            yield from _check_binding(node, default.name, signature, [], spec, partial=True)


def _signature(parameters: Mapping[str, Expression | None]) -> inspect.Signature:
    kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    defaults = {name: empty if default is None else default for name, default in parameters.items()}
    return inspect.Signature([inspect.Parameter(name, kind, default=defaults[name]) for name in defaults])


def _check_binding(
    node: ast.Call,
    name: str,
    signature: inspect.Signature,
    args: list[ast.expr],
    spec: Spec | None = None,
    partial: bool = False,
) -> Found:
    """Check the arguments of a call; keywords may also be fields of ``spec``, and `**` may give any."""
    known = [*signature.parameters, *(spec.fields if spec else ())]
    keywords: dict[str, Any] = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    for key in keywords.keys() - signature.parameters.keys():
        if spec is not None and Context(spec).knows(key):
            del keywords[key]
    is_open = partial or any(keyword.arg is None for keyword in node.keywords)
    try:
        (signature.bind_partial if is_open else signature.bind)(*args, **keywords)
    except TypeError as error:
        wrong = next((key for key in keywords if key not in signature.parameters), "")
        usual = f"pass its arguments: {', '.join(signature.parameters)}"
        yield f"{name}: {error}", node, did_you_mean(wrong, known) if wrong else usual
