"""The builder of a formula's tree: the exact count's own, over numbers that carry a SymPy expression.

A config's ints and floats become symbols named after their fields; bools, texts, nulls and list lengths stay
what they are and are recorded as flags. Conditions on sizes are decided by the value and recorded as
assumptions; conditions on a layer's index become guards, which :mod:`archspec.symbolic.repetitions` turns
into layer counts.
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
from archspec.costs.records import Call, Step, axes_of, inside, own_terms, routed_of, training_axes
from archspec.language.expression import Expression, Locals
from archspec.language.values import here
from archspec.specs.torch_layers import Leaf, deciding
from archspec.symbolic.assumptions import Assumptions
from archspec.symbolic.decisions import Derived
from archspec.symbolic.formal import Formal
from archspec.symbolic.path_conditions import Number, bare, numbers_in
from archspec.symbolic.validity.side import CANNOT, Decided, Side
from archspec.tables.quantities import COSTS
from archspec.tree.builder import Builder, Frame
from archspec.tree.node import Node


class SymbolicBuilder(Builder):
    """A builder of symbolic sizes; `flags` and the conditions of its `path` are what it relied on."""

    def __init__(self, scope: Scope, opaque_floats: bool = False, unroll: bool = False) -> None:
        super().__init__(scope)
        self.path = Assumptions()
        self.domain: Formal = Formal(self.path, opaque_floats, unroll)
        self.flags: dict[str, Any] = {}
        self.decided = Decided(self.path.fields)
        self.symbols: dict[tuple[int, str], Any] = {}

    def memo_key(self, module: Any, scope: Scope, arguments: Locals) -> Any:
        return None  # a guard may hold in one place and not in another

    def build(self, architecture: str) -> Node:
        self.decided.demands(self.scope)
        return super().build(architecture)

    def read(self, scope: Scope, name: str) -> Any:
        name = scope.canonical(name)
        key = (id(scope.values), name)
        if key not in self.symbols:
            self.symbols[key] = (self.lifted(scope, name), scope.values)
        return self.symbols[key][0]

    def lifted(self, scope: Scope, name: str) -> Any:
        value = scope.get(name)
        path = scope.origin.path + name
        self.decided.follows(scope, name)
        if isinstance(value, SubConfig):
            self.decided.values[f"{path}.model_type"] = value.model_type
            self.decided.demands(value.scope)
            return value.scope
        if name in scope.overridden or isinstance(value, Scope):
            return value  # given at a call: its own expression, no field's
        if name in scope.spec.fixed:
            return self.derived(scope, scope.spec.fixed[name], value)
        field = scope.spec.fields.get(name)
        if field is not None and field.of_layers is not None and field.default is not None:
            if name not in scope.raw:
                return self.derived(scope, field.default, value)
            self.flags[path] = value
        return self.symbol(path, value)

    def derived(self, scope: Scope, expression: Expression, value: Any) -> Any:
        """A derived field is what it is derived from; no symbol of its own."""
        if isinstance(value, list) and all(isinstance(item, bool | str | None) for item in value):
            self.decided.rely(scope, [expression])
            return Derived(value)
        self.frames.append(Frame(scope, {}, {}))
        try:
            found = self.evaluate(expression, {})
        finally:
            self.frames.pop()
        if bare(found) == value:
            return found
        self.decided.rely(scope, [expression])
        return value

    def symbol(self, path: str, value: Any) -> Any:
        if isinstance(value, bool) or value is None or isinstance(value, str):
            self.flags[path] = value
            return value
        if isinstance(value, list):
            numeric = all(isinstance(item, int) and not isinstance(item, bool) for item in value)
            self.flags[f"len({path})" if numeric else path] = len(value) if numeric else value
            return [self.symbol(f"{path}[{index}]", item) for index, item in enumerate(value)]
        if not isinstance(value, int | float):
            self.decided.values[path] = as_json(value)
            return value
        if value < 0:
            self.decided.values[path] = value
            return value
        return self.path.field(path, value)

    def tied_here(self, scope: Scope) -> bool:
        tied = super().tied_here(scope)
        if scope.has("tie_word_embeddings"):
            self.read(scope, "tie_word_embeddings")
        return tied

    def leaf(self, name: str, arguments: list[Any], keywords: Locals, node: ast.Call) -> Node:
        built = super().leaf(name, arguments, keywords, node)
        for value in numbers_in(list(deciding(name, arguments, keywords))):
            if not isinstance(value.value, bool):
                value.fixed()
        named = [(keywords[part.arg], part.value) for part in node.keywords if part.arg in keywords]
        guards = set(self.path.guards)
        for value, part in [*zip(arguments, node.args, strict=False), *named]:
            if isinstance(here(value), bool) and not isinstance(part, ast.Constant):
                guards |= self.domain.tested(value, part, self)
        built.guards = frozenset(guards)
        return built

    def check_shape(self, tensor: Leaf, node: ast.Call) -> None:
        """No size is negative, which is a condition; that torch can hold the tensor is not one."""
        for size in numbers_in(tensor.shape):
            _ = size < 0
        super().check_shape(tensor._replace(shape=tuple(map(here, tensor.shape))), node)

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        """`given(field)`: whether the config has the field is an assumption, its number a symbol."""
        value = super().call(name, node, local)
        if name != "given":
            return value
        path = self.frames[-1].scope.origin.path + str(self.visit(node.args[0], local))
        own = super().call(name, ast.Call(node.func, node.args[:1], []), local)
        if not isinstance(value, int | float) or isinstance(value, bool) or own is None:
            self.flags[f"given({path})"] = own
            return value if own is not None or value is None else self.visit(node.args[1], local)
        self.path.note(f"given({path}) is None", False)
        return self.symbol(path, value)

    def container(self, cls: str, items: dict[Any, Any], node: ast.AST) -> Node:
        """Names the turns of a loop: `{i}` where all turns share one module."""
        children: dict[str, Node] = {}
        position = 0
        for name, item in items.items():
            child = self.as_node(item, node)
            if child is None:
                position += 1
                continue
            label = name if isinstance(name, str) else str(position)
            if child.turn is not None and child.turn.loop is None:
                offset = f"+{position}" if position else ""
                label = f"{{{child.turn.variable}{offset}}}"
                position += child.turn.position - 1
            position += 1
            children[label] = child
        return Node(cls, children=children)


class SymbolicCostBuilder(Costed, SymbolicBuilder):
    """A symbolic builder at the axes of a call, symbols by their names; a training step has no past."""

    def __init__(self, scope: Scope, call: Call | Step, trains: bool = False, **options: Any) -> None:
        super().__init__(scope, **options)
        named = {name: self.path.field(name, value) for name, value in call.lengths().items()}
        if isinstance(call, Step):
            named["new_encoder_tokens"], named["context"] = named["encoder_tokens"], named["tokens"]
            self.axes = {**training_axes(call), **named}
        else:
            self.axes = {**axes_of(call), **named, "context": named["past"] + named["tokens"]}
        if trains:
            self.axes |= {
                "past": 0,
                "context": named["tokens"],
                "new_encoder_tokens": named["encoder_tokens"],
            }
        self.lengths = self.axes
        self.least(named["batch"])
        self.least(named["tokens"], 2 if isinstance(call, Step) else 1)
        if isinstance(call, Step) and call.encoder_tokens:
            self.least(named["encoder_tokens"], 2)
        lengths = call.call if isinstance(call, Step) else call
        self.limited("tokens", named["tokens"] + self.lengths["past"], lengths.context)
        self.limited("encoder_tokens", named["encoder_tokens"], lengths.encoder_tokens)

    def build(self, architecture: str) -> Node:
        root = super().build(architecture)
        self.decided.runs(self.scope, architecture, root)
        if self.reads_encoder:
            self.path.check(
                "<=",
                *(self.path.shown(self.lengths[name]) for name in ("new_encoder_tokens", "encoder_tokens")),
            )
        return root

    def hands_on(self, rows: Iterable[Any]) -> None:
        """Notes that a call has no past where the one before it kept nothing."""
        values = self.path.values
        kept = [row for row in rows if row.kind == "cache" and not self.returns_cache]
        for sizes in (sympy.Tuple(row.repetition, *row.shape) for row in kept):
            if all(size > 0 for size in sizes.subs({one: values[one.name] for one in sizes.free_symbols})):
                for size in sizes:
                    if not {symbol.name for symbol in size.free_symbols} <= self.lengths.keys():
                        self.path.check(">", size, sympy.Integer(0))
                return
        self.path.check("==", self.path.shown(self.lengths["past"]), sympy.Integer(0))

    def least(self, length: Any, value: int = 1) -> None:
        """Notes that a length is so large at least."""
        self.path.check(">=", self.path.shown(length), sympy.Integer(value))

    def limited(self, axis: str, length: Any, value: int) -> None:
        """Notes that a call is no longer than there are positions for."""
        decided = self.decided
        try:
            most = positions(Side(self.scope, decided), axis)
        except CANNOT:
            return  # the call is checked where its costs are counted
        if most is not None:
            _ = Number(decided.path, length.expr, value) <= most


def priced(node: Node, checkpointing: bool = False, caches: bool = True) -> Node:
    """Return the tree with a row for each term of a cost, in place of its tensors.

    So loops, guards and routed experts of costs are added up as those of parameters are.
    """
    other = node.copy()
    other.ties, other.output_embeddings, other.routed = [], None, routed_of(node)
    caches = caches and node.cache is not None
    other.tensors = [
        Leaf(f"{COSTS[name].kind}:{label}[{number}]", sizes, COSTS[name].kind)
        for name in COSTS
        if caches or name != "cache_elements"
        for number, (label, sizes) in enumerate(
            own_terms(name, node, checkpointing)
        )  # some modules have two `keys`
    ]
    children = inside(node, "activation_bytes", checkpointing).items()
    other.children = {name: priced(child, checkpointing, caches) for name, child in children}
    return other
