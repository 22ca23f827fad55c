"""Lists and loops whose length varies: what a turn gives depends on its index alone, and how many turns there are does.

A loop over `range(num_hidden_layers)` is run for every turn that there is at the traced point. The trace then holds
wherever there are as many turns or fewer: a turn `i` counts where the length exceeds `i`. A list made so is a
:class:`Growing`; it passes for a list to `isinstance`, but is none, so that whatever looks at its length goes through a
method here.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

from archspec.language.expression import MAX_ITEMS, Evaluator, Locals, names
from archspec.language.operations import BINARY
from archspec.sweeping.number import Number, plain, traced
from archspec.tree.builder import Node


class Loops(Exception):
    """The turns of a loop have to be told apart: the run starts again with plain numbers of layers."""


class TracedRange:
    """`range(start, stop)` whose stop varies."""

    def __init__(self, start: int, stop: Number) -> None:
        self.start, self.stop = start, stop

    def plain(self) -> range:
        return range(self.start, plain(self.stop))

    @property
    def length(self) -> Any:
        return self.stop - self.start if self.stop > self.start else 0


class Growing:
    """A list that is as long as a number says; `items` are those at the traced point."""

    __slots__ = ("items", "length")

    def __init__(self, items: list[Any], length: Number) -> None:
        self.items, self.length = items, length
        _ = length <= len(items)  # the trace holds as far as it was looked

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return list

    def plain(self) -> list[Any]:
        """The items as a plain list, to whose length the trace holds from now on."""
        plain(self.length)
        return self.items

    def at(self, index: int) -> Any:
        """One item; a turn of a loop that is open is known to exist, else the trace holds where the list is as long."""
        known = any(stop is self.length.node and index <= turn for stop, turn in self.length.trace.turns)
        return self.items[index] if known or self.length > index else self.plain()[index]

    def found(self, wanted: Callable[[Any], bool]) -> bool:
        """Whether an item is wanted; then the trace holds where the list reaches the first such."""
        first = next((place for place, item in enumerate(self.items) if wanted(item)), None)
        return first is not None and bool(self.length > first)

    def __len__(self) -> int:
        return len(self.plain())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.plain())

    def __getitem__(self, index: Any) -> Any:
        return self.plain()[index]

    def __contains__(self, item: object) -> bool:
        return item in self.plain()

    def __eq__(self, other: object) -> bool:
        return self.plain() == other

    def __bool__(self) -> bool:
        return bool(self.length > 0)

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'list'")

    def __repr__(self) -> str:
        return repr(self.items)


def unrolled(value: Any) -> Any:
    return value.plain() if type(value) in (TracedRange, Growing) else value


class Traced(Evaluator):
    """What differs in evaluating expressions over numbers of a trace.

    ``unroll`` gives every loop a plain length.
    """

    unroll = False

    def function(self, name: str, arguments: list[Any], node: ast.Call) -> Any:
        first: Any = arguments[0] if len(arguments) == 1 else None
        if traced(first) and name in ("int", "float"):
            return first.whole("trunc") if name == "int" else first.real()
        if name == "range" and not self.unroll and len(arguments) < 3 and traced(arguments[-1]):
            return TracedRange(plain(arguments[0]) if len(arguments) == 2 else 0, arguments[-1])
        if name == "len" and type(first) in (TracedRange, Growing):
            return first.length
        if type(first) is Growing and not self.unroll:
            if name in ("any", "all"):
                return first.found(bool) if name == "any" else not first.found(lambda item: not item)
            if name == "enumerate":
                return Growing([list(pair) for pair in enumerate(first.items)], first.length)
            if name == "list":
                return first
        for argument in arguments:
            apart(argument)
        if name in ("sum", "prod"):  # their rounding of floats is Python's own
            arguments = [_without_floats(unrolled(argument)) for argument in arguments]
        return super().function(name, arguments, node)

    def guarded(self, function: Callable[..., Any], arguments: Iterable[Any], node: ast.expr) -> Any:
        listed = list(arguments)
        if len(listed) == 2 and not self.unroll:
            left, right = listed
            if function is BINARY[ast.Add] and type(left) is list and type(right) is Growing:
                return Growing(left + right.items, right.length + len(left))
            if function is BINARY[ast.Mult] and (type(left), type(right)) in ((list, Number), (Number, list)):
                items, times = (left, right) if type(left) is list else (right, left)
                if 0 < len(items) <= 16 and 0 <= times <= MAX_ITEMS // len(items):
                    return self.collected(items * times.at, times * len(items))
        return super().guarded(function, [unrolled(argument) for argument in listed], node)

    def iterate(self, value: Any, node: ast.expr) -> Iterable[Any]:
        apart(value)
        return super().iterate(unrolled(value), node)

    def method(self, value: Any, name: str, node: ast.Call, local: Locals) -> Any:
        return super().method(unrolled(value), name, node, local)

    def item(self, value: Any, index: Any, node: ast.Subscript) -> Any:
        apart(value)
        if type(value) is Growing and type(index) is int and 0 <= index < len(value.items):
            return value.at(index)
        return super().item(unrolled(value), plain(index), node)

    def compare(self, op: ast.cmpop, left: Any, right: Any, node: ast.Compare) -> Any:
        if isinstance(op, ast.In | ast.NotIn) and type(right) is Growing:
            return right.found(lambda item: item == left) == isinstance(op, ast.In)
        return super().compare(op, unrolled(left), unrolled(right), node)

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp, local: Locals) -> Any:
        first = node.generators[0]
        if len(node.generators) == 1 and not first.ifs and not self.unroll:
            source = self.visit(first.iter, local)
            if type(source) is TracedRange and not names(first.target) & names(node.elt):
                return self.alike(source, node, local)
            if type(source) is TracedRange:
                return self.looped(
                    list(range(source.start, source.stop.at)), source.stop, source.length, node, local
                )
            if type(source) is Growing:
                return self.looped(source.items, source.length, source.length, node, local)
        return super().visit_ListComp(node, local)

    def alike(self, source: TracedRange, node: ast.ListComp | ast.GeneratorExp, local: Locals) -> Any:
        """The turns of a loop that are all the same: one module that stands for all, or the value as often."""
        count = source.length
        if count > MAX_ITEMS:
            self.iterate(source, node.generators[0].iter)  # refuses
        if not count:
            return []
        value = self.visit(node.elt, local)
        return (
            [repeated(value, count)] if isinstance(value, Node) else self.collected([value] * count.at, count)
        )

    def looped(
        self,
        items: list[Any],
        stop: Number,
        length: Any,
        node: ast.ListComp | ast.GeneratorExp,
        local: Locals,
    ) -> Any:
        """The turns of a loop one by one; what fails in a turn fails only where there is that turn."""
        first, values = node.generators[0], []
        if len(items) > MAX_ITEMS or not length:
            return super().visit_ListComp(node, local)
        turns = stop.trace.turns
        for place, item in enumerate(items):
            inner = dict(local)
            self.bind(first.target, item, inner)
            turns.append((stop.node, item if type(item) is int and stop is not length else place))
            try:
                values.append(self.visit(node.elt, inner))
            except Exception:
                _ = length > place
                raise
            finally:
                turns.pop()
        return self.collected(values, length)

    def collected(self, values: list[Any], length: Any) -> Any:
        """The list of what the turns gave: modules by kind, each as often as it stands there, or a growing list."""
        if not traced(length):
            return values
        if not any(_holds_modules(value) for value in values):
            return Growing(values, length)
        if not all(value is None or isinstance(value, Node) for value in values):
            raise Loops
        _ = length <= len(values)
        return kinds(values, length)


def repeated(node: Node, count: Any) -> Node:
    """A module that stands for several alike."""
    node = node.copy()
    node.turn = count if node.turn is None else node.turn * count
    return node


def kinds(modules: list[Node | None], length: Number) -> list[Node]:
    """One module of each kind, with how many of its kind there are in a list of that length."""
    places: dict[Any, list[int]] = {}
    kept: dict[int, Any] = {}
    for place, module in enumerate(modules):
        places.setdefault(None if module is None else signature(module, kept), []).append(place)
    found, rest = [], length
    largest = max(places, key=lambda kind: len(places[kind]))
    for kind, listed in sorted(places.items(), key=lambda pair: pair[0] == largest):
        count = rest if kind == largest else below(listed, len(modules), length, exact=len(places) <= 3)
        rest = rest - count
        module = modules[listed[0]]
        if module is not None and (traced(count) or count):
            found.append(repeated(module, count))
    return found


def below(places: list[int], size: int, length: Number, exact: bool) -> Any:
    """How many of some places lie below the length, which is at most `size`.

    Where they are one run of places, or evenly spaced, that is an expression of the length; `exact` lets the trace hold
    only where the run begins or ends within the list.
    """
    first, last = places[0], places[-1]
    if exact and last - first + 1 == len(places):
        if last + 1 == size:
            return length - first if length >= first else 0
        return last + 1 - first if length >= last + 1 else length - first if length >= first else 0
    steps = {after - before for before, after in pairwise(places)}
    if len(steps) == 1 and first < (step := steps.pop()) and last + step >= size:
        return (length - first + step - 1) // step
    node = length.trace.space.below(places, length.node)  # type: ignore[arg-type]
    return length.trace.number(node, bisect_left(places, length.at))


def signature(module: Node, kept: dict[int, Any]) -> Any:
    """What two modules of one kind have in common: everything but their names."""
    if id(module) not in kept:
        sizes = tuple((t.name, tuple(map(key, t.shape)), t.kind, key(t.trainable)) for t in module.tensors)
        children = tuple((name, signature(child, kept)) for name, child in module.children.items())
        ties = tuple((target, source) for target, source, _ in module.ties)
        routed = None if module.routed is None else tuple(map(key, module.routed))
        value = (module.cls, sizes, children, ties, routed, module.frozen, module.leaf, key(module.turn))
        kept[id(module)] = (hash(value), value, module)  # keeps the module, so that no other takes its id
    return kept[id(module)][:2]


def key(value: Any) -> Any:
    """What tells a value from others, without a look at a number's plain value."""
    return ("number", value.node.number) if traced(value) else value


def apart(value: Any) -> None:
    """One module that stands for several is no list of them."""
    items = value.values() if isinstance(value, dict) else value if type(value) in (list, tuple) else ()
    if any(isinstance(item, Node) and item.turn is not None for item in items):
        raise Loops


def _holds_modules(value: Any) -> bool:
    if isinstance(value, Node):
        return True
    items = value.values() if isinstance(value, dict) else value if type(value) in (list, tuple) else ()
    return any(map(_holds_modules, items))


def _without_floats(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_without_floats(item) for item in value]
    return plain(value) if traced(value) and isinstance(value, float) else value
