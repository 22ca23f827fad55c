"""Check the names, fields, calls and arguments of expressions without a config, in all branches.

The builder checks only the branches that one config takes.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from archspec.errors import ArchspecError, Problem, did_you_mean
from archspec.language.expression import Expression, callee, text_of
from archspec.language.operations import FUNCTIONS
from archspec.specs.records import AUTO, AXES, OPTIONS, TRAINING, Field, Module, Spec, module_expressions
from archspec.specs.references import reachable
from archspec.specs.torch_layers import LEAVES
from archspec.tree.builder import auto_class

CONTAINERS = ("Sequential", "ModuleList", "ModuleDict")
WRAPPERS = ("weight_norm", "replace_batch_norm")
EVERYWHERE = ("num_labels", "id2label", "model_type")
_LOOPS = (ast.ListComp, ast.GeneratorExp, ast.DictComp)
Found = Iterator[tuple[str, ast.AST, str]]  # a message, the node it is about, and a help line


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


class SubConfig(NamedTuple):
    """A sub-config: its spec (None if it depends on the config), and whether its model type may vary."""

    spec: Spec | None = None
    dynamic: bool = True


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


def declared(spec: Spec, name: str) -> SubConfig | None:
    """Return the sub-config that a field's default creates; None for other fields."""
    field = spec.fields.get(spec.attribute_map.get(name, name))
    call = field.sub_config if field else None
    if call is None:
        return None
    first = call.args[0] if call.args else None
    model_type = first.id if isinstance(first, ast.Name) else text_of(first)
    return (
        SubConfig(spec.library.load(model_type), callee(call) == "AutoConfig") if model_type else SubConfig()
    )


def _sub_config(context: Context, node: ast.expr | None) -> SubConfig | None:
    """Return the sub-config that an expression names; one without a spec if it may be any."""
    spec, module = context
    if isinstance(node, ast.Attribute):
        outer = _sub_config(context, node.value)
        return declared(outer.spec, node.attr) if outer is not None and outer.spec is not None else outer
    if not isinstance(node, ast.Name):
        return None
    if module and node.id in module.where:
        results = _results(module.where[node.id].tree)
        return SubConfig() if any(declared(spec, name) for name in results) else None
    if module and node.id in module.parameters:
        return SubConfig() if _reads_fields(module, node.id) else None
    return declared(spec, node.id)


def _results(tree: ast.expr) -> list[str]:
    """Return the names that an expression may evaluate to, without fields of these."""
    if isinstance(tree, ast.Name):
        return [tree.id]
    parts = [tree.body, tree.orelse] if isinstance(tree, ast.IfExp) else getattr(tree, "values", [])
    return [name for part in parts for name in _results(part)]


def _reads_fields(module: Module, parameter: str) -> bool:
    """Return True if a module or an auto class reads fields of a parameter: it may be a sub-config."""
    for node in (node for one in module_expressions(module) for node in ast.walk(one.tree)):
        asked = node.value if isinstance(node, ast.Attribute) else None
        if isinstance(node, ast.Call) and node.args and callee(node).startswith(AUTO):
            asked = node.args[0]
        if isinstance(asked, ast.Name) and asked.id == parameter:
            return True
    return False


def problems(context: Context, expression: Expression) -> list[Problem]:
    """Return the unknown names, fields, calls and arguments of an expression, and errors of other specs."""
    try:
        found = list(_faults(expression.tree, context))
    except ArchspecError as error:
        return [problem._replace(place=problem.place or expression.place) for problem in error.problems]
    return [Problem(message, expression.at(node), expression.path, help_) for message, node, help_ in found]


def _faults(tree: ast.expr, context: Context) -> Found:
    nodes = list(ast.walk(tree))
    constructors = {node.func for node in nodes if isinstance(node, ast.Call)}
    bound = {name for node in nodes if isinstance(node, _LOOPS) for name in _bound(node)}
    for node in nodes:
        if isinstance(node, ast.Call):
            yield from _call(node, context)
        elif node in constructors or node in bound:
            continue
        elif isinstance(node, ast.Attribute) and node.value not in bound:
            yield from _attribute(node, context)
        elif isinstance(node, ast.Name) and not context.knows(node.id):
            help_ = did_you_mean(node.id, [*context.known(), *(name.id for name in bound)])
            yield f"{node.id} is neither a config field nor a local name", node, help_


def _bound(loop: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> Iterator[ast.Name]:
    """Yield the nodes within a loop that are its variables."""
    targets = (node for generator in loop.generators for node in ast.walk(generator.target))
    turns = {node.id for node in targets if isinstance(node, ast.Name)}
    outside = set(ast.walk(loop.generators[0].iter))
    inside = (node for node in ast.walk(loop) if node not in outside)
    yield from (node for node in inside if isinstance(node, ast.Name) and node.id in turns)


def _attribute(node: ast.Attribute, context: Context) -> Found:
    name = node.value.id if isinstance(node.value, ast.Name) else ""
    sub = _sub_config(context, node.value)
    if sub is None and name and context.knows(name):
        message = f"{name} is not a sub-config, so it does not have {node.attr}"
        yield message, node, "declare it as Config(model_type)"
    spec = sub.spec if sub is not None else None
    if spec is not None and not spec.refuse and not Context(spec).knows(node.attr):
        message = f"{node.attr} is not a field of {spec.model_type}"
        yield message, node, did_you_mean(node.attr, spec.fields)


def _call(node: ast.Call, context: Context) -> Found:
    name, contraction = callee(node), context.spec.library.contractions().get(callee(node))
    if name in FUNCTIONS or name in CONTAINERS or name == "given":
        if node.keywords:
            yield f"{name}() does not take keyword arguments", node, ""
    elif name in LEAVES:
        yield from _binding(node, name, inspect.signature(LEAVES[name]), node.args)
    elif contraction:
        yield from _binding(node, name, _signature(contraction.parameters), node.args)
    elif name and name not in WRAPPERS:
        sub = _sub_config(context, node.args[0] if node.args else None)
        found = _called(context, name, sub)
        if isinstance(found, Problem):
            yield found.message, node.func, found.help
        elif found is not None:
            spec, module = found
            excess = sub is not None and len(node.args) > len(module.parameters)
            args = node.args[1:] if excess or (sub and spec is not context.spec) else node.args
            yield from _binding(node, module.name, _signature(module.parameters), args, spec)
        elif name.startswith(AUTO) and sub is not None and sub.spec is not None and not sub.spec.refuse:
            default = sub.spec.module(auto_class(sub.spec, name) or "")  # a config may replace it
            if default is not None:
                signature = _signature(default.parameters)
                yield from _binding(node, default.name, signature, [], sub.spec, partial=True)


def _called(context: Context, name: str, sub: SubConfig | None) -> tuple[Spec, Module] | Problem | None:
    """Return the module of a call, or a problem; None if it depends on the config."""
    spec, auto = context.spec, name.startswith(AUTO)
    if auto and name not in AUTO and not name.startswith("AutoModelFor"):
        return Problem(f"{name} is not an auto class", help="AutoModel, AutoModelFor…, AutoBackbone")
    if sub is not None and (sub.spec is None or (sub.dynamic and auto)):
        if sub.spec is not None and not sub.spec.refuse and auto_class(sub.spec, name) is None:
            return _no_class(sub.spec, name)  # even the default type lacks it
        own = spec.module(name)
        return (spec, own) if own is not None else None
    spec = sub.spec if sub and sub.spec else spec
    if auto and spec.refuse:
        return None
    found = auto_class(spec, name) if auto else name
    if found is None:
        return _no_class(spec, name)
    module = spec.module(found)
    if module is None:
        known = [*spec.modules, *LEAVES, *FUNCTIONS, *CONTAINERS, *spec.library.contractions()]
        return Problem(f"{found} is not defined", help=did_you_mean(found, known))
    return spec, module


def _no_class(spec: Spec, name: str) -> Problem:
    help_ = f"its classes: {', '.join(spec.architectures)}"
    return Problem(f"{name} is not available for {spec.model_type}", help=help_)


def _signature(parameters: Mapping[str, Expression | None]) -> inspect.Signature:
    kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    return inspect.Signature(
        [
            inspect.Parameter(name, kind, default=empty if default is None else default)
            for name, default in parameters.items()
        ]
    )


def _binding(
    node: ast.Call,
    name: str,
    signature: inspect.Signature,
    args: list[ast.expr],
    spec: Spec | None = None,
    partial: bool = False,
) -> Found:
    """Check the arguments of a call; keywords may also be fields of ``spec``, and `**` may give any."""
    keywords: dict[str, Any] = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    for keyword in keywords.keys() - signature.parameters.keys():
        if spec is not None and Context(spec).knows(keyword):
            del keywords[keyword]
    open_ended = partial or any(keyword.arg is None for keyword in node.keywords)
    try:
        (signature.bind_partial if open_ended else signature.bind)(*args, **keywords)
    except TypeError as error:
        known = [*signature.parameters, *(spec.fields if spec else ())]
        unknown = next((keyword for keyword in keywords if keyword not in signature.parameters), "")
        help_ = did_you_mean(unknown, known) if unknown else f"arguments: {', '.join(signature.parameters)}"
        yield f"{name}: {error}", node, help_


def is_attribute(path: str, module: Module) -> bool:
    """Return False if no branch of a module has an attribute that a path begins with.

    The builder checks whole paths at the default config.
    """
    [name, *_] = re.findall(r"(?:\{[^{}]*\}|[^.{}])+", path) or [""]
    if not isinstance(module.body, dict) or module.layer is not None:
        return True
    return "{" in name or any(_fits(key, name) for key in module.body)


def _fits(key: str, name: str) -> bool:
    """Return True if a name is an attribute, maybe one of a loop: `embeddings_{i}`."""
    pattern = ".+".join(map(re.escape, re.split(r"\{[^{}]*\}", key)))
    return re.fullmatch(pattern, name) is not None
