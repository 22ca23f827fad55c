"""The rows of a sweep as Arrow record batches: the swept fields, the tied fields, and the columns.

The type of a column is fixed before the first row. It holds the values at the corners and at some random
points of the grid; a later value that does not fit is an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import Any

import numpy as np

from archspec.errors import UNICODE_HELP, SweepError, is_unicode
from archspec.extras import required
from archspec.sweeping.boxes import Array, boxes
from archspec.sweeping.engine import Batch, Engine
from archspec.sweeping.evaluator import MAX_INT
from archspec.sweeping.subject import Region
from archspec.symbolic.polynomials import EXACT_FLOAT, Poly, Real

_SEARCHED = 400  # boxes, of about 10^8 points
_EXPLORED = 48  # random points of a grid; smaller ones are explored in full
DTYPES = {"int": np.dtype(np.int64), "float": np.dtype(np.float64), "bool": np.dtype(np.bool_)}
_KINDS: dict[type, str] = {bool: "bool", float: "float", type(None): "null"}
_FITS: dict[str, Callable[[Any], bool]] = {
    "int": lambda value: type(value) is int and abs(value) <= MAX_INT,
    "decimal": lambda value: type(value) is int and abs(value) < 10**38,
    "float": lambda value: type(value) is float or (type(value) is int and abs(value) <= EXACT_FLOAT),
    "bool": lambda value: type(value) is bool,
    "null": lambda value: False,
    "text": lambda value: True,
}
_TOO_LARGE = {
    "int": ("reaches {:,}, beyond 64 bits", "ask for decimals of 38 digits (wide=True, --wide)"),
    "decimal": ("has more than 38 digits", "sweep smaller values"),
    "float": ("has floats, and integers that no float holds", "round it"),
}


def arrow() -> Any:
    """Return pyarrow. Errors: :class:`MissingPackageError` if it is not installed."""
    return required("pyarrow")


class Table:
    """The rows of an engine's grid under a fixed schema."""

    def __init__(self, engine: Engine, wide: bool = False) -> None:
        self.engine, pa = engine, arrow()
        types = {
            "int": pa.int64(),
            "decimal": pa.decimal128(38, 0),
            "float": pa.float64(),
            "bool": pa.bool_(),
        }
        types |= {"text": pa.string(), "null": pa.null()}
        self.kinds = column_kinds(engine, wide)
        axes = engine.subject.axes
        kinds = [kind_of(axis.values) if not axis.numeric else "int" for axis in axes]
        self.values = [
            None if axis.numeric else _array(np.fromiter(axis.values, object), axis.name, kind, types[kind])
            for axis, kind in zip(axes, kinds, strict=True)
        ]
        names = [*(axis.name for axis in axes), *engine.subject.columns]
        self.schema = pa.schema(
            [(n, types[kind]) for n, kind in zip(names, [*kinds, *self.kinds], strict=True)]
        )

    def batches(self) -> Iterator[tuple[Any, int]]:
        """Yield record batches in the grid's order, each with the number of points it was made from.

        Errors: :class:`SweepError` for a value that does not fit its type.
        """
        for batch in self.engine.batches():
            yield self._record(batch), batch.box.size

    def _record(self, batch: Batch) -> Any:
        chosen: Any = slice(None) if batch.valid is True else np.flatnonzero(batch.valid)
        pa, arrays = arrow(), []
        for number, values in enumerate(self.values):
            codes = np.broadcast_to(batch.box.axis(number), batch.box.shape).reshape(-1)[chosen]
            arrays.append(pa.array(codes) if values is None else values.take(pa.array(codes)))
        fields = list(self.schema)[len(self.values) :]
        for column, kind, field in zip(batch.columns, self.kinds, fields, strict=True):
            arrays.append(_array(column.reshape(-1)[chosen], field.name, kind, field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def column_kinds(engine: Engine, wide: bool = False) -> list[str]:
    """Return the kind of each column: int, decimal (beyond 64 bits or ``wide``), float, bool, text, null."""
    found = [region.values for region in _explored(engine) if region.values]
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


def _explored(engine: Engine) -> Iterator[Region]:
    """Yield the regions of the corners and of some random points, or of all points of a small grid.

    If all of them are refused, yield the first region of the grid with a count, too.
    """
    random, lengths = Random(0), engine.grid.lengths
    last = tuple(length - 1 for length in lengths)  # first, because its region often holds for fewer layers
    points = [last, (0,) * len(last), *(tuple(map(random.randrange, lengths)) for _ in range(_EXPLORED))]
    if engine.points <= _EXPLORED:
        points = [*np.ndindex(*lengths)][::-1]
    regions = [engine.region(point) for point in dict.fromkeys(points)]
    yield from regions
    if not any(region.values for region in regions):
        first = islice(boxes(engine.grid), _SEARCHED)
        found = (region for box in first for region, _ in engine.assigned(box))
        yield from filter(None, [next((region for region in found if region.values), None)])


def as_array(values: Array, name: str, kind: str) -> Array:
    """Return a column's values as an array of its kind; a null is not a number, or None.

    Errors: :class:`SweepError` for a value of another kind.
    """
    dtype = DTYPES.get(kind, np.dtype(object))
    if values.dtype == dtype or kind == "text":
        return values if values.dtype == dtype else values.astype(object)
    listed = values.reshape(-1).tolist()
    _check(listed, name, kind)
    return values.astype(object if None in listed and kind != "float" else dtype)


def _array(values: Array, name: str, kind: str, type_: Any) -> Any:
    """Return some values as an Arrow array. Errors: :class:`SweepError` for a value of another kind."""
    if values.dtype == DTYPES.get(kind):
        return arrow().array(values, type=type_)
    listed = values.tolist()
    if kind == "text":
        listed = [value if value is None or isinstance(value, str) else json.dumps(value) for value in listed]
        if (wrong := next((text for text in listed if text and not is_unicode(text)), None)) is not None:
            raise SweepError(f"{name}: {wrong!r} is not Unicode text", help=UNICODE_HELP)
    _check(listed, name, kind)
    return arrow().array(listed, type=type_)


def _check(values: Sequence[Any], name: str, kind: str) -> None:
    fits = _FITS[kind]
    for value in values:
        if value is None or fits(value):
            continue
        message = f"is of kind {kind}, but {value!r} is one of its values"
        help_ = "write it in int(...), float(...), bool(...) or str(...)"
        if type(value) is int and kind in _TOO_LARGE:
            message, help_ = _TOO_LARGE[kind]
        raise SweepError(f"{name} {message.format(value)}", help=help_)
