"""The builder of a tree whose modules have the costs of a forward pass, over exact or symbolic numbers."""

from __future__ import annotations

import ast

from archspec.configs.scope import Scope
from archspec.costs.media.flowing import ADDED
from archspec.costs.media.groups import OF_ALL
from archspec.costs.media.merging import without_saves
from archspec.costs.products import cache_tensors, evaluate_contraction, weight_costs
from archspec.costs.records import (
    ALLOCATIONS,
    EXACT,
    FROZEN,
    OUTPUT_SIZES,
    Axes,
    Call,
    asks_gradients,
    axes_of,
    inner_axes,
    is_training,
)
from archspec.costs.saving import Saving
from archspec.language.domain import Exact
from archspec.language.expression import Expression, Locals
from archspec.specs.records import MAPS, MEDIA_TOKENS, MODALITIES, Body, Module, Runs
from archspec.tree.builder import cache_builder
from archspec.tree.inside import Frame
from archspec.tree.node import Node
from archspec.typing_light import Any

_ENCODER_AXES, _READS = ("encoder_tokens", "new_encoder_tokens"), ("attends", "reads_encoder")
_ITSELF = (None, None)  # a read of a layer's index itself
_REUSED = ("memo", "layers", "outputs", "taken", "only", "encodes", "instructed", "returns_cache", *_READS)
_Reads = list[tuple[Any, Any]]  # the lists that a layer reads by its index, with their items there


class Costed(Saving):
    """A builder at the axes of a forward pass, with `runs:`, `ops:`, `cache:` and `saves:` of the specs.

    The axes are None inside a module that does not run.
    """

    axes: Axes | None = None
    allocations: tuple[str, ...] = (EXACT,)  # the allocations in which the tensors of the cache are listed
    keeps_empty = False  # tensors of the cache without elements are listed, too
    encodes = False  # an encoder is part of the model; its sequence length is `new_encoder_tokens`
    returns_cache = False  # the class returns a KV cache that its forward does not take
    attends = False  # a cost depends on an encoder's sequence length
    reads_encoder = False  # the specs of the modules name it, also for attributes that are not built

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.outputs: dict[int, tuple[Node, Any]] = {}  # by the id of a Linear: the elements of its output
        self.layered: dict[str, bool] = {}  # model type -> True if costs of a layer depend on its index
        self.layer_idx: Any = None  # of the layer that is being built, if its costs may depend on it
        self.layers: dict[Any, list[tuple[Node, _Reads]]] = {}  # the layers that were built of a module
        self.layer_reads: _Reads = []  # of the module that is being built
        self.repeats = True  # a loop with equal turns is evaluated once
        self._keyed_axes: Axes | None = None  # axes, which are never changed, and their part of a key
        self._axes_key: tuple[Any, ...] = ()
        self.start()

    def frame_of(self, module: Module, scope: Scope, local: Locals) -> Frame:
        frame = super().frame_of(module, scope, local)
        frame.module, frame.axes, frame.layer_idx = module, self.axes, self.layer_idx
        frame.runs, frame.saves = module.runs, module.saves if is_training(self.axes) else {}
        return frame

    def memo_key(self, module: Module, scope: Scope, arguments: Locals) -> Any:
        key = super().memo_key(module, scope, arguments)
        if key is None or self.axes is None:
            return key
        if self.axes is not self._keyed_axes:
            self._keyed_axes, self._axes_key = self.axes, tuple(map(self.domain.known_by, self.axes.values()))
        return (key, self._axes_key), self.domain.known_by(self.layer_idx)

    def instantiate(self, module: Module, scope: Scope, arguments: Locals, node: ast.AST) -> Node:
        """Build one module, and run what follows it on the size of its output."""
        if (modality := self.whole_modality(module)) is not None:
            return self.run_whole(modality, lambda: self.instantiate(module, scope, arguments, node))
        built = self._instantiate_layer(module, scope, arguments, node)
        self.width = None
        if self.on_items:
            self.pass_on(built.passed_on)
        return built

    def _instantiate_layer(self, module: Module, scope: Scope, arguments: Locals, node: ast.AST) -> Node:
        """Build one module; layers that read the same items at their indices share one node."""
        key = self.memo_key(module, scope, arguments) if self.layer_idx is not None else None
        if key is None:
            return super().instantiate(module, scope, arguments, node)
        layers = self.layers.setdefault(key[0], [])
        for built, reads in layers:
            if all(items[self.layer_idx] == item for items, item in reads):
                self.layer_reads += reads
                return built
        outer, self.layer_reads = self.layer_reads, []
        built, reads = super().instantiate(module, scope, arguments, node), self.layer_reads
        if _ITSELF not in reads:
            layers.append((built, reads))
        self.layer_reads = outer + reads
        return built

    def visit_Subscript(self, node: ast.Subscript, local: Locals) -> Any:
        before = len(self.layer_reads)
        found = super().visit_Subscript(node, local)
        if isinstance(node.slice, ast.Name) and self.layer_reads[before:] == [_ITSELF]:
            self.layer_reads[before:] = [(self.visit(node.value, local), found)]
        return found

    def name(self, name: str, node: ast.Name) -> Any:
        """Look up a name; local names and fields hide an axis of the same name."""
        frame = self.frames[-1]
        if name in frame.where and name not in frame.local and frame.now is not None:
            now, frame.now = frame.now, None
            try:
                return super().name(name, node)
            finally:
                frame.now = now
        hidden = name in frame.local or name in frame.where or frame.scope.has(name)
        axes = frame.now or frame.axes
        if axes is None or hidden:
            return super().name(name, node)
        if name in MEDIA_TOKENS:
            return self.media_tokens(name, frame)
        if name in MODALITIES:
            return self.number_of_items(name, frame)
        if name == "layer_idx" and frame.layer_idx is not None:
            self.layer_reads.append(_ITSELF)
            return frame.layer_idx
        if name in _ENCODER_AXES:
            self.attends = self.reads_encoder = True
        return self.read_axis(axes[name], axes) if name in axes else super().name(name, node)

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        if name in OF_ALL and self.axes is not None and len(node.args) == 1:
            return self.of_all(name, node.args[0], local)
        found = self.scope.spec.library.contractions().get(name)
        if found is None:
            return super().call(name, node, local)
        return evaluate_contraction(self, found, node, local)

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp, local: Locals) -> Any:
        """Evaluate a loop; `layer_idx` is the counter of the innermost loop of modules."""
        outer, axes, work = self.layer_idx, self.axes, self.work
        try:
            found = super().visit_ListComp(node, local)
            if self.on_items and self.repeats and super().has_equal_turns(node) and self.has_moved(axes):
                self.axes, self.work, self.repeats = axes, work, False  # each turn has another size
                found = super().visit_ListComp(node, local)
            return found
        finally:
            self.layer_idx, self.repeats = outer, True

    def has_equal_turns(self, node: ast.ListComp | ast.GeneratorExp) -> bool:
        return super().has_equal_turns(node) and self.repeats and not self._reads_layer_idx()

    def bind(self, target: ast.expr, item: Any, local: Locals) -> None:
        super().bind(target, item, local)
        if isinstance(target, ast.Name) and self._reads_layer_idx():
            self.layer_idx = item

    def _reads_layer_idx(self) -> bool:
        spec = self.frames[-1].scope.spec
        if self.axes is not None and spec.model_type not in self.layered:
            self.layered[spec.model_type] = spec.reads_layer_idx()
        return self.axes is not None and self.layered[spec.model_type]

    def leaf(self, name: str, arguments: list[Any], keywords: Locals, node: ast.Call) -> Node:
        built = super().leaf(name, arguments, keywords, node)
        if self.axes is None:
            return built
        before = self.axes
        on_grid = self.grid_leaf(name, arguments, keywords) if self.on_items else None
        axes = self.axes if on_grid is None else on_grid
        self.read_axis(axes["tokens"], axes)
        built.times = axes["times"]
        built.costs = weight_costs(name, built.tensors, self.gradient_axes(axes), on_grid)
        if name in OUTPUT_SIZES:
            width = built.tensors[0].shape[OUTPUT_SIZES[name]]
            self.outputs[id(built)] = built, self.axes["batch"] * self.axes["tokens"] * width
        self.save_layer(built, name, arguments, before, on_grid is not None)
        if self.on_items and built.tensors and name not in ADDED:
            self.pass_layer(trains=not self.axes[FROZEN] or asks_gradients(self.axes))
        return built

    def trained_child(self, name: str, inner: Body) -> Node | None:
        """Build an attribute at the axes that `runs:` gives it, with the bytes that `saves:` gives it."""
        frame, before = self.frames[-1], self.axes
        runs = frame.runs.get(name) if self.axes is not None else None
        child = self.part(inner) if runs is None else self._run(inner, name, runs)
        return self.save_attribute(child, name, before)

    def _run(self, inner: Body, name: str, runs: Runs) -> Node | None:
        attends = self.attends
        given = runs if isinstance(runs, dict) else {"tokens": runs}
        if isinstance(runs, dict) and "tokens" in runs:
            self.encodes |= runs["tokens"].text == "new_encoder_tokens"
        values = {axis: self.evaluate_now(value) for axis, value in given.items()}
        positions, chosen, kept = values.get("tokens"), values.pop("routed", None), values.pop("kept", True)
        self.check_positions(values if isinstance(runs, dict) else {}, name)
        idle = (self.keeps_empty or type(positions) is int) and positions == 0  # saves nothing, either
        outer, self.axes = self.axes, None if idle else inner_axes(self.axes or {}, values)
        child = self.part(inner)
        if child is None:
            self.attends = attends
        elif self.axes is not None and child.cls in ("Parameter", "Buffer"):
            child.costs = weight_costs("Linear", child.tensors, self.axes)
        inside, self.axes = self.axes, outer
        if self.on_items and child is not None and inside is not None and isinstance(runs, dict):
            self.pass_on(inside)
        elif self.on_items and inside is not None:
            self.pass_states(inside)
        if child is not None and not kept:
            child = without_saves(child)
        if chosen is not None and child is not None and (routed := child.routed) is not None:
            child = child.copy()
            child.computed = routed._replace(chosen=chosen)
        return child

    def complete(self, built: Node, module: Module) -> None:
        """Add the costs of a module's own code."""
        if self.axes is None:
            return
        self._complete(built, module)
        self.leave(built, module, self.frames[-1])
        built.passed_on = self.axes
        self.save_own(built, module)

    def _complete(self, built: Node, module: Module) -> None:
        frame = self.frames[-1]
        products = [one for op in module.ops if (one := self._product(op, frame)) is not None]
        built.costs = [*built.costs, *(cost for cost, _, _ in products)]
        built.times = (self.axes or {}).get("times", 1)
        if is_training(self.axes) and (self.has_gradients or self.passes):
            built.saves = [*built.saves, *(saved for _, _, saved in products)]
        if built.cache is None or module.cache is None:
            built.cache = None
            return
        self.returns_cache |= module.returned
        built.cache = [*built.cache, *(tensor for _, kept, _ in products for tensor in kept)]
        for state in cache_tensors(self, module.cache, "state"):
            built.cache += [state._replace(allocation=one) for one in self.allocations]

    def _product(self, op: Expression, frame: Frame) -> Any:
        """Evaluate one of `ops:` at the axes of the module's start, with the feature maps at its end."""
        if frame.axes is not None and self.axes is not None and self.on_items:
            trained = frame.axes["trained"] if self.has_gradients else 0
            frame.now = {**frame.axes, MAPS: self.axes[MAPS], "trained": trained}
        found = self.evaluate(op, frame.local)
        frame.now = None
        return found


class CostBuilder(Costed):
    """Costs at the axes of one forward pass, in every allocation of the cache."""

    def __init__(self, scope: Scope, axes: Axes) -> None:
        super().__init__(scope)
        self.axes = self.lengths = axes
        if type(self.domain) is Exact:  # other domains note each decision, and need one allocation
            self.allocations = ALLOCATIONS
        else:  # a size that is 0 at one point may differ at another
            self.keeps_empty = True

    def reuse(self, other: CostBuilder) -> None:
        """Take over modules, and facts, of a forward pass that differs in its number of tokens only."""
        for name in _REUSED:
            setattr(self, name, getattr(other, name))

    def has_costs_at(self, architecture: str, axes: Axes) -> bool:
        """Return True if the tree has the costs at some axes; a training step has its forward pass's."""
        known_by, lengths = self.domain.known_by, self.lengths
        read = [name for name in axes if self.attends or name not in _ENCODER_AXES]
        return (
            self.architecture == architecture
            and axes.keys() <= lengths.keys()
            and all(known_by(lengths[name]) == known_by(axes[name]) for name in read)
        )


def build_costs(scope: Scope, architecture: str, axes: Axes, like: CostBuilder | None = None) -> CostBuilder:
    """Return a builder with the tree of an architecture at some axes; ``like`` differs in its tokens only."""
    for known in scope.built:
        if isinstance(known, CostBuilder) and known.has_costs_at(architecture, axes):
            return known
    builder = CostBuilder(scope, axes)
    if like is not None:
        builder.reuse(like)
    builder.build(architecture)
    cache_builder(builder)
    return builder


def cost_facts(scope: Scope, architecture: str, call: Call) -> CostBuilder:
    """Return a builder for any forward pass, for facts that do not depend on lengths; build one if needed."""
    built = (one for one in scope.built if isinstance(one, CostBuilder) and one.architecture == architecture)
    return next(built, None) or build_costs(scope, architecture, axes_of(call))
