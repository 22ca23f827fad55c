"""Pictures of sweeps: size against each field, lines of equal size over two fields, and the Pareto front.

A picture shows a few thousand points at most. Each field has up to 200 values in its panel; in the others it
has the config's value, or the middle one of the grid.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from archspec.errors import SweepError, option
from archspec.extras import import_optional
from archspec.sweeping.columns import BYTES
from archspec.sweeping.engine import Asked
from archspec.sweeping.files import refuse_existing, whole_file
from archspec.sweeping.pictures.panels import FINE, Panel, draw_contour, draw_pareto, lines, unit_of
from archspec.sweeping.pictures.points import Picture, View, nothing_to_draw, picture_of

KINDS = ("auto", "lines", "contour", "pareto")
LOGS = ("", "x", "y", "xy")  # axes that are logarithmic
# The metadata that each format leaves out, so that files are the same every time
_METADATA = {".png": "Software", ".pdf": "CreationDate", ".svg": "Date", ".html": "Date"}
_STYLE = {
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    **dict.fromkeys(("axes.grid", "axes.axisbelow"), True),
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "font.size": 10,
    "grid.color": "#e3e3e3",
    "svg.hashsalt": "archspec",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # TrueType, which journals require
}


def draw(sweeps: Sequence[Asked], path: str | None, kind: str, log: str, overwrite: bool) -> Any:
    """Return the picture as a matplotlib Figure, and write it if a path is given.

    ``auto`` has a panel for each field that varies and each unit of the columns, and lines of equal size over
    two fields for one column of one sweep. ``pareto`` draws the second column against the first. ``log``
    selects logarithmic axes: x, y or xy. Several sweeps have the same fields and values.

    Errors: :class:`SweepError` for an unknown kind, axis or format, for a sweep with nothing to draw, and
    for a file that exists, unless ``overwrite``.
    """
    ending = os.path.splitext(path)[1].lower() if path is not None else ".png"
    if kind not in KINDS:
        raise SweepError(f"unknown kind of plot {kind!r}", help=f"choose from: {', '.join(KINDS)}")
    if log not in LOGS:
        raise SweepError(f"{option('log')} must be x, y or xy, not {log!r}", help="choose x, y or xy")
    if ending not in _METADATA:
        message = f"{path}: unknown plot format {ending!r}"
        raise SweepError(message, help=f"write to a file that ends in {', '.join(_METADATA)}")
    if path is not None:
        refuse_existing(path, overwrite)
    matplotlib, Figure = import_optional("matplotlib"), import_optional("matplotlib.figure").Figure
    with matplotlib.rc_context(_STYLE):
        panels = _panels(sweeps, kind, log)
        across = 1 if len(panels) == 1 else 2
        down = -(-len(panels) // across)
        room = 3.2 if len(sweeps) > 1 else 0.0  # inches for the names of models
        figure = Figure(figsize=(6.4 * across + room, 4.4 * down), layout="constrained")
        figure.suptitle(_title(sweeps, kind), fontsize=13, fontweight="bold", x=0.01, ha="left")
        if note := _note(sweeps[0]):
            wrapped = textwrap.fill(note, 88 * across, break_long_words=False)
            figure.supxlabel(wrapped, fontsize=8.5, color="#555555", x=0.01, ha="left")
        cells = figure.add_gridspec(down, across)
        for number, panel in enumerate(panels):
            row, column = divmod(number, across)
            fills = number == len(panels) - 1 and column == 0
            panel(figure.add_subplot(cells[row, :] if fills else cells[row, column]))
        if len(sweeps) > 1:  # the names of the models, once for all panels
            pairs = [zip(*place.get_legend_handles_labels(), strict=True) for place in figure.axes]
            named = {label: handle for pair in pairs for handle, label in pair}
            figure.legend(named.values(), named.keys(), loc="outside right center")
        if path is not None:
            with whole_file(path, overwrite) as target:
                _save(figure, target, ending)
    return figure


def _title(sweeps: Sequence[Asked], kind: str) -> str:
    columns, classes = sweeps[0].asked, dict.fromkeys(sweep.architecture for sweep in sweeps)
    drawn = {"pareto": " against ".join(columns[1::-1]), "contour": columns[0]}.get(kind, ", ".join(columns))
    return f"{', '.join(classes)}: {drawn}"


def _note(sweep: Asked) -> str:
    """Return the settings of all points: the dtype, the lengths, the tied fields, and the conditions."""
    subject, lengths = sweep.subject, ""
    if subject.costs.names and (subject.lengths.given or subject.lengths.names):
        lengths = subject.lengths.text(None)
    ties = ", ".join(f"{name} = {tie.text}" for name, tie in subject.ties.items())
    kept = " and ".join(condition.text for condition in subject.where)
    dtype = f"bytes at {subject.dtype}" if subject.dtype and BYTES & {*sweep.asked} else ""
    return "; ".join(
        part for part in (dtype, lengths, ties and f"with {ties}", kept and f"where {kept}") if part
    )


def _panels(sweeps: Sequence[Asked], kind: str, log: str) -> list[Panel]:
    first = sweeps[0]
    varied = [number for number, one in enumerate(first.subject.axes) if one.numeric and len(one.values) > 1]
    _check(sweeps, kind, len(varied))
    picture = picture_of(sweeps, log)
    if kind == "pareto":
        return [draw_pareto(picture)]
    spreads = {number: _spread(picture, number) for number in varied}
    counting = [number for number in varied if spreads[number] > 0]
    units: dict[str, list[str]] = {}
    for column in first.asked if kind != "contour" else ():
        units.setdefault(unit_of(column), []).append(column)
    found = [lines(picture, unit, number, spreads) for unit in units.values() for number in varied[:5]]
    is_single = len(sweeps) == len(first.asked) == 1
    if len(counting) > 1 and (kind == "contour" or (kind == "auto" and is_single)):
        found.append(draw_contour(picture, *counting[:2]))
    panels = [panel for panel in found if panel is not None]
    if not panels:
        raise nothing_to_draw()
    return panels


def _check(sweeps: Sequence[Asked], kind: str, varied: int) -> None:
    """Raise :class:`SweepError` for sweeps that a kind of picture cannot show."""
    first = sweeps[0]
    message = help_ = ""
    for other in sweeps[1:]:
        if other.subject.axes != first.subject.axes or other.asked != first.asked:
            message = f"{other.architecture} is swept over other fields, or with other columns"
            raise SweepError(message, help="sweep all models in the same way")
    if not varied:
        message = "a plot needs a swept field with several numbers"
        help_ = "sweep a field over several numbers"
    elif kind == "contour" and (varied < 2 or len(sweeps) > 1):
        message = f"a contour plot needs two swept numeric fields and no {option('overlay')}"
        help_ = f"sweep a second field, leave out {option('overlay')}, or pass {option('kind', 'lines')}"
    elif kind == "pareto" and len(first.asked) < 2:
        message = "a pareto plot needs two columns"
        help_ = f"pass {option('columns', 'A,B')}; A is minimized and B maximized"
    if message:
        raise SweepError(message, help=help_)


def _spread(picture: Picture, number: int) -> float:
    """Return the spread of the first column along a field, as a share of the largest value."""
    column = picture.columns[0]
    view = View(picture.sweeps[0], {number: (FINE, False)}, picture.center, [column])
    values = view.column_along(column, number)
    return float((np.nanmax(values) - np.nanmin(values)) / (np.nanmax(np.abs(values)) or 1))


def _save(figure: Any, target: str, ending: str) -> None:
    format_ = "svg" if ending == ".html" else ending[1:]
    figure.savefig(target, format=format_, dpi=150, metadata={_METADATA[ending]: None})
    if ending == ".html":
        svg, title = Path(target).read_text(encoding="utf-8"), escape(figure.get_suptitle())
        head = f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
        page = f"<!DOCTYPE html>\n{head}\n<body>\n{svg[svg.index('<svg') :]}</body></html>\n"
        Path(target).write_text(page, encoding="utf-8")
