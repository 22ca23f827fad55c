"""Check the names, fields, calls, arguments and paths of expressions without a config, in all branches.

The builder checks only the branches that one config takes.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping

from archspec.errors import ArchspecError, Problem, did_you_mean
from archspec.language.expression import Expression
from archspec.language.operations import FUNCTIONS
from archspec.language.trees import callee
from archspec.linting.contexts import Context, sub_config
from archspec.specs.records import AUTO, Body, Module, Spec, leaves
from archspec.specs.torch_layers import LEAVES
from archspec.tree.builder import auto_class

CONTAINERS = ("Sequential", "ModuleList", "ModuleDict")
WRAPPERS = ("weight_norm", "replace_batch_norm")
_TENSORS = {
    **dict.fromkeys(("Linear", "Conv1D", "LayerNorm"), ("weight", "bias")),
    **dict.fromkeys(("Embedding", "RMSNorm"), ("weight",)),
}
_LOOPS = (ast.ListComp, ast.GeneratorExp, ast.DictComp)
Found = Iterator[tuple[str, ast.AST, str]]  # a message, the node it is about, and a help line


def called(context: Context, node: ast.Call) -> tuple[Spec, Module] | Problem | None:
    """Return the module of a call, or a problem; None if it depends on the config."""
    name, spec = callee(node), context.spec
    auto = name.startswith(AUTO)
    if auto and name not in AUTO and not name.startswith("AutoModelFor"):
        return Problem(f"{name} is not an auto class", help="AutoModel, AutoModelFor…, AutoBackbone")
    sub = sub_config(context, node.args[0]) if node.args else None
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
    sub = sub_config(context, node.value)
    if sub is None and name and context.knows(name):
        message = f"{name} is not a sub-config, so it does not have {node.attr}"
        yield message, node, "declare it as Config(model_type)"
    spec = sub.spec if sub is not None else None
    if spec is not None and not spec.refuse and not Context(spec).knows(node.attr):
        message = f"{node.attr} is not a field of {spec.model_type}"
        yield message, node, did_you_mean(node.attr, spec.fields)


def _call(node: ast.Call, context: Context) -> Found:
    name, contractions = callee(node), context.spec.library.contractions()
    if name in FUNCTIONS or name in CONTAINERS or name == "given":
        if node.keywords:
            yield f"{name}() does not take keyword arguments", node, ""
    elif name in LEAVES:
        if detail := _leaf_problem(node):
            yield f"{name}: {detail}", node, "the arguments are those of torch's constructor"
    elif name in contractions:
        yield from _binding(node, node.args, name, contractions[name].parameters)
    elif name and name not in WRAPPERS:
        found = called(context, node)
        if isinstance(found, Problem):
            yield found.message, node.func, found.help
            return
        sub = sub_config(context, node.args[0]) if node.args else None
        if found is not None:
            spec, module = found
            given = node.args[1:] if sub is not None and spec is not context.spec else node.args
            yield from _binding(node, given, module.name, module.parameters, spec, sub is not None)
        elif name.startswith(AUTO) and sub is not None and sub.spec is not None and not sub.spec.refuse:
            default = sub.spec.module(auto_class(sub.spec, name) or "")  # a config may replace it
            if default is not None:
                yield from _unknown_keywords(node, default.name, default.parameters, sub.spec)


def _binding(
    node: ast.Call,
    given: list[ast.expr],
    name: str,
    parameters: Mapping[str, object],
    spec: Spec | None = None,
    with_config: bool = False,
) -> Found:
    """Check the arguments of a module or a contraction; keywords may also be fields of ``spec``."""
    if len(given) > len(parameters) and not with_config:
        yield f"{name} takes {len(parameters)} arguments, not {len(given)}", node, ""
    yield from _unknown_keywords(node, name, parameters, spec)
    keywords = [keyword.arg for keyword in node.keywords]
    filled = {*list(parameters)[: len(given)], *keywords}
    for parameter, default in parameters.items() if None not in keywords else ():
        if default is None and parameter not in filled:
            yield f"{name} needs {parameter}", node, f"parameters: {', '.join(parameters)}"


def _unknown_keywords(
    node: ast.Call, name: str, parameters: Mapping[str, object], spec: Spec | None
) -> Found:
    """Yield unknown keywords up to `**`, whose names only a config has."""
    for keyword in node.keywords:
        if keyword.arg is None:
            return
        if keyword.arg not in parameters and not (spec is not None and Context(spec).knows(keyword.arg)):
            kinds = f"neither a parameter of {name} nor a field" if spec else f"not a parameter of {name}"
            known = [*parameters, *(spec.fields if spec else ())]
            yield f"{keyword.arg} is {kinds}", keyword, did_you_mean(keyword.arg, known)


def _leaf_problem(node: ast.Call) -> str:
    """Return why arguments do not fit torch's constructor; an empty text if they do."""
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    if None in keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        return ""
    try:
        inspect.signature(LEAVES[callee(node)]).bind(*node.args, **keywords)  # type: ignore[arg-type]
    except TypeError as error:
        return str(error)
    return ""


def leads_somewhere(path: str, module: Module, spec: Spec) -> bool:
    """Return False if no branch of a module can have a module or a tensor at a path of a tie."""
    return _leads(re.findall(r"(?:\{[^{}]*\}|[^.{}])+", path), module, spec, 0)


def _leads(parts: list[str], module: Module, spec: Spec, depth: int) -> bool:
    layer = [] if module.layer is None else [(parts, module.layer)]
    return depth > 60 or any(
        _evaluated(rest, expression.tree, Context(spec, module), depth)
        for rest, expression in [*layer, *_inside(parts, module.body)]
    )


def _inside(parts: list[str], body: Body) -> list[tuple[list[str], Expression]]:
    """Return the expressions of a body that a path may lead into, each with the rest of the path."""
    if isinstance(body, Expression):
        return [(parts, body)]
    if not parts:
        return [([], expression) for expression in leaves(body)]
    inner = body.items() if isinstance(body, dict) else ((parts[0], item) for item in body)
    fits = (part for key, part in inner if key == parts[0] or "{" in parts[0] or _fits(key, parts[0]))
    return [found for part in fits for found in _inside(parts[1:], part)]


def _fits(key: str, name: str) -> bool:
    """Return True if a name fits an attribute of a loop: `embeddings_{i}`."""
    pattern = ".+".join(map(re.escape, re.split(r"\{[^{}]*\}", key)))
    return "{" in key and re.fullmatch(pattern, name) is not None


def _evaluated(parts: list[str], node: ast.expr, context: Context, depth: int) -> bool:
    """Return True if a value of a constructor expression may have something at a path."""
    items = _items(node)
    if items is not None:
        return not parts or any(_evaluated(parts[1:], item, context, depth) for item in items)
    match node:
        case ast.Constant():
            return False
        case ast.Name(id=name) if context.module and name in context.module.where:
            sides = [context.module.where[name].tree]
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            sides = [one, other]
        case ast.BoolOp(values=sides):
            pass
        case ast.Call(func=ast.Attribute(value=inner)):
            sides = [inner]
        case _:
            return not isinstance(node, ast.Call) or _called(parts, node, context, depth)
    return any(_evaluated(parts, side, context, depth) for side in sides)


def _items(node: ast.expr) -> list[ast.expr] | None:
    """Return the elements of a list of modules; None for any other expression."""
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Dict(values=items):
            return items
        case ast.ListComp(elt=item) | ast.GeneratorExp(elt=item) | ast.DictComp(value=item):
            return [item]
        case ast.Call(args=items) if callee(node) in CONTAINERS:
            return _items(items[0]) if len(items) == 1 and not isinstance(items[0], ast.Call) else items
    return None


def _called(parts: list[str], node: ast.Call, context: Context, depth: int) -> bool:
    name = callee(node)
    if name in LEAVES:
        unknown = name not in _TENSORS and name not in ("Parameter", "Buffer")
        return not parts or unknown or ".".join(parts) in _TENSORS.get(name, ())
    found = None if name in WRAPPERS else called(context, node)
    if found is None or isinstance(found, Problem):
        return True
    spec, module = found
    return _leads(parts, module, spec, depth + 1)
