"""The builder of a formula's tree: the exact count's builder, over numbers with expressions.

A config's ints and floats become symbols with the names of their fields; bools, texts, nulls and list lengths
stay plain, and are recorded as flags. Conditions on sizes become assumptions; conditions on a layer's index
become guards, which :mod:`archspec.symbolic.repetitions` turns into numbers of layers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

import sympy

from archspec.configs.json_text import as_json
from archspec.configs.scope import Scope, SubConfig
from archspec.costs.builder import Costed
from archspec.costs.lengths import positions
from archspec.costs.media.sizes import Media
from archspec.costs.records import Call, Step, axes_of, training_axes
from archspec.costs.totals import counted_children, own_terms, routed_of
from archspec.errors import FormulaError
from archspec.language.expression import Expression, Locals
from archspec.language.values import value_of
from archspec.specs.records import MODALITIES
from archspec.specs.torch_layers import Leaf, deciding_arguments
from archspec.symbolic.assumptions import Assumptions
from archspec.symbolic.formal import Formal
from archspec.symbolic.loops import Derived
from archspec.symbolic.path_conditions import Number, concrete_values, numbers_in
from archspec.symbolic.validity.config import CANNOT, ConfigConditions, Side
from archspec.tables.axes import AXES
from archspec.tables.quantities import COSTS
from archspec.tree.builder import Frame
from archspec.tree.node import Node


class SymbolicBuilder(Costed):
    """A builder of symbolic sizes; `flags` and `notes` are its conditions.

    With a ``call``, its lengths are symbols by their names; training FLOPs (``trains``) ignore the past.
    """

    def __init__(
        self,
        scope: Scope,
        call: Call | Step | None = None,
        trains: bool = False,
        opaque_floats: bool = False,
        unroll: bool = False,
    ) -> None:
        super().__init__(scope)
        self.notes = Assumptions()
        self.domain: Formal = Formal(self.notes, opaque_floats, unroll)
        self.flags: dict[str, Any] = {}
        self.config = ConfigConditions(self.notes.space)
        self.symbols: dict[tuple[int, str], Any] = {}
        if call is not None:
            self._set_lengths(call, trains)

    def memo_key(self, module: Any, scope: Scope, arguments: Locals) -> Any:
        return None  # a guard may hold in one place and not in another

    def build(self, architecture: str) -> Node:
        self.config.add_demands(self.scope)
        root = super().build(architecture)
        if self.axes is not None:
            self.config.add_runs(self.scope, architecture, root)
            if self.reads_encoder:
                ends = (self.axes["new_encoder_tokens"], self.axes["encoder_tokens"])
                self.notes.check("<=", *map(self.notes.sympy_form, ends))
        return root

    def read(self, scope: Scope, name: str) -> Any:
        name = scope.canonical(name)
        key = (id(scope.values), name)
        if key not in self.symbols:
            self.symbols[key] = (self._lift(scope, name), scope.values)
        return self.symbols[key][0]

    def _lift(self, scope: Scope, name: str) -> Any:
        value = scope.get(name)
        path = scope.origin.path + name
        self.config.add_computed(scope, name)
        if isinstance(value, SubConfig):
            self.config.values[f"{path}.model_type"] = value.model_type
            self.config.add_demands(value.scope)
            return value.scope
        if name in scope.overridden or isinstance(value, Scope):
            return value  # an argument of a module: it has its expression
        if name in scope.spec.fixed:
            return self._derive(scope, scope.spec.fixed[name], value)
        field = scope.spec.fields.get(name)
        if field is not None and field.of_layers is not None and field.default is not None:
            if name not in scope.raw:
                return self._derive(scope, field.default, value)
            self.flags[path] = value
        return self._symbol(path, value)

    def _derive(self, scope: Scope, expression: Expression, value: Any) -> Any:
        """Return the expression of a derived field."""
        if isinstance(value, list) and all(isinstance(item, bool | str | None) for item in value):
            value = Derived(value)
        else:
            self.frames.append(Frame(scope, {}, {}))
            try:
                found = self.evaluate(expression, {})
            finally:
                self.frames.pop()
            if concrete_values(found) == value:
                return found
        self.config.add_dependencies(scope, [expression])
        return value

    def _symbol(self, path: str, value: Any) -> Any:
        if isinstance(value, bool) or value is None or isinstance(value, str):
            self.flags[path] = value
        elif isinstance(value, list):
            numeric = all(isinstance(item, int) and not isinstance(item, bool) for item in value)
            self.flags[f"len({path})" if numeric else path] = len(value) if numeric else value
            return [self._symbol(f"{path}[{index}]", item) for index, item in enumerate(value)]
        elif isinstance(value, int | float) and value >= 0:
            return self.notes.field(path, value)
        else:
            self.config.values[path] = as_json(value)
        return value

    def tied_here(self, scope: Scope) -> bool:
        if scope.has("tie_word_embeddings"):
            self.read(scope, "tie_word_embeddings")
        return super().tied_here(scope)

    def leaf(self, name: str, arguments: list[Any], keywords: Locals, node: ast.Call) -> Node:
        built = super().leaf(name, arguments, keywords, node)
        for value in numbers_in(list(deciding_arguments(name, arguments, keywords))):
            if not isinstance(value.value, bool):
                value.fix()
        named = [(keywords[part.arg], part.value) for part in node.keywords if part.arg in keywords]
        guards = set(self.notes.guards)
        for value, part in [*zip(arguments, node.args, strict=False), *named]:
            if isinstance(value_of(value), bool) and not isinstance(part, ast.Constant):
                guards |= self.domain.record_test(value, part, self)
        built.guards = frozenset(guards)
        return built

    def check_shape(self, tensor: Leaf, node: ast.Call) -> None:
        """Record that no size is negative; that torch can hold the tensor is not a condition."""
        for size in numbers_in(tensor.shape):
            _ = size < 0
        super().check_shape(tensor._replace(shape=tuple(map(value_of, tensor.shape))), node)

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        """Record for `given(field)` if the config has the field; its number is a symbol."""
        value = super().call(name, node, local)
        if name != "given":
            return value
        path = self.frames[-1].scope.origin.path + str(self.visit(node.args[0], local))
        own = super().call(name, ast.Call(node.func, node.args[:1], []), local)
        if not isinstance(value, int | float) or isinstance(value, bool) or own is None:
            self.flags[f"given({path})"] = own
            return value if own is not None or value is None else self.visit(node.args[1], local)
        self.notes.note(f"given({path}) is None", False)
        return self._symbol(path, value)

    def container(self, cls: str, items: dict[Any, Any], node: ast.AST) -> Node:
        """Name the iterations of a loop: `{i}` if all share one module."""
        children: dict[str, Node] = {}
        position = 0
        for name, item in items.items():
            child = self.as_node(item, node)
            if child is not None:
                label = name if isinstance(name, str) else str(position)
                if child.turn is not None and child.turn.loop is None:
                    offset = f"+{position}" if position else ""
                    label = f"{{{child.turn.variable}{offset}}}"
                    position += child.turn.position - 1
                children[label] = child
            position += 1
        return Node(cls, children=children)

    def _set_lengths(self, call: Call | Step, trains: bool) -> None:
        named = {name: self.notes.field(name, value) for name, value in call.lengths().items()}
        media = self._media(call, named) if isinstance(call, Call) else Media()
        named = {name: value for name, value in named.items() if name in AXES}
        tokens = named["tokens"]
        least = {"batch": 1, "tokens": 1}
        if isinstance(call, Step):
            named["new_encoder_tokens"], named["context"] = named["encoder_tokens"], tokens
            self.axes, lengths = {**training_axes(call), **named}, call.call
            least |= {"tokens": 2, "encoder_tokens": 2} if call.encoder_tokens else {"tokens": 2}
        else:
            self.axes, lengths = {**axes_of(call), **named, "context": named["past"] + tokens}, call
        if trains:
            self.axes |= {"past": 0, "context": tokens, "new_encoder_tokens": named["encoder_tokens"]}
        self.axes["media"] = media
        for name, length in least.items():
            self.notes.check(">=", self.notes.sympy_form(named[name]), sympy.Integer(length))
        self._limit("tokens", tokens + self.axes["past"], lengths.context)
        self._limit("encoder_tokens", named["encoder_tokens"], lengths.encoder_tokens)

    def _media(self, call: Call, named: dict[str, Any]) -> Media:
        """Return the items with symbols for their number and size."""
        found = {}
        for modality, groups in call.media._asdict().items():
            if groups and modality not in named:
                message = f"a formula of {modality} of several sizes is not supported"
                raise FormulaError(message, help=f"pass {modality} of one size")
            if groups:
                size = tuple(named[axis] for axis in MODALITIES[modality])
                found[modality] = ((named[modality], size),)
        return Media(**found)

    def _limit(self, axis: str, length: Any, value: int) -> None:
        """Record that a forward pass is not longer than the number of positions."""
        try:
            most = positions(Side(self.scope, self.config), axis)
        except CANNOT:
            return  # the forward pass is checked where its costs are counted
        if most is not None:
            _ = Number(self.config.path, length.expr, value) <= most

    def check_past(self, rows: Iterable[Any]) -> None:
        """Record that the past is empty if the forward pass before it left an empty cache."""
        assert self.axes is not None
        values = self.notes.values
        kept = [row for row in rows if row.kind == "cache" and not self.returns_cache]
        for sizes in (sympy.Tuple(row.repetition, *row.shape) for row in kept):
            if all(size > 0 for size in sizes.subs({one: values[one.name] for one in sizes.free_symbols})):
                for size in sizes:
                    if not {symbol.name for symbol in size.free_symbols} <= self.axes.keys():
                        self.notes.check(">", size, sympy.Integer(0))
                return
        self.notes.check("==", self.notes.sympy_form(self.axes["past"]), sympy.Integer(0))


def with_cost_rows(node: Node, checkpointing: bool = False, caches: bool = True) -> Node:
    """Return the tree with the terms of costs as tensors: both are added up in the same way."""
    other = node.copy()
    other.ties, other.output_embeddings, other.routed = [], None, routed_of(node)
    caches = caches and node.cache is not None
    other.tensors = [
        Leaf(f"{COSTS[name].kind}:{label}[{number}]", sizes, COSTS[name].kind)
        for name in COSTS
        if caches or name != "cache_elements"
        for number, (label, sizes) in enumerate(own_terms(name, node, checkpointing))  # labels may repeat
    ]
    children = counted_children(node, "activation_bytes", checkpointing).items()
    other.children = {name: with_cost_rows(child, checkpointing, caches) for name, child in children}
    return other
