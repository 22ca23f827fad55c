"""Check the names, fields, calls and arguments of expressions without a config, in all branches.

The builder checks only the branches that one config takes.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping

from archspec.errors import ArchspecError, Problem, did_you_mean
from archspec.language.expression import Expression
from archspec.language.operations import FUNCTIONS
from archspec.language.trees import callee
from archspec.linting.contexts import Context, has_field, sub_config
from archspec.specs.records import AUTO, Module, Spec
from archspec.specs.torch_layers import LEAVES
from archspec.tree.builder import auto_class

CONTAINERS = ("Sequential", "ModuleList", "ModuleDict")
WRAPPERS = ("weight_norm", "replace_batch_norm")
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
    known = f"known: {', '.join(spec.architectures)}"
    return Problem(f"{spec.model_type} has no class for {name}", help=known)


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
    if spec is not None and not spec.refuse and not has_field(spec, node.attr):
        yield f"{spec.model_type} has no field {node.attr}", node, did_you_mean(node.attr, spec.fields)


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
        elif found is not None:
            spec, module = found
            with_config = bool(node.args) and sub_config(context, node.args[0]) is not None
            given = node.args[1:] if with_config and spec is not context.spec else node.args
            yield from _binding(node, given, module.name, module.parameters, spec, with_config)
        elif node.keywords and name.startswith(AUTO):
            yield from _auto_keywords(node, context)


def _auto_keywords(node: ast.Call, context: Context) -> Found:
    """Check the keywords of an auto class by its sub-config's default type, which a config may replace."""
    sub = sub_config(context, node.args[0]) if node.args else None
    if sub is None or sub.spec is None or sub.spec.refuse:
        return
    module = sub.spec.module(auto_class(sub.spec, callee(node)) or "")
    if module is not None:
        yield from _unknown_keywords(node, module.name, module.parameters, sub.spec)


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
        if keyword.arg not in parameters and not (spec is not None and has_field(spec, keyword.arg)):
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
