"""What a picture looks at: a few thousand points of however large a grid."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from archspec.errors import ArchspecError, SweepError
from archspec.models.model import load
from archspec.sweeping.axes import Axis, axis, value_at
from archspec.sweeping.engine import Asked, Engine

SCATTER = 20_000  # points


def thin(one: Axis, most: int, log: bool = False) -> Axis:
    """About so many of an axis's values: both ends, and between them round ones, which heads divide.

    They lie evenly, on a logarithmic axis with `log`.

    >>> thin(axis("hidden_size", range(64, 8193)), 5).values
    (64, 2048, 4096, 6144, 8192)
    >>> thin(axis("hidden_size", range(64, 8193, 64)), 5, log=True).values
    (64, 192, 704, 2432, 8192)
    """
    count = len(one.values)
    if count <= most:
        return one
    places = np.linspace(0, count - 1, most)
    if log and isinstance(one.values, range) and min(one.bounds) > 0:
        places = (np.geomspace(one.values[0], one.values[-1], most) - one.values.start) / one.values.step
    elif isinstance(one.values, range):
        start, step = one.values.start, abs(one.values.step)
        unit = 2 ** int(np.log2(max(1, (count - 1) / (most - 1) / (1 if most > 20 else 4))))
        first = start // step if start % step == 0 and one.values.step > 0 else 0
        places = np.append((np.round((places + first) / unit) * unit - first)[1:-1], [0, count - 1])
    chosen = np.unique(np.clip(places.round(), 0, count - 1).astype(int))
    return axis(one.name, [one.values[int(place)] for place in chosen])


class View:
    """A small part of a grid, with some columns as floats: a few axes thinned, the others at one value.

    ``fine`` says of how many values the thinned ones are, by their numbers, ``log`` which of them lie evenly
    on a logarithmic axis; ``centre`` has a value of every axis. A point without a count is not a number.
    """

    def __init__(
        self,
        sweep: Asked,
        fine: Mapping[int, int],
        centre: Sequence[Any],
        columns: Sequence[str],
        log: Mapping[int, bool] | None = None,
    ) -> None:
        numbered = list(enumerate(zip(sweep.subject.axes, centre, strict=True)))
        self.axes = [
            thin(one, fine[n], (log or {}).get(n, False)) if n in fine else axis(one.name, [value])
            for n, (one, value) in numbered
        ]
        self.fixed = [one for n, one in enumerate(self.axes) if n not in fine]
        engine = Engine(sweep.subject.over(self.axes))
        names = list(sweep.subject.columns)
        held = {name: np.full(engine.grid.shape, np.nan) for name in columns}
        for batch in engine.batches():
            for name, values in held.items():
                shown = _floats(batch.columns[names.index(name)], name)
                values[np.ix_(*batch.box.picks)] = np.where(
                    np.broadcast_to(batch.valid, shown.shape), shown, np.nan
                )
        shape = [len(one.values) for one in self.axes]
        self.columns = {name: values.reshape(shape) for name, values in held.items()}

    def along(self, column: str, *axes: int) -> Any:
        """A column over one axis, or over several."""
        values = np.moveaxis(self.columns[column], axes, range(len(axes)))
        return values.reshape(values.shape[: len(axes)])

    def values(self, number: int) -> Any:
        return np.array(self.axes[number].values, dtype=float)

    def label(self, number: int) -> str:
        """The name of an axis, and at which values of the fixed ones this is."""
        fixed = ", ".join(f"{one.name} = {short(one.values[0])}" for one in self.fixed)
        return self.axes[number].name + (f"   (at {fixed})" if fixed else "")


def _floats(column: Any, name: str) -> Any:
    try:
        return column.astype(float)
    except (TypeError, ValueError):
        message = f"{name} is no number, and cannot be drawn"
        raise SweepError(message, help="name columns that are counts") from None


def centre_of(sweeps: Sequence[Asked]) -> list[Any]:
    """A value of each axis, at which every sweep has a count: the first config's own ones where that can be.

    Errors: :class:`SweepError` where no such point is found.
    """
    axes = sweeps[0].subject.axes
    wanted = tuple(_own_place(sweeps[0], one) for one in axes)
    if all(sweep.engine.region(wanted).keep for sweep in sweeps):
        return [one.values[place] for one, place in zip(axes, wanted, strict=True)]
    most = max(2, int(SCATTER ** (1 / max(1, sum(len(one.values) > 1 for one in axes)))))
    thinned = [thin(one, most) for one in axes]
    known = np.ones([len(one.values) for one in thinned], dtype=bool)
    for sweep in sweeps:
        known &= _known(Engine(sweep.subject.over(thinned)), known.shape)
    points = np.argwhere(known)
    if not len(points):
        raise nothing_to_draw()
    lengths = np.array([len(one.values) for one in axes])
    shares = np.array(wanted) / lengths
    far = np.abs(points / np.array(known.shape) - shares).sum(axis=1)
    return [one.values[place] for one, place in zip(thinned, points[int(far.argmin())], strict=True)]


def _known(engine: Engine, shape: tuple[int, ...]) -> Any:
    """Which points of a small grid have a count."""
    known = np.zeros(engine.grid.shape, dtype=bool)
    for batch in engine.batches():
        known[np.ix_(*batch.box.picks)] = batch.valid
    assert known.size == prod(shape)
    return known.reshape(shape)


def _own_place(sweep: Asked, one: Axis) -> int:
    """The place of the config's own value where the grid has it, else the middle one."""
    try:
        config = load(sweep.subject.config, sweep.architecture, specs=sweep.subject.library)
        return one.values.index(value_at(config.scope, one.name))
    except (ArchspecError, AttributeError, KeyError, ValueError):
        return len(one.values) // 2


def names_of(sweeps: Sequence[Asked]) -> list[str]:
    """The classes of some sweeps; those of one class are told apart by their configs' files, or numbered."""
    classes = [sweep.architecture for sweep in sweeps]
    names: list[str] = []
    for sweep, name in zip(sweeps, classes, strict=True):
        if classes.count(name) > 1:
            path = sweep.subject.config.origin.name.removesuffix(".json")
            folder, file = os.path.split(path.removesuffix(f"{os.sep}config"))
            name = f"{name} of {file or folder}"
        names.append(name if name not in names else f"{name} {len(names) + 1}")
    return names


def short(value: Any) -> str:
    return f"{value:,}" if type(value) is int else str(value)


def nothing_to_draw() -> SweepError:
    message = "no point to draw can be built, or --where leaves none"
    return SweepError(message, help="sweep other values")
