"""The tensors of a symbolic tree as rows: names with `{i}`, shapes, the turns and guards on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import sympy

from archspec.errors import SpecError
from archspec.symbolic.assumptions import Assumptions, Guard
from archspec.symbolic.counts import Loops, Standing, standing
from archspec.symbolic.path_conditions import guards_of
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, tensors


class Row(NamedTuple):
    """One tensor of the tree, with the turns and guards on the way to it; sizes are SymPy expressions."""

    place: Standing
    tensor: Tensor
    shape: tuple[Any, ...]
    times: Any
    routed: tuple[Any, ...] | None
    guards: frozenset[Guard]

    def kind(self, guards: frozenset[Guard]) -> Any:
        """What makes two rows turns of the same tensor."""
        tensor = self.tensor
        facts = (tensor.trainable, tensor.kind, tensor.layer, tensor.embedding, tensor.tied_to is None)
        return (self.place.template, self.shape, self.times, guards, facts, self.routed)


def rows(root: Node, trace: Assumptions) -> Iterator[Row]:
    """Every tensor of a tree. Errors: :class:`Loops` for ties that name the turns of a loop one by one."""
    try:
        found = {tensor.name: tensor for tensor in tensors(root)}
    except SpecError:
        raise Loops from None
    for place in standing(root):
        tensor = found[place.name]
        routed = tuple(map(trace.shown, place.routed)) if place.routed else None
        guards = trace.decisive(place.guards | guards_of(tensor.shape))
        yield Row(
            place,
            tensor,
            tuple(map(trace.shown, tensor.shape)),
            sympy.Mul(*map(trace.shown, place.times)),
            routed,
            guards,
        )


def merged(found: list[Row]) -> list[list[Row]]:
    """Rows by what they are; those that stand whether a guard holds or not lose that guard."""
    groups: dict[Any, list[Row]] = {}
    for row in found:
        groups.setdefault(row.kind(row.guards), []).append(row)
    again = True
    while again:
        again = False
        for kind, members in list(groups.items()):
            twins = _twins(kind, members[0], groups)
            if twins is not None:
                twin, rest = twins
                both = [row._replace(guards=rest) for row in (*groups.pop(kind), *groups.pop(twin))]
                groups.setdefault(both[0].kind(rest), []).extend(both)
                again = True
                break
    return list(groups.values())


def _twins(kind: Any, row: Row, groups: dict[Any, list[Row]]) -> tuple[Any, frozenset[Guard]] | None:
    """The same rows where a guard comes out the other way, and the guards that both have."""
    for guard in row.guards:
        rest = row.guards - {guard}
        twin = row.kind(rest | {guard._replace(outcome=not guard.outcome)})
        if twin in groups and twin != kind:
            return twin, rest
    return None
