"""Pictures of a sweep: size against each field, lines of equal size over two fields, and what no point beats.

A picture looks at a few thousand points of the grid at most, however large that is: each field at up to 200 values,
the others at the config's own value where the grid has it, and in the middle of theirs where it has not.
"""

from __future__ import annotations

import html
import io
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from archspec.errors import ArchspecError, Problem, SweepError
from archspec.sweeping.axes import Axis, axis
from archspec.sweeping.engine import Engine
from archspec.sweeping.files import whole_file

if TYPE_CHECKING:
    from archspec.sweeps import Sweep

KINDS = ("auto", "lines", "contour", "pareto")
ENDINGS = (".png", ".svg", ".html")
_FINE, _LINES, _SCATTER = 200, 5, 20_000
_COLOURS = ("#1b6ca8", "#d1495b", "#66a182", "#8d6a9f", "#edae49")
_STYLE = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e3e3",
    "axes.axisbelow": True,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "svg.hashsalt": "archspec",
    "svg.fonttype": "none",
}


def draw(sweep: Sweep, path: str | None = None, kind: str = "auto") -> Any:
    """The picture as a matplotlib Figure, and in a file where a path is given.

    ``auto`` has a panel for each field that varies, and lines of equal size over the first two; ``pareto`` sets the
    second column against the first, and marks the points that have the most of it for their size.

    Errors: :class:`SweepError` for a kind or an ending that is not known, and for a sweep with nothing to draw.
    """
    if kind not in KINDS:
        raise SweepError(Problem(f"{kind} is no kind of picture", help=f"there are {', '.join(KINDS)}"))
    ending = os.path.splitext(path)[1].lower() if path is not None else ENDINGS[0]
    if ending not in ENDINGS:
        raise SweepError(Problem(f"{path}: the ending says no format of a picture", help=f"one of {', '.join(ENDINGS)}"))
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise SweepError(Problem("matplotlib is not installed", help="pip install archspec-formulas[sweep]")) from None
    with matplotlib.rc_context(_STYLE):
        panels = _panels(sweep, kind)
        across = 1 if len(panels) == 1 else 2
        down = -(-len(panels) // across)
        figure = Figure(figsize=(6.4 * across, 4.4 * down), layout="constrained")
        figure.suptitle(f"{sweep.architecture}: {_title(sweep, kind)}", fontsize=13, fontweight="bold", x=0.01, ha="left")
        places = figure.subplots(down, across, squeeze=False).flat
        for panel, place in zip(panels, places, strict=False):
            panel.draw(place)
        for place in list(figure.axes)[len(panels) :]:
            if place in list(places):
                place.set_axis_off()
        if path is not None:
            _save(figure, path, ending, sweep)
    return figure


def _title(sweep: Sweep, kind: str) -> str:
    names = sweep.asked
    return f"{names[1]} against {names[0]}" if kind == "pareto" else names[0]


def _panels(sweep: Sweep, kind: str) -> list[Any]:
    varied = [number for number, one in enumerate(sweep.subject.axes) if one.numeric and len(one.values) > 1]
    if not varied:
        raise SweepError(Problem("no field has more than one number to draw", help="sweep a field over several numbers"))
    if kind == "contour" and len(varied) < 2:
        raise SweepError(
            Problem("lines of equal size need two fields that vary", help="sweep a second field over several numbers")
        )
    if kind == "pareto":
        if len(sweep.asked) < 2:
            raise SweepError(
                Problem("pareto needs two columns", help="the first to be small, the second to be large: --columns a,b")
            )
        return [_Pareto(sweep)]
    counting = [number for number in varied if _varies(_View(sweep, {number: _FINE}).along(number))]
    contour = [_Contour(sweep, counting[0], counting[1])] if len(counting) > 1 and kind != "lines" else []
    if kind == "contour" and not contour:
        raise SweepError(Problem(f"{sweep.asked[0]} depends on fewer than two of the fields", help="sweep others, or draw lines"))
    return contour if kind == "contour" else [*(_Lines(sweep, number, counting) for number in varied[:5]), *contour]


def _varies(values: Any) -> bool:
    known = values[~np.isnan(values)]
    return bool(known.size and known.min() != known.max())


def thin(one: Axis, most: int) -> Axis:
    """At most so many of an axis's values, evenly, both ends among them."""
    if len(one.values) <= most:
        return one
    places = np.unique(np.linspace(0, len(one.values) - 1, most).round().astype(int))
    return axis(one.name, [one.values[int(place)] for place in places])


class _View:
    """A small part of the grid: some axes thinned, the others at one value."""

    def __init__(self, sweep: Sweep, fine: dict[int, int]) -> None:
        self.sweep = sweep
        axes = [
            thin(one, fine[number]) if number in fine else _middle(sweep, one) for number, one in enumerate(sweep.subject.axes)
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
                    raise SweepError(Problem(f"{name} is no number, and cannot be drawn", help="name a count first")) from None
                values[batch.box.picks] = np.where(np.broadcast_to(batch.valid, shown.shape), shown, np.nan)
        self.columns = dict(zip(sweep.subject.columns, (values.reshape(shape) for values in held), strict=True))
        self.first = self.columns[sweep.asked[0]]

    def along(self, first: int, second: int | None = None) -> Any:
        """The first column over one axis, or over two."""
        wanted = [first] if second is None else [first, second]
        values = np.moveaxis(self.first, wanted, range(len(wanted)))
        return values.reshape(values.shape[: len(wanted)])

    def note(self) -> str:
        fixed = ", ".join(f"{one.name} = {_short(one.values[0])}" for one in self.fixed)
        return f"   (at {fixed})" if fixed else ""


def _middle(sweep: Sweep, one: Axis) -> Axis:
    """The config's own value where the grid has it, else the middle one."""
    return axis(one.name, [own if (own := _own(sweep, one.name)) in one.values else one.values[len(one.values) // 2]])


def _own(sweep: Sweep, name: str) -> Any:
    from archspec.model import load

    try:
        scope: Any = load(sweep.subject.config, sweep.architecture).scope
        *outer, leaf = name.split(".")
        for part in outer:
            scope = scope.get(part).scope
        return scope.get(leaf)
    except (ArchspecError, AttributeError, KeyError):
        return ...


def _short(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _counted(place: Any, which: str, name: str) -> None:
    """Labels an axis of a plot with a quantity, and its ticks with SI prefixes."""
    side = place.yaxis if which == "y" else place.xaxis
    side.set_major_formatter(_formatter(name))
    side.set_label_text(f"{name} (elements)" if name.endswith("params") else name)


def _formatter(name: str) -> Any:
    """Numbers with SI prefixes: 7.5G."""
    from matplotlib.ticker import EngFormatter

    return EngFormatter(unit="B" if name == "bytes" else "", sep="" if name != "bytes" else " ")


class _Lines:
    """The first column against one field, a line for each of a few values of another that matters."""

    def __init__(self, sweep: Sweep, number: int, counting: Sequence[int]) -> None:
        others = [other for other in counting if other != number]
        self.number, self.other = number, others[0] if others else None
        self.view = _View(sweep, {number: _FINE} if self.other is None else {number: _FINE, self.other: _LINES})
        self.column = sweep.asked[0]

    def draw(self, place: Any) -> None:
        field = self.view.axes[self.number]
        x = np.array(field.values, dtype=float)
        several = self.view.axes[self.other] if self.other is not None else None
        rows = [self.view.along(self.number)] if self.other is None else self.view.along(self.number, self.other).T
        for turn, values in reversed(list(enumerate(rows))):
            known = ~np.isnan(values)
            label = f"{_short(several.values[turn])}" if several else None
            marker = "o" if known.sum() <= 30 else None
            place.plot(x[known], values[known], color=_COLOURS[turn % 5], lw=1.8, marker=marker, ms=3.5, label=label)
        place.set_xlabel(field.name + self.view.note())
        _counted(place, "y", self.column)
        place.set_ylim(bottom=0)
        place.set_title(f"against {field.name}")
        if several:
            place.legend(title=several.name, loc="center left", bbox_to_anchor=(1.0, 0.5))


class _Contour:
    """Lines of equal size over two fields."""

    def __init__(self, sweep: Sweep, first: int, second: int) -> None:
        self.first, self.second = first, second
        self.view = _View(sweep, {first: _FINE, second: _FINE})
        self.column = sweep.asked[0]

    def draw(self, place: Any) -> None:
        values = self.view.along(self.first, self.second)
        rows, columns = ~np.isnan(values).all(axis=1), ~np.isnan(values).all(axis=0)
        values = np.ma.masked_invalid(values[rows][:, columns])
        x = np.array(self.view.axes[self.second].values, dtype=float)[columns]
        y = np.array(self.view.axes[self.first].values, dtype=float)[rows]
        if min(values.shape) < 2:
            raise SweepError(Problem("too few points can be built for lines of equal size", help="sweep more values"))
        levels = _levels(float(values.min()), float(values.max()))
        drawn = place.contour(x, y, values, levels=levels, colors=_COLOURS[0], linewidths=1.5)
        place.clabel(drawn, fmt=_formatter(self.column).format_eng, fontsize=9, inline_spacing=8)
        place.set_xlabel(self.view.axes[self.second].name + self.view.note())
        place.set_ylabel(self.view.axes[self.first].name)
        place.set_title(f"lines of equal {self.column}")


def _levels(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten between two numbers, or even steps where there are few."""
    from matplotlib.ticker import MaxNLocator

    low = max(low, 1.0)
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(max(high, 1)))) + 1)
    found = [step * 10.0**power for power in decades for step in (1, 2, 5)]
    if sum(low < level < high for level in found) < 4:
        found = [float(level) for level in MaxNLocator(9, steps=[1, 2, 5, 10]).tick_values(low, high)]
    return [level for level in found if low < level < high]


class _Pareto:
    """The second column against the first, and the points that no other beats in both."""

    def __init__(self, sweep: Sweep) -> None:
        axes = sweep.subject.axes
        most = max(2, int(_SCATTER ** (1 / max(1, sum(len(one.values) > 1 for one in axes)))))
        self.view = _View(sweep, dict.fromkeys(range(len(axes)), most))
        self.names = sweep.asked[:2]

    def draw(self, place: Any) -> None:
        x, y = (self.view.columns[name].reshape(-1) for name in self.names)
        known = ~(np.isnan(x) | np.isnan(y))
        x, y = x[known], y[known]
        front = pareto(x, y)
        place.scatter(x, y, s=6, color="#b9c4cc", linewidths=0, label=f"{len(x):,} points of the grid", rasterized=True)
        place.plot(x[front], y[front], color=_COLOURS[1], marker="o", ms=3.5, lw=1.4, label="no point has more for less")
        _counted(place, "x", self.names[0])
        _counted(place, "y", self.names[1])
        place.set_title(f"most {self.names[1]} for the fewest {self.names[0]}")
        place.legend(loc="lower right", markerscale=2)


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


def _save(figure: Any, path: str, ending: str, sweep: Sweep) -> None:
    with whole_file(path) as partial:
        if ending == ".html":
            held = io.StringIO()
            figure.savefig(held, format="svg", metadata={"Date": None})
            with open(partial, "w", encoding="utf-8") as file:
                file.write(_page(held.getvalue(), sweep))
        elif ending == ".svg":
            figure.savefig(partial, format="svg", metadata={"Date": None})
        else:
            figure.savefig(partial, format="png", dpi=150, metadata={"Software": None})


def _page(svg: str, sweep: Sweep) -> str:
    """A page that needs nothing else: the picture, and what was swept."""
    row = "<tr><th>{}</th><td>{} … {}, {:,} values</td></tr>"
    rows = "".join(
        row.format(html.escape(one.name), *(html.escape(_short(one.values[end])) for end in (0, -1)), len(one.values))
        for one in sweep.subject.axes
    )
    ties = "".join(f"<tr><th>{html.escape(n)}</th><td>= {html.escape(e.text)}</td></tr>" for n, e in sweep.subject.ties.items())
    title = html.escape(f"Sweep of {sweep.architecture}")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        "<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}"
        "svg{max-width:100%;height:auto}th{text-align:left;padding-right:2rem;font-weight:600}</style></head>\n"
        f"<body><h1>{title}</h1>\n{svg[svg.index('<svg') :]}\n<table>{rows}{ties}</table></body></html>\n"
    )
