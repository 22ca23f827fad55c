"""The quantities of a tree in which one module can count several times, as numbers on a path."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

from archspec.errors import ConfigError
from archspec.symbolic.expressions import Poly, TooLarge
from archspec.symbolic.path_conditions import Number
from archspec.tables.quantities import QUANTITIES
from archspec.tree.node import Node, Routed
from archspec.tree.tensors import MAX_MODULES, MAX_TENSORS, Tensor, join_path, modules, quantities_of, tensors


class Loops(Exception):
    """The iterations of a loop differ in their names: run again with plain numbers of layers."""


class Turn(NamedTuple):
    """The loop and the iteration that built a module; without a loop, it counts `times`."""

    variable: str
    loop: Any
    position: int
    times: Any


class TensorPath(NamedTuple):
    """The path of a tensor, with the iterations, guards, routing and class on the way to it."""

    name: str = ""
    template: str = ""  # its name in any iteration
    times: tuple[Any, ...] = ()  # factors of how often it counts
    turns: tuple[Turn, ...] = ()
    guards: frozenset[Any] = frozenset()
    routed: Routed | None = None
    owner: str = ""
    lists: tuple[str, ...] = ()  # the paths of lists with modules that count several times

    def child(self, name: str, turn: Turn | None = None) -> TensorPath:
        inner = TensorPath(join_path(self.name, name), join_path(self.template, name), *self[2:])
        if turn is None:
            return inner
        if turn.loop is None:
            return inner._replace(times=(*self.times, turn.times), lists=(*self.lists, self.name))
        template = join_path(self.template, f"{{{turn.variable}}}")
        return inner._replace(template=template, turns=(*self.turns, turn))


def tensor_paths(root: Node) -> list[TensorPath]:
    """Return the place of each tensor of a tree, in torch's order."""
    found: list[TensorPath] = []

    def visit(node: Node, here: TensorPath) -> None:
        if node.module is not None or node.routed or node.guards:
            owner = node.cls if node.module is not None else here.owner
            guards, routed = here.guards | node.guards, node.routed or here.routed
            here = here._replace(guards=guards, routed=routed, owner=owner)
        found.extend(here.child(leaf.name) for leaf in node.tensors)
        for own in (True, False):
            for name, child in node.children.items():
                if (child.cls in ("Parameter", "Buffer")) == own:
                    visit(child, here.child(name, child.turn))

    visit(root, TensorPath())
    return found


def repeat(node: Node, turn: Turn) -> Node:
    """Return a module as one iteration of a loop, or as all of them."""
    node = node.copy()
    node.turn = turn if node.turn is None else turn._replace(times=node.turn.times * turn.times)
    return node


def kinds(modules: list[Node | None], length: Number) -> list[Node]:
    """Return one module of each kind, with its count in a list of that length."""
    places: dict[Any, list[int]] = {}
    kept: dict[int, Any] = {}
    for place, module in enumerate(modules):
        places.setdefault(None if module is None else signature(module, kept), []).append(place)
    found: list[Node] = []
    rest: Any = length
    largest = max(places, key=lambda kind: len(places[kind]))
    for kind, listed in sorted(places.items(), key=lambda pair: pair[0] == largest):
        count = rest if kind == largest else count_below(listed, len(modules), length, exact=len(places) <= 3)
        rest = rest - count
        module = modules[listed[0]]
        if module is not None and (isinstance(count, Number) or count):
            found.append(repeat(module, Turn("", None, 0, count)))
    return found


def count_below(places: list[int], size: int, length: Number, exact: bool) -> Any:
    """Return how many of some places are below the length, which is at most `size`.

    With `exact` the path records if consecutive places begin or end within the list.
    """
    first, last = places[0], places[-1]
    if exact and last - first + 1 == len(places):
        if last + 1 < size and length >= last + 1:
            return last + 1 - first
        return length - first if length >= first else 0
    steps = {after - before for before, after in pairwise(places)}
    if len(steps) == 1 and first < (step := steps.pop()) and last + step >= size:
        return (length - first + step - 1) // step
    assert isinstance(length.expr, Poly)  # of a range
    expr = length.path.space.count_below(places, length.expr)
    return length.path.number(expr, bisect_left(places, length.value))


def signature(module: Node, kept: dict[int, Any]) -> Any:
    """Return a value that is equal for modules with the same tensors and costs."""
    if id(module) not in kept:
        sizes = tuple((t.name, key(t.shape), t.kind, key(t.trainable)) for t in module.tensors)
        children = tuple((name, signature(child, kept)) for name, child in module.children.items())
        ties = tuple((target, source) for target, source, _ in module.ties)
        routed = key((module.routed or (), module.computed or ()))
        turn = None if module.turn is None else key(module.turn.times)
        costs = key((module.costs, module.cache))
        value = (module.cls, sizes, children, ties, routed, module.frozen, module.leaf, turn, costs)
        kept[id(module)] = (hash(value), value, module)  # keeps the module, so that no other takes its id
    return kept[id(module)][:2]


def key(value: Any) -> Any:
    """Return a hashable key of a value, in nested lists too, without using plain values of numbers."""
    if isinstance(value, list | tuple):
        return tuple(map(key, value))
    return value.cache_key if isinstance(value, Number) else value


def quantities(root: Node) -> dict[str, Any]:
    """Return the quantities of a tree with repeated modules.

    Errors: :class:`Loops` if ties name single iterations of a loop, :class:`TooLarge`.
    """
    places = {place.name: place for place in tensor_paths(root)}
    found = tensors(root)
    lists = {path for place in places.values() for path in place.lists}
    if lists and any(_overlaps(end, path) for end in _tied_paths(root) for path in lists):
        raise Loops
    for number, tensor in enumerate(found):
        place = places[tensor.name]
        times = prod(place.times)
        active = 0 if place.routed is not None else tensor.active * times
        found[number] = tensor._replace(numel=tensor.numel * times, active=active)
    if lists:
        count, listed, last = _sizes(root, 1)
        if count > MAX_MODULES or listed - last > MAX_TENSORS:  # the limits of a plain list
            raise ConfigError(f"more than {MAX_MODULES:,} modules or {MAX_TENSORS:,} tensors are not listed")
    total: dict[str, Any] = quantities_of(found)
    routed = sum(_routed_elements(found, places))
    return {name: total[name] + (routed if quantity.active else 0) for name, quantity in QUANTITIES.items()}


def _routed_elements(found: list[Tensor], places: dict[str, TensorPath]) -> Iterator[Any]:
    """Yield the active elements of routed tensors: k of E of all that have the same routing."""
    together: dict[Any, tuple[Any, Routed]] = {}
    for tensor in found:
        routed = places[tensor.name].routed
        if routed is None or tensor.kind != "parameter":
            continue
        if tensor.tied_to is not None:
            raise TooLarge("tied experts")
        same = key(routed)
        total, _ = together.get(same, (0, routed))
        together[same] = (total + tensor.numel, routed)
    for total, (chosen, experts) in together.values():
        if not experts:
            yield total
        elif (whole := total * min(chosen, experts)) % experts:
            raise TooLarge("experts without a whole number of active parameters")
        else:
            yield whole // experts


def _sizes(node: Node, times: Any) -> tuple[Any, Any, int]:
    count, listed, last = times, times * len(node.tensors), len(node.tensors)
    for child in sorted(node.children.values(), key=lambda child: child.cls not in ("Parameter", "Buffer")):
        more, others, last = _sizes(child, times if child.turn is None else times * child.turn.times)
        count, listed = count + more, listed + others
    return count, listed, last


def _tied_paths(root: Node) -> Iterator[str]:
    for prefix, node in modules(root, layers=True):
        declared = node.module.ties if node.module is not None else ()  # also ties that do not hold
        pairs = [pair[:2] for pair in node.ties] + [(tie.target, tie.source) for tie in declared]
        yield from (join_path(prefix, end) for pair in pairs for end in pair)


def _overlaps(end: str, holder: str) -> bool:
    return (end + ".").startswith(holder + ".") or (holder + ".").startswith(end + ".")
