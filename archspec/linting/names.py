"""What the names of a spec mean without a config: every call, name and path, in branches taken or not.

The builder looks only at what one config reaches; lint holds the rest to the same rules.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

from archspec.errors import ArchspecError, Problem, did_you_mean
from archspec.language.expression import Expression
from archspec.language.operations import FUNCTIONS
from archspec.language.trees import callee
from archspec.linting.contexts import Context, has_field, sub_config
from archspec.specs.contractions import Contraction
from archspec.specs.records import AUTO, Module, Spec
from archspec.specs.torch_layers import LEAVES
from archspec.tree.builder import auto_class

CONTAINERS = ("Sequential", "ModuleList", "ModuleDict")
WRAPPERS = ("weight_norm", "replace_batch_norm")
_LOOPS = (ast.ListComp, ast.GeneratorExp, ast.DictComp)
Found = Iterator[tuple[str, ast.AST, str]]  # what is wrong, where in the expression, and a help line


def called(context: Context, node: ast.Call) -> tuple[Spec, Module] | Problem | None:
    """The module that a call means; a problem where there is none, None where only a config can say."""
    name, spec = callee(node), context.spec
    auto = name.startswith(AUTO)
    if auto and name not in AUTO and not name.startswith("AutoModelFor"):
        return Problem(f"{name} is not an auto class", help="AutoModel, AutoModelFor…, AutoBackbone")
    sub = sub_config(context, node.args[0]) if node.args else None
    if sub is not None and (sub.spec is None or (sub.dynamic and auto)):
        if sub.spec is not None and not sub.spec.refuse and auto_class(sub.spec, name) is None:
            return _no_class(sub.spec, name)  # not even its default has one
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
        return Problem(f"{found} is not described", help=did_you_mean(found, known))
    return spec, module


def _no_class(spec: Spec, name: str) -> Problem:
    known = f"known: {', '.join(spec.architectures)}"
    return Problem(f"{spec.model_type} has no class for {name}", help=known)


def problems(context: Context, expression: Expression) -> list[Problem]:
    """Names, fields, calls and arguments that mean nothing, and what is wrong with the specs of its parts."""
    try:
        found = list(_faults(expression.tree, context))
    except ArchspecError as error:
        return [problem._replace(place=problem.place or expression.place) for problem in error.problems]
    return [Problem(message, expression.at(node), expression.path, help_) for message, node, help_ in found]


def _faults(tree: ast.expr, context: Context) -> Found:
    """What means nothing in an expression, in branches and loops too."""
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
    """The names within a loop that stand for its turns."""
    targets = (node for generator in loop.generators for node in ast.walk(generator.target))
    turns = {node.id for node in targets if isinstance(node, ast.Name)}
    outside = set(ast.walk(loop.generators[0].iter))
    inside = (node for node in ast.walk(loop) if node not in outside)
    yield from (node for node in inside if isinstance(node, ast.Name) and node.id in turns)


def _attribute(node: ast.Attribute, context: Context) -> Found:
    name = node.value.id if isinstance(node.value, ast.Name) else ""
    sub = sub_config(context, node.value)
    if sub is None and name and context.knows(name):
        message = f"{name} is no sub-config, it has no field {node.attr}"
        yield message, node, "declare it as Config(model_type)"
    spec = sub.spec if sub is not None else None
    if spec is not None and not spec.refuse and not has_field(spec, node.attr):
        yield f"{spec.model_type} has no field {node.attr}", node, did_you_mean(node.attr, spec.fields)


def _call(node: ast.Call, context: Context) -> Found:
    name = callee(node)
    if name in FUNCTIONS or name in CONTAINERS or name == "given":
        if node.keywords:
            yield f"{name}() takes no keywords here", node, ""
    elif name in LEAVES:
        if detail := misfit(node):
            yield f"{name}: {detail}", node, "the arguments are those of torch's constructor"
    elif name in context.spec.library.contractions():
        yield from _parameters(node, context.spec.library.contractions()[name])
    elif name and name not in WRAPPERS:
        found = called(context, node)
        if isinstance(found, Problem):
            yield found.message, node.func, found.help
        elif found is not None:
            yield from _arguments(node, context, *found)
        elif node.keywords and name.startswith(AUTO):
            yield from _handed_on(node, context)


def _handed_on(node: ast.Call, context: Context) -> Found:
    """Keywords of an auto class, by its sub-config's default type: a config may name another type."""
    sub = sub_config(context, node.args[0]) if node.args else None
    if sub is None or sub.spec is None or sub.spec.refuse:
        return
    module = sub.spec.module(auto_class(sub.spec, callee(node)) or "")
    if module is not None:
        yield from _keywords(node, sub.spec, module)


def _keywords(node: ast.Call, spec: Spec, module: Module) -> Found:
    """Keywords that a module does not take, up to one that hands on what only a config knows."""
    for keyword in node.keywords:
        if keyword.arg is None:
            return
        if keyword.arg not in module.parameters and not has_field(spec, keyword.arg):
            help_ = did_you_mean(keyword.arg, [*module.parameters, *spec.fields])
            yield f"{keyword.arg} is neither a parameter of {module.name} nor a field", keyword, help_


def _arguments(node: ast.Call, context: Context, spec: Spec, module: Module) -> Found:
    with_config = bool(node.args) and sub_config(context, node.args[0]) is not None
    given = node.args[1:] if with_config and spec is not context.spec else node.args
    if len(given) > len(module.parameters) and not with_config:
        yield f"{module.name} takes {len(module.parameters)} arguments, {len(given)} are given", node, ""
    yield from _keywords(node, spec, module)
    keywords = [keyword.arg for keyword in node.keywords]
    if None in keywords:
        return
    filled = {*list(module.parameters)[: len(given)], *keywords}
    for name, default in module.parameters.items():
        if default is None and name not in filled:
            yield f"{module.name} needs {name}", node, f"parameters: {', '.join(module.parameters)}"


def _parameters(node: ast.Call, contraction: Contraction) -> Found:
    """What does not fit the parameters of a contraction."""
    names = [*contraction.parameters]
    if len(node.args) > len(names):
        yield f"{contraction.name} takes {len(names)} arguments, {len(node.args)} are given", node, ""
    filled = {*names[: len(node.args)], *(str(keyword.arg) for keyword in node.keywords)}
    for name in filled - {*names}:
        yield f"{name} is no parameter of {contraction.name}", node, did_you_mean(name, names)
    for name, default in contraction.parameters.items():
        if default is None and name not in filled:
            yield f"{contraction.name} needs {name}", node, f"parameters: {', '.join(names)}"


def misfit(node: ast.Call) -> str:
    """Why a leaf's arguments do not fit torch's constructor; empty where they do."""
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    if None in keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        return ""
    try:
        inspect.signature(LEAVES[callee(node)]).bind(*node.args, **keywords)  # type: ignore[arg-type]
    except TypeError as error:
        return str(error)
    return ""
