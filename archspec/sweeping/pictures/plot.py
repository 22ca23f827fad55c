"""Pictures of sweeps: size against each field, lines of equal size over two fields, and what no point beats.

A picture looks at a few thousand points of the grid at most, however large that is: each field at up to 200
values, the others at the config's own value where the grid has it, and in the middle of theirs where it has
not, or as near to these as a config can be built.
"""

from __future__ import annotations

import io
import os
import textwrap
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from archspec.errors import SweepError
from archspec.extras import required
from archspec.sweeping.engine import Asked
from archspec.sweeping.files import refuse_existing, whole_file
from archspec.sweeping.pictures.panels import FINE, Panel, Picture, contour, lines, pareto
from archspec.sweeping.pictures.scales import unit_of
from archspec.sweeping.pictures.view import View, centre_of, names_of, nothing_to_draw, short

KINDS = ("auto", "lines", "contour", "pareto")
LOGS = ("", "x", "y", "xy")  # axes that are logarithmic
ENDINGS = (".png", ".svg", ".pdf", ".html")
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
    "pdf.fonttype": 42,  # TrueType, as journals want it
}
_CSS = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}"
    "svg{max-width:100%;height:auto}th{text-align:left;padding-right:2rem;font-weight:600}"
)


def draw(
    sweeps: Sequence[Asked],
    path: str | None = None,
    kind: str = "auto",
    log: str = "",
    overwrite: bool = False,
) -> Any:
    """The picture as a matplotlib Figure, and in a file where a path is given.

    ``auto`` has a panel for each field that varies and each unit of the columns, and lines of equal size over
    the first two fields, where one column of one sweep is drawn; ``pareto`` sets the second column against
    the first, and marks the points that have the most of it for their size. ``log`` names the axes that are
    logarithmic: x, y or xy. More sweeps than one are over the same fields and values.

    Errors: :class:`SweepError` for a kind, an axis or an ending that is not known, for a sweep with nothing
    to draw, and for a file that exists, unless ``overwrite``.
    """
    if kind not in KINDS:
        raise SweepError(f"{kind} is no kind of picture", help=f"there are {', '.join(KINDS)}")
    if log not in LOGS:
        raise SweepError(f"log is {log!r}", help="name the logarithmic axes: x, y or xy")
    if path is not None and _ending(path) not in ENDINGS:
        message = f"{path}: the ending says no format of a picture"
        raise SweepError(message, help=f"one of {', '.join(ENDINGS)}")
    if path is not None:
        refuse_existing(path, overwrite)
    matplotlib, Figure = required("matplotlib"), required("matplotlib.figure").Figure
    with matplotlib.rc_context(_STYLE):
        panels = _panels(sweeps, kind, log)
        across = 1 if len(panels) == 1 else 2
        down = -(-len(panels) // across)
        beside = 3.2 if len(sweeps) > 1 else 0.0  # inches for the names of models
        figure = Figure(figsize=(6.4 * across + beside, 4.4 * down), layout="constrained")
        figure.suptitle(_title(sweeps, kind), fontsize=13, fontweight="bold", x=0.01, ha="left")
        if note := _settings(sweeps[0]):
            wrapped = textwrap.fill(note, 88 * across, break_long_words=False)
            figure.supxlabel(wrapped, fontsize=8.5, color="#555555", x=0.01, ha="left")
        cells = figure.add_gridspec(down, across)
        for number, panel in enumerate(panels):
            row, column = divmod(number, across)
            alone = number == len(panels) - 1 and column == 0
            panel(figure.add_subplot(cells[row, :] if alone else cells[row, column]))
        if len(sweeps) > 1:
            _legend(figure)
        if path is not None:
            _save(figure, path, sweeps[0], overwrite)
    return figure


def _legend(figure: Any) -> None:
    """The names of the models, once for all panels."""
    named: dict[str, Any] = {}
    for place in figure.axes:
        handles, labels = place.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    figure.legend(named.values(), named.keys(), loc="outside right center")


def _ending(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def _title(sweeps: Sequence[Asked], kind: str) -> str:
    columns = sweeps[0].asked
    drawn = f"{columns[1]} against {columns[0]}" if kind == "pareto" else ", ".join(columns)
    drawn = columns[0] if kind == "contour" else drawn
    return f"{', '.join(dict.fromkeys(sweep.architecture for sweep in sweeps))}: {drawn}"


def _settings(sweep: Asked) -> str:
    """What holds for all of a picture: the fields that follow others, and the condition that points meet."""
    subject = sweep.subject
    ties = ", ".join(f"{name} = {tie.text}" for name, tie in subject.ties.items())
    kept = " and ".join(condition.text for condition in subject.where)
    dtype = f"bytes at {subject.dtype}" if subject.dtype and "bytes" in sweep.asked else ""
    return "; ".join(part for part in (dtype, ties and f"with {ties}", kept and f"where {kept}") if part)


def _panels(sweeps: Sequence[Asked], kind: str, log: str) -> list[Panel]:
    """What draws each panel, in its place."""
    first = sweeps[0]
    for other in sweeps[1:]:
        if other.subject.axes != first.subject.axes or other.asked != first.asked:
            message = f"{other.architecture} is swept over other fields, or with other columns"
            raise SweepError(message, help="sweep all models in the same way")
    varied = [number for number, one in enumerate(first.subject.axes) if one.numeric and len(one.values) > 1]
    _check_kind(sweeps, kind, varied)
    names = names_of(sweeps)
    picture = Picture(list(sweeps), names, first.asked, centre_of(sweeps), "x" in log, "y" in log)
    if kind == "pareto":
        return [pareto(picture)]
    spreads = {number: _spread(picture, number) for number in varied}
    counting = [number for number in varied if spreads[number] > 0]
    if kind == "contour" and len(counting) < 2:
        message = f"{first.asked[0]} depends on fewer than two of the fields"
        raise SweepError(message, help="sweep others, or draw lines")
    found: list[Panel | None] = []
    if kind != "contour":
        units: dict[str, list[str]] = {}
        for column in first.asked:
            units.setdefault(unit_of(column), []).append(column)
        drawn = varied[:5]
        found += [lines(picture, of_unit, number, spreads) for of_unit in units.values() for number in drawn]
    one = len(sweeps) == 1 and len(first.asked) == 1
    if kind == "contour" or (kind == "auto" and one and len(counting) > 1):
        found.append(contour(picture, *counting[:2]))
    panels = [panel for panel in found if panel is not None]
    if not panels and kind == "contour":
        message = "too few points can be built for lines of equal size"
        raise SweepError(message, help="sweep more values")
    if not panels:
        raise nothing_to_draw()
    return panels


def _check_kind(sweeps: Sequence[Asked], kind: str, varied: list[int]) -> None:
    """Errors: :class:`SweepError` for a kind of picture that the fields, columns or models are not for."""
    several = "over several numbers"
    if not varied:
        raise SweepError("no field has more than one number to draw", help=f"sweep a field {several}")
    if kind == "contour" and len(varied) < 2:
        message = "lines of equal size need two fields that vary"
        raise SweepError(message, help=f"sweep a second field {several}")
    if kind == "contour" and len(sweeps) > 1:
        raise SweepError("lines of equal size are of one model", help="draw lines, or one model at a time")
    if kind == "pareto" and len(sweeps[0].asked) < 2:
        help_ = "the first to be small, the second to be large: --columns a,b"
        raise SweepError("pareto needs two columns", help=help_)


def _spread(picture: Picture, number: int) -> float:
    """The spread of the first column along a field, as a part of the largest."""
    column = picture.columns[0]
    values = View(picture.sweeps[0], {number: FINE}, picture.centre, [column]).along(column, number)
    known = values[~np.isnan(values)]
    return float((known.max() - known.min()) / (np.abs(known).max() or 1))


def _save(figure: Any, path: str, sweep: Asked, overwrite: bool) -> None:
    ending = _ending(path)
    with whole_file(path, overwrite) as target:
        if ending == ".png":
            figure.savefig(target, format="png", dpi=150, metadata={"Software": None})
            return
        if ending == ".pdf":
            figure.savefig(target, format="pdf", metadata={"CreationDate": None})
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
