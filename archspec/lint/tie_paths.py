"""Whether a path within a module can lead anywhere: `model.layers.{i}.mlp.weight`, for the ends of ties."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from archspec.errors import Problem
from archspec.language.expression import Expression
from archspec.language.trees import callee
from archspec.lint.contexts import Context
from archspec.lint.names import CONTAINERS, WRAPPERS, called
from archspec.specs.records import Body, Module, Spec
from archspec.specs.torch_layers import LEAVES

_TENSORS = {
    "Linear": ("weight", "bias"),
    "Conv1D": ("weight", "bias"),
    "Embedding": ("weight",),
    "LayerNorm": ("weight", "bias"),
    "RMSNorm": ("weight",),
}


def leads_somewhere(path: str, module: Module, spec: Spec) -> bool:
    """Whether some branch of a module has a module or a tensor at a path; yes where that is not told."""
    parts = re.findall(r"(?:\{[^{}]*\}|[^.{}])+", path)
    return _within(parts, module, spec, 0)


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
    """Whether a name may be that of an attribute in a loop: `embeddings_{i}`."""
    pattern = ".+".join(map(re.escape, re.split(r"\{[^{}]*\}", key)))
    return "{" in key and re.fullmatch(pattern, name) is not None


def _evaluated(parts: list[str], node: ast.expr, context: Context, depth: int) -> bool:
    """Whether what a constructor expression may give has something at a path."""
    if isinstance(node, ast.Constant):
        return False
    if isinstance(node, ast.IfExp | ast.BoolOp | ast.BinOp):
        return any(_evaluated(parts, side, context, depth) for side in _sides(node))
    if (items := list(_items(node))) or isinstance(node, ast.List):
        return not parts or any(_evaluated(parts[1:], item, context, depth) for item in items)
    if isinstance(node, ast.Name) and context.module and node.id in context.module.where:
        return _evaluated(parts, context.module.where[node.id].tree, context, depth + 1)
    if not isinstance(node, ast.Call):
        return True
    if isinstance(node.func, ast.Attribute):
        return _evaluated(parts, node.func.value, context, depth)
    name = callee(node)
    if name in LEAVES:
        untold = name not in _TENSORS and name not in ("Parameter", "Buffer")
        return not parts or untold or ".".join(parts) in _TENSORS.get(name, ())
    if name in WRAPPERS:
        return True
    found = called(context, node)
    if found is None or isinstance(found, Problem):
        return True
    spec, module = found
    return _within(parts, module, spec, depth + 1)


def _sides(node: ast.IfExp | ast.BoolOp | ast.BinOp) -> list[ast.expr]:
    """The expressions of which one gives the value, or each a part of it."""
    if isinstance(node, ast.BoolOp):
        return node.values
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node.left, node.right]


def _items(node: ast.expr) -> Iterator[ast.expr]:
    """The elements that a list of modules is made of."""
    if isinstance(node, ast.List | ast.Tuple):
        yield from node.elts
    elif isinstance(node, ast.Dict):
        yield from node.values
    elif isinstance(node, ast.ListComp | ast.GeneratorExp):
        yield node.elt
    elif isinstance(node, ast.DictComp):
        yield node.value
    elif isinstance(node, ast.Call) and callee(node) in CONTAINERS:
        sole = node.args[0] if len(node.args) == 1 else None
        yield from _items(sole) if sole is not None and not isinstance(sole, ast.Call) else node.args
