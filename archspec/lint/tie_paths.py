"""Whether a path within a module can lead anywhere: `model.layers.{i}.mlp.weight`, for the ends of ties."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from archspec.errors import Problem
from archspec.language.expression import Expression
from archspec.lint.names import CONTAINERS, WRAPPERS, Place, called
from archspec.specs.records import Module, Part, Spec
from archspec.specs.torch_layers import LEAVES

_TENSORS = {
    "Linear": ("weight", "bias"),
    "Conv1D": ("weight", "bias"),
    "Embedding": ("weight",),
    "LayerNorm": ("weight", "bias"),
    "RMSNorm": ("weight",),
}


def leads_somewhere(path: str, module: Module, spec: Spec) -> bool:
    """Whether some branch of a module has a module or a tensor at a path; what cannot be told counts as yes."""
    parts = re.findall(r"(?:\{[^{}]*\}|[^.{}])+", path)
    return _within(parts, module, spec, 0)


def _within(parts: list[str], module: Module, spec: Spec, depth: int) -> bool:
    place = Place(spec, module)
    if module.layer is not None and _evaluated(parts, module.layer.tree, place, depth):
        return True
    return _leads(parts, module.body, place, depth)


def _leads(parts: list[str], part: Part, place: Place, depth: int) -> bool:
    if depth > 60:
        return True
    if isinstance(part, Expression):
        return _evaluated(parts, part.tree, place, depth)
    if not parts:
        return True
    name, rest = parts[0], parts[1:]
    if isinstance(part, dict):
        names = [
            key
            for key in part
            if key == name or "{" in name or ("{" in key and re.fullmatch(_pattern(key), name))
        ]
        return any(_leads(rest, part[key], place, depth) for key in names)
    return any(_leads(rest, item, place, depth) for item in part)


def _pattern(key: str) -> str:
    """What the names of an attribute in a loop look like: `embeddings_{i}`."""
    return ".+".join(map(re.escape, re.split(r"\{[^{}]*\}", key)))


def _evaluated(parts: list[str], node: ast.expr, place: Place, depth: int) -> bool:
    """Whether what a constructor expression may give has something at a path."""
    if isinstance(node, ast.Constant):
        return False
    if isinstance(node, ast.IfExp):
        return any(_evaluated(parts, branch, place, depth) for branch in (node.body, node.orelse))
    if isinstance(node, ast.BoolOp):
        return any(_evaluated(parts, value, place, depth) for value in node.values)
    if isinstance(node, ast.BinOp):
        return any(_evaluated(parts, side, place, depth) for side in (node.left, node.right))
    if (items := list(_items(node))) or isinstance(node, ast.List):
        return not parts or any(_evaluated(parts[1:], item, place, depth) for item in items)
    if isinstance(node, ast.Name) and place.module and node.id in place.module.where:
        return _evaluated(parts, place.module.where[node.id].tree, place, depth + 1)
    if not isinstance(node, ast.Call):
        return True
    if isinstance(node.func, ast.Attribute):
        return _evaluated(parts, node.func.value, place, depth)
    assert isinstance(node.func, ast.Name)
    name = node.func.id
    if name in LEAVES:
        untold = name not in _TENSORS and name not in ("Parameter", "Buffer")
        return not parts or untold or ".".join(parts) in _TENSORS.get(name, ())
    if name in WRAPPERS:
        return True
    found = called(place, node)
    if found is None or isinstance(found, Problem):
        return True
    spec, module = found
    return _within(parts, module, spec, depth + 1)


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
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CONTAINERS:
        for argument in node.args:
            yield from (
                _items(argument)
                if len(node.args) == 1 and not isinstance(argument, ast.Call)
                else (argument,)
            )
