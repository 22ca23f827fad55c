"""The values of options with a closed set: listed in help texts, offered by completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from archspec.tables.option import Option
from archspec.tables.quantities import COST_COLUMNS, FORMULAS, QUANTITIES


def choices_of(option: Option) -> list[str]:
    """Return the values that an option may have; empty if the set is open.

    >>> from archspec.tables.options import options_of
    >>> [choices_of(option) for option in options_of("training") if option.name == "attention"]
    [['flash', 'eager']]
    """
    if isinstance(option.choices, str):
        return [*_NAMED[option.choices]()]
    return [*option.choices]


def _dtypes() -> Iterable[str]:
    from archspec.formats.dtypes import DTYPE_BYTES

    return DTYPE_BYTES


def _formats() -> Iterable[str]:
    from archspec.formats.table import NAMES

    return NAMES


def _optimizers() -> Iterable[str]:
    from archspec.costs.optimizers import optimizers

    return optimizers()


def _laws() -> Iterable[str]:
    from archspec.solving.laws import laws

    return laws()


_NAMED: dict[str, Callable[[], Iterable[str]]] = {
    "quantities": lambda: FORMULAS,
    "columns": lambda: [*QUANTITIES, "bytes", *COST_COLUMNS],
    "dtypes": _dtypes,
    "formats": _formats,
    "optimizers": _optimizers,
    "laws": _laws,
}
