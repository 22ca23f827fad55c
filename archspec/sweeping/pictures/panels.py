"""The panels of a picture: what they look at, and how they draw it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from archspec.errors import ArchspecError, SweepError
from archspec.models.model import load
from archspec.sweeping.axes import Axis, axis, value_at
from archspec.sweeping.engine import Asked, Engine

FINE, LINES, SCATTER = 200, 5, 20_000
_APART = 0.05  # lines that are closer than this share of the largest say nothing
_COLOURS = ("#1b6ca8", "#d1495b", "#66a182", "#8d6a9f", "#edae49")


def thin(one: Axis, most: int) -> Axis:
    """About so many of an axis's values, evenly: both ends, and between them round ones, which heads divide.

    >>> thin(axis("hidden_size", range(64, 8193)), 5).values
    (64, 2048, 4096, 6144, 8192)
    """
    count = len(one.values)
    if count <= most:
        return one
    places = np.linspace(0, count - 1, most)
    if isinstance(one.values, range):
        start, step = one.values.start, abs(one.values.step)
        unit = 2 ** int(np.log2(max(1, (count - 1) / (most - 1) / (1 if most > 20 else 4))))
        first = start // step if start % step == 0 and one.values.step > 0 else 0
        places = np.append((np.round((places + first) / unit) * unit - first)[1:-1], [0, count - 1])
    chosen = np.unique(np.clip(places.round(), 0, count - 1).astype(int))
    return axis(one.name, [one.values[int(place)] for place in chosen])


class View:
    """A small part of the grid, with its columns as floats: some axes thinned, the others at one value.

    ``fine`` says of how many values the thinned ones are, by their numbers; ``columns`` are those to draw.
    """

    def __init__(self, sweep: Asked, fine: Mapping[int, int]) -> None:
        numbered = list(enumerate(sweep.subject.axes))
        self.axes = [thin(one, fine[n]) if n in fine else _middle(sweep, one) for n, one in numbered]
        self.fixed = [one for n, one in enumerate(self.axes) if n not in fine]
        engine = Engine(sweep.subject.over(self.axes))
        names = list(sweep.subject.columns)
        held = {name: np.full(engine.grid.shape, np.nan) for name in sweep.asked[:2]}
        for batch in engine.batches():
            for name, values in held.items():
                try:
                    shown = batch.columns[names.index(name)].astype(float)
                except (TypeError, ValueError):
                    message = f"{name} is no number, and cannot be drawn"
                    raise SweepError(message, help="name a count first") from None
                values[batch.box.picks] = np.where(np.broadcast_to(batch.valid, shown.shape), shown, np.nan)
        shape = [len(one.values) for one in self.axes]
        self.columns = {name: values.reshape(shape) for name, values in held.items()}

    def along(self, *axes: int) -> Any:
        """The first column over one axis, or over several."""
        first = next(iter(self.columns.values()))
        values = np.moveaxis(first, axes, range(len(axes)))
        return values.reshape(values.shape[: len(axes)])

    def label(self, number: int) -> str:
        """The name of an axis, and at which values of the fixed ones this is."""
        fixed = ", ".join(f"{one.name} = {short(one.values[0])}" for one in self.fixed)
        return self.axes[number].name + (f"   (at {fixed})" if fixed else "")


def _middle(sweep: Asked, one: Axis) -> Axis:
    """The config's own value where the grid has it, else the middle one."""
    try:
        own = value_at(
            load(sweep.subject.config, sweep.architecture, specs=sweep.subject.library).scope, one.name
        )
    except (ArchspecError, AttributeError, KeyError):
        own = ...
    return axis(one.name, [own if own in one.values else one.values[len(one.values) // 2]])


def short(value: Any) -> str:
    return f"{value:,}" if type(value) is int else str(value)


def _field(side: Any, label: str) -> None:
    """Labels an axis of a plot with a field, whose ticks are whole numbers."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    side.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
    side.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    side.set_label_text(label)


def _counted(side: Any, name: str) -> None:
    """Labels an axis of a plot with a quantity, and its ticks with SI prefixes."""
    side.set_major_formatter(formatter(name))
    side.set_label_text(f"{name} (elements)" if name.endswith("params") else name)


def formatter(name: str) -> Any:
    """Numbers with SI prefixes from a thousand on: 7.5G."""
    from matplotlib.ticker import EngFormatter, FuncFormatter

    large = EngFormatter(unit="B" if name == "bytes" else "", sep="" if name != "bytes" else " ")
    small = " B" if name == "bytes" else ""
    return FuncFormatter(lambda value, _=None: large(value) if abs(value) >= 1000 else f"{value:g}{small}")


def lines(place: Any, sweep: Asked, number: int, spreads: Mapping[int, float]) -> None:
    """The first column against one field, a line for each of a few values of another that matters."""
    others = [other for other, spread in spreads.items() if other != number and spread > _APART]
    other = max(others, key=lambda one: spreads[one], default=None)
    view = View(sweep, {number: FINE} | ({} if other is None else {other: LINES}))
    x = np.array(view.axes[number].values, dtype=float)
    rows = [view.along(number)] if other is None else view.along(other, number)
    for turn, values in reversed(list(enumerate(rows))):
        known = ~np.isnan(values)
        style = {"marker": "o" if known.sum() <= 30 else None, "ms": 3.5, "lw": 1.8}
        label = None if other is None else short(view.axes[other].values[turn])
        place.plot(x[known], values[known], color=_COLOURS[turn % 5], label=label, **style)
    _field(place.xaxis, view.label(number))
    _counted(place.yaxis, sweep.asked[0])
    place.set_ylim(bottom=0)
    place.set_title(f"against {view.axes[number].name}")
    if other is not None:
        place.legend(title=view.axes[other].name, loc="center left", bbox_to_anchor=(1.0, 0.5))


def contour(place: Any, sweep: Asked, first: int, second: int) -> None:
    """Lines of equal size over two fields."""
    view = View(sweep, {first: FINE, second: FINE})
    values = view.along(first, second)
    rows, columns = ~np.isnan(values).all(axis=1), ~np.isnan(values).all(axis=0)
    values = np.ma.masked_invalid(values[rows][:, columns])
    if min(values.shape) < 2:
        message = "too few points can be built for lines of equal size"
        raise SweepError(message, help="sweep more values")
    x = np.array(view.axes[second].values, dtype=float)[columns]
    y = np.array(view.axes[first].values, dtype=float)[rows]
    levels = levels_of(values.compressed())
    drawn = place.contour(x, y, values, levels=levels, colors=_COLOURS[0], linewidths=1.5)
    place.clabel(drawn, fmt=formatter(sweep.asked[0]), fontsize=9, inline_spacing=8)
    _field(place.xaxis, view.label(second))
    _field(place.yaxis, view.axes[first].name)
    place.set_title(f"lines of equal {sweep.asked[0]}")


def levels_of(values: Any) -> list[float]:
    """1, 2 and 5 times powers of ten between some values, or even steps where there are few."""
    from matplotlib.ticker import MaxNLocator

    low, high = np.quantile(values, [0.01, 0.99]).tolist()
    found: list[float] = []
    if high > 0:
        decades = range(int(np.floor(np.log10(max(low, high / 1e6)))), int(np.ceil(np.log10(high))) + 1)
        found = [step * 10.0**power for power in decades for step in (1, 2, 5)]
    if sum(low < level < high for level in found) < 5:
        found = [float(level) for level in MaxNLocator(9, steps=[1, 2, 5, 10]).tick_values(low, high)]
    return [level for level in found if low < level < high]


def pareto(place: Any, sweep: Asked) -> None:
    """The second column against the first, and the points that no other beats in both."""
    axes = sweep.subject.axes
    most = max(2, int(SCATTER ** (1 / max(1, sum(len(one.values) > 1 for one in axes)))))
    view = View(sweep, dict.fromkeys(range(len(axes)), most))
    small, large = sweep.asked[:2]
    x, y = (view.columns[name].reshape(-1) for name in (small, large))
    known = ~(np.isnan(x) | np.isnan(y))
    x, y = x[known], y[known]
    if not len(x):
        raise nothing_to_draw()
    whole = all(len(one.values) <= most for one in axes)
    points = f"{len(x):,} points{'' if whole else ', evenly from the grid'}"
    place.scatter(x, y, s=6, color="#b9c4cc", linewidths=0, label=points, rasterized=True)
    front = unbeaten(x, y)
    style = {"color": _COLOURS[1], "marker": "o", "ms": 3.5, "lw": 1.4, "ds": "steps-post"}
    place.plot(x[front], y[front], label="no point has more for less", **style)
    _counted(place.xaxis, small)
    _counted(place.yaxis, large)
    place.set_title(f"most {large} for the fewest {small}")
    frame = {"frameon": True, "facecolor": "white", "edgecolor": "none", "framealpha": 0.9}
    place.legend(loc="lower right", markerscale=2, **frame)


def nothing_to_draw() -> SweepError:
    message = "no point to draw can be built, or --where leaves none"
    return SweepError(message, help="sweep other values")


def unbeaten(small: Any, large: Any) -> list[int]:
    """The positions of the points that no other beats in both: less of the first, more of the second.

    >>> unbeaten([1, 2, 3, 3], [5, 4, 9, 7])
    [0, 2]
    """
    order = np.lexsort((-np.asarray(large), np.asarray(small)))
    front: list[int] = []
    for place in order:
        if not front or large[place] > large[front[-1]]:
            front.append(int(place))
    return front
