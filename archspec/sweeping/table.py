"""The rows of a sweep: as Arrow record batches, and the first ones as a report.

The type of a column is fixed before the first row. It holds all values of a grid of up to 262,144 points; in
a larger one it holds those of the first box and at some random points, and a later value that does not fit is
an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from random import Random
from typing import Any, NamedTuple

import numpy as np

from archspec import reports
from archspec.configs.overrides import idle_fields, override_notes
from archspec.errors import UNICODE_HELP, SweepError, is_unicode, option
from archspec.extras import import_optional
from archspec.formats.stated import assumed_note
from archspec.sweeping.columns import BYTES
from archspec.sweeping.engine import Batch, Engine
from archspec.sweeping.evaluator import MAX_INT, Array, boxes
from archspec.sweeping.subject import Region
from archspec.symbolic.expressions import Poly, Real
from archspec.symbolic.polynomials import EXACT_FLOAT

_SEARCHED = 400  # boxes, of about 10^8 points
_EXPLORED = 48  # random points of a grid of several boxes
_EXAMPLES = 4  # regions that are examined for a note on their FLOPs
DTYPES = {"int": np.dtype(np.int64), "float": np.dtype(np.float64), "bool": np.dtype(np.bool_)}
_KINDS: dict[type, str] = {bool: "bool", float: "float", type(None): "null"}
_FITS: dict[str, Callable[[Any], bool]] = {
    "int": lambda value: type(value) is int and abs(value) <= MAX_INT,
    "decimal": lambda value: type(value) is int and abs(value) < 10**38,
    "float": lambda value: type(value) is float or (type(value) is int and abs(value) <= EXACT_FLOAT),
    "bool": lambda value: type(value) is bool,
    "null": lambda value: False,
}
_TOO_LARGE = {
    "int": ("reaches {:,}, beyond 64 bits", "pass {} for decimals of 38 digits"),
    "decimal": ("has more than 38 digits", "sweep smaller values"),
    "float": ("has floats, and integers that no float holds", "round it"),
}


def arrow_types() -> dict[str, Any]:
    """Return the Arrow type of each kind. Errors: :class:`MissingPackageError` without pyarrow."""
    pa = import_optional("pyarrow")
    types = {"int": pa.int64(), "decimal": pa.decimal128(38, 0), "float": pa.float64(), "bool": pa.bool_()}
    return {**types, "text": pa.string(), "null": pa.null()}


class Table:
    """The rows of an engine's grid under a fixed schema."""

    def __init__(self, engine: Engine, wide: bool = False) -> None:
        types = arrow_types()
        self.engine, self.kinds, axes = engine, column_kinds(engine, wide), engine.subject.axes
        kinds = ["int" if axis.numeric else kind_of(axis.values) for axis in axes]
        self.values = [
            None if axis.numeric else _to_arrow(np.fromiter(axis.values, object), axis.name, kind)
            for axis, kind in zip(axes, kinds, strict=True)
        ]
        names = [*(axis.name for axis in axes), *engine.subject.columns]
        fields = zip(names, (types[kind] for kind in [*kinds, *self.kinds]), strict=True)
        self.schema = import_optional("pyarrow").schema(list(fields))

    def batches(self) -> Iterator[tuple[Any, int]]:
        """Yield record batches in the grid's order, each with the number of points it was made from.

        Errors: :class:`SweepError` for a value that does not fit its type.
        """
        for batch in self.engine.batches():
            yield self._record(batch), batch.box.size

    def _record(self, batch: Batch) -> Any:
        chosen: Any = slice(None) if batch.valid is True else np.flatnonzero(batch.valid)
        pa, arrays = import_optional("pyarrow"), []
        for number, values in enumerate(self.values):
            codes = pa.array(np.broadcast_to(batch.box.axis(number), batch.box.shape).reshape(-1)[chosen])
            arrays.append(codes if values is None else values.take(codes))
        for column, kind, name in zip(batch.columns, self.kinds, self.engine.subject.columns, strict=True):
            arrays.append(_to_arrow(column.reshape(-1)[chosen], name, kind))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def column_kinds(engine: Engine, wide: bool = False) -> list[str]:
    """Return the kind of each column: int, decimal (beyond 64 bits or ``wide``), float, bool, text, null."""
    found = [region.values for region in _sample_regions(engine) if region.values]
    kinds = [kind_of(values) for values in zip(*found, strict=True)] or ["int"] * len(engine.subject.columns)
    return ["decimal" if wide and kind == "int" else kind for kind in kinds]


def kind_of(values: Iterable[Any]) -> str:
    """Return the kind that holds some values or expressions; bools and numbers together are texts.

    >>> kind_of([1, None]), kind_of([1, 0.5]), kind_of([True, 1]), kind_of([2**64])
    ('int', 'float', 'text', 'decimal')
    """
    kinds = {_kind(value) for value in values} - {"null"}
    if "text" in kinds or ("bool" in kinds and len(kinds) > 1):
        return "text"
    return next((kind for kind in ("float", "decimal", "int", "bool") if kind in kinds), "null")


def _kind(value: Any) -> str:
    if isinstance(value, Poly):
        return "decimal" if value.low < -MAX_INT or value.high > MAX_INT else "int"
    if type(value) is int:
        return "decimal" if abs(value) > MAX_INT else "int"
    return "float" if isinstance(value, Real) else _KINDS.get(type(value), "text")


def _sample_regions(engine: Engine) -> Iterator[Region]:
    """Yield the regions of the grid's first box, and in a larger grid those of its last and of random points.

    If all of them are refused, yield the first region of the grid with a count, too.
    """
    first, lengths, random, has_values = next(boxes(engine.grid)), engine.grid.lengths, Random(0), False
    points = [tuple(length - 1 for length in lengths)]  # first, because its region often holds for few layers
    points += [tuple(map(random.randrange, lengths)) for _ in range(_EXPLORED)]
    for point in points if first.size < engine.points else ():
        region = engine.region(point)
        has_values |= bool(region.values)
        yield region
    for place, box in enumerate(islice(boxes(engine.grid), _SEARCHED)):
        if place and has_values:
            return
        for region, _ in engine.assign_regions(box):
            has_values |= bool(region.values)
            yield region


def as_array(values: Array, name: str, kind: str) -> Array:
    """Return a column's values as an array of its kind; a null is not a number, or None.

    Errors: :class:`SweepError` for a value of another kind.
    """
    dtype = DTYPES.get(kind, np.dtype(object))
    if values.dtype == dtype or kind == "text":
        return values.astype(dtype, copy=False)
    listed = _check_kind(values.reshape(-1).tolist(), name, kind)
    return values.astype(object if None in listed and kind != "float" else dtype)


def _to_arrow(values: Array, name: str, kind: str) -> Any:
    """Return some values as an Arrow array. Errors: :class:`SweepError` for a value of another kind."""
    whole = values if values.dtype == DTYPES.get(kind) else _check_kind(values.tolist(), name, kind)
    return import_optional("pyarrow").array(whole, type=arrow_types()[kind])


def _check_kind(values: list[Any], name: str, kind: str) -> list[Any]:
    if kind == "text":
        values = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
        if (wrong := next((text for text in values if text and not is_unicode(text)), None)) is not None:
            raise SweepError(f"{name}: {wrong!r} is not Unicode text", help=UNICODE_HELP)
        return values
    for value in values:
        if value is None or _FITS[kind](value):
            continue
        message = f"is of kind {kind}, but {value!r} is one of its values"
        help_ = "write it in int(...), float(...), bool(...) or str(...)"
        if type(value) is int and kind in _TOO_LARGE:
            message, help_ = _TOO_LARGE[kind]
        raise SweepError(f"{name} {message.format(value)}", help=help_.format(option("wide", True)))
    return values


class Head(NamedTuple):
    """The first ``rows`` under the ``names`` of their columns; ``more`` and ``remarks`` are notes."""

    names: Sequence[str]
    rows: list[dict[str, Any]]
    more: str
    remarks: Sequence[str]

    def table(self) -> reports.Table:
        """Return the rows as they are printed."""
        rows = [[_cell(value) for value in row.values()] for row in self.rows]
        return reports.Table("|".join(f">{name}" for name in self.names), rows)

    def blocks(self) -> Iterator[reports.Block]:
        """Yield the table and the lines below it."""
        yield self.table()
        yield from filter(None, [self.more, *self.remarks])


def notes_of(engine: Engine) -> Iterator[str]:
    """Yield notes on fields without effect, an assumed dtype, sequence lengths, and excess FLOPs."""
    subject = engine.subject
    settings = subject.with_ties(subject.values([0] * len(subject.axes)))
    fields, config = subject.lengths.fields_in(settings), subject.make_config(settings)
    idle = idle_fields if subject.costs.names else override_notes
    yield from idle(subject.spec, [*fields], config).values()
    if subject.dtype is None and subject.names & BYTES:
        yield from filter(None, [assumed_note(subject.config)])
    kept = [region for region in engine.regions if region.keep]
    if subject.costs.names and kept:
        yield from filter(None, [subject.costs.lengths_note({region.tokens for region in kept})])
        points = [region.point for region in [*kept[:_EXAMPLES], kept[-1]]]
        names = [", ".join(f"{name} = {value}" for name, value in subject.values(p).items()) for p in points]
        yield from subject.costs.row_notes(dict(zip(names, map(subject.forward, points), strict=True)))


def _cell(value: Any) -> str:
    if type(value) in (int, Decimal):
        return f"{value:,}"
    return f"{value:.6g}" if type(value) is float else str(value)
