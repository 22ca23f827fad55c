"""A builder whose modules have the bytes that autograd saves for the backward pass, trained or frozen."""

from __future__ import annotations

from math import prod

from archspec.costs.media.flowing import FRESH
from archspec.costs.media.later import Deferring
from archspec.costs.products import ACTIVATIONS, activation_saves, axes_here, layer_saves
from archspec.costs.records import FREEZE, FROZEN, PRODUCTS, Axes, Saved, is_training
from archspec.errors import ArchspecError
from archspec.language.expression import Expression
from archspec.specs.records import GRID, Body, Module
from archspec.tree.node import Node
from archspec.typing_light import Any


class Saving(Deferring):
    """A builder of `saves:`. In a frozen module nothing is saved.

    But with checkpointing transformers asks for gradients of what the first layer of each tower returns.
    """

    axes: Axes | None = None
    width: Any = None  # of the output of the layer before in a list; None if it is not known

    def child_here(self, name: str, inner: Body) -> Node | None:
        """Build an attribute, which may be frozen."""
        axes = self.axes
        if axes is None or name not in axes[FREEZE]:
            return self.trained_child(name, inner)
        if not self.on_items:
            message = f"freezing {name} is not supported: its input may have a gradient"
            raise ArchspecError(message, help="freeze modules that run on images, videos or audio")
        self.axes = {**axes, FREEZE: (), FROZEN: True}
        child = self.trained_child(name, inner)
        assert self.axes is not None
        self.axes = {**self.axes, FREEZE: axes[FREEZE], FROZEN: False}
        return child

    def trained_child(self, name: str, inner: Body) -> Node | None:
        """Build an attribute; a hook for subclasses."""
        return super().child_here(name, inner)

    def save_layer(self, built: Node, name: str, arguments: list[Any], before: Any, on_grid: bool) -> None:
        """Add what a layer saves, whose input has the axes ``before``."""
        if not is_training(before):
            return
        if name in ACTIVATIONS:
            assert self.axes is not None
            built.saves = activation_saves(name, self.axes, self.width)
            return
        self.width = built.tensors[0].shape[0] if name in PRODUCTS and name != "Conv1D" else None
        if on_grid:
            before = {**before, "tokens": prod(before[one] for one in GRID if before[one] is not None)}
        channels = arguments[0] if on_grid and name.startswith("Conv") else None
        of_item = on_grid and before[FRESH]  # an input of the model is not saved
        built.saves = [] if of_item else layer_saves(name, built.tensors, before, channels)

    def save_attribute(self, child: Node | None, name: str, before: Axes | None) -> Node | None:
        """Return an attribute with the bytes that `saves:` gives it, at the axes of its input."""
        frame = self.frames[-1]
        stated = frame.saves.get(name)
        if stated is None or child is None:
            return child
        if not child.leaf:
            self.fail(f"{name} is not a layer: write what it saves in its own module", stated.tree)
        if self.axes is None or (self.axes[FROZEN] and not child.saves):
            return child  # without trained weights it saves nothing
        child = child.copy()
        child.saves = [self._evaluate_at(name, stated, before)]
        return child

    def save_own(self, built: Node, module: Module) -> None:
        """Add what a module's own code saves, at the axes of its output."""
        assert self.axes is not None
        attributes = module.body if isinstance(module.body, dict) else {}
        own = self.frames[-1].saves.items() if not self.axes[FROZEN] or self.passes else ()
        more = [self._evaluate_at(name, one, self.axes) for name, one in own if name not in attributes]
        built.saves = [*built.saves, *more]

    def _evaluate_at(self, name: str, stated: Expression, axes: Axes | None) -> Saved:
        frame = self.frames[-1]
        outer, frame.now = frame.now, axes if self.on_items else None
        try:
            return self.evaluate_saved(name, stated)
        finally:
            frame.now = outer

    def evaluate_saved(self, name: str, stated: Expression | None) -> Saved:
        """Return the bytes of one line of `saves:`."""
        if stated is None:
            return Saved(name, None)
        return Saved(name, self.evaluate(stated, self.frames[-1].local) * axes_here(self)["times"])
