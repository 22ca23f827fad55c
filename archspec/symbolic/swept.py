"""The domain of swept numbers and of lists with a swept length; the path records the conditions.

A loop over `range(num_hidden_layers)` runs for every iteration at the point of the run. The path then holds
for as many iterations or fewer: an iteration `i` counts if the length exceeds `i`. Such a list is
:class:`Growing`; whatever reads its length, or all of its items, goes through a method here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from archspec.configs.scope import Scope
from archspec.language.domain import Comprehension, Walk
from archspec.language.expression import Locals
from archspec.language.operations import BINARY, MAX_ITEMS
from archspec.language.values import value_of
from archspec.symbolic.counts import Loops, Turn, kinds, quantities, repeat
from archspec.symbolic.path_conditions import Number, NumberDomain, SymRange, fix_value
from archspec.tree.builder import Builder
from archspec.tree.node import Node

MAX_REPEATED = 16  # items of a list that is repeated a swept number of times


class Growing:
    """A list whose length is a number; ``value`` are the items at the point of the path."""

    __slots__ = ("length", "value")

    def __init__(self, items: list[Any], length: Number) -> None:
        self.value, self.length = items, length
        _ = length <= len(items)  # the path holds for the items that are known

    def fix(self) -> list[Any]:
        """Return the items as a plain list; the path then holds only for this length."""
        fix_value(self.length)
        return self.value

    def item(self, index: int) -> Any:
        """Return one item. In an open loop over as many iterations it is known to exist."""
        known = any(other is self.length.expr and index <= turn for other, turn in self.length.path.turns)
        return self.value[index] if known or self.length > index else self.fix()[index]

    def find_first(self, wanted: Callable[[Any], bool]) -> int | None:
        """Return the position of the first item that is wanted, if the list is long enough."""
        place = next((place for place, item in enumerate(self.value) if wanted(item)), None)
        return place if place is not None and self.length > place else None

    def __len__(self) -> int:
        return len(self.fix())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fix())

    def __getitem__(self, index: Any) -> Any:
        return self.fix()[index]

    def __eq__(self, other: object) -> bool:
        return self.fix() == other

    def __bool__(self) -> bool:
        return bool(self.length > 0)

    def __repr__(self) -> str:
        return repr(self.value)


class SweptDomain(NumberDomain):
    """Python's numbers and :class:`Number`. With ``unroll`` every loop has a plain length."""

    def __init__(self, unroll: bool = False) -> None:
        self.unroll = unroll

    def function(self, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        first: Any = arguments[0] if len(arguments) == 1 else None
        if name == "range" and not self.unroll and len(arguments) < 3 and isinstance(arguments[-1], Number):
            return SymRange(fix_value(arguments[0]) if len(arguments) == 2 else 0, arguments[-1])
        if isinstance(first, Growing) and (found := _of_growing(name, first)) is not None:
            return found
        for argument in arguments:
            _refuse_repeated(argument)
        if name in ("sum", "prod"):  # floats are rounded in Python's order
            arguments = [_without_floats(self.to_list(argument)) for argument in arguments]
        return super().function(name, arguments, node, at)

    def apply(self, function: Callable[..., Any], arguments: list[Any], node: ast.expr, at: Walk) -> Any:
        if len(arguments) == 2 and not self.unroll:
            left, right = arguments
            if function is BINARY[ast.Add] and type(left) is list and isinstance(right, Growing):
                return Growing(left + right.value, right.length + len(left))
            if function is BINARY[ast.Mult] and {type(left), type(right)} == {list, Number}:
                items, times = (left, right) if type(left) is list else (right, left)
                if 0 < len(items) <= MAX_REPEATED and 0 <= times <= MAX_ITEMS // len(items):
                    return _collect(items * times.value, times * len(items))
        return function(*map(self.to_list, arguments))

    def iterate(self, value: Any, node: ast.expr, at: Walk) -> Iterable[Any]:
        _refuse_repeated(value)
        return super().iterate(value, node, at)

    def item(self, value: Any, index: Any, node: ast.Subscript, at: Walk) -> Any:
        _refuse_repeated(value)
        if isinstance(value, Growing) and type(index) is int and 0 <= index < len(value.value):
            return value.item(index)
        return super().item(value, fix_value(index), node, at)

    def compare(self, op: ast.cmpop, left: Any, right: Any, node: ast.Compare, at: Walk) -> Any:
        if isinstance(op, ast.In | ast.NotIn) and isinstance(right, Growing):
            found = right.find_first(lambda item: item == left) is not None
            return found == isinstance(op, ast.In)
        return super().compare(op, self.to_list(left), self.to_list(right), node, at)

    def evaluate_list(self, node: Comprehension, local: Locals, at: Walk) -> Any:
        first = node.generators[0]
        if len(node.generators) == 1 and not first.ifs and not self.unroll:
            source = at.visit(first.iter, local)
            if isinstance(source, SymRange) and at.has_equal_turns(node):
                return self._evaluate_repeated(source, node, local, at)
            if isinstance(source, SymRange | Growing):
                return self._evaluate_loop(source, node, local, at)
        return super().evaluate_list(node, local, at)

    def _evaluate_repeated(self, source: SymRange, node: Comprehension, local: Locals, at: Walk) -> Any:
        """Evaluate identical iterations once: one module with a count, or a list of the value."""
        count = source.length
        if count > MAX_ITEMS:
            self.iterate(source, node.generators[0].iter, at)  # refuses
        if not count:
            return []
        value = at.visit(node.elt, local)
        if isinstance(value, Node):
            return [repeat(value, Turn("", None, 0, count))]
        return _collect([value] * value_of(count), count)

    def _evaluate_loop(self, source: SymRange | Growing, node: Comprehension, local: Locals, at: Walk) -> Any:
        """Evaluate each iteration; an error in one counts only if there is that iteration."""
        if isinstance(source, Growing):
            stop, items = source.length, source.value
            places = range(len(items))
        else:
            stop, places = source.stop, range(source.start, source.stop.value)
            items = list(places)
        length = source.length
        if len(items) > MAX_ITEMS or not length:
            return super().evaluate_list(node, local, at)
        values, turns = [], stop.path.turns
        for place, item in enumerate(items):
            inner = dict(local)
            at.bind(node.generators[0].target, item, inner)
            turns.append((stop.expr, places[place]))
            try:
                values.append(at.visit(node.elt, inner))
            except Exception:
                _ = length > place
                raise
            finally:
                turns.pop()
        return _collect(values, length)

    def to_list(self, value: Any) -> Any:
        return value.fix() if isinstance(value, SymRange | Growing) else value

    def select(self, items: Any, wanted: Callable[[Any], bool]) -> list[Any]:
        if not isinstance(items, Growing):
            return super().select(items, wanted)
        place = items.find_first(wanted)
        return [] if place is None else [items.value[place]]


def _of_growing(name: str, items: Growing) -> Any:
    """Return a function of a growing list if it does not depend on the length."""
    if name in ("any", "all"):
        found = items.find_first(lambda item: bool(item) == (name == "any")) is not None
        return found == (name == "any")
    if name == "enumerate":
        return Growing([list(pair) for pair in enumerate(items.value)], items.length)
    return {"list": items, "is_list": True}.get(name)


def _collect(values: list[Any], length: Any) -> Any:
    """Return the results of a loop: the kinds of modules with their counts, or a growing list."""
    if not isinstance(length, Number):
        return values
    if not any(_holds_modules(value) for value in values):
        return Growing(values, length)
    if not all(value is None or isinstance(value, Node) for value in values):
        raise Loops
    _ = length <= len(values)
    return kinds(values, length)


def _holds_modules(value: Any) -> bool:
    return isinstance(value, Node) or any(map(_holds_modules, _items(value)))


def _refuse_repeated(value: Any) -> None:
    """Raise :class:`Loops` for a list in which one module counts several times."""
    if any(isinstance(item, Node) and item.turn is not None for item in _items(value)):
        raise Loops


def _items(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) and not isinstance(value, SymRange) else ()


def _without_floats(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_without_floats(item) for item in value]
    return fix_value(value) if isinstance(value, Number) and isinstance(value.value, float) else value


def counts(scope: Scope, architecture: str) -> dict[str, Any]:
    """Return the quantities as numbers on the scope's path. Errors: those of :func:`quantities`."""
    try:
        return quantities(Builder(scope).build(architecture))
    except Loops:
        builder = Builder(scope)
        builder.domain = SweptDomain(unroll=True)
        return quantities(builder.build(architecture))
