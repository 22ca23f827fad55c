"""Every leaf of a spec altered once: what a verification is worth is how many of these it finds.

An alteration is one that a slip of the hand could be: a size that is one off, a bias that is there or
not, an attribute, a tie or a condition left out, one layer more, another default. It keeps its line.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from archspec.errors import Place
from archspec.language.expression import Expression
from archspec.lint.constants import implied, living, masked, nothing, settled
from archspec.specs.records import Field, Module, Part, Spec
from archspec.specs.torch_layers import LEAVES

# Arguments of torch's constructors that no shape and no check depends on.
_IDLE = {
    "eps",
    "momentum",
    "dropout",
    "batch_first",
    "stride",
    "padding",
    "dilation",
    "num_heads",
    "groups",
    "padding_idx",
    "num_groups",
}
_AFFINE = ("affine", "elementwise_affine")
_FLAGS = ("bias", "requires_grad", *_AFFINE)
_BIAS = {"Linear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "LayerNorm"}


class Alteration(NamedTuple):
    """An altered spec, the line that shows it, and how; ``module`` is empty for the config's part.

    ``line`` is the one that was altered, in the file under test: where it is left out, its module shows that.
    """

    place: Place
    what: str
    module: str
    spec: Spec
    line: int


def alterations(spec: Spec, file: str = "", wide: bool = False) -> Iterator[Alteration]:
    """Every alteration of the modules and settings of a spec's own file, or of lines that it takes over from another one.

    ``wide``: also of the lines that the other one's modules take over in turn.
    """
    own = not file or file == spec.source.name
    for name, module in spec.modules.items():
        if own and module.place.source.name != spec.source.name:
            continue
        for altered, place, line, what in _modules(module, spec, file or spec.source.name):
            if own or line.source.name == file or (wide and module.place.source.name == file):
                yield Alteration(
                    place,
                    f"{name}: {what}",
                    name,
                    spec._replace(modules={**spec.modules, name: altered}),
                    line.line,
                )
    yield from _settings(spec, file or spec.source.name)


def _settings(spec: Spec, file: str) -> Iterator[Alteration]:
    for name, field in spec.fields.items():
        if field.place.source.name != file or field.default is None or name in spec.fixed:
            continue  # a fixed field's default is never read
        for altered, what in _values(field.default):
            fields = {**spec.fields, name: field._replace(default=altered)}
            yield Alteration(
                field.place, f"config.{name}: {what}", "", spec._replace(fields=fields), field.place.line
            )
        if field.falsy:
            fields = {**spec.fields, name: field._replace(falsy=False)}
            yield Alteration(
                field.place,
                f"config.{name}: = instead of or",
                "",
                spec._replace(fields=fields),
                field.place.line,
            )
    for name, value in spec.fixed.items():
        if value.place.source.name != file:
            continue
        if masked(name, spec) and list(
            _values(value)
        ):  # it only says that the config's own value is nothing to the model
            fixed = {other: known for other, known in spec.fixed.items() if other != name}
            fields = {**spec.fields, name: Field(name, (), value, False, value.place)}
            changed = spec._replace(fixed=fixed, fields=fields)
            yield Alteration(
                value.place, f"fixed.{name}: {value.text} as a default", "", changed, value.place.line
            )
        else:
            for altered, what in _values(value):
                fixed = {**spec.fixed, name: altered}
                yield Alteration(
                    value.place, f"fixed.{name}: {what}", "", spec._replace(fixed=fixed), value.place.line
                )
    for name, place in spec.readonly.items():
        if place.source.name == file:
            readonly = {other: known for other, known in spec.readonly.items() if other != name}
            start = Place(spec.source, 1, 1)
            yield Alteration(
                start, f"readonly: {name} left out", "", spec._replace(readonly=readonly), place.line
            )
    for index, condition in enumerate(spec.require):
        if condition.place.source.name == file:
            before, after, line = spec.require[:index], spec.require[index + 1 :], condition.place.line
            start = Place(spec.source, 1, 1)  # what is left out has no line any more
            yield Alteration(
                start,
                f"require: {condition.text} left out",
                "",
                spec._replace(require=(*before, *after)),
                line,
            )
            altered, what = _altered(condition, condition.tree, _negated)
            altered_spec = spec._replace(require=(*before, altered, *after))
            yield Alteration(condition.place, f"require: {what}", "", altered_spec, line)


def _modules(module: Module, spec: Spec, file: str) -> Iterator[tuple[Module, Place, Place, str]]:
    """An altered module, the place that shows it, that of what was altered, and how."""
    for path, expression in _places(module.body, ()):
        own = expression.place.source.name == file  # a line taken over may be idle here, an own one must not
        nodes = ast.walk(expression.tree) if own else living(expression.tree, module, spec)
        for altered, what in _expressions(expression, spec, nodes):
            yield (
                module._replace(body=_with(module.body, path, altered)),
                expression.place,
                expression.place,
                what,
            )
        if path and not _idle(expression) and (own or not nothing(expression.tree, module, spec)):
            left = module._replace(body=_with(module.body, path, None))
            yield left, module.place, expression.place, f"{'.'.join(path)} left out"
    for name, expression in module.where.items():
        for altered, what in _values(expression):
            where = {**module.where, name: altered}
            yield module._replace(where=where), expression.place, expression.place, f"where.{name}: {what}"
    for index, tie in enumerate(module.ties):
        rest = (*module.ties[:index], *module.ties[index + 1 :])
        yield module._replace(ties=rest), module.place, tie.place, f"tie of {tie.target} left out"
    if (output := module.output_embeddings) is not None:
        left = module._replace(output_embeddings=None)
        yield left, module.place, output.place, f"output_embeddings: {output.text} left out"
    if (layer := module.layer) is not None:
        for altered, what in _expressions(layer, spec, ast.walk(layer.tree)):
            yield module._replace(layer=altered), layer.place, layer.place, f"extends: {what}"
    for index, condition in enumerate(module.require):
        before, after = module.require[:index], module.require[index + 1 :]
        idle = settled(condition.tree, module, spec) or implied(
            condition, (*spec.require, *before, *after), module, spec
        )
        if condition.place.source.name != file and idle:
            continue
        place = condition.place
        yield (
            module._replace(require=(*before, *after)),
            module.place,
            place,
            f"require: {condition.text} left out",
        )
        altered, what = _altered(condition, condition.tree, _negated)
        yield module._replace(require=(*before, altered, *after)), place, place, f"require: {what}"


def _expressions(
    expression: Expression, spec: Spec, nodes: Iterator[ast.AST]
) -> Iterator[tuple[Expression, str]]:
    """A constructor expression with one argument, condition or loop altered, among some of its nodes."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield from _call(expression, node, spec)
        elif isinstance(node, ast.IfExp):
            yield _altered(expression, node.test, _negated)
        elif isinstance(node, ast.ListComp | ast.GeneratorExp):
            for generator in node.generators:
                loop = generator.iter
                if isinstance(loop, ast.Call) and isinstance(loop.func, ast.Name) and loop.func.id == "range":
                    yield _altered(expression, loop.args[-1 if len(loop.args) == 1 else 1], _one_more)


def _call(expression: Expression, node: ast.Call, spec: Spec) -> Iterator[tuple[Expression, str]]:
    assert isinstance(node.func, ast.Name)
    name = node.func.id
    if _bare(node):
        return
    if name in LEAVES:
        parameters = list(inspect.signature(LEAVES[name]).parameters.values())
        variadic = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
        for index, argument in enumerate(node.args):
            if variadic or parameters[index].name not in _IDLE:
                yield from _argument(expression, argument)
        for keyword in node.keywords:
            if keyword.arg in _FLAGS:
                yield _altered(expression, keyword.value, _negated)
            elif keyword.arg not in _IDLE:
                yield from _argument(expression, keyword.value)
        if name in _BIAS and not any(keyword.arg == "bias" for keyword in node.keywords) and not variadic:
            yield _altered(expression, node, _without_bias)
    elif spec.module(name) is not None:
        for value in [*node.args, *(keyword.value for keyword in node.keywords)]:
            if isinstance(value, ast.Constant | ast.BinOp | ast.Compare) or _is_field(value, spec):
                yield from _argument(expression, value)


def _is_field(node: ast.expr, spec: Spec) -> bool:
    field = spec.fields.get(spec.attribute_map.get(node.id, node.id)) if isinstance(node, ast.Name) else None
    return field is not None and not (field.default and isinstance(field.default.tree, ast.Call))


def _argument(expression: Expression, node: ast.expr) -> Iterator[tuple[Expression, str]]:
    if isinstance(node, ast.Starred) or (
        isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str))
    ):
        return
    if isinstance(node, ast.List | ast.Tuple):
        for item in node.elts:
            yield from _argument(expression, item)
    elif isinstance(node, ast.Compare | ast.BoolOp) or (
        isinstance(node, ast.Constant) and isinstance(node.value, bool)
    ):
        yield _altered(expression, node, _negated)
    elif not isinstance(node, ast.ListComp | ast.GeneratorExp | ast.IfExp):
        yield _altered(expression, node, _one_more)


def _values(expression: Expression) -> Iterator[tuple[Expression, str]]:
    """A value that is no constructor: a number one off, a condition turned round."""
    tree = expression.tree
    calls = [
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    if any(name in ("Config", "AutoConfig") for name in calls):
        return
    if isinstance(tree, ast.List | ast.Tuple):
        yield from (found for item in tree.elts[:1] for found in _argument(expression, item))
    elif isinstance(tree, ast.IfExp):
        yield _altered(expression, tree.test, _negated)
    elif isinstance(tree, ast.BoolOp) or (
        isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute)
    ):
        yield _altered(expression, tree, _negated)
    elif not isinstance(tree, ast.ListComp | ast.GeneratorExp | ast.Dict | ast.Name):
        yield from _argument(expression, tree)


def _altered(
    expression: Expression, target: ast.expr, change: Callable[[Any], ast.expr]
) -> tuple[Expression, str]:
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
    return expression._replace(tree=tree), f"{ast.unparse(target)} becomes {ast.unparse(new)}"


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else super().generic_visit(node)


def _one_more(node: Any) -> ast.expr:
    return ast.BinOp(node, ast.Add(), ast.Constant(1))


def _negated(node: Any) -> ast.expr:
    if isinstance(node, ast.Constant):
        return ast.Constant(not node.value)
    return ast.UnaryOp(ast.Not(), node)


def _without_bias(node: ast.Call) -> ast.expr:
    return ast.Call(node.func, node.args, [*node.keywords, ast.keyword("bias", ast.Constant(False))])


def _idle(expression: Expression) -> bool:
    """Whether an attribute has no tensors, so that leaving it out is no slip; nor is it where the parent's is taken away."""
    if isinstance(expression.tree, ast.Constant):
        return True
    calls = [
        node
        for node in ast.walk(expression.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    return bool(calls) and all(_bare(node) for node in calls)


def _bare(node: ast.Call) -> bool:
    """Whether a call is that of a leaf without tensors."""
    if any(keyword.arg in _AFFINE and ast.unparse(keyword.value) == "False" for keyword in node.keywords):
        return True
    return isinstance(node.func, ast.Name) and LEAVES.get(node.func.id) is LEAVES["Identity"]


def _places(part: Part, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Expression]]:
    if isinstance(part, Expression):
        yield path, part
    else:
        for key, item in part.items() if isinstance(part, dict) else enumerate(part):
            yield from _places(item, (*path, str(key)))


def _with(part: Part, path: tuple[str, ...], value: Expression | None) -> Part:
    """A body with one expression put in place of another, or left out; a list keeps its positions."""
    if not path:
        assert value is not None
        return value
    if isinstance(part, list):
        place = int(path[0])
        if len(path) == 1 and value is None:
            return part[:place] + part[place + 1 :]
        return [*part[:place], _with(part[place], path[1:], value), *part[place + 1 :]]
    assert isinstance(part, dict)
    if len(path) == 1 and value is None:
        return {key: item for key, item in part.items() if key != path[0]}
    return {key: _with(item, path[1:], value) if key == path[0] else item for key, item in part.items()}
