"""The module tree of an architecture for one config: what the constructor would build.

:class:`Builder` interprets a spec's modules over exact ints; :mod:`archspec.symbolic.builder` runs the same
builder over symbolic numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from archspec.configs.blame import blame
from archspec.configs.scope import Scope
from archspec.errors import ConfigError, UnknownArchitectureError, did_you_mean
from archspec.language.expression import EvaluationError, Expression, Locals, names
from archspec.language.values import describe
from archspec.specs.library import LIST_HELP
from archspec.specs.records import AUTO, Body, Module, Tie, model_types
from archspec.specs.torch_layers import LEAVES, decidable
from archspec.tree.inside import Frame as Frame
from archspec.tree.inside import Inside
from archspec.tree.node import Node as Node
from archspec.tree.node import auto_class, listed_class
from archspec.typing_light import Any

MAX_DEPTH = 60
MAX_BUILT = 8  # trees that are cached for one config
_CONTAINERS = ("Sequential", "ModuleList", "ModuleDict")
_BUILT_AT_ONCE = (*_CONTAINERS, "weight_norm", "replace_batch_norm")


class Builder(Inside):
    """Builds the tree of one architecture; a tree is built once and only read afterwards."""

    architecture = ""
    root: Node

    def __init__(self, scope: Scope) -> None:
        self.scope, self.domain = scope, scope.domain
        self.frames: list[Frame] = [Frame(scope, {}, {})]
        self.memo: dict[Any, tuple[Node, Any]] = {}

    def build(self, architecture: str) -> Node:
        """Return the tree of an architecture of the scope's spec.

        Errors: :class:`ConfigError` for values that the constructor refuses, :class:`SpecError` for
        a spec that is wrong, :class:`UnknownArchitectureError` for a missing class.
        """
        spec = self.scope.spec
        if spec.refuse:
            message = f"{spec.model_type} is not supported: {spec.refuse}"
            raise UnknownArchitectureError(message, help=LIST_HELP)
        module = spec.module(architecture)
        if module is None:
            message = f"{architecture!r} is not an architecture of {spec.model_type}"
            raise UnknownArchitectureError(message, help=did_you_mean(architecture, spec.architectures))
        name = ast.Name(architecture, ast.Load())
        self.expression = Expression(name, architecture, module.place, "architectures")
        try:
            self.root = self.instantiate(module, self.scope, {}, name)
        except EvaluationError as error:
            raise ConfigError(error.problem(self.scope.origin.label)) from None
        self.architecture = architecture
        return self.root

    def instantiate(self, module: Module, scope: Scope, arguments: Locals, node: ast.AST) -> Node:
        """Return one module; the same module with the same arguments is built once and shared."""
        key = self.memo_key(module, scope, arguments)
        if key is not None and key in self.memo:
            return self.memo[key][0]
        self.spend(12, node)
        if len(self.frames) > MAX_DEPTH:
            help_ = f"remove {module.name} from its attributes, or repeat layers with `for i in range(n)`"
            self.fail(f"{module.name} contains itself", node, help_)
        frame = self.frame_of(module, scope, dict(arguments))
        self.frames.append(frame)
        try:
            built = self._build_once(module, frame, node)
        except EvaluationError as error:
            read = names(error.expression.tree)
            raise ConfigError(blame(scope, read, error.problem(scope.origin.label), module.where)) from None
        finally:
            self.frames.pop()
        if key is not None:
            self.memo[key] = (built, (scope, arguments))  # keeps alive what the key names by identity
        return built

    def _build_once(self, module: Module, frame: Frame, node: ast.AST) -> Node:
        for name, default in module.parameters.items():
            if name not in frame.local:
                if default is None:
                    help_ = f"pass its parameters: {', '.join(module.parameters)}"
                    self.fail(f"{module.name} needs {name}", node, help_)
                frame.local[name] = self.evaluate(default, {})
        for condition in module.require:
            self.demand(condition, frame)
        body = self.part(module.body)
        if body is None and isinstance(module.body, Expression):
            self.expression = module.body
            self.fail(f"{module.name} is None", module.body.tree, "write a module, e.g. Linear(a, b)")
        assert body is not None  # a body of attributes is a module
        built = body.copy()
        built.cls, built.module, built.scope = module.name, module, frame.scope
        if module.output_embeddings is not None:
            built.output_embeddings = self.output_path(module.output_embeddings)
        if module.layer is not None:  # the class is a subclass of a torch layer
            parent = self.build_call(module.layer)
            assert parent is not None  # a call of a layer is a module
            built.layer, built.guards = parent.layer, built.guards | parent.guards
            built.groups = parent.groups
            frozen = parent.frozen
            built.tensors = [one._replace(trainable=one.trainable and not frozen) for one in parent.tensors]
        built.ties = [*built.ties, *self.ties(module, frame.scope)]
        self.complete(built, module)
        return built

    def frame_of(self, module: Module, scope: Scope, local: Locals) -> Frame:
        return Frame(scope, local, module.where)

    def complete(self, built: Node, module: Module) -> None:
        """Extend a module that was just built; a hook for subclasses."""

    def memo_key(self, module: Module, scope: Scope, arguments: Locals) -> Any:
        known_by = self.domain.known_by
        return (id(module), id(scope), tuple((name, known_by(value)) for name, value in arguments.items()))

    def part(self, part: Body) -> Node | None:
        """Return a mapping as a module with named children, a list as one with numbered children."""
        if isinstance(part, Expression):
            return self.build_call(part)
        children: dict[str, Node] = {}
        for name, inner in part.items() if isinstance(part, dict) else enumerate(part):
            child = self.child(str(name), inner)
            if child is not None and isinstance(inner, Expression) and "{" in str(name):
                children |= child.children  # attributes that a loop names
            elif child is not None:
                children[str(name)] = child
        return Node("Sequential" if isinstance(part, list) else "ModuleDict", children=children)

    def child(self, name: str, inner: Body) -> Node | None:
        return self.part(inner)

    def build_call(self, constructor: Expression) -> Node | None:
        """Return the module of a constructor expression; None for an attribute that is not built."""
        value = self.evaluate(constructor, self.frames[-1].local)
        outer, self.expression = self.expression, constructor
        built = self.as_node(value, constructor.tree)
        self.expression = outer
        return built

    def as_node(self, value: Any, node: ast.AST) -> Node | None:
        value = self.domain.to_list(value)
        if value is None or isinstance(value, Node):
            return value
        if isinstance(value, list | dict):
            items = value if isinstance(value, dict) else dict(enumerate(value))
            return self.container("ModuleDict" if isinstance(value, dict) else "ModuleList", items, node)
        help_ = "write a constructor, e.g. Linear(a, b), or None"
        self.fail(f"{describe(value)} is not a module", node, help_)

    def container(self, cls: str, items: dict[Any, Any], node: ast.AST) -> Node:
        self.spend(len(items), node)
        built = {str(name): self.as_node(item, node) for name, item in items.items()}
        return Node(cls, children={name: child for name, child in built.items() if child is not None})

    def ties(self, module: Module, scope: Scope) -> list[tuple[str, str, Tie]]:
        """Return the pairs (target, source) that hold; `tied:` needs the config's tie_word_embeddings."""
        pairs: list[tuple[str, str, Tie]] = []
        for tie in module.ties:
            if not tie.always and not self.tied_here(scope):
                continue
            turns = [()] if tie.turns is None else self.evaluate(tie.turns, self.frames[-1].local)
            for turn in turns:
                values = iter([str(decidable(value)) for value in turn])
                pairs.append((_fill(tie.target, values), _fill(tie.source, values), tie))
        return pairs

    def tied_here(self, scope: Scope) -> bool:
        return bool(scope.has("tie_word_embeddings") and scope.get("tie_word_embeddings"))

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        scope = self.frames[-1].scope
        if name == "given":
            return scope.call(name, node, local)
        visit = self.visit if name in LEAVES or name in _BUILT_AT_ONCE else self.argument
        arguments = [visit(argument, local) for argument in node.args]
        keywords: Locals = {}
        for keyword in node.keywords:
            value = visit(keyword.value, local)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif isinstance(value, dict):
                keywords |= {str(k): v for k, v in value.items()}
            else:
                help_ = "write the arguments out"
                self.fail(f"`**` needs a mapping, not {describe(value)}", keyword.value, help_)
        if name in LEAVES:
            return self.leaf(name, arguments, keywords, node)
        if name in _CONTAINERS:
            items: Any = [self.domain.to_list(argument) for argument in arguments]
            if len(items) == 1 and isinstance(items[0], list | dict):
                items = items[0]
            return self.container(name, items if isinstance(items, dict) else dict(enumerate(items)), node)
        if name in _BUILT_AT_ONCE:
            return self.change(name, arguments, keywords, node)
        usual = [scope.spec.model_type]
        if arguments and isinstance(arguments[0], Scope):
            field = scope.spec.fields.get(scope.canonical(ast.unparse(node.args[0])))
            usual = model_types(field.sub_config) if field and field.sub_config else []
            scope = arguments.pop(0)
        elif arguments and arguments[0] is None and name.startswith(AUTO):
            self.fail(f"`{ast.unparse(node.args[0])}` is null", node.args[0], "set the sub-config")
        module = self._find(name, scope, node, usual)
        return self.bind_arguments(module, scope, arguments, keywords, node)

    def argument(self, node: ast.expr, local: Locals) -> Any:
        """Return the value of an argument of a module; a hook for subclasses."""
        return self.visit(node, local)

    def _find(self, name: str, scope: Scope, node: ast.Call, usual: list[str]) -> Module:
        """Return the module of a name in a scope; AutoModel… is the class of the model type.

        For a model type that is not one of the ``usual``, transformers' list of classes decides.
        """
        spec = scope.spec
        if name.startswith(AUTO):
            if spec.refuse:
                path = scope.origin.path + spec.model_type
                raise UnknownArchitectureError(f"{path} is not supported: {spec.refuse}", help=LIST_HELP)
            found = (auto_class if spec.model_type in usual else listed_class)(spec, name)
            if found is None:
                message = f"transformers' {name} lists no class for the model type {spec.model_type}"
                example = f", for instance {usual[0]}" if usual and spec.model_type not in usual else ""
                scope.refuse("model_type", message, f"choose another model type{example}")
            name = found
        module = spec.module(name)
        if module is None:
            help_ = did_you_mean(name, [*spec.modules, *LEAVES]) or f"define {name} under modules:"
            self.fail(f"{name} is not defined", node.func, help_)
        return module

    def bind_arguments(
        self, module: Module, scope: Scope, arguments: list[Any], keywords: Locals, node: ast.Call
    ) -> Node:
        """Bind arguments to parameters; keywords that are config fields hold for the whole module."""
        if len(arguments) > len(module.parameters):
            counts = f"takes {len(module.parameters)} arguments, {len(arguments)} are given"
            help_ = f"pass its parameters: {', '.join(module.parameters)}"
            self.fail(f"{module.name} {counts}", node, help_)
        values = dict(zip(module.parameters, arguments, strict=False))
        fields: Locals = {}
        for key, value in keywords.items():
            if key in module.parameters and key not in values:
                values[key] = value
            elif scope.has(key):
                fields[key] = value
            else:
                help_ = did_you_mean(key, [*module.parameters, *scope.spec.fields])
                self.fail(f"{key} is neither a parameter of {module.name} nor a field", node, help_)
        return self.instantiate(module, scope.with_fields(fields) if fields else scope, values, node)


def tree_of(scope: Scope, architecture: str) -> Node:
    """Return the tree of an architecture for a config, built once. Errors: those of :meth:`Builder.build`."""
    builder: Builder | None = next((one for one in scope.built if one.architecture == architecture), None)
    if builder is None:
        builder = Builder(scope)
        builder.build(architecture)
        cache_builder(builder)
    return builder.root


def cache_builder(builder: Builder) -> None:
    """Keep a builder whose tree is built, for others that ask for the same tree."""
    built = builder.scope.built
    built.append(builder)
    del built[:-MAX_BUILT]


def _fill(template: str, values: Iterator[str]) -> str:
    parts = template.split("{")
    return parts[0] + "".join(next(values) + part.partition("}")[2] for part in parts[1:])
