"""The axes of modules that run on items: each module runs on the size of the output of the one before."""

from __future__ import annotations

import ast
from math import prod

from archspec.costs.media.grid import grid_after, positions_of
from archspec.costs.media.sizes import UNKNOWN, Maps, unknown_size
from archspec.costs.records import FLOWING, FROZEN, GRADIENT, Axes, asks_gradients
from archspec.errors import ArchspecError
from archspec.language.expression import Expression, Locals
from archspec.language.values import value_of
from archspec.specs.records import GRID, MAPS
from archspec.tree.builder import Builder
from archspec.typing_light import Any

FRESH = "fresh"  # an axis: no layer has run on the items yet
ADDED = ("Parameter", "Buffer", "Embedding")  # to what runs on items, as positions are
_STATES = (FRESH, GRADIENT)


class Flowing(Builder):
    """A builder whose layers set the size that the next one runs on.

    A convolution runs on the positions of its output, which are then the `tokens`.
    """

    axes: Axes | None = None

    @property
    def on_items(self) -> bool:
        """True inside a module that runs on items."""
        return self.axes is not None and self.axes["modality"] is not None

    def read_axis(self, value: Any, axes: Axes) -> Any:
        """Return the value of an axis. Errors: :class:`UnknownSize` if the items' size is not known."""
        if value is UNKNOWN:
            raise unknown_size(axes["modality"])
        return value

    def has_moved(self, before: Axes | None) -> bool:
        """Return True if the size of what follows is not what it was before."""
        axes, known_by = self.axes, self.domain.known_by
        assert axes is not None and before is not None
        return any(known_by(axes[name]) != known_by(before[name]) for name in FLOWING)

    def flow(self, given: Axes, source: str) -> None:
        """Run what follows at the axes that ``source`` gives; the grid's positions are the tokens."""
        assert self.axes is not None
        self.check_positions(given, source)
        self.axes = {**self.axes, **given}
        if MAPS in given:
            self.axes[MAPS] = Maps(given[MAPS])
        grid = [self.axes[name] for name in GRID if self.axes[name] is not None]
        if "tokens" not in given and given.keys() & {*GRID}:
            self.axes["tokens"] = prod(grid)
        self.axes["context"] = self.axes["tokens"]

    def check_positions(self, given: Axes, source: str) -> None:
        """Raise :class:`ArchspecError` if items leave no positions to run on."""
        assert self.axes is not None
        sizes = [given[name] for name in (*GRID, "tokens") if given.get(name) is not None]
        if self.on_items and any(size is not UNKNOWN and value_of(size) < 1 for size in sizes):
            modality = self.axes["modality"]
            problem, help_ = f"the {modality} are too small", f"pass larger {modality}"
            if modality == "audios":
                problem, help_ = "the audio is too short", "pass longer audio"
            raise ArchspecError(f"{problem}: {source} has no positions", help=help_)

    def pass_on(self, axes: Axes) -> None:
        """Run what follows on the size of a module's output."""
        assert self.axes is not None
        self.axes = {**self.axes, **{name: axes[name] for name in (*FLOWING, *_STATES)}}

    def pass_states(self, axes: Axes) -> None:
        """Run what follows on the size of a module's input."""
        assert self.axes is not None
        self.axes = {**self.axes, **{name: axes[name] for name in _STATES}}

    def pass_layer(self, trains: bool) -> None:
        """Note that a layer has run, which may have trained weights."""
        assert self.axes is not None
        if self.axes[FRESH] or (trains and not self.axes[GRADIENT]):
            self.axes = {**self.axes, FRESH: False, GRADIENT: self.axes[GRADIENT] or trains}

    def gradient_axes(self, axes: Axes) -> Axes:
        """Return the axes of a layer without gradients that nothing asks for: of items, of frozen weights."""
        if axes[FROZEN]:
            return {**axes, "trained": 0}
        if self.on_items and not axes[GRADIENT]:
            return {**axes, "backward": axes["backward"] - 1}
        return axes

    @property
    def has_gradients(self) -> bool:
        """True if products of the module that is being built have gradients."""
        axes = self.axes
        if axes is None or axes[FROZEN]:
            return False
        return not self.on_items or bool(axes[GRADIENT])

    @property
    def passes(self) -> bool:
        """True if a gradient passes through the module that is being built, though its weights have none."""
        axes = self.axes
        return axes is not None and bool(axes[FROZEN]) and asks_gradients(axes) and bool(axes[GRADIENT])

    def evaluate_now(self, stated: Expression) -> Any:
        """Evaluate an expression at the axes of what runs next; `where:` keeps the module's own axes."""
        frame = self.frames[-1]
        outer, frame.now = frame.now, self.axes
        try:
            return self.evaluate(stated, frame.local)
        finally:
            frame.now = outer

    def grid_leaf(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Axes | None:
        """Return the axes at which a layer runs on a grid, and pass on its output's; None for others."""
        assert self.axes is not None
        axes = self.axes
        names = positions_of(name, axes)
        if names is None:
            return None
        before = [axes[one] for one in names]
        if UNKNOWN in before:
            raise unknown_size(axes["modality"])
        after = grid_after(name, before, arguments, keywords)
        self.flow(dict(zip(names, after, strict=True)), name)
        transposed = name.startswith("ConvTranspose")  # runs on the positions of its input
        return {**self.axes, "tokens": prod(before)} if transposed else self.axes

    def build_at(self, module: ast.expr, size: list[ast.expr], local: Locals) -> Any:
        if not self.on_items:
            return super().build_at(module, size, local)
        outer = self.axes
        values = [self.visit(one, dict(local)) for one in size]
        names = [name for name in GRID if outer is not None and outer[name] is not None]
        self.flow(dict(zip(names, values, strict=True)), "the forward pass")
        built = self.visit(module, local)
        self.axes = outer
        return built
