"""The domain of swept numbers, and of lists whose length varies: the path says where a result holds.

A loop over `range(num_hidden_layers)` is run for every turn that there is at the point where the count is
run. The path then holds wherever there are as many turns or fewer: a turn `i` counts where the length exceeds
`i`. Such a list is :class:`Growing`; whatever looks at its length, or at all of its items, goes through a
method here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from archspec.configs.scope import Scope
from archspec.language.domain import Comprehension, Exact, Walk
from archspec.language.expression import Locals
from archspec.language.operations import BINARY, MAX_ITEMS
from archspec.language.values import here
from archspec.symbolic.counts import Loops, Turn, key, kinds, quantities, repeated
from archspec.symbolic.path_conditions import Number, SymRange, fixed
from archspec.symbolic.polynomials import Poly
from archspec.tree.builder import Builder
from archspec.tree.node import Node

MAX_REPEATED = 16  # items of a list that is repeated a swept number of times


class Growing:
    """A list that is as long as a number says; `items` are those at the point of the path."""

    __slots__ = ("items", "length")

    def __init__(self, items: list[Any], length: Number) -> None:
        self.items, self.length = items, length
        _ = length <= len(items)  # the path holds as far as it was looked

    @property
    def value(self) -> list[Any]:
        """What it is here, to be asked for its type."""
        return self.items

    def plain(self) -> list[Any]:
        """The items as a plain list; the path rests on its length from now on."""
        fixed(self.length)
        return self.items

    def at(self, index: int) -> Any:
        """One item; a turn of an open loop is known to have it, else the path holds where it is there."""
        stop = self.length.expr
        known = any(other is stop and index <= turn for other, turn in self.length.path.turns)
        return self.items[index] if known or self.length > index else self.plain()[index]

    def first(self, wanted: Callable[[Any], bool]) -> int | None:
        """The place of the first item that is wanted: the path holds where the list reaches it."""
        place = next((place for place, item in enumerate(self.items) if wanted(item)), None)
        return place if place is not None and self.length > place else None

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


class SweptDomain(Exact):
    """Numbers are Python's, or :class:`Number`. ``unroll`` gives every loop a plain length."""

    def __init__(self, unroll: bool = False) -> None:
        self.unroll = unroll

    def function(self, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        first: Any = arguments[0] if len(arguments) == 1 else None
        if isinstance(first, Number) and name in ("int", "float"):
            return first.whole("trunc") if name == "int" else first.real()
        if isinstance(first, Number) and name == "is_int":
            return isinstance(first.value, int)
        if name == "is_list" and isinstance(first, Growing):
            return True
        if name == "range" and not self.unroll and len(arguments) < 3 and isinstance(arguments[-1], Number):
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
            self.apart(argument)
        if name == "range":
            arguments = [fixed(argument) for argument in arguments]
        if name in ("min", "max") and (best := extreme(name, arguments)) is not None:
            return best
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
            if function is BINARY[ast.Mult] and {type(left), type(right)} == {list, Number}:
                items, times = (left, right) if type(left) is list else (right, left)
                if 0 < len(items) <= MAX_REPEATED and 0 <= times <= MAX_ITEMS // len(items):
                    return collected(items * times.value, times * len(items))
        return function(*map(plain, arguments))

    def iterate(self, value: Any, node: ast.expr, at: Walk) -> Iterable[Any]:
        self.apart(value)
        return super().iterate(plain(value), node, at)

    def method(self, value: Any, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        return super().method(plain(value), name, arguments, node, at)

    def index(self, value: Any) -> Any:
        return fixed(value)

    def item(self, value: Any, index: Any, node: ast.Subscript, at: Walk) -> Any:
        self.apart(value)
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
            if isinstance(source, SymRange) and at.has_equal_turns(node):
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
            return [repeated(value, Turn("", None, 0, count))]
        return collected([value] * here(count), count)

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

    def apart(self, value: Any) -> None:
        """One module that stands for several is no list of them."""
        if any(isinstance(item, Node) and item.turn is not None for item in _items(value)):
            raise Loops

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
        return key(value) if isinstance(value, Number) else super().known_by(value)


def plain(value: Any) -> Any:
    """A list or a range whose length varies as one of the length that it has here."""
    return value.plain() if isinstance(value, SymRange | Growing) else value


def extreme(name: str, arguments: list[Any]) -> Any:
    """`min` or `max` of whole numbers, one of which is on a path; None for anything else."""
    listed = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], list) else arguments
    path = next((part.path for part in listed if isinstance(part, Number)), None)
    if path is None or not all(type(here(part)) is int for part in listed):
        return None
    value = {"min": min, "max": max}[name](map(here, listed))
    exprs = [expr for part in listed if isinstance(expr := path.expr_of(part), Poly)]
    return path.number(path.space.extreme(name, exprs), value)


def length_of(ends: SymRange) -> Any:
    """How many turns a range of steps of one has."""
    return ends.stop - ends.start if ends.stop > ends.start else 0


def collected(values: list[Any], length: Any) -> Any:
    """What the turns gave: modules by kind, each as often as it stands there, or a growing list."""
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


def _items(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) and not isinstance(value, SymRange) else ()


def _without_floats(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_without_floats(item) for item in value]
    return fixed(value) if isinstance(value, Number) and isinstance(value.value, float) else value


def counts(scope: Scope, architecture: str) -> dict[str, Any]:
    """The quantities of :func:`archspec.tree.tensors.quantities_of` as numbers on the path of the scope.

    Errors: :class:`archspec.symbolic.polynomials.TooLarge` for a count that is not handled symbolically.
    """
    try:
        return quantities(Builder(scope).build(architecture))
    except Loops:
        builder = Builder(scope)
        builder.domain = SweptDomain(unroll=True)
        return quantities(builder.build(architecture))
