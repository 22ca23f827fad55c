"""One expression altered: a size one off, a bias there or not, a condition turned round, a layer more."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from archspec.language.expression import Expression, callee, calls
from archspec.specs.records import CONFIGS, Spec
from archspec.specs.torch_layers import LEAVES

_AFFINE = ("affine", "elementwise_affine")
_FLAGS = ("bias", "requires_grad", *_AFFINE)
_BIAS = {"Linear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "LayerNorm"}
# Arguments of torch's constructors that no shape and no check depends on.
_IDLE = {"eps", "momentum", "dropout", "batch_first", "stride", "padding", "dilation", "num_heads", "groups"}
_IDLE |= {"padding_idx", "num_groups"}


class Change(NamedTuple):
    """An altered expression, and how: `a becomes a + 1`."""

    expression: Expression
    what: str


def in_constructor(expression: Expression, spec: Spec, nodes: Iterable[ast.AST]) -> Iterator[Change]:
    """One argument, condition or loop altered, among some nodes of a constructor expression."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield from _in_call(expression, node, spec)
        elif isinstance(node, ast.IfExp):
            yield changed(expression, node.test, negated)
        elif isinstance(node, ast.ListComp | ast.GeneratorExp):
            for loop in (generator.iter for generator in node.generators):
                if isinstance(loop, ast.Call) and callee(loop) == "range":
                    yield changed(expression, loop.args[-1 if len(loop.args) == 1 else 1], _one_more)


def in_value(expression: Expression) -> Iterator[Change]:
    """A value that is no constructor: a number one off, a condition turned round."""
    tree = expression.tree
    if any(callee(call) in CONFIGS for call in calls(tree)):
        return
    if isinstance(tree, ast.List | ast.Tuple):
        yield from (found for item in tree.elts[:1] for found in _in_argument(expression, item))
    elif isinstance(tree, ast.IfExp):
        yield changed(expression, tree.test, negated)
    elif isinstance(tree, ast.BoolOp) or (isinstance(tree, ast.Call) and not callee(tree)):
        yield changed(expression, tree, negated)
    elif not isinstance(tree, ast.ListComp | ast.GeneratorExp | ast.Dict | ast.Name):
        yield from _in_argument(expression, tree)


def has_tensors(expression: Expression) -> bool:
    """Whether leaving an attribute out may be seen: it is no null that hides the parent's, no bare layer."""
    if isinstance(expression.tree, ast.Constant):
        return False
    named = [call for call in calls(expression.tree) if callee(call)]
    return not named or not all(_bare(call) for call in named)


def changed(expression: Expression, target: ast.expr, change: Callable[[Any], ast.expr]) -> Change:
    """The expression with one node changed; every node keeps its place."""
    memo: dict[int, Any] = {}
    tree: ast.AST = copy.deepcopy(expression.tree, memo)
    old = memo[id(target)]
    new = change(old)
    for node in ast.walk(new):
        if not hasattr(node, "lineno"):
            ast.copy_location(node, target)
    tree = new if tree is old else _Swap(old, new).visit(tree)
    assert isinstance(tree, ast.expr)
    what = f"{ast.unparse(target)} becomes {ast.unparse(new)}"
    return Change(expression._replace(tree=tree), what)


def negated(node: Any) -> ast.expr:
    if isinstance(node, ast.Constant):
        return ast.Constant(not node.value)
    return ast.UnaryOp(ast.Not(), node)


def _in_call(expression: Expression, node: ast.Call, spec: Spec) -> Iterator[Change]:
    if callee(node) in LEAVES and not _bare(node):
        yield from _in_layer(expression, node)
    elif spec.module(callee(node)) is not None and not _bare(node):
        for value in [*node.args, *(keyword.value for keyword in node.keywords)]:
            if isinstance(value, ast.Constant | ast.BinOp | ast.Compare) or _is_field(value, spec):
                yield from _in_argument(expression, value)


def _in_layer(expression: Expression, node: ast.Call) -> Iterator[Change]:
    name = callee(node)
    parameters = list(inspect.signature(LEAVES[name]).parameters.values())
    variadic = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    for index, argument in enumerate(node.args):
        if variadic or parameters[index].name not in _IDLE:
            yield from _in_argument(expression, argument)
    for keyword in node.keywords:
        if keyword.arg in _FLAGS:
            yield changed(expression, keyword.value, negated)
        elif keyword.arg not in _IDLE:
            yield from _in_argument(expression, keyword.value)
    if name in _BIAS and not any(keyword.arg == "bias" for keyword in node.keywords) and not variadic:
        yield changed(expression, node, _without_bias)


def _in_argument(expression: Expression, node: ast.expr) -> Iterator[Change]:
    constant = node.value if isinstance(node, ast.Constant) else ...
    if isinstance(node, ast.Starred) or constant is None or isinstance(constant, str):
        return
    if isinstance(node, ast.List | ast.Tuple):
        for item in node.elts:
            yield from _in_argument(expression, item)
    elif isinstance(node, ast.Compare | ast.BoolOp) or isinstance(constant, bool):
        yield changed(expression, node, negated)
    elif not isinstance(node, ast.ListComp | ast.GeneratorExp | ast.IfExp):
        yield changed(expression, node, _one_more)


def _is_field(node: ast.expr, spec: Spec) -> bool:
    field = spec.fields.get(spec.attribute_map.get(node.id, node.id)) if isinstance(node, ast.Name) else None
    return field is not None and not (field.default and isinstance(field.default.tree, ast.Call))


def _bare(node: ast.Call) -> bool:
    """Return True if a call builds a layer without tensors."""
    if any(keyword.arg in _AFFINE and ast.unparse(keyword.value) == "False" for keyword in node.keywords):
        return True
    return LEAVES.get(callee(node)) is LEAVES["Identity"]


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else super().generic_visit(node)


def _one_more(node: Any) -> ast.expr:
    return ast.BinOp(node, ast.Add(), ast.Constant(1))


def _without_bias(node: ast.Call) -> ast.expr:
    return ast.Call(node.func, node.args, [*node.keywords, ast.keyword("bias", ast.Constant(False))])
