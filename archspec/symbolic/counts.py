"""The exact count over swept numbers: the same scope, builder and tensors as a plain count uses.

A run gives each quantity as a function of the swept fields, and the path conditions under which that holds.
What the count does with a swept field that is no arithmetic (layers that ties name one by one, a list's
length) rests on the field's value, so that the result is exact there and another run gives it elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from archspec.configs.scope import Scope
from archspec.errors import ConfigError
from archspec.quantities import QUANTITIES
from archspec.symbolic.growing import Loops, key
from archspec.symbolic.polynomials import TooLarge
from archspec.symbolic.swept import SweptDomain
from archspec.tree.builder import Builder
from archspec.tree.counts import quantities_of
from archspec.tree.node import Node, Routed
from archspec.tree.tensors import MAX_MODULES, MAX_TENSORS, Tensor, tensors


def counts(scope: Scope, architecture: str) -> dict[str, Any]:
    """The quantities of :func:`archspec.tree.counts.quantities_of` as numbers on the path of the scope's own.

    Errors: :class:`TooLarge` for a count that is not handled symbolically.
    """
    builder = Builder(scope)
    try:
        return _counted(builder.build(architecture))
    except Loops:
        builder = Builder(scope)
        builder.domain = SweptDomain(unroll=True)
        return _counted(builder.build(architecture))


def _counted(root: Node) -> dict[str, Any]:
    """The quantities of a tree; a repeated module counts with all its turns."""
    repeats = dict(_repetitions(root, ""))
    if repeats and any(_meets(end, path) for end in _tied_paths(root, "") for path in repeats):
        raise Loops  # ties name the layers one by one
    routed: dict[str, Routed] = {}
    found = tensors(_unrouted(root, "", None, routed))
    for place, tensor in enumerate(found):
        for path, count in repeats.items():
            if tensor.name == path or tensor.name.startswith(path + "."):
                tensor = tensor._replace(numel=tensor.numel * count, active=tensor.active * count)
        found[place] = tensor._replace(active=0) if tensor.name in routed else tensor
    if repeats:
        modules, listed, last = _sizes(root, 1)
        if modules > MAX_MODULES or listed - last > MAX_TENSORS:  # as a plain list is refused
            raise ConfigError(f"more than {MAX_MODULES:,} modules or {MAX_TENSORS:,} tensors are not listed")
    quantities: dict[str, Any] = quantities_of(found)
    working = sum(_working(found, routed))
    for name, quantity in QUANTITIES.items():
        quantities[name] = quantities[name] + (working if quantity.active else 0)
    return quantities


def _unrouted(node: Node, prefix: str, above: Routed | None, routed: dict[str, Routed]) -> Node:
    """A tree without its routing, and the routing in force for each tensor's name."""
    here = node.routed or above
    if here is not None:
        routed |= {_joined(prefix, name): here for name, *_ in node.tensors}
    node = node.copy()
    node.routed = None
    node.children = {
        name: _unrouted(child, _joined(prefix, name), here, routed) for name, child in node.children.items()
    }
    return node


def _working(found: list[Tensor], routed: dict[str, Routed]) -> Iterator[Any]:
    """The elements of the routed tensors that work on a token: k of E of all that are routed alike."""
    together: dict[Any, tuple[Any, Routed]] = {}
    for tensor in found:
        if tensor.name in routed and tensor.kind == "parameter":
            if tensor.tied_to is not None:
                raise TooLarge("tied experts")
            choice = routed[tensor.name]
            total, _ = together.get(tuple(map(key, choice)), (0, choice))
            together[tuple(map(key, choice))] = (total + tensor.numel, choice)
    for total, (chosen, experts) in together.values():
        if not experts:
            yield total
        elif (whole := total * min(chosen, experts)) % experts:
            raise TooLarge("experts that are no whole number of parameters")
        else:
            yield whole // experts


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if name and prefix else name or prefix


def _sizes(node: Node, times: Any) -> tuple[Any, Any, int]:
    """How many modules and tensors a tree has, and how many tensors its last module."""
    modules, listed, last = times, times * len(node.tensors), len(node.tensors)
    children = sorted(node.children.values(), key=lambda child: child.cls not in ("Parameter", "Buffer"))
    for child in children:
        more, others, last = _sizes(child, times if child.turn is None else times * child.turn)
        modules, listed = modules + more, listed + others
    return modules, listed, last


def _repetitions(node: Node, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, child in node.children.items():
        path = _joined(prefix, name)
        if child.turn is not None:
            yield path, child.turn
        yield from _repetitions(child, path)


def _tied_paths(node: Node, prefix: str) -> Iterator[str]:
    for target, source, _ in node.ties:
        yield from (_joined(prefix, end) for end in (target, source))
    if node.module is not None:
        for tie in node.module.ties:  # those of output matrices count as ties even where they do not hold
            yield from (_joined(prefix, end) for end in (tie.target, tie.source))
    for name, child in node.children.items():
        yield from _tied_paths(child, _joined(prefix, name))


def _meets(end: str, path: str) -> bool:
    """Whether a tie's end lies within a list that holds a repeated module, or around it."""
    holder = path.rpartition(".")[0]
    return (end + ".").startswith(holder + ".") or (holder + ".").startswith(end + ".")
