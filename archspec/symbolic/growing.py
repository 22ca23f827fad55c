"""Lists whose length varies over a grid: what a turn gives depends on its index alone.

A loop over `range(num_hidden_layers)` is run for every turn that there is at the point where the count is
run. The path then holds wherever there are as many turns or fewer: a turn `i` counts where the length exceeds
`i`. Such a list is :class:`Growing`; whatever looks at its length, or at all of its items, goes through a
method here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from archspec.symbolic.numbers import SymRange
from archspec.symbolic.path_conditions import Swept, fixed
from archspec.tree.node import Node


class Loops(Exception):
    """The turns of a loop have to be told apart: the run starts again with plain numbers of layers."""


class Growing:
    """A list that is as long as a number says; `items` are those at the point of the path."""

    __slots__ = ("items", "length")

    def __init__(self, items: list[Any], length: Swept) -> None:
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


def plain(value: Any) -> Any:
    """A list or a range whose length varies as one of the length that it has here."""
    return value.plain() if isinstance(value, SymRange | Growing) else value


def length_of(ends: SymRange) -> Any:
    """How many turns a range of steps of one has."""
    return ends.stop - ends.start if ends.stop > ends.start else 0


def collected(values: list[Any], length: Any) -> Any:
    """What the turns gave: modules by kind, each as often as it stands there, or a growing list."""
    if not isinstance(length, Swept):
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


def kinds(modules: list[Node | None], length: Swept) -> list[Node]:
    """One module of each kind, with how many of its kind there are in a list of that length."""
    places: dict[Any, list[int]] = {}
    kept: dict[int, Any] = {}
    for place, module in enumerate(modules):
        places.setdefault(None if module is None else signature(module, kept), []).append(place)
    found: list[Node] = []
    rest: Any = length
    largest = max(places, key=lambda kind: len(places[kind]))
    for kind, listed in sorted(places.items(), key=lambda pair: pair[0] == largest):
        count = rest if kind == largest else below(listed, len(modules), length, exact=len(places) <= 3)
        rest = rest - count
        module = modules[listed[0]]
        if module is not None and (isinstance(count, Swept) or count):
            found.append(repeated(module, count))
    return found


def below(places: list[int], size: int, length: Swept, exact: bool) -> Any:
    """How many of some places lie below the length, which is at most `size`.

    Where they are one run of places, or evenly spaced, that is an expression of the length; `exact` lets the
    path hold only where the run begins or ends within the list.
    """
    first, last = places[0], places[-1]
    if exact and last - first + 1 == len(places):
        if last + 1 < size and length >= last + 1:
            return last + 1 - first
        return length - first if length >= first else 0
    steps = {after - before for before, after in pairwise(places)}
    if len(steps) == 1 and first < (step := steps.pop()) and last + step >= size:
        return (length - first + step - 1) // step
    expr = length.path.space.below(places, length.expr)
    return length.path.number(expr, bisect_left(places, length.value))


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
    return ("swept", value.expr.number) if isinstance(value, Swept) else value


def apart(value: Any) -> None:
    """One module that stands for several is no list of them."""
    if any(isinstance(item, Node) and item.turn is not None for item in _items(value)):
        raise Loops


def _holds_modules(value: Any) -> bool:
    return isinstance(value, Node) or any(map(_holds_modules, _items(value)))


def _items(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) and not isinstance(value, SymRange) else ()
