"""The panels of a picture: what they look at, and how they draw it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from archspec.errors import ArchspecError, Problem, SweepError
from archspec.sweeping.axes import Axis, axis
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
    """A small part of the grid: some axes thinned, the others at one value."""

    def __init__(self, sweep: Asked, fine: dict[int, int]) -> None:
        self.sweep = sweep
        axes = [
            thin(one, fine[number]) if number in fine else _middle(sweep, one)
            for number, one in enumerate(sweep.subject.axes)
        ]
        self.axes = axes
        self.fixed = [one for number, one in enumerate(axes) if number not in fine]
        engine = Engine(sweep.subject.over(axes))
        shape = [len(one.values) for one in axes]
        held = [np.full(engine.grid.shape, np.nan) for _ in sweep.subject.columns]
        for batch in engine.batches():
            for name, values, column in zip(sweep.subject.columns, held, batch.columns, strict=True):
                if name not in sweep.asked[:2]:
                    continue
                try:
                    shown = column.astype(float)
                except (TypeError, ValueError):
                    raise SweepError(
                        Problem(f"{name} is no number, and cannot be drawn", help="name a count first")
                    ) from None
                values[batch.box.picks] = np.where(np.broadcast_to(batch.valid, shown.shape), shown, np.nan)
        self.columns = dict(
            zip(sweep.subject.columns, (values.reshape(shape) for values in held), strict=True)
        )
        self.first = self.columns[sweep.asked[0]]

    def along(self, first: int, second: int | None = None) -> Any:
        """The first column over one axis, or over two."""
        wanted = [first] if second is None else [first, second]
        values = np.moveaxis(self.first, wanted, range(len(wanted)))
        return values.reshape(values.shape[: len(wanted)])

    def note(self) -> str:
        fixed = ", ".join(f"{one.name} = {short(one.values[0])}" for one in self.fixed)
        return f"   (at {fixed})" if fixed else ""


def _middle(sweep: Asked, one: Axis) -> Axis:
    """The config's own value where the grid has it, else the middle one."""
    return axis(
        one.name, [own if (own := _own(sweep, one.name)) in one.values else one.values[len(one.values) // 2]]
    )


def _own(sweep: Asked, name: str) -> Any:
    from archspec.models.model import load

    try:
        scope: Any = load(sweep.subject.config, sweep.architecture).scope
        *outer, leaf = name.split(".")
        for part in outer:
            scope = scope.get(part).scope
        return scope.get(leaf)
    except (ArchspecError, AttributeError, KeyError):
        return ...


def short(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _field(place: Any, which: str, label: str) -> None:
    """Labels an axis of a plot with a field, whose ticks are whole numbers."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    side = place.yaxis if which == "y" else place.xaxis
    side.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
    side.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    side.set_label_text(label)


def _counted(place: Any, which: str, name: str) -> None:
    """Labels an axis of a plot with a quantity, and its ticks with SI prefixes."""
    side = place.yaxis if which == "y" else place.xaxis
    side.set_major_formatter(formatter(name))
    side.set_label_text(f"{name} (elements)" if name.endswith("params") else name)


def formatter(name: str) -> Any:
    """Numbers with SI prefixes from a thousand on: 7.5G."""
    from matplotlib.ticker import EngFormatter, FuncFormatter

    large = EngFormatter(unit="B" if name == "bytes" else "", sep="" if name != "bytes" else " ")
    small = " B" if name == "bytes" else ""
    return FuncFormatter(lambda value, _=None: large(value) if abs(value) >= 1000 else f"{value:g}{small}")


class Lines:
    """The first column against one field, a line for each of a few values of another that matters."""

    def __init__(self, sweep: Asked, number: int, spreads: Mapping[int, float]) -> None:
        others = [other for other, spread in spreads.items() if other != number and spread > _APART]
        self.number, self.other = number, max(others, key=lambda other: spreads[other], default=None)
        self.view = View(sweep, {number: FINE} if self.other is None else {number: FINE, self.other: LINES})
        self.column = sweep.asked[0]

    def draw(self, place: Any) -> None:
        field = self.view.axes[self.number]
        x = np.array(field.values, dtype=float)
        several = self.view.axes[self.other] if self.other is not None else None
        rows = (
            [self.view.along(self.number)]
            if self.other is None
            else self.view.along(self.number, self.other).T
        )
        for turn, values in reversed(list(enumerate(rows))):
            known = ~np.isnan(values)
            label = f"{short(several.values[turn])}" if several else None
            marker = "o" if known.sum() <= 30 else None
            place.plot(
                x[known], values[known], color=_COLOURS[turn % 5], lw=1.8, marker=marker, ms=3.5, label=label
            )
        _field(place, "x", field.name + self.view.note())
        _counted(place, "y", self.column)
        place.set_ylim(bottom=0)
        place.set_title(f"against {field.name}")
        if several:
            place.legend(title=several.name, loc="center left", bbox_to_anchor=(1.0, 0.5))


class Contour:
    """Lines of equal size over two fields."""

    def __init__(self, sweep: Asked, first: int, second: int) -> None:
        self.first, self.second = first, second
        self.view = View(sweep, {first: FINE, second: FINE})
        self.column = sweep.asked[0]

    def draw(self, place: Any) -> None:
        values = self.view.along(self.first, self.second)
        rows, columns = ~np.isnan(values).all(axis=1), ~np.isnan(values).all(axis=0)
        values = np.ma.masked_invalid(values[rows][:, columns])
        x = np.array(self.view.axes[self.second].values, dtype=float)[columns]
        y = np.array(self.view.axes[self.first].values, dtype=float)[rows]
        if min(values.shape) < 2:
            raise SweepError(
                Problem("too few points can be built for lines of equal size", help="sweep more values")
            )
        levels = levels_of(values.compressed())
        drawn = place.contour(x, y, values, levels=levels, colors=_COLOURS[0], linewidths=1.5)
        place.clabel(drawn, fmt=formatter(self.column), fontsize=9, inline_spacing=8)
        _field(place, "x", self.view.axes[self.second].name + self.view.note())
        _field(place, "y", self.view.axes[self.first].name)
        place.set_title(f"lines of equal {self.column}")


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


class Pareto:
    """The second column against the first, and the points that no other beats in both."""

    def __init__(self, sweep: Asked) -> None:
        axes = sweep.subject.axes
        most = max(2, int(SCATTER ** (1 / max(1, sum(len(one.values) > 1 for one in axes)))))
        self.view = View(sweep, dict.fromkeys(range(len(axes)), most))
        self.names = sweep.asked[:2]
        self.whole = all(
            len(one.values) == len(seen.values) for one, seen in zip(axes, self.view.axes, strict=True)
        )

    def points(self, known: int) -> str:
        return f"{known:,} points" if self.whole else f"{known:,} points, evenly from the grid"

    def draw(self, place: Any) -> None:
        x, y = (self.view.columns[name].reshape(-1) for name in self.names)
        known = ~(np.isnan(x) | np.isnan(y))
        x, y = x[known], y[known]
        if not len(x):
            raise SweepError(
                Problem("no point to draw can be built, or --where leaves none", help="sweep other values")
            )
        front = pareto(x, y)
        place.scatter(x, y, s=6, color="#b9c4cc", linewidths=0, label=self.points(len(x)), rasterized=True)
        place.plot(
            x[front],
            y[front],
            color=_COLOURS[1],
            marker="o",
            ms=3.5,
            lw=1.4,
            ds="steps-post",
            label="no point has more for less",
        )
        _counted(place, "x", self.names[0])
        _counted(place, "y", self.names[1])
        place.set_title(f"most {self.names[1]} for the fewest {self.names[0]}")
        place.legend(
            loc="lower right",
            markerscale=2,
            frameon=True,
            facecolor="white",
            edgecolor="none",
            framealpha=0.9,
        )


def pareto(small: Any, large: Any) -> list[int]:
    """The positions of the points that no other beats in both: less of the first, more of the second.

    >>> pareto([1, 2, 3, 3], [5, 4, 9, 7])
    [0, 2]
    """
    order = np.lexsort((-np.asarray(large), np.asarray(small)))
    front: list[int] = []
    for place in order:
        if not front or large[place] > large[front[-1]]:
            front.append(int(place))
    return front
