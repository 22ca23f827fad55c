"""Check that paths of ties, such as `model.layers.{i}.mlp.weight`, lead to a module or a tensor."""

from __future__ import annotations

import ast
import re

from archspec.errors import Problem
from archspec.language.expression import Expression
from archspec.language.trees import callee
from archspec.linting.contexts import Context
from archspec.linting.names import CONTAINERS, WRAPPERS, called
from archspec.specs.records import Body, Module, Spec
from archspec.specs.torch_layers import LEAVES

_TENSORS = {
    **dict.fromkeys(("Linear", "Conv1D", "LayerNorm"), ("weight", "bias")),
    **dict.fromkeys(("Embedding", "RMSNorm"), ("weight",)),
}


def leads_somewhere(path: str, module: Module, spec: Spec) -> bool:
    """Return False if no branch of a module can have a module or a tensor at a path."""
    return _within(re.findall(r"(?:\{[^{}]*\}|[^.{}])+", path), module, spec, 0)


def _within(parts: list[str], module: Module, spec: Spec, depth: int) -> bool:
    context = Context(spec, module)
    if module.layer is not None and _evaluated(parts, module.layer.tree, context, depth):
        return True
    return _leads(parts, module.body, context, depth)


def _leads(parts: list[str], part: Body, context: Context, depth: int) -> bool:
    if depth > 60:
        return True
    if isinstance(part, Expression):
        return _evaluated(parts, part.tree, context, depth)
    if not parts:
        return True
    name, rest = parts[0], parts[1:]
    if isinstance(part, dict):
        named = (key for key in part if key == name or "{" in name or _fits(key, name))
        return any(_leads(rest, part[key], context, depth) for key in named)
    return any(_leads(rest, item, context, depth) for item in part)


def _fits(key: str, name: str) -> bool:
    """Return True if a name fits an attribute of a loop: `embeddings_{i}`."""
    pattern = ".+".join(map(re.escape, re.split(r"\{[^{}]*\}", key)))
    return "{" in key and re.fullmatch(pattern, name) is not None


def _evaluated(parts: list[str], node: ast.expr, context: Context, depth: int) -> bool:
    """Return True if a value of a constructor expression may have something at a path."""
    where = context.module.where if context.module else {}
    match node:
        case ast.Constant():
            return False
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            return any(_evaluated(parts, side, context, depth) for side in (one, other))
        case ast.BoolOp(values=sides):
            return any(_evaluated(parts, side, context, depth) for side in sides)
        case ast.Name(id=name) if name in where:
            return _evaluated(parts, where[name].tree, context, depth + 1)
        case ast.Call(func=ast.Attribute(value=inner)):
            return _evaluated(parts, inner, context, depth)
    items = _items(node)
    if items or isinstance(node, ast.List):
        return not parts or any(_evaluated(parts[1:], item, context, depth) for item in items)
    return _called(parts, node, context, depth) if isinstance(node, ast.Call) else True


def _items(node: ast.expr) -> list[ast.expr]:
    """Return the elements of a list of modules."""
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Dict(values=items):
            return items
        case ast.ListComp(elt=item) | ast.GeneratorExp(elt=item) | ast.DictComp(value=item):
            return [item]
        case ast.Call(args=items) if callee(node) in CONTAINERS:
            return _items(items[0]) if len(items) == 1 and not isinstance(items[0], ast.Call) else items
    return []


def _called(parts: list[str], node: ast.Call, context: Context, depth: int) -> bool:
    name = callee(node)
    if name in LEAVES:
        unknown = name not in _TENSORS and name not in ("Parameter", "Buffer")
        return not parts or unknown or ".".join(parts) in _TENSORS.get(name, ())
    found = None if name in WRAPPERS else called(context, node)
    if found is None or isinstance(found, Problem):
        return True
    spec, module = found
    return _within(parts, module, spec, depth + 1)
