"""Pictures of a sweep: size against each field, lines of equal size over two fields, and what no point beats.

A picture looks at a few thousand points of the grid at most, however large that is: each field at up to 200
values, the others at the config's own value where the grid has it, and in the middle of theirs where it has
not.
"""

from __future__ import annotations

import io
import os
import textwrap
from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

import numpy as np

from archspec.errors import SweepError
from archspec.extras import required
from archspec.sweeping.engine import Asked
from archspec.sweeping.files import whole_file
from archspec.sweeping.pictures.panels import FINE, View, contour, lines, nothing_to_draw, pareto, short

KINDS = ("auto", "lines", "contour", "pareto")
ENDINGS = (".png", ".svg", ".html")
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
_CSS = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}"
    "svg{max-width:100%;height:auto}th{text-align:left;padding-right:2rem;font-weight:600}"
)


def draw(sweep: Asked, path: str | None = None, kind: str = "auto") -> Any:
    """The picture as a matplotlib Figure, and in a file where a path is given.

    ``auto`` has a panel for each field that varies, and lines of equal size over the first two; ``pareto``
    sets the second column against the first, and marks the points that have the most of it for their size.

    Errors: :class:`SweepError` for a kind or an ending that is not known, and for a sweep with nothing to
    draw.
    """
    if kind not in KINDS:
        raise SweepError(f"{kind} is no kind of picture", help=f"there are {', '.join(KINDS)}")
    if path is not None and _ending(path) not in ENDINGS:
        message = f"{path}: the ending says no format of a picture"
        raise SweepError(message, help=f"one of {', '.join(ENDINGS)}")
    matplotlib, Figure = required("matplotlib"), required("matplotlib.figure").Figure
    with matplotlib.rc_context(_STYLE):
        panels = _panels(sweep, kind)
        across = 1 if len(panels) == 1 else 2
        down = -(-len(panels) // across)
        figure = Figure(figsize=(6.4 * across, 4.4 * down), layout="constrained")
        names = sweep.asked
        title = f"{names[1]} against {names[0]}" if kind == "pareto" else names[0]
        figure.suptitle(f"{sweep.architecture}: {title}", fontsize=13, fontweight="bold", x=0.01, ha="left")
        if note := _settings(sweep):
            wrapped = textwrap.fill(note, 88 * across, break_long_words=False)
            figure.supxlabel(wrapped, fontsize=8.5, color="#555555", x=0.01, ha="left")
        places = list(figure.subplots(down, across, squeeze=False).flat)
        for panel, place in zip(panels, places, strict=False):
            panel(place)
        for place in places[len(panels) :]:
            place.set_axis_off()
        if path is not None:
            _save(figure, path, sweep)
    return figure


def _ending(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def _settings(sweep: Asked) -> str:
    """What holds for all of a picture: the fields that follow others, and the condition that points meet."""
    subject = sweep.subject
    ties = ", ".join(f"{name} = {tie.text}" for name, tie in subject.ties.items())
    kept = " and ".join(condition.text for condition in subject.where)
    dtype = f"bytes at {subject.dtype}" if subject.dtype and "bytes" in sweep.asked[:2] else ""
    return "; ".join(part for part in (dtype, ties and f"with {ties}", kept and f"where {kept}") if part)


def _panels(sweep: Asked, kind: str) -> list[Callable[[Any], None]]:
    """What draws each panel, in its place."""
    varied = [number for number, one in enumerate(sweep.subject.axes) if one.numeric and len(one.values) > 1]
    several = "over several numbers"
    if not varied:
        raise SweepError("no field has more than one number to draw", help=f"sweep a field {several}")
    if kind == "contour" and len(varied) < 2:
        message = "lines of equal size need two fields that vary"
        raise SweepError(message, help=f"sweep a second field {several}")
    if kind == "pareto":
        if len(sweep.asked) < 2:
            help_ = "the first to be small, the second to be large: --columns a,b"
            raise SweepError("pareto needs two columns", help=help_)
        return [partial(pareto, sweep=sweep)]
    spreads = {number: _spread(View(sweep, {number: FINE}).along(number)) for number in varied}
    if all(np.isnan(spread) for spread in spreads.values()):
        raise nothing_to_draw()
    counting = [number for number in varied if spreads[number] > 0]
    if kind == "contour" and len(counting) < 2:
        message = f"{sweep.asked[0]} depends on fewer than two of the fields"
        raise SweepError(message, help="sweep others, or draw lines")
    found: list[Callable[[Any], None]] = []
    if kind != "contour":
        found += [partial(lines, sweep=sweep, number=number, spreads=spreads) for number in varied[:5]]
    if kind != "lines" and len(counting) > 1:
        found.append(partial(contour, sweep=sweep, first=counting[0], second=counting[1]))
    return found


def _spread(values: Any) -> float:
    """The spread of some values as a part of the largest; not a number where all are unknown."""
    known = values[~np.isnan(values)]
    if not known.size:
        return float("nan")
    return float((known.max() - known.min()) / (np.abs(known).max() or 1))


def _save(figure: Any, path: str, sweep: Asked) -> None:
    ending = _ending(path)
    with whole_file(path) as target:
        if ending == ".png":
            figure.savefig(target, format="png", dpi=150, metadata={"Software": None})
            return
        held = io.StringIO()
        figure.savefig(held, format="svg", metadata={"Date": None})
        with open(target, "w", encoding="utf-8") as file:
            file.write(_page(held.getvalue(), sweep) if ending == ".html" else held.getvalue())


def _page(svg: str, sweep: Asked) -> str:
    """A page that needs nothing else: the picture, and what was swept."""
    rows = []
    for one in sweep.subject.axes:
        first, last = short(one.values[0]), short(one.values[-1])
        rows.append((one.name, f"{first} … {last}, {len(one.values):,} values"))
    rows += [(name, f"= {tie.text}") for name, tie in sweep.subject.ties.items()]
    table = "".join(f"<tr><th>{escape(name)}</th><td>{escape(said)}</td></tr>" for name, said in rows)
    title = escape(f"Sweep of {sweep.architecture}")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f"<style>{_CSS}</style></head>\n"
        f"<body><h1>{title}</h1>\n{svg[svg.index('<svg') :]}\n<table>{table}</table></body></html>\n"
    )
