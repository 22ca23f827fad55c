"""Modules that are arguments, or named in `where:`: on items, each use is built at its own size."""

from __future__ import annotations

import ast

from archspec.costs.media.groups import OnItems
from archspec.language.expression import Expression, Locals
from archspec.specs.records import MAPS
from archspec.specs.torch_layers import decidable
from archspec.tree.inside import ON_MAP, Frame
from archspec.tree.node import Node
from archspec.typing_light import Any, NamedTuple


class Later(NamedTuple):
    """An expression of a module, with the names that it was written for."""

    node: ast.expr
    local: Locals
    frames: list[Frame]
    expression: Expression


class Deferring(OnItems):
    """A builder that evaluates a module again at each use on items."""

    def argument(self, node: ast.expr, local: Locals) -> Any:
        """Return the value of a call's argument; a module is built at each use."""
        axes = self.axes
        found = super().argument(node, local)
        if not self.on_items or not isinstance(found, Node):
            return found
        self.axes = axes
        return Later(node, dict(local), list(self.frames), self.expression)

    def visit_Call(self, node: ast.Call, local: Locals) -> Any:
        """Evaluate a call; `.on_map(i)` runs a module on the i-th of the feature maps."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == ON_MAP and self.on_items:
            assert self.axes is not None
            (index,) = self.visit_arguments(ON_MAP, node, local)
            number = len(self.axes[MAPS])
            if not -number <= decidable(index) < number:
                help_ = "set `maps` in `after:` of the modules before"
                self.fail(f"there is no feature map {index}: there are {number}", node, help_)
            height, width = self.axes[MAPS][decidable(index)]
            self.flow({"height": height, "width": width}, "a feature map")
            return self.visit(node.func.value, local)
        return super().visit_Call(node, local)

    def visit_Name(self, node: ast.Name, local: Locals) -> Any:
        found = super().visit_Name(node, local)
        frame = self.frames[-1]
        if self.on_items and isinstance(found, Node) and node.id in frame.where:
            frame.local.pop(node.id, None)
        if not isinstance(found, Later):
            return found
        outer = self.frames, self.expression
        self.frames, self.expression = list(found.frames), found.expression
        try:
            return self.visit(found.node, dict(found.local))
        finally:
            self.frames, self.expression = outer
