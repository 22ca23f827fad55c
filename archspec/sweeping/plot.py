"""Pictures of a sweep: size against each field, lines of equal size over two fields, and what no point beats.

A picture looks at a few thousand points of the grid at most, however large that is: each field at up to 200
values, the others at the config's own value where the grid has it, and in the middle of theirs where it has
not.
"""

from __future__ import annotations

import html
import io
import os
import textwrap
from typing import Any

import numpy as np

from archspec.errors import Problem, SweepError
from archspec.sweeping.engine import Asked
from archspec.sweeping.files import whole_file
from archspec.sweeping.panels import FINE, Contour, Lines, Pareto, View, short

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


def draw(sweep: Asked, path: str | None = None, kind: str = "auto") -> Any:
    """The picture as a matplotlib Figure, and in a file where a path is given.

    ``auto`` has a panel for each field that varies, and lines of equal size over the first two; ``pareto``
    sets the second column against the first, and marks the points that have the most of it for their size.

    Errors: :class:`SweepError` for a kind or an ending that is not known, and for a sweep with nothing to
    draw.
    """
    if kind not in KINDS:
        raise SweepError(Problem(f"{kind} is no kind of picture", help=f"there are {', '.join(KINDS)}"))
    ending = os.path.splitext(path)[1].lower() if path is not None else ENDINGS[0]
    if ending not in ENDINGS:
        raise SweepError(
            Problem(f"{path}: the ending says no format of a picture", help=f"one of {', '.join(ENDINGS)}")
        )
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise SweepError(
            Problem("matplotlib is not installed", help="pip install archspec-formulas[sweep]")
        ) from None
    with matplotlib.rc_context(_STYLE):
        panels = _panels(sweep, kind)
        across = 1 if len(panels) == 1 else 2
        down = -(-len(panels) // across)
        figure = Figure(figsize=(6.4 * across, 4.4 * down), layout="constrained")
        figure.suptitle(
            f"{sweep.architecture}: {_title(sweep, kind)}", fontsize=13, fontweight="bold", x=0.01, ha="left"
        )
        if note := _settings(sweep):
            wrapped = textwrap.fill(note, 88 * across, break_long_words=False)
            figure.supxlabel(wrapped, fontsize=8.5, color="#555555", x=0.01, ha="left")
        places = figure.subplots(down, across, squeeze=False).flat
        for panel, place in zip(panels, places, strict=False):
            panel.draw(place)
        for place in list(figure.axes)[len(panels) :]:
            if place in list(places):
                place.set_axis_off()
        if path is not None:
            _save(figure, path, ending, sweep)
    return figure


def _settings(sweep: Asked) -> str:
    """What holds for all of a picture: the fields that follow others, and the condition that points meet."""
    subject = sweep.subject
    ties = ", ".join(f"{name} = {tie.text}" for name, tie in subject.ties.items())
    kept = " and ".join(condition.text for condition in subject.where)
    dtype = f"bytes at {subject.dtype}" if subject.dtype and "bytes" in sweep.asked[:2] else ""
    return "; ".join(part for part in (dtype, ties and f"with {ties}", kept and f"where {kept}") if part)


def _title(sweep: Asked, kind: str) -> str:
    names = sweep.asked
    return f"{names[1]} against {names[0]}" if kind == "pareto" else names[0]


def _panels(sweep: Asked, kind: str) -> list[Any]:
    varied = [number for number, one in enumerate(sweep.subject.axes) if one.numeric and len(one.values) > 1]
    if not varied:
        raise SweepError(
            Problem("no field has more than one number to draw", help="sweep a field over several numbers")
        )
    if kind == "contour" and len(varied) < 2:
        raise SweepError(
            Problem(
                "lines of equal size need two fields that vary",
                help="sweep a second field over several numbers",
            )
        )
    if kind == "pareto":
        if len(sweep.asked) < 2:
            raise SweepError(
                Problem(
                    "pareto needs two columns",
                    help="the first to be small, the second to be large: --columns a,b",
                )
            )
        return [Pareto(sweep)]
    spreads = {number: _spread(View(sweep, {number: FINE}).along(number)) for number in varied}
    if all(np.isnan(spread) for spread in spreads.values()):
        raise SweepError(
            Problem("no point to draw can be built, or --where leaves none", help="sweep other values")
        )
    counting = [number for number in varied if spreads[number] > 0]
    contour = [Contour(sweep, counting[0], counting[1])] if len(counting) > 1 and kind != "lines" else []
    if kind == "contour" and not contour:
        raise SweepError(
            Problem(
                f"{sweep.asked[0]} depends on fewer than two of the fields",
                help="sweep others, or draw lines",
            )
        )
    return (
        contour
        if kind == "contour"
        else [*(Lines(sweep, number, spreads) for number in varied[:5]), *contour]
    )


def _spread(values: Any) -> float:
    """The spread of some values as a part of the largest; not a number where all are unknown."""
    known = values[~np.isnan(values)]
    if not known.size:
        return float("nan")
    return float((known.max() - known.min()) / (np.abs(known).max() or 1))


def _save(figure: Any, path: str, ending: str, sweep: Asked) -> None:
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


def _page(svg: str, sweep: Asked) -> str:
    """A page that needs nothing else: the picture, and what was swept."""
    row = "<tr><th>{}</th><td>{} … {}, {:,} values</td></tr>"
    rows = "".join(
        row.format(
            html.escape(one.name), *(html.escape(short(one.values[end])) for end in (0, -1)), len(one.values)
        )
        for one in sweep.subject.axes
    )
    ties = "".join(
        f"<tr><th>{html.escape(n)}</th><td>= {html.escape(e.text)}</td></tr>"
        for n, e in sweep.subject.ties.items()
    )
    title = html.escape(f"Sweep of {sweep.architecture}")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        "<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}"
        "svg{max-width:100%;height:auto}th{text-align:left;padding-right:2rem;font-weight:600}</style></head>\n"
        f"<body><h1>{title}</h1>\n{svg[svg.index('<svg') :]}\n<table>{rows}{ties}</table></body></html>\n"
    )
