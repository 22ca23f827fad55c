"""The axes of a picture: units, ticks with K, M, B and T, logarithmic ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from archspec.sweeping.pictures.view import short
from archspec.tables.quantities import QUANTITIES

_UNITS = {"bytes": "bytes", "cache_bytes": "bytes", "cache_elements": "elements"}
_UNITS |= dict.fromkeys(("flops", "masked_flops", "training_flops"), "FLOPs")


def unit_of(column: str) -> str:
    """What a column counts; an expression is a unit of its own.

    >>> unit_of("active_params"), unit_of("bytes"), unit_of("flops"), unit_of("params / 2")
    ('parameters', 'bytes', 'FLOPs', 'params / 2')
    """
    return QUANTITIES[column].unit if column in QUANTITIES else _UNITS.get(column, column)


def formatter(column: str) -> Any:
    """Ticks of a column from a thousand on: 7.5B parameters, 16 GB, 3 TFLOP."""
    from matplotlib.ticker import EngFormatter, FuncFormatter

    class Counts(EngFormatter):
        ENG_PREFIXES = {0: "", 3: "K", 6: "M", 9: "B", 12: "T"}  # noqa: RUF012 - as in the class above

    unit = {"bytes": "B", "FLOPs": "FLOP"}.get(unit_of(column), "")
    large = EngFormatter(unit=unit, sep=" ") if unit else Counts(sep="")
    small = f" {unit}" if unit else ""
    return FuncFormatter(lambda value, _=None: large(value) if abs(value) >= 1000 else f"{value:g}{small}")


def quantity_axis(place: Any, which: str, columns: list[str], log: bool) -> None:
    """Labels an axis (`x` or `y`) with what columns of one unit count."""
    side = getattr(place, f"{which}axis")
    if log:
        getattr(place, f"set_{which}scale")("log")
        low, high = getattr(place, f"get_{which}lim")()
        side.set_major_locator(_decades(low, high))
        side.set_minor_formatter(_nothing())
    elif which == "y":
        low, high = place.dataLim.intervaly
        place.set_ylim(min(0.0, 1.05 * low), 1.05 * high if high > 0 else 1.0)
    side.set_major_formatter(formatter(columns[0]))
    side.set_label_text(columns[0] if len(columns) == 1 else unit_of(columns[0]))


def field_axis(place: Any, which: str, label: str, values: Any, log: bool) -> None:
    """Labels an axis with a field, whose ticks are whole numbers; powers of two on a logarithmic one."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

    side = getattr(place, f"{which}axis")
    side.set_label_text(label)
    if not log:
        side.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
    else:
        getattr(place, f"set_{which}scale")("log")
        low, high = float(np.min(values)), float(np.max(values))
        twos = 4 <= high / low <= 2**9 and any(np.log2(end).is_integer() for end in (low, high))
        side.set_major_locator(LogLocator(2, numticks=12) if twos else _decades(low, high))
        side.set_minor_formatter(_nothing())
        side.minorticks_off()
    side.set_major_formatter(FuncFormatter(lambda value, _=None: short(_whole(value))))


def _whole(value: float) -> int | float:
    return round(value) if value == round(value) else value


def _decades(low: float, high: float) -> Any:
    """Ticks at powers of ten, and at 2 and 5 times these where there are few; even ones in a short range."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    if high / low < 5:
        return MaxNLocator(6, steps=[1, 2, 5, 10])
    return LogLocator(10, subs=(1, 2, 5) if high / low < 2000 else (1,), numticks=12)


def _nothing() -> Any:
    from matplotlib.ticker import NullFormatter

    return NullFormatter()
