"""The domain of swept numbers, and of lists that grow: the path says where a result holds."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from archspec.language.domain import Comprehension, Exact, Walk, alike
from archspec.language.expression import Locals
from archspec.language.operations import BINARY, MAX_ITEMS
from archspec.symbolic.growing import Growing, apart, collected, key, length_of, plain, repeated
from archspec.symbolic.numbers import SymRange
from archspec.symbolic.path_conditions import Swept, fixed
from archspec.tree.node import Node

MAX_REPEATED = 16  # items of a list that is repeated a swept number of times


class SweptDomain(Exact):
    """Numbers are Python's, or :class:`Swept`. ``unroll`` gives every loop a plain length."""

    def __init__(self, unroll: bool = False) -> None:
        self.unroll = unroll

    def function(self, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        first: Any = arguments[0] if len(arguments) == 1 else None
        if isinstance(first, Swept) and name in ("int", "float"):
            return first.whole("trunc") if name == "int" else first.real()
        if isinstance(first, Swept) and name == "is_int":
            return isinstance(first.value, int)
        if name == "is_list" and isinstance(first, Growing):
            return True
        if name == "range" and not self.unroll and len(arguments) < 3 and isinstance(arguments[-1], Swept):
            return SymRange(fixed(arguments[0]) if len(arguments) == 2 else 0, arguments[-1])
        if name == "len" and isinstance(first, SymRange | Growing):
            return length_of(first) if isinstance(first, SymRange) else first.length
        if (
            isinstance(first, Growing)
            and not self.unroll
            and (found := self.of_growing(name, first)) is not None
        ):
            return found
        for argument in arguments:
            apart(argument)
        if name == "range":
            arguments = [fixed(argument) for argument in arguments]
        if name in ("sum", "prod"):  # their rounding of floats is Python's own
            arguments = [_without_floats(plain(argument)) for argument in arguments]
        return super().function(name, arguments, node, at)

    def of_growing(self, name: str, items: Growing) -> Any:
        """A function of a list that grows, where its length is not needed."""
        if name == "any":
            return items.first(bool) is not None
        if name == "all":
            return items.first(lambda item: not item) is None
        if name == "enumerate":
            return Growing([list(pair) for pair in enumerate(items.items)], items.length)
        return items if name == "list" else None

    def apply(self, function: Callable[..., Any], arguments: list[Any], node: ast.expr, at: Walk) -> Any:
        if len(arguments) == 2 and not self.unroll:
            left, right = arguments
            if function is BINARY[ast.Add] and type(left) is list and isinstance(right, Growing):
                return Growing(left + right.items, right.length + len(left))
            if function is BINARY[ast.Mult] and {type(left), type(right)} == {list, Swept}:
                items, times = (left, right) if type(left) is list else (right, left)
                if 0 < len(items) <= MAX_REPEATED and 0 <= times <= MAX_ITEMS // len(items):
                    return collected(items * times.value, times * len(items))
        return function(*map(plain, arguments))

    def iterate(self, value: Any, node: ast.expr, at: Walk) -> Iterable[Any]:
        apart(value)
        return super().iterate(plain(value), node, at)

    def method(self, value: Any, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        return super().method(plain(value), name, arguments, node, at)

    def index(self, value: Any) -> Any:
        return fixed(value)

    def item(self, value: Any, index: Any, node: ast.Subscript, at: Walk) -> Any:
        apart(value)
        if isinstance(value, Growing) and type(index) is int and 0 <= index < len(value.items):
            return value.at(index)
        return super().item(plain(value), fixed(index), node, at)

    def compare(self, op: ast.cmpop, left: Any, right: Any, node: ast.Compare, at: Walk) -> Any:
        if isinstance(op, ast.In | ast.NotIn) and isinstance(right, Growing):
            found = right.first(lambda item: item == left) is not None
            return found == isinstance(op, ast.In)
        return super().compare(op, plain(left), plain(right), node, at)

    def listed(self, node: Comprehension, local: Locals, at: Walk) -> Any:
        first = node.generators[0]
        if len(node.generators) == 1 and not first.ifs and not self.unroll:
            source = at.visit(first.iter, local)
            if isinstance(source, SymRange) and alike(node):
                return self.repeated(source, node, local, at)
            if isinstance(source, SymRange | Growing):
                return self.looped(source, node, local, at)
        return super().listed(node, local, at)

    def repeated(self, source: SymRange, node: Comprehension, local: Locals, at: Walk) -> Any:
        """Turns that are all the same: one module that stands for all, or the value as often."""
        count = length_of(source)
        if count > MAX_ITEMS:
            self.iterate(source, node.generators[0].iter, at)  # refuses
        if not count:
            return []
        value = at.visit(node.elt, local)
        if isinstance(value, Node):
            return [repeated(value, count)]
        return collected([value] * here_of(count), count)

    def looped(self, source: SymRange | Growing, node: Comprehension, local: Locals, at: Walk) -> Any:
        """The turns of a loop one by one; what fails in a turn fails only where there is that turn."""
        if isinstance(source, Growing):
            stop = length = source.length
            items, places = source.items, range(len(source.items))
        else:
            stop, length, places = source.stop, length_of(source), range(source.start, source.stop.value)
            items = list(places)
        if len(items) > MAX_ITEMS or not length:
            return super().listed(node, local, at)
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
        return collected(values, length)

    def plain(self, value: Any) -> Any:
        return plain(value)

    def length(self, value: Any) -> Any:
        return value.length if isinstance(value, Growing) else super().length(value)

    def matching(self, items: Any, wanted: Callable[[Any], bool]) -> list[Any]:
        if not isinstance(items, Growing):
            return super().matching(items, wanted)
        place = items.first(wanted)
        return [] if place is None else [items.items[place]]

    def known_by(self, value: Any) -> Any:
        return key(value) if isinstance(value, Swept) else super().known_by(value)


def here_of(count: Any) -> Any:
    return count.value if isinstance(count, Swept) else count


def _without_floats(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_without_floats(item) for item in value]
    return fixed(value) if isinstance(value, Swept) and isinstance(value.value, float) else value
