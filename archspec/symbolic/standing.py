"""Where the tensors of a tree stand, in which a module may stand for several alike."""

from __future__ import annotations

from typing import Any, NamedTuple

from archspec.tree.node import Node, Routed
from archspec.tree.tensors import joined


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
