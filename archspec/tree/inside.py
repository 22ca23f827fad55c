"""The environment of a module: its names, fields and methods, and torch's layers."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from archspec.configs.blame import unmet_condition
from archspec.configs.scope import Scope, open_part
from archspec.errors import ConfigError, did_you_mean
from archspec.language.evaluator import Evaluator
from archspec.language.expression import Expression, Locals, names
from archspec.language.values import describe, value_of
from archspec.specs.records import Module, Runs
from archspec.specs.torch_layers import LEAVES, LayerError, Leaf, decidable, groups_of, weight_norm
from archspec.tree.node import Node, OutputEmbeddings, Routed
from archspec.typing_light import Any

ON_MAP = "on_map"  # the method of a module that says on which feature map it runs
MAX_DIMENSIONS = 64  # of a tensor, in torch's kernels
MAX_NUMEL = 2**61 - 1  # torch counts a tensor's bytes in a signed 64-bit number


class Frame:
    """The names inside one module: the config, the arguments, `where:`."""

    def __init__(self, scope: Scope, local: Locals, where: dict[str, Expression]) -> None:
        self.scope, self.local, self.where = scope, local, where
        self.pending: set[str] = set()
        self.module: Module | None = None
        self.axes: dict[str, Any] | None = None  # of a forward pass, for costs; those at the module's start
        self.now: dict[str, Any] | None = None  # in an expression about what runs next: its axes
        self.sections: dict[str, list[Any]] = {}  # by modality: the groups of items that attributes run on
        self.inner: dict[str, list[Any]] = {}  # those of the modules inside
        self.layer_idx: Any = None
        self.runs: Mapping[str, Runs] = {}
        self.saves: Mapping[str, Expression] = {}


class Inside(Evaluator):
    """An environment of frames; the last is that of the module that is being built."""

    frames: list[Frame]

    def name(self, name: str, node: ast.Name) -> Any:
        frame = self.frames[-1]
        if name in frame.local:
            return frame.local[name]
        if name in frame.where:
            if name in frame.pending:
                self.fail(f"{name} depends on itself", node, f"define {name} without itself in `where:`")
            frame.pending.add(name)
            frame.local[name] = self.evaluate(frame.where[name], dict(frame.local))
            frame.pending.discard(name)
            return frame.local[name]
        if not frame.scope.has(name):
            known = [*frame.scope.spec.fields, *frame.scope.spec.fixed, *frame.where, *frame.local]
            self.fail(f"{name} is neither a config field nor a local name", node, did_you_mean(name, known))
        return self.read(frame.scope, name)

    def meaning(self, node: ast.expr) -> ast.expr:
        where = self.frames[-1].where
        return where[node.id].tree if isinstance(node, ast.Name) and node.id in where else node

    def read(self, scope: Scope, name: str) -> Any:
        return open_part(scope.get(name))

    def attribute(self, value: Any, name: str, node: ast.Attribute) -> Any:
        if not isinstance(value, Scope):
            return super().attribute(value, name, node)
        found = value.read_attribute(name, node, self)
        return found if name == "model_type" else self.read(value, name)

    def visit_Call(self, node: ast.Call, local: Locals) -> Any:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "at":
            return self.build_at(node.func.value, node.args, local)
        return super().visit_Call(node, local)

    def build_at(self, module: ast.expr, size: list[ast.expr], local: Locals) -> Any:
        """Build a module that runs on a grid of another size; only costs depend on it."""
        return self.visit(module, local)

    def method(self, value: Any, name: str, node: ast.Call, local: Locals) -> Any:
        if isinstance(value, Node) and name in ("requires_grad_", "routed") and not node.keywords:
            arguments = [self.visit(argument, local) for argument in node.args]
            other = value.copy()
            if name == "requires_grad_":
                other.frozen = bool(arguments) and not self.is_true(arguments[0], node)
            else:
                other.routed = self._read_routing(arguments, node)
            return other
        if name == ON_MAP and (value is None or isinstance(value, Node)) and len(node.args) == 1:
            return value
        if isinstance(value, Scope) and name == "get" and len(node.args) == 1 and not node.keywords:
            field = str(self.visit(node.args[0], local))  # a field that only some model types describe
            return self.read(value, field) if value.has(field) else value.raw.get(field)
        return super().method(value, name, node, local)

    def _read_routing(self, arguments: list[Any], node: ast.Call) -> Routed | None:
        """Return the arguments of `.routed`; None if one of them is null."""
        if len(arguments) != 2:
            message = "routed(k, E) takes two arguments: experts per token and number of experts"
            self.fail(message, node, "write e.g. .routed(num_experts_per_tok, num_experts)")
        for number in arguments:
            kind = type(value_of(number))
            if number is not None and (not issubclass(kind, int) or kind is bool or decidable(number) < 0):
                help_ = "pass integers of at least 0"
                self.fail(f"{describe(number)} is not a number of experts", node, help_)
        return None if any(argument is None for argument in arguments) else Routed(*arguments)

    def demand(self, condition: Expression, frame: Frame) -> None:
        """Raise :class:`ConfigError` when a condition of a module does not hold."""
        if self.is_true(self.evaluate(condition, dict(frame.local)), condition.tree):
            return
        scope = frame.scope
        read = names(condition.tree)
        local = read & frame.local.keys()  # parameters, and names of `where:` by now
        values = {
            name: frame.local[name] if name in local else scope.get(name)
            for name in read
            if name in local or scope.has(name)
        }
        raise ConfigError(unmet_condition(scope, condition, values, condition.path, frame.where))

    def output_path(self, path: Expression) -> OutputEmbeddings:
        """Evaluate `a.b`, `None`, or `a.b if condition else c.d`."""
        tree = path.tree
        while isinstance(tree, ast.IfExp):
            value = self.evaluate(path._replace(tree=tree.test), self.frames[-1].local)
            tree = tree.body if self.is_true(value, tree.test) else tree.orelse
        is_none = isinstance(tree, ast.Constant) and tree.value is None
        return OutputEmbeddings("" if is_none else ast.unparse(tree), path.place)

    def leaf(self, name: str, arguments: list[Any], keywords: Locals, node: ast.Call) -> Node:
        self.spend(4, node)
        plain = self.domain.to_list
        named = {key: plain(value) for key, value in keywords.items()}
        try:
            tensors = LEAVES[name](*map(plain, arguments), **named)
        except LayerError as error:
            self.fail(f"`{ast.unparse(node)}`: {error}", node, "use other arguments")
        except TypeError as error:
            detail = str(error).partition("() ")[2] or str(error)
            from inspect import signature  # imported for an error only

            known = [*signature(LEAVES[name]).parameters]
            wrong = next((key for key in keywords if key not in known), "")
            help_ = did_you_mean(wrong, known) if wrong else f"pass its arguments: {', '.join(known)}"
            self.fail(f"{name}: {detail}", node, help_)
        for tensor in tensors:
            self.check_shape(tensor, node)
        built = Node(name, tensors)
        if name.startswith("Conv"):
            built.groups = groups_of(name, arguments, named)
        return built

    def check_shape(self, tensor: Leaf, node: ast.Call) -> None:
        numel = 1
        if len(tensor.shape) > MAX_DIMENSIONS:
            what = f"`{ast.unparse(node)}` has a tensor of {len(tensor.shape):,} dimensions"
            help_ = f"use at most {MAX_DIMENSIONS} dimensions"
            self.fail(f"{what}, more than torch computes with", node, help_)
        for size in tensor.shape:
            kind = type(value_of(size))
            if not issubclass(kind, int) or kind is bool:
                help_ = "use // to round a quotient down" if issubclass(kind, float) else "pass integers"
                self.fail(f"a size of `{ast.unparse(node)}` is {describe(size)}, not an integer", node, help_)
            if decidable(size) < 0:
                help_ = "use sizes of at least 0"
                self.fail(f"a size of `{ast.unparse(node)}` is negative: {size}", node, help_)
            numel *= decidable(size)
        if numel > MAX_NUMEL:
            count = f"{numel:,}" if numel < MAX_NUMEL**4 else "far too many"
            message = f"`{ast.unparse(node)}` has {count} elements, more than torch can hold"
            self.fail(message, node, "use smaller sizes")

    def change(self, name: str, arguments: list[Any], keywords: Locals, node: ast.Call) -> Node:
        """Return a module after `weight_norm` or `replace_batch_norm`."""
        if not arguments or not isinstance(arguments[0], Node):
            self.fail(f"{name} takes a module", node, f"write e.g. {name}(Linear(a, b))")
        if name == "replace_batch_norm":
            return _frozen_norms(arguments[0])
        other: Node = arguments[0].copy()
        try:
            other.tensors = weight_norm(other.tensors, **keywords)
        except (LayerError, TypeError, IndexError) as error:
            self.fail(f"weight_norm: {error}", node, "use other arguments")
        return other


def _frozen_norms(module: Node) -> Node:
    """Replace each BatchNorm2d by a FrozenBatchNorm2d, like transformers' replace_batch_norm."""
    other = module.copy()
    if module.leaf and module.cls == "BatchNorm2d":
        other.cls = other.layer = "FrozenBatchNorm2d"
        other.tensors = LEAVES[other.cls](module.tensors[0].shape[0])
    other.children = {name: _frozen_norms(child) for name, child in module.children.items()}
    return other
