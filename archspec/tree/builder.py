"""The module tree of an architecture for one config: what the constructor would build.

:class:`Builder` interprets a spec's modules over exact ints; :mod:`archspec.symbolic.builder` runs the same
builder over symbolic numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ConfigError, Place, Problem, SpecError, UnknownArchitectureError, did_you_mean
from archspec.language.evaluator import Evaluator
from archspec.language.expression import EvaluationError, Expression, Locals, names
from archspec.language.values import describe, here
from archspec.specs.records import Module, Part, Spec, Tie
from archspec.specs.torch_layers import LEAVES, LayerError, Leaf, concrete, weight_norm
from archspec.tree.node import Node as Node
from archspec.tree.node import OutputEmbeddings
from archspec.tree.node import Routed as Routed

MAX_DEPTH = 60
MAX_NUMEL = 2**61 - 1  # torch counts a tensor's bytes in a signed 64-bit number
_CONTAINERS = ("Sequential", "ModuleList", "ModuleDict")


class Frame:
    """What names mean inside one module: the config in force, the arguments, `where:`."""

    def __init__(self, scope: Scope, local: Locals, where: dict[str, Expression]) -> None:
        self.scope, self.local, self.where = scope, local, where
        self.pending: set[str] = set()


class Builder(Evaluator):
    """Builds the tree of one architecture; a tree is built once and only read afterwards."""

    def __init__(self, scope: Scope) -> None:
        self.scope, self.domain = scope, scope.domain
        self.frames: list[Frame] = [Frame(scope, {}, {})]
        self.memo: dict[Any, tuple[Node, Any]] = {}

    def build(self, architecture: str) -> Node:
        """The tree of an architecture of the scope's spec.

        Errors: :class:`ConfigError` for values that the constructor refuses, :class:`SpecError` for
        a spec that is wrong, :class:`UnknownArchitectureError` for a class that it does not have.
        """
        spec = self.scope.spec
        if spec.refuse:
            raise UnknownArchitectureError(Problem(f"{spec.model_type} is not counted: {spec.refuse}"))
        module = spec.module(architecture)
        if module is None:
            help_ = (
                did_you_mean(architecture, spec.architectures)
                or f"known here: {', '.join(spec.architectures)}"
            )
            raise UnknownArchitectureError(
                Problem(f"{spec.model_type} has no architecture {architecture!r}", help=help_)
            )
        name = ast.Name(architecture, ast.Load())
        self.expression = Expression(name, architecture, module.place, "architectures")
        try:
            return self.instantiate(module, self.scope, {}, name)
        except EvaluationError as error:
            problem = error.problem()
            message = f"{self.scope.origin.name}: {problem.message}"
            raise ConfigError(problem._replace(message=message)) from None

    def instantiate(self, module: Module, scope: Scope, arguments: Locals, node: ast.AST) -> Node:
        """One module; the same module with the same arguments is built once and shared."""
        key = self.memo_key(module, scope, arguments)
        if key is not None and key in self.memo:
            return self.memo[key][0]
        self.spend(12, node)
        if len(self.frames) > MAX_DEPTH:
            self.fail(f"{module.name} contains itself", node, "a module tree has an end")
        local = dict(arguments)
        frame = Frame(scope, local, module.where)
        self.frames.append(frame)
        try:
            for name, default in module.parameters.items():
                if name not in local:
                    if default is None:
                        self.fail(
                            f"{module.name} needs {name}", node, f"parameters: {', '.join(module.parameters)}"
                        )
                    local[name] = self.evaluate(default, {})
            for condition in module.require:
                self.demand(condition, frame)
            built = self.part(module.body, module.name, module).copy()
            built.cls, built.module, built.scope = module.name, module, scope
            if module.output_embeddings is not None:
                built.output_embeddings = self.output_path(module.output_embeddings)
            if module.layer is not None:
                self.subclass(built, module.layer)
            built.ties = [*built.ties, *self.ties(module, scope)]
        finally:
            self.frames.pop()
        if key is not None:
            self.memo[key] = (built, (scope, arguments))  # keeps alive what the key names by identity
        return built

    def output_path(self, said: Expression) -> OutputEmbeddings:
        """`a.b`, `None`, or `a.b if condition else c.d`."""
        tree = said.tree
        while isinstance(tree, ast.IfExp):
            holds = self.truth(self.evaluate(said._replace(tree=tree.test), self.frames[-1].local), tree.test)
            tree = tree.body if holds else tree.orelse
        path = "" if isinstance(tree, ast.Constant) and tree.value is None else ast.unparse(tree)
        return OutputEmbeddings(path, said.place)

    def subclass(self, built: Node, layer: Expression) -> None:
        """Gives a module the tensors of the torch layer that its class is a subclass of."""
        parent = self.as_node(self.evaluate(layer, self.frames[-1].local), layer.tree, layer)
        assert parent is not None  # a call of a layer is a module
        built.layer, built.guards = parent.layer, built.guards | parent.guards
        built.tensors = [
            tensor._replace(trainable=tensor.trainable and not parent.frozen) for tensor in parent.tensors
        ]

    def memo_key(self, module: Module, scope: Scope, arguments: Locals) -> Any:
        known_by = self.domain.known_by
        return (id(module), id(scope), tuple((name, known_by(value)) for name, value in arguments.items()))

    def demand(self, condition: Expression, frame: Frame) -> None:
        if not self.truth(self.evaluate(condition, dict(frame.local)), condition.tree):
            inner = names(condition.tree) & frame.local.keys()  # parameters, and local names by now
            reads = sorted(n for n in names(condition.tree) - inner if frame.scope.has(n))
            values = {
                n: frame.local[n] if n in inner else frame.scope.get(n) for n in sorted({*inner, *reads})
            }
            found = ", ".join(
                f"{n} = {describe(value).removeprefix('the number ')}" for n, value in values.items()
            )
            reads += sorted(
                n
                for n in set().union(*(names(frame.where[n].tree) for n in inner & frame.where.keys()))
                if frame.scope.has(n)
            )
            message = f"{frame.scope.origin.name}: transformers demands `{condition.text}`, but {found or 'it does not hold'}"
            help_ = f"change {' or '.join(frame.scope.origin.path + n for n in reads)}" if reads else ""
            raise ConfigError(Problem(message, condition.place, condition.path, help_))

    def part(self, part: Part, path: str, module: Module) -> Node:
        """A mapping is a module with named children, a list one with numbered children."""
        if isinstance(part, Expression):
            value = self.evaluate(part, self.frames[-1].local)
            node = self.as_node(value, part.tree, part)
            if node is None:
                self.expression = part
                self.fail(f"{path} is nothing, a class must be a module", part.tree)
            return node
        children: dict[str, Node] = {}
        items = part.items() if isinstance(part, dict) else enumerate(part)
        for name, inner in items:
            if isinstance(inner, Expression) and "{" in str(name):  # attributes that a loop names
                looped = self.as_node(self.evaluate(inner, self.frames[-1].local), inner.tree, inner)
                children |= looped.children if looped else {}
                continue
            if isinstance(inner, Expression):
                child = self.as_node(self.evaluate(inner, self.frames[-1].local), inner.tree, inner)
            else:
                child = self.part(inner, f"{path}.{name}", module)
            if child is not None:
                children[str(name)] = child
        return Node("Sequential" if isinstance(part, list) else "ModuleDict", children=children)

    def as_node(self, value: Any, node: ast.AST, expression: Expression) -> Node | None:
        """What a constructor expression gave, as a module; None where the attribute is not built."""
        value = self.domain.plain(value)
        if value is None or isinstance(value, Node):
            return value
        if isinstance(value, list):
            return self.container(
                "ModuleList", {str(i): item for i, item in enumerate(value)}, node, expression
            )
        if isinstance(value, dict):
            return self.container("ModuleDict", value, node, expression)
        self.expression = expression
        self.fail(
            f"{describe(value)} is not a module", node, "write a constructor, e.g. Linear(a, b), or None"
        )

    def container(self, cls: str, items: dict[Any, Any], node: ast.AST, expression: Expression) -> Node:
        self.spend(len(items), node)
        children = {
            str(name): child
            for name, item in items.items()
            if (child := self.as_node(item, node, expression))
        }
        return Node(cls, children=children)

    def ties(self, module: Module, scope: Scope) -> list[tuple[str, str, Tie]]:
        """The pairs (target, source) that hold; `tied:` needs the config's tie_word_embeddings."""
        pairs: list[tuple[str, str, Tie]] = []
        for tie in module.ties:
            if not tie.always and not self.tied_here(scope):
                continue
            if tie.turns is None:
                pairs.append((tie.target, tie.source, tie))
                continue
            for turn in self.evaluate(tie.turns, self.frames[-1].local):
                values = iter([str(concrete(value)) for value in turn])
                pairs.append((_filled(tie.target, values), _filled(tie.source, values), tie))
        return pairs

    def tied_here(self, scope: Scope) -> bool:
        return bool(scope.has("tie_word_embeddings") and scope.get("tie_word_embeddings"))

    def name(self, name: str, node: ast.Name) -> Any:
        frame = self.frames[-1]
        if name in frame.local:
            return frame.local[name]
        if name in frame.where:
            if name in frame.pending:
                self.fail(f"{name} depends on itself", node, "break the circle in `where:`")
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
        """A config field's value, a sub-config as the scope of its own fields."""
        value = scope.get(name)
        return value.scope if isinstance(value, SubConfig) else value

    def attribute(self, value: Any, name: str, node: ast.Attribute) -> Any:
        if not isinstance(value, Scope):
            return super().attribute(value, name, node)
        if name == "model_type":
            return value.spec.model_type
        if not value.has(name):
            help_ = did_you_mean(name, value.spec.fields)
            self.fail(f"{value.spec.model_type} has no field {name}", node, help_)
        return self.read(value, name)

    def method(self, value: Any, name: str, node: ast.Call, local: Locals) -> Any:
        if isinstance(value, Node) and name in ("requires_grad_", "routed") and not node.keywords:
            arguments = [self.visit(argument, local) for argument in node.args]
            other = value.copy()
            if name == "requires_grad_":
                other.frozen = bool(arguments) and not self.truth(arguments[0], node)
            else:
                other.routed = self.routing(arguments, node)
            return other
        if isinstance(value, Scope) and name == "get" and len(node.args) == 1 and not node.keywords:
            field = str(self.visit(node.args[0], local))  # a field that only some model types describe
            return self.read(value, field) if value.has(field) else value.raw.get(field)
        return super().method(value, name, node, local)

    def routing(self, arguments: list[Any], node: ast.Call) -> Routed | None:
        """The arguments of `.routed`; none where one of them is null."""
        if len(arguments) != 2:
            self.fail("routed takes the experts used for a token and the number of experts", node)
        for number in arguments:
            kind = type(here(number))
            if number is not None and (not issubclass(kind, int) or kind is bool or concrete(number) < 0):
                self.fail(f"{describe(number)} is not a number of experts", node)
        return None if any(argument is None for argument in arguments) else Routed(*arguments)

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        scope = self.frames[-1].scope
        if name == "given":
            return scope.call(name, node, local)
        arguments = [self.visit(argument, local) for argument in node.args]
        keywords: Locals = {}
        for keyword in node.keywords:
            value = self.visit(keyword.value, local)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif isinstance(value, dict):
                keywords |= {str(k): v for k, v in value.items()}
            else:
                self.fail(f"`**` needs a mapping, not {describe(value)}", keyword.value)
        if name in LEAVES:
            return self.leaf(name, arguments, keywords, node)
        if name in _CONTAINERS:
            return self.literal_container(name, arguments, node)
        if name == "weight_norm":
            return self.parametrized(arguments, keywords, node)
        if name == "replace_batch_norm":
            if len(arguments) != 1 or not isinstance(arguments[0], Node):
                self.fail("replace_batch_norm takes a module", node)
            return self.frozen_norms(arguments[0])
        if arguments and isinstance(arguments[0], Scope):
            scope = arguments.pop(0)
        elif arguments and arguments[0] is None and name.startswith("Auto"):
            self.fail(f"`{ast.unparse(node.args[0])}` is null", node.args[0], "give the sub-config")
        module = self.find(name, scope, node)
        return self.bound(module, scope, arguments, keywords, node)

    def find(self, name: str, scope: Scope, node: ast.Call) -> Module:
        """The module that a name means in a scope; AutoModel… is the class the model type maps to."""
        spec = scope.spec
        if name.startswith("Auto"):
            if spec.refuse:
                raise UnknownArchitectureError(
                    Problem(f"{scope.origin.path}{spec.model_type} is not counted: {spec.refuse}")
                )
            found = auto_class(spec, name)
            if found is None:
                self.fail(
                    f"{spec.model_type} has no class for {name}",
                    node,
                    f"known: {', '.join(spec.architectures)}",
                )
            name = found
        module = spec.module(name)
        if module is None:
            self.fail(f"{name} is not described", node.func, did_you_mean(name, [*spec.modules, *LEAVES]))
        return module

    def bound(
        self, module: Module, scope: Scope, arguments: list[Any], keywords: Locals, node: ast.Call
    ) -> Node:
        """Arguments to parameters; keywords that are config fields hold for the whole module."""
        if len(arguments) > len(module.parameters):
            self.fail(
                f"{module.name} takes {len(module.parameters)} arguments, {len(arguments)} are given", node
            )
        values = dict(zip(module.parameters, arguments, strict=False))
        fields: Locals = {}
        for key, value in keywords.items():
            if key in module.parameters and key not in values:
                values[key] = value
            elif scope.has(key):
                fields[key] = value
            else:
                known = [*module.parameters, *scope.spec.fields]
                self.fail(
                    f"{key} is neither a parameter of {module.name} nor a field",
                    node,
                    did_you_mean(key, known),
                )
        return self.instantiate(module, scope.replaced(fields) if fields else scope, values, node)

    def leaf(self, name: str, arguments: list[Any], keywords: Locals, node: ast.Call) -> Node:
        self.spend(4, node)
        plain = self.domain.plain
        try:
            tensors = LEAVES[name](
                *map(plain, arguments), **{key: plain(value) for key, value in keywords.items()}
            )
        except LayerError as error:
            self.fail(f"`{ast.unparse(node)}`: {error}", node)
        except TypeError as error:
            detail = str(error).partition("() ")[2] or str(error)
            self.fail(f"{name}: {detail}", node, "the arguments are those of torch's constructor")
        for tensor in tensors:
            self.check_shape(tensor, node)
        return Node(name, tensors)

    def check_shape(self, tensor: Leaf, node: ast.Call) -> None:
        numel = 1
        for size in tensor.shape:
            kind = type(here(size))
            if not issubclass(kind, int) or kind is bool:
                self.fail(f"a size of `{ast.unparse(node)}` is {describe(size)}, not an integer", node)
            if concrete(size) < 0:
                self.fail(f"a size of `{ast.unparse(node)}` is negative: {size}", node)
            numel *= concrete(size)
        if numel > MAX_NUMEL:
            self.fail(f"`{ast.unparse(node)}` has {numel:,} elements, more than torch can hold", node)

    def literal_container(self, name: str, arguments: list[Any], node: ast.Call) -> Node:
        arguments = [self.domain.plain(argument) for argument in arguments]
        if len(arguments) == 1 and isinstance(arguments[0], list | dict):
            items = arguments[0] if isinstance(arguments[0], dict) else dict(enumerate(arguments[0]))
        else:
            items = dict(enumerate(arguments))
        return self.container(name, items, node, self.expression)

    def parametrized(self, arguments: list[Any], keywords: Locals, node: ast.Call) -> Node:
        if not arguments or not isinstance(arguments[0], Node):
            self.fail("weight_norm takes a module", node)
        other: Node = arguments[0].copy()
        try:
            other.tensors = weight_norm(other.tensors, **keywords)
        except (LayerError, TypeError, IndexError) as error:
            self.fail(f"weight_norm: {error}", node)
        return other

    def frozen_norms(self, module: Node) -> Node:
        """transformers' replace_batch_norm: each BatchNorm2d becomes a FrozenBatchNorm2d of its size."""
        other = module.copy()
        if module.leaf and module.cls == "BatchNorm2d":
            other.cls = other.layer = "FrozenBatchNorm2d"
            other.tensors = LEAVES[other.cls](module.tensors[0].shape[0])
        other.children = {name: self.frozen_norms(child) for name, child in module.children.items()}
        return other


def auto_class(spec: Spec, auto: str) -> str | None:
    """The architecture that an auto class gives: AutoModel the base model, AutoModelForX one named so."""
    if auto == "AutoModel":
        return spec.architectures[0] if spec.architectures else None
    suffix = auto.removeprefix("AutoModel").removeprefix("Auto")
    known = {"ForCausalLM": ("ForCausalLM", "LMHeadModel"), "ForSeq2SeqLM": ("ForConditionalGeneration",)}
    ends = {**known, "ForTextEncoding": ("EncoderModel",)}.get(suffix, (suffix,))
    return next((name for end in ends for name in spec.architectures if name.endswith(end)), None)


def _filled(template: str, values: Iterator[str]) -> str:
    parts = template.split("{")
    return parts[0] + "".join(next(values) + part.partition("}")[2] for part in parts[1:])


def require_architecture(spec: Spec) -> str:
    """The base model of a spec. Errors: :class:`SpecError` for a spec without architectures."""
    if not spec.architectures:
        raise SpecError(
            Problem("the spec has no architectures", Place(spec.source, 1, 1), help="add architectures:")
        )
    return spec.architectures[0]
