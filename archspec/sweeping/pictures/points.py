"""The points that a picture shows: a few thousand, however large the grid is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from archspec.configs.overrides import owner
from archspec.errors import ArchspecError, SweepError, option
from archspec.models.model import load
from archspec.sweeping.axes import Axis, axis
from archspec.sweeping.engine import Asked, Engine
from archspec.sweeping.evaluator import Array

SCATTER, SLOW = 20_000, 1_000  # points: of closed forms, and of evaluated lengths


def thin_axis(one: Axis, most: int, log: bool = False) -> Axis:
    """Return an axis with about so many of its values: both ends, and round values between them.

    They are evenly spaced, on a logarithmic scale if ``log``.

    >>> thin_axis(axis("hidden_size", range(64, 8193)), 5).values
    (64, 2048, 4096, 6144, 8192)
    >>> thin_axis(axis("hidden_size", range(64, 8193, 64)), 5, log=True).values
    (64, 192, 704, 2432, 8192)
    """
    count, values = len(one.values), one.values
    if count <= most:
        return one
    places = np.linspace(0, count - 1, most)
    if isinstance(values, range) and log and min(one.bounds) > 0:
        places = (np.geomspace(values[0], values[-1], most) - values.start) / values.step
    elif isinstance(values, range):  # multiples of a power of two, which numbers of heads divide
        unit = 2 ** int(np.log2(max(1, (count - 1) / (most - 1) / (1 if most > 20 else 4))))
        first = values.start // values.step if values.start % values.step == 0 else 0
        places = np.append((np.round((places + first) / unit) * unit - first)[1:-1], [0, count - 1])
    chosen = np.unique(np.clip(places.round(), 0, count - 1).astype(int))
    return axis(one.name, [values[int(place)] for place in chosen])


def thin_axes(sweep: Asked) -> list[Axis]:
    """Return the axes of a sweep with so many values each that their grid has a few thousand points."""
    axes, most = sweep.subject.axes, SLOW if sweep.subject.pinned_axes else SCATTER
    most = most ** (1 / max(1, sum(len(one.values) > 1 for one in axes)))
    return [thin_axis(one, max(2, int(most))) for one in axes]


def evaluate(sweep: Asked, axes: Sequence[Axis], columns: Sequence[str]) -> dict[str, Array]:
    """Return columns over some values of each field as floats; a point without a count is not a number."""
    engine, names = Engine(sweep.subject.with_axes(axes)), list(sweep.subject.columns)
    found = {name: np.full(engine.grid.shape, np.nan) for name in columns}
    for batch in engine.batches():
        for name, values in found.items():
            try:
                shown = batch.columns[names.index(name)].astype(float)
            except (TypeError, ValueError):
                message = f"{name} is not numeric, so it cannot be plotted"
                raise SweepError(message, help="choose numeric columns") from None
            values[batch.box.place] = np.where(batch.valid, shown, np.nan)
    return {name: values.reshape(engine.grid.lengths) for name, values in found.items()}


class View:
    """Columns over a few fields, with the others at one value.

    ``fine`` has the number of values of each of the fields, and True for a logarithmic scale.
    """

    def __init__(
        self,
        sweep: Asked,
        fine: Mapping[int, tuple[int, bool]],
        center: Sequence[Any],
        columns: Sequence[str],
    ) -> None:
        self.lengths, most = sweep.subject.lengths, int(SLOW ** (1 / len(fine)))
        if sweep.subject.pinned_axes:
            fine = {number: (min(count, most), log) for number, (count, log) in fine.items()}
        self.axes = [
            thin_axis(one, *fine[number]) if number in fine else axis(one.name, [value])
            for number, (one, value) in enumerate(zip(sweep.subject.axes, center, strict=True))
        ]
        self.columns = evaluate(sweep, self.axes, columns)
        others = [one for number, one in enumerate(self.axes) if number not in fine]
        fixed = ", ".join(f"{one.name} = {short_label(one.values[0])}" for one in others)
        self.note = f"   (at {fixed})" if fixed else ""

    def column_along(self, column: str, *axes: int) -> Array:
        """Return a column over one field, or over several."""
        values = np.moveaxis(self.columns[column], axes, range(len(axes)))
        return values.reshape(values.shape[: len(axes)])

    def title(self, number: int, units: bool = True) -> str:
        """Return the label of a field or length, with its unit in parentheses."""
        title = self.lengths.title(self.axes[number].name)
        return title if units else title.partition(" (")[0]

    def values(self, number: int) -> Array:
        """Return the values of a field."""
        return np.array(self.axes[number].values, dtype=float)


class Picture(NamedTuple):
    """The sweeps of a picture, over the same fields, around a point at which all have a count."""

    sweeps: Sequence[Asked]
    names: list[str]
    columns: list[str]
    center: list[Any]
    log_x: bool
    log_y: bool

    def is_shown(self, x: Array, y: Array) -> Array:
        """Return which points have values, positive ones on logarithmic axes."""
        shown: Array = ~np.isnan(x + y) & ((x > 0) | (not self.log_x)) & ((y > 0) | (not self.log_y))
        return shown


def picture_of(sweeps: Sequence[Asked], log: str) -> Picture:
    """Return a picture around the config's values, or around the point with a count that is nearest.

    Errors: :class:`SweepError` if no point has values.
    """
    axes, column = sweeps[0].subject.axes, sweeps[0].asked[0]
    config = [_place_of_config(sweeps[0], one) for one in axes]
    center = [one.values[place] for one, place in zip(axes, config, strict=True)]
    if not all(sweep.engine.region(tuple(config)).keep for sweep in sweeps):
        few = thin_axes(sweeps[0])
        points = np.argwhere(~np.isnan(sum(evaluate(sweep, few, [column])[column] for sweep in sweeps)))
        if not len(points):
            raise nothing_to_draw()
        shares = np.array(config) / [len(one.values) for one in axes]
        distances = np.abs(points / np.array([len(one.values) for one in few]) - shares).sum(axis=1)
        center = [one.values[place] for one, place in zip(few, points[distances.argmin()], strict=True)]
    return Picture(sweeps, _names_of(sweeps), sweeps[0].asked, center, "x" in log, "y" in log)


def _place_of_config(sweep: Asked, one: Axis) -> int:
    """Return the position of the config's value if the grid has it, else the middle one."""
    middle = len(one.values) // 2
    if one.name in sweep.subject.lengths.names:
        return middle
    try:
        model = load(sweep.subject.config, sweep.architecture, specs=sweep.subject.library)
        scope, leaf = owner(model.scope, one.name)
        return one.values.index(scope.get(leaf))
    except (ArchspecError, AttributeError, KeyError, ValueError):
        return middle


def _names_of(sweeps: Sequence[Asked]) -> list[str]:
    """Return the classes of some sweeps, with the names of their configs if a class has several."""
    classes, names = [sweep.architecture for sweep in sweeps], list[str]()
    for sweep, name in zip(sweeps, classes, strict=True):
        if classes.count(name) > 1:
            path = sweep.subject.config.origin.name.removesuffix(".json").removesuffix(f"{os.sep}config")
            name = f"{name} of {os.path.basename(path)}"
        names.append(name if name not in names else f"{name} {len(names) + 1}")
    return names


def short_label(value: Any) -> str:
    """Return a value as a label."""
    return f"{value:,}" if type(value) is int else str(value)


def nothing_to_draw() -> SweepError:
    """Return the error of a picture without a point."""
    message = "too few configs are valid for a plot"
    return SweepError(message, help=f"sweep other values, or relax {option('where')}")
