"""The panels of a picture: each takes what it shows of the sweeps, and is None where that is nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from archspec.sweeping.engine import Asked
from archspec.sweeping.pictures.scales import field_axis, formatter, quantity_axis
from archspec.sweeping.pictures.view import SCATTER, View, nothing_to_draw, short, thin

FINE, LINES = 200, 5
_APART = 0.05  # lines that are closer than this share of the largest say nothing
_COLOURS = ("#1b6ca8", "#d1495b", "#66a182", "#8d6a9f", "#edae49", "#4c4c4c", "#00798c", "#a05a2c")
_PALE = "#b9c4cc"
_DASHES = ("-", "--", ":", "-.")
_MARKED = 30  # points of a line that are few enough to be marked
_FRAME = {"frameon": True, "facecolor": "white", "edgecolor": "none", "framealpha": 0.9}
Panel = Callable[[Any], None]


class Picture(NamedTuple):
    """What is drawn: sweeps over the same fields, around a point that all can build."""

    sweeps: list[Asked]
    names: list[str]
    columns: list[str]
    centre: list[Any]
    log_x: bool
    log_y: bool

    def on_axes(self, x: Any, y: Any) -> Any:
        """Which values logarithmic axes have a place for."""
        return ((x > 0) | (not self.log_x)) & ((y > 0) | (not self.log_y))


class Curve(NamedTuple):
    """One line under its name, where it is known."""

    x: Any
    y: Any
    label: str | None
    colour: str
    dash: str = "-"

    def draw(self, place: Any) -> None:
        marker = "o" if len(self.x) <= _MARKED else None
        style = {"color": self.colour, "ls": self.dash, "label": self.label, "lw": 1.8}
        place.plot(self.x, self.y, marker=marker, ms=3.5, **style)

    def shown(self, picture: Picture) -> Curve:
        """Without the points that have no count, and those that no logarithmic axis has."""
        known = ~np.isnan(self.y) & picture.on_axes(self.x, self.y)
        return self._replace(x=self.x[known], y=self.y[known])


def lines(picture: Picture, columns: list[str], number: int, spreads: Mapping[int, float]) -> Panel | None:
    """Columns of one unit against a field: a line for each column and model; models have one legend for all.

    Where there is one of both, a line for each of a few values of another field that matters.
    """
    others = [other for other, spread in spreads.items() if other != number and spread > _APART]
    if len(columns) > 1 or len(picture.sweeps) > 1 or not others:
        title, view, curves = None, *_compared(picture, columns, number)
    else:
        other = max(others, key=lambda one: spreads[one])
        fine, even = {other: LINES, number: FINE}, {number: picture.log_x}
        view = View(picture.sweeps[0], fine, picture.centre, columns, even)
        title, curves = view.axes[other].name, _family(view, columns[0], number, other)
    curves = [shown for curve in curves if len((shown := curve.shown(picture)).x)]
    if not curves:
        return None

    def draw(place: Any) -> None:
        for curve in curves:
            curve.draw(place)
        field_axis(place, "x", view.label(number), np.concatenate([one.x for one in curves]), picture.log_x)
        quantity_axis(place, "y", columns, picture.log_y)
        place.set_title(f"against {view.axes[number].name}")
        if title is not None:
            place.legend(title=title, loc="center left", bbox_to_anchor=(1.0, 0.5))
        elif len(columns) > 1 and len(picture.sweeps) == 1:
            place.legend(**_FRAME)

    return draw


def _family(view: View, column: str, number: int, other: int) -> list[Curve]:
    """A line for each value of another field, the largest first, as they lie."""
    x, rows = view.values(number), view.along(column, other, number)
    parts = zip(rows, view.axes[other].values, _COLOURS, strict=False)
    return [Curve(x, y, short(value), colour) for y, value, colour in parts][::-1]


def _compared(picture: Picture, columns: list[str], number: int) -> tuple[View, list[Curve]]:
    """A line for each model and column: models by colour, columns by dashes, or by colour where they can."""
    curves = []
    several = len(picture.sweeps) > 1
    for turn, (name, sweep) in enumerate(zip(picture.names, picture.sweeps, strict=True)):
        view = View(sweep, {number: FINE}, picture.centre, columns, {number: picture.log_x})
        for row, column in enumerate(columns):
            named = ([name] if several else []) + ([column] if len(columns) > 1 else [])
            colour = _COLOURS[(turn if several else row) % len(_COLOURS)]
            dash = _DASHES[row % len(_DASHES)] if several else "-"
            label = ", ".join(named) or None
            curves.append(Curve(view.values(number), view.along(column, number), label, colour, dash))
    return view, curves


def contour(picture: Picture, first: int, second: int) -> Panel | None:
    """Lines of equal size over two fields."""
    column, sweep = picture.columns[0], picture.sweeps[0]
    fine, even = {first: FINE, second: FINE}, {first: picture.log_y, second: picture.log_x}
    view = View(sweep, fine, picture.centre, [column], even)
    values = view.along(column, first, second)
    rows, columns = ~np.isnan(values).all(axis=1), ~np.isnan(values).all(axis=0)
    y, x = view.values(first), view.values(second)
    rows &= (y > 0) | (not picture.log_y)
    columns &= (x > 0) | (not picture.log_x)
    values = np.ma.masked_invalid(values[rows][:, columns])
    x, y = x[columns], y[rows]
    levels = levels_of(values.compressed()) if min(values.shape) > 1 else []
    if not levels:
        return None

    def draw(place: Any) -> None:
        field_axis(place, "x", view.label(second), x, picture.log_x)
        field_axis(place, "y", view.axes[first].name, y, picture.log_y)
        drawn = place.contour(x, y, values, levels=levels, colors=_COLOURS[0], linewidths=1.5)
        place.clabel(drawn, fmt=formatter(column), fontsize=9, inline_spacing=8)
        place.set_title(f"lines of equal {column}")

    return draw


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


def pareto(picture: Picture) -> Panel:
    """The second column against the first, and the points that no other beats in both."""
    small, large = picture.columns[:2]
    axes = picture.sweeps[0].subject.axes
    most = max(2, int(SCATTER ** (1 / max(1, sum(len(one.values) > 1 for one in axes)))))
    whole = all(len(thin(one, most).values) == len(one.values) for one in axes)
    clouds = []
    for name, sweep in zip(picture.names, picture.sweeps, strict=True):
        view = View(sweep, dict.fromkeys(range(len(axes)), most), picture.centre, [small, large])
        x, y = (view.columns[name].reshape(-1) for name in (small, large))
        known = ~(np.isnan(x) | np.isnan(y)) & picture.on_axes(x, y)
        clouds.append((name, x[known], y[known]))
    if not any(len(x) for _, x, _ in clouds):
        raise nothing_to_draw()

    def draw(place: Any) -> None:
        for turn, (name, x, y) in enumerate(clouds):
            of = f"{name}: " if len(clouds) > 1 else ""
            points = f"{of}{len(x):,} points{'' if whole else ', evenly from the grid'}"
            front = unbeaten(x, y)
            colour = _COLOURS[turn % len(_COLOURS)] if len(clouds) > 1 else _COLOURS[1]
            faint = {"color": colour, "alpha": 0.3} if len(clouds) > 1 else {"color": _PALE}
            place.scatter(x, y, s=6, linewidths=0, label=points, rasterized=True, **faint)
            style = {"color": colour, "marker": "o", "ms": 3.5, "lw": 1.4, "ds": "steps-post"}
            place.plot(x[front], y[front], label=f"{of}no point has more for less", **style)
        quantity_axis(place, "x", [small], picture.log_x)
        quantity_axis(place, "y", [large], picture.log_y)
        place.set_title(f"most {large} for the fewest {small}")
        if len(clouds) == 1:
            place.legend(loc="lower right", markerscale=2, **_FRAME)

    return draw


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
