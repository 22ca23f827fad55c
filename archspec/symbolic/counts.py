"""The quantities of a tree in which a module may stand for several alike, as numbers on a path."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

from archspec.errors import ConfigError
from archspec.symbolic.path_conditions import Number
from archspec.symbolic.polynomials import Poly, TooLarge
from archspec.tables.quantities import QUANTITIES
from archspec.tree.node import Node, Routed
from archspec.tree.tensors import MAX_MODULES, MAX_TENSORS, Tensor, joined, quantities_of, tensors


class Loops(Exception):
    """The turns of a loop have to be told apart: the run starts again with plain numbers of layers."""


class Turn(NamedTuple):
    """Which turn of which loop built a module; without a loop, it stands for `times` that are all alike."""

    variable: str
    loop: Any
    position: int
    times: Any


class Standing(NamedTuple):
    """A tensor's name, and what is on the way to it: turns, guards, routing, the class that has it.

    ``template`` is its name in any turn; it stands as often as the product of ``times``; ``lists`` are the
    modules on the way whose items stand for several.
    """

    name: str = ""
    template: str = ""
    times: tuple[Any, ...] = ()
    turns: tuple[Turn, ...] = ()
    guards: frozenset[Any] = frozenset()
    routed: Routed | None = None
    owner: str = ""
    lists: tuple[str, ...] = ()

    def named(self, name: str) -> Standing:
        """The same by the name of an attribute of what stands here."""
        return Standing(joined(self.name, name), joined(self.template, name), *self[2:])

    def inside(self, name: str, turn: Turn | None) -> Standing:
        """An attribute of what stands here, as a turn of a loop."""
        inner = self.named(name)
        if turn is None:
            return inner
        if turn.loop is None:
            return inner._replace(times=(*self.times, turn.times), lists=(*self.lists, self.name))
        template = joined(self.template, f"{{{turn.variable}}}")
        return inner._replace(template=template, turns=(*self.turns, turn))


def standing(root: Node) -> list[Standing]:
    """Where each tensor of a tree stands, in torch's order."""
    found: list[Standing] = []

    def visit(node: Node, here: Standing) -> None:
        if node.module is not None or node.routed or node.guards:
            owner = node.cls if node.module is not None else here.owner
            guards, routed = here.guards | node.guards, node.routed or here.routed
            here = here._replace(guards=guards, routed=routed, owner=owner)
        found.extend(here.named(leaf.name) for leaf in node.tensors)
        for own in (True, False):
            for name, child in node.children.items():
                if (child.cls in ("Parameter", "Buffer")) == own:
                    visit(child, here.inside(name, child.turn))

    visit(root, Standing())
    return found


def repeated(node: Node, turn: Turn) -> Node:
    """A module as a turn of a loop, or as all of them."""
    node = node.copy()
    node.turn = turn if node.turn is None else turn._replace(times=node.turn.times * turn.times)
    return node


def kinds(modules: list[Node | None], length: Number) -> list[Node]:
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
        if module is not None and (isinstance(count, Number) or count):
            found.append(repeated(module, Turn("", None, 0, count)))
    return found


def below(places: list[int], size: int, length: Number, exact: bool) -> Any:
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
    assert isinstance(length.expr, Poly)  # of a range
    expr = length.path.space.below(places, length.expr)
    return length.path.number(expr, bisect_left(places, length.value))


def signature(module: Node, kept: dict[int, Any]) -> Any:
    """What two modules of one kind have in common: everything but their names."""
    if id(module) not in kept:
        sizes = tuple((t.name, tuple(map(key, t.shape)), t.kind, key(t.trainable)) for t in module.tensors)
        children = tuple((name, signature(child, kept)) for name, child in module.children.items())
        ties = tuple((target, source) for target, source, _ in module.ties)
        routed = tuple(tuple(map(key, one or ())) for one in (module.routed, module.computed))
        turn = None if module.turn is None else key(module.turn.times)
        costs = _keys(module.costs), _keys(module.cache)
        value = (module.cls, sizes, children, ties, routed, module.frozen, module.leaf, turn, costs)
        kept[id(module)] = (hash(value), value, module)  # keeps the module, so that no other takes its id
    return kept[id(module)][:2]


def key(value: Any) -> Any:
    """What tells a value from others, without a look at a number's plain value."""
    return ("swept", value.expr.number) if isinstance(value, Number) else value


def _keys(value: Any) -> Any:
    """The same of a value in lists."""
    return tuple(map(_keys, value)) if isinstance(value, list | tuple) else key(value)


def quantities(root: Node) -> dict[str, Any]:
    """What :func:`archspec.tree.counts.quantities_of` gives, for repeated modules with all their turns.

    Errors: :class:`Loops` where ties name the turns of a loop one by one, :class:`TooLarge` for a count that
    is not handled symbolically.
    """
    places = {place.name: place for place in standing(root)}
    found = tensors(root)
    lists = {path for place in places.values() for path in place.lists}
    if lists and any(_meets(end, path) for end in _tied_paths(root, "") for path in lists):
        raise Loops
    for number, tensor in enumerate(found):
        place = places[tensor.name]
        times = prod(place.times)
        active = 0 if place.routed is not None else tensor.active * times
        found[number] = tensor._replace(numel=tensor.numel * times, active=active)
    if lists:
        modules, listed, last = _sizes(root, 1)
        if modules > MAX_MODULES or listed - last > MAX_TENSORS:  # as a plain list is refused
            raise ConfigError(f"more than {MAX_MODULES:,} modules or {MAX_TENSORS:,} tensors are not listed")
    total: dict[str, Any] = quantities_of(found)
    working = sum(_working(found, places))
    return {name: total[name] + (working if quantity.active else 0) for name, quantity in QUANTITIES.items()}


def _working(found: list[Tensor], places: dict[str, Standing]) -> Iterator[Any]:
    """The elements of the routed tensors that work on a token: k of E of all that are routed alike."""
    together: dict[Any, tuple[Any, Routed]] = {}
    for tensor in found:
        routed = places[tensor.name].routed
        if routed is None or tensor.kind != "parameter":
            continue
        if tensor.tied_to is not None:
            raise TooLarge("tied experts")
        alike = tuple(map(key, routed))
        total, _ = together.get(alike, (0, routed))
        together[alike] = (total + tensor.numel, routed)
    for total, (chosen, experts) in together.values():
        if not experts:
            yield total
        elif (whole := total * min(chosen, experts)) % experts:
            raise TooLarge("experts that are no whole number of parameters")
        else:
            yield whole // experts


def _sizes(node: Node, times: Any) -> tuple[Any, Any, int]:
    """How many modules and tensors a tree has, and how many tensors its last module."""
    modules, listed, last = times, times * len(node.tensors), len(node.tensors)
    children = sorted(node.children.values(), key=lambda child: child.cls not in ("Parameter", "Buffer"))
    for child in children:
        more, others, last = _sizes(child, times if child.turn is None else times * child.turn.times)
        modules, listed = modules + more, listed + others
    return modules, listed, last


def _tied_paths(node: Node, prefix: str) -> Iterator[str]:
    for target, source, _ in node.ties:
        yield from (joined(prefix, end) for end in (target, source))
    if node.module is not None:
        for tie in node.module.ties:  # those of output matrices count as ties even where they do not hold
            yield from (joined(prefix, end) for end in (tie.target, tie.source))
    for name, child in node.children.items():
        yield from _tied_paths(child, joined(prefix, name))


def _meets(end: str, holder: str) -> bool:
    """Whether a tie's end lies within a list that holds a repeated module, or around it."""
    return (end + ".").startswith(holder + ".") or (holder + ".").startswith(end + ".")
