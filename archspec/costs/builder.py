"""The builder of a tree whose modules know what they cost in a call of given lengths.

:class:`Costed` adds to a builder what `runs:`, `ops:` and `cache:` say, over exact or symbolic numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from archspec.configs.scope import Scope
from archspec.costs.notes.cache_keys import check_cache_keys
from archspec.costs.records import (
    Axes,
    Cost,
    Kept,
    Products,
    Saved,
    inner_axes,
    layer_saves,
    trains,
    weight_costs,
)
from archspec.errors import did_you_mean
from archspec.language.expression import EvaluationError, Expression, Locals
from archspec.language.values import here
from archspec.specs.records import Body, Contraction, Module
from archspec.tree.builder import Builder
from archspec.tree.inside import Frame
from archspec.tree.node import Node
from archspec.typing_light import Any, NamedTuple


class Layer(NamedTuple):
    """A module in a loop of layers, and what it read by its index: lists with their items there.

    Without a list it is the index itself.
    """

    built: Node
    reads: list[tuple[Any, Any]]


class Costed(Builder):
    """A builder at the axes of a call; None where what is built does not run."""

    axes: Axes | None = None
    encoder = False  # whether an encoder was built whose positions are `new_encoder_tokens`
    returned = False  # whether the class returns a cache that it does not take
    attends = False  # whether anything depends on an encoder's positions

    def __init__(self, scope: Scope, **options: Any) -> None:
        super().__init__(scope, **options)
        self.layered: dict[str, bool] = {}  # model type -> whether costs of a layer depend on which it is
        self.layer_idx: Any = None  # where a layer is built whose costs may depend on which it is
        self.layers: dict[Any, list[Layer]] = {}  # the layers that were built of a module
        self.layer_reads: list[
            tuple[Any, Any]
        ] = []  # by what is being built: lists, and what they have at layer_idx

    def frame_of(self, module: Module, scope: Scope, local: Locals) -> Frame:
        frame = super().frame_of(module, scope, local)
        frame.axes, frame.layer_idx = self.axes, self.layer_idx
        frame.runs, frame.saves = module.runs, module.saves if trains(self.axes) else {}
        return frame

    def memo_key(self, module: Module, scope: Scope, arguments: Locals) -> Any:
        key = super().memo_key(module, scope, arguments)
        if key is None or self.axes is None:
            return key
        known_by = self.domain.known_by
        key = (key, tuple(map(known_by, self.axes.values())))
        return key if self.layer_idx is None else (key, known_by(self.layer_idx))

    def instantiate(self, module: Module, scope: Scope, arguments: Locals, node: ast.AST) -> Node:
        """One module; a layer is the same as another one where it reads the same in its place of lists."""
        key = self.memo_key(module, scope, arguments) if self.layer_idx is not None else None
        if key is None:
            return super().instantiate(module, scope, arguments, node)
        layers = self.layers.setdefault(key[0], [])
        for layer in layers:
            if all(items[self.layer_idx] == item for items, item in layer.reads):
                self.layer_reads += layer.reads
                return layer.built
        outer, self.layer_reads = self.layer_reads, []
        layer = Layer(super().instantiate(module, scope, arguments, node), self.layer_reads)
        if (None, None) not in layer.reads:
            layers.append(layer)
        self.layer_reads = outer + layer.reads
        return layer.built

    def visit_Subscript(self, node: ast.Subscript, local: Locals) -> Any:
        before = len(self.layer_reads)
        found = super().visit_Subscript(node, local)
        if isinstance(node.slice, ast.Name) and self.layer_reads[before:] == [(None, None)]:
            self.layer_reads[before:] = [(self.visit(node.value, local), found)]
        return found

    def name(self, name: str, node: ast.Name) -> Any:
        """Names of the call, where nothing else has that name."""
        frame = self.frames[-1]
        of_call = frame.axes is not None and (name in frame.axes or name == "layer_idx")
        if not of_call or name in frame.local or name in frame.where or frame.scope.has(name):
            return super().name(name, node)
        if name == "layer_idx":
            if frame.layer_idx is None:
                return super().name(name, node)
            self.layer_reads.append((None, None))
            return frame.layer_idx
        assert frame.axes is not None  # see above
        self.attends |= name in ("encoder_tokens", "new_encoder_tokens")
        return frame.axes[name]

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        found = self.scope.spec.library.contractions().get(name)
        return super().call(name, node, local) if found is None else self.contraction(found, node, local)

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp, local: Locals) -> Any:
        """`layer_idx` is what the innermost loop of modules counts; transformers gives it to each layer."""
        outer = self.layer_idx
        try:
            return super().visit_ListComp(node, local)
        finally:
            self.layer_idx = outer

    def alike(self, node: ast.ListComp | ast.GeneratorExp) -> bool:
        return super().alike(node) and not self.reads_layer_idx()

    def bind(self, target: ast.expr, item: Any, local: Locals) -> None:
        super().bind(target, item, local)
        if isinstance(target, ast.Name) and self.reads_layer_idx():
            self.layer_idx = item

    def reads_layer_idx(self) -> bool:
        if self.axes is None:
            return False
        spec = self.frames[-1].scope.spec
        if spec.model_type not in self.layered:
            self.layered[spec.model_type] = spec.reads_layer_idx()
        return self.layered[spec.model_type]

    def leaf(self, name: str, arguments: list[Any], keywords: Locals, node: ast.Call) -> Node:
        built = super().leaf(name, arguments, keywords, node)
        if self.axes is not None:
            built.costs = weight_costs(name, built.tensors, self.axes)
            if trains(self.axes):
                built.saves = layer_saves(name, built.tensors, self.axes)
        return built

    def child(self, name: str, inner: Body) -> Node | None:
        """An attribute at the axes that `runs:` gives it."""
        frame = self.frames[-1]
        runs = frame.runs.get(name)
        if runs is None or frame.axes is None:
            return self.replaced(name, super().child(name, inner))
        given = runs if isinstance(runs, dict) else {"tokens": runs}
        if isinstance(runs, dict) and "tokens" in runs and runs["tokens"].text == "new_encoder_tokens":
            self.encoder = True
        values = {axis: self.evaluate(value, frame.local) for axis, value in given.items()}
        positions, chosen = values.get("tokens"), values.pop("routed", None)
        idle = type(positions) is int and positions == 0  # what does not run keeps nothing either
        outer, self.axes = self.axes, None if idle else inner_axes(frame.axes, values)
        child = super().child(name, inner)
        if self.axes is not None and child is not None and child.cls in ("Parameter", "Buffer"):
            child.costs = weight_costs("Linear", child.tensors, self.axes)
        if chosen is not None and child is not None and (routed := child.routed) is not None:
            child = child.copy()
            child.routed = routed._replace(chosen=chosen)  # transformers computes others, too
        self.axes = outer
        return self.replaced(name, child)

    def replaced(self, name: str, child: Node | None) -> Node | None:
        """An attribute of which the module says what it keeps."""
        said = self.frames[-1].saves.get(name)
        if said is None or child is None:
            return child
        if not child.leaf:
            self.fail(f"{name} is no layer: what it keeps stands in its own module", said.tree)
        other = child.copy()
        other.saves = [self.saved(name, said)]
        return other

    def saved(self, name: str, said: Expression | None) -> Saved:
        """The bytes of one line of `saves:`."""
        frame = self.frames[-1]
        assert frame.axes is not None  # `saves:` are read of a training step only
        return Saved(name, None if said is None else self.evaluate(said, frame.local) * frame.axes["times"])

    def completed(self, built: Node, module: Module) -> None:
        """Adds what a module multiplies beside its layers, and keeps."""
        if self.axes is None:
            return
        attributes = module.body if isinstance(module.body, dict) else {}
        saves = self.frames[-1].saves.items()
        own = [self.saved(name, said) for name, said in saves if name not in attributes]
        products = [self.evaluate(op, self.frames[-1].local) for op in module.ops]
        done = [product for product in products if product is not None]
        built.costs = [*built.costs, *(product.cost for product in done)]
        if trains(self.axes):
            built.saves = [*built.saves, *(product.saved for product in done), *own]
        if built.cache is None or module.cache is None:
            built.cache = None
            return
        self.returned |= module.returned
        kept = [tensor for product in done for tensor in product.kept]
        built.cache = [*built.cache, *kept, *self.kept(module.cache, "state")]

    def contraction(self, found: Contraction, node: ast.Call, local: Locals) -> Any:
        """One product at the axes of the call; what has no FLOPs is the bytes that autograd keeps."""
        frame = self.frames[-1]
        assert frame.axes is not None  # `ops:` are asked for where there are such
        given = self.arguments(found, node, local)
        defaults = {name: d for name, d in found.parameters.items() if d is not None and name not in given}
        if found.cache:
            check_cache_keys(frame.scope)
        inner = Frame(frame.scope, given, {**defaults, **found.where})
        inner.axes, inner.layer_idx = frame.axes, frame.layer_idx
        self.frames.append(inner)
        try:
            for condition in found.require:
                if not self.truth(self.evaluate(condition, given), condition.tree):
                    self.fail(f"{found.name} is described where `{condition.text}`", node)
            if found.flops is None:
                assert found.saves is not None  # lint holds the table to it
                return self.saved_bytes(found.saves, given, node)
            cost = self.cost(found, found.flops, given)
            saved = self.saved(found.name, found.saves) if trains(inner.axes) else None
            kind = self.evaluate(found.kind, given) if found.kind is not None else "state"
            kept = list(self.kept(found.cache, kind))
        finally:
            self.frames.pop()
        return Products(cost, kept, saved)

    def saved_bytes(self, saves: Expression, given: Locals, node: ast.Call) -> Any:
        """Bytes that autograd keeps. Errors: :class:`EvaluationError` for an unknown function."""
        try:
            return self.evaluate(saves, given)
        except EvaluationError as error:
            if "[kind]" not in str(error.message):
                raise
        self.fail(f"the activations that {given.get('kind')} keeps for the backward are not supported", node)

    def cost(self, found: Contraction, flops: Expression, given: Locals) -> Cost:
        """FLOPs of a contraction, of its mask and of its gradients."""
        axes = self.frames[-1].axes
        assert axes is not None  # as for `ops:`
        times, trained = axes["times"], axes["trained"]
        whole = self.evaluate(flops, given)
        masked, backward = whole, whole * axes["backward"]
        if found.masked_flops is not None:
            masked = self.evaluate(found.masked_flops, given)
        if found.backward_flops is not None:
            backward = self.evaluate(found.backward_flops, given)
        return Cost(found.name, whole * times, masked * times, backward * trained)

    def arguments(self, found: Contraction, node: ast.Call, local: Locals) -> Locals:
        """The arguments of a contraction by its parameters."""
        given = dict(zip(found.parameters, (self.visit(one, local) for one in node.args), strict=False))
        given |= {str(keyword.arg): self.visit(keyword.value, local) for keyword in node.keywords}
        for name in given:
            if name not in found.parameters:
                help_ = did_you_mean(name, found.parameters)
                self.fail(f"{name} is no parameter of {found.name}", node, help_)
        for name, default in found.parameters.items():
            if default is None and name not in given:
                self.fail(f"{found.name} needs {name}", node, f"parameters: {', '.join(found.parameters)}")
        return given

    def kept(self, shapes: Mapping[str, Expression], kind: str) -> Iterator[Kept]:
        """The tensors that a `cache:` lists, sizes and a dtype of its own; one without elements is none."""
        axes = self.frames[-1].axes
        assert axes is not None  # as for `ops:`
        for name, shape in shapes.items():
            sizes = self.evaluate(shape, self.frames[-1].local)
            if sizes is None:
                continue
            dtype = sizes.pop() if sizes[-1] is None or isinstance(sizes[-1], str) else None
            if all(here(size) for size in sizes):
                yield Kept(name, kind, tuple(sizes), axes["times"], dtype)


class CostBuilder(Costed):
    """Exact costs at the axes of one call."""

    def __init__(self, scope: Scope, axes: Axes) -> None:
        super().__init__(scope)
        self.axes = axes
