"""The panels of a picture. Each function returns one that draws itself, or None if it would be empty."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from archspec.sweeping.evaluator import Array
from archspec.sweeping.pictures.points import Picture, View, evaluate, nothing_to_draw, short_label, thin_axes
from archspec.tables.quantities import FORMULAS

FINE, LINES = 200, 5  # points of a line, and lines of a panel
_APART = 0.05  # fields that change the first column by less do not make a line each
_COLORS = ("#1b6ca8", "#d1495b", "#66a182", "#8d6a9f", "#edae49", "#4c4c4c", "#00798c", "#a05a2c")
_PALE = "#b9c4cc"
_DASHES = ("-", "--", ":", "-.")
_MARKED = 30  # lines with fewer points have markers
_FRAME = {"frameon": True, "facecolor": "white", "edgecolor": "none", "framealpha": 0.9}
_UNITS = {"bytes": "bytes", "cache_bytes": "bytes", **{name: one.unit for name, one in FORMULAS.items()}}
Panel = Callable[[Any], None]


def unit_of(column: str) -> str:
    """Return what a column counts; an expression is its own unit.

    >>> unit_of("active_params"), unit_of("bytes"), unit_of("flops"), unit_of("params / 2")
    ('parameters', 'bytes', 'FLOPs', 'params / 2')
    """
    return _UNITS.get(column, column)


def lines(picture: Picture, columns: list[str], number: int, spreads: Mapping[int, float]) -> Panel | None:
    """Draw columns of one unit against a field: a line for each column and model.

    With one column of one model, draw a line for each of a few values of the field that matters most.
    """
    others = [other for other, spread in spreads.items() if other != number and spread > _APART]
    several = len(picture.sweeps) > 1
    curves: list[tuple[Array, dict[str, Any]]] = []
    fine, title = {number: (FINE, picture.log_x)}, None
    if several or len(columns) > 1 or not others:
        for turn, (name, sweep) in enumerate(zip(picture.names, picture.sweeps, strict=True)):
            view = View(sweep, fine, picture.center, columns)
            for row, column in enumerate(columns):
                label = ", ".join([name] * several + [column] * (len(columns) > 1)) or None
                style = {"color": _color(turn if several else row), "ls": _DASHES[row % 4 if several else 0]}
                curves.append((view.column_along(column, number), {"label": label, **style}))
    else:
        other = max(others, key=lambda one: spreads[one])
        view = View(picture.sweeps[0], {other: (LINES, False), **fine}, picture.center, columns)
        title, values = view.title(other), view.axes[other].values
        family = enumerate(zip(values, view.column_along(columns[0], other, number), strict=True))
        curves = [(y, {"label": short_label(value), "color": _COLORS[n]}) for n, (value, y) in family][::-1]
    x = view.values(number)
    curves = [(y, style) for y, style in curves if picture.is_shown(x, y).any()]
    if not curves:
        return None

    def draw(place: Any) -> None:
        for y, style in curves:
            known = picture.is_shown(x, y)
            marker = "o" if np.count_nonzero(known) <= _MARKED else None
            place.plot(x[known], y[known], marker=marker, ms=3.5, lw=1.8, **style)
        _field_axis(place.xaxis, view.title(number) + view.note, picture.log_x)
        _quantity_axis(place.yaxis, columns, picture.log_y)
        if not picture.log_y:
            low, high = place.dataLim.intervaly
            place.set_ylim(min(0.0, 1.05 * low), 1.05 * high if high > 0 else 1.0)
        place.set_title(f"against {view.title(number, units=False)}")
        if title is not None:
            place.legend(title=title, loc="center left", bbox_to_anchor=(1.0, 0.5))
        elif len(columns) > 1 and not several:
            place.legend(**_FRAME)

    return draw


def draw_contour(picture: Picture, first: int, second: int) -> Panel | None:
    """Draw lines of equal size over two fields."""
    column = picture.columns[0]
    fine = {first: (FINE, picture.log_y), second: (FINE, picture.log_x)}
    view = View(picture.sweeps[0], fine, picture.center, [column])
    y, x, values = view.values(first), view.values(second), view.column_along(column, first, second)
    known = picture.is_shown(x, y[:, np.newaxis]) & ~np.isnan(values)
    rows, columns = known.any(axis=1), known.any(axis=0)
    values = np.ma.masked_invalid(values[rows][:, columns])
    levels = levels_of(values.compressed()) if min(values.shape) > 1 else []
    if not levels:
        return None

    def draw(place: Any) -> None:
        _field_axis(place.xaxis, view.title(second) + view.note, picture.log_x)
        _field_axis(place.yaxis, view.title(first), picture.log_y)
        drawn = place.contour(x[columns], y[rows], values, levels=levels, colors=_COLORS[0], linewidths=1.5)
        place.clabel(drawn, fmt=formatter(column), fontsize=9, inline_spacing=8)
        place.set_title(f"lines of equal {column}")

    return draw


def levels_of(values: Array) -> list[float]:
    """Return 1, 2 and 5 times powers of ten between some values, or even steps if these are few."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    low, high = np.quantile(values, [0.01, 0.99]).tolist()
    even = MaxNLocator(9, steps=[1, 2, 5, 10])
    found = list[float]()
    for locator in (LogLocator(10, subs=(1, 2, 5), numticks=9), even) if low > 0 else (even,):
        found = [float(level) for level in locator.tick_values(low, high) if low < level < high]
        if len(found) >= 5:
            break
    return found


def draw_pareto(picture: Picture) -> Panel:
    """Draw the second column against the first, and the points that no other beats in both."""
    small, large = picture.columns[:2]
    axes = picture.sweeps[0].subject.axes
    few, several, clouds = thin_axes(picture.sweeps[0]), len(picture.sweeps) > 1, []
    sample = "" if few == [*axes] else ", a sample"
    for name, sweep in zip(picture.names, picture.sweeps, strict=True):
        found = evaluate(sweep, few, [small, large])
        x, y = found[small].reshape(-1), found[large].reshape(-1)
        known = picture.is_shown(x, y)
        clouds.append((f"{name}: " if several else "", x[known], y[known]))
    if not any(len(x) for _, x, _ in clouds):
        raise nothing_to_draw()

    def draw(place: Any) -> None:
        for turn, (name, x, y) in enumerate(clouds):
            color = _color(turn if several else 1)
            pale = {"color": color, "alpha": 0.3} if several else {"color": _PALE}
            label = f"{name}{len(x):,} points{sample}"
            place.scatter(x, y, s=6, linewidths=0, label=label, rasterized=True, **pale)
            front = pareto_front(x, y)
            style = {"color": color, "marker": "o", "ms": 3.5, "lw": 1.4, "ds": "steps-post"}
            place.plot(x[front], y[front], label=f"{name}Pareto front", **style)
        _quantity_axis(place.xaxis, [small], picture.log_x)
        _quantity_axis(place.yaxis, [large], picture.log_y)
        place.set_title(f"most {large} for the fewest {small}")
        if not several:
            place.legend(loc="lower right", markerscale=2, **_FRAME)

    return draw


def pareto_front(small: Any, large: Any) -> list[int]:
    """Return the positions of the points that no other beats in both: less of one, more of the other.

    >>> pareto_front([1, 2, 3, 3], [5, 4, 9, 7])
    [0, 2]
    """
    front: list[int] = []
    for place in np.lexsort((-np.asarray(large), np.asarray(small))):
        if not front or large[place] > large[front[-1]]:
            front.append(int(place))
    return front


def formatter(column: str) -> Any:
    """Return the labels of a column's values: 7.5B parameters, 16 GB, 3 TFLOP."""
    from matplotlib.ticker import EngFormatter, FuncFormatter

    unit = {"bytes": "B", "FLOPs": "FLOP"}.get(unit_of(column), "")
    large = EngFormatter(unit, sep=" " if unit else "")
    if not unit:
        large.ENG_PREFIXES = {0: "", 3: "K", 6: "M", 9: "B", 12: "T"}
    return FuncFormatter(lambda x, _=None: large(x) if abs(x) >= 1000 else f"{x:g} {unit}".strip())


def _color(number: int) -> str:
    return _COLORS[number % len(_COLORS)]


def _quantity_axis(side: Any, columns: list[str], log: bool) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    if log:
        side._set_axes_scale("log")
        side.set_major_locator(LogLocator(10, subs=(1, 2, 5), numticks=12))
        side.set_minor_formatter(NullFormatter())
    side.set_major_formatter(formatter(columns[0]))
    side.set_label_text(columns[0] if len(columns) == 1 else unit_of(columns[0]))


def _field_axis(side: Any, label: str, log: bool) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

    side.set_label_text(label)
    if log:
        side._set_axes_scale("log")
        side.set_minor_locator(NullLocator())
    even = MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10])
    side.set_major_locator(LogLocator(2, numticks=12) if log else even)
    side.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
