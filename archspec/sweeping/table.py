"""A sweep's points as Arrow record batches: the swept fields, the tied ones, and the columns asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

from archspec.errors import SweepError
from archspec.extras import required
from archspec.sweeping.axes import Axis
from archspec.sweeping.boxes import Array
from archspec.sweeping.engine import Batch, Engine
from archspec.sweeping.evaluator import MAX_INT
from archspec.symbolic.polynomials import Poly, Real

MAX_DECIMAL = 10**38
_EXPLORED = 48  # points that are looked at to learn what types the columns have


def arrow() -> Any:
    """pyarrow. Errors: :class:`MissingPackageError` where it is not installed."""
    return required("pyarrow")


class Table:
    """The rows of an engine's grid under a schema that is fixed before the first row is made."""

    def __init__(self, engine: Engine, wide: bool = False) -> None:
        self.engine, self.axes = engine, engine.subject.axes
        self.values = [None if axis.numeric else _values(axis) for axis in self.axes]
        self._explore()
        pa = arrow()
        fields = [
            (axis.name, pa.int64() if values is None else values.type)
            for axis, values in zip(self.axes, self.values, strict=True)
        ]
        for number, name in enumerate(engine.subject.columns):
            kinds = {_kind(region.values[number]) for region in engine.regions if region.keep}
            fields.append((name, _type(kinds, wide)))
        self.schema = pa.schema(fields)

    def _explore(self) -> None:
        """Meets the regions of the corners, and of some points at random, to learn the columns' types."""
        lengths = [len(axis.values) for axis in self.axes]
        random = Random(0)
        self.engine.visit(tuple(length - 1 for length in lengths))
        self.engine.visit(tuple(0 for _ in lengths))
        for _ in range(_EXPLORED):
            self.engine.visit(tuple(random.randrange(length) for length in lengths))

    def batches(self) -> Iterator[tuple[Any, int]]:
        """Record batches in the grid's order, each with the number of points it was made from.

        A batch without rows is None. Errors: :class:`SweepError` for a column that outgrows its type.
        """
        for batch in self.engine.batches():
            yield self.record(batch), batch.box.size

    def record(self, batch: Batch) -> Any:
        """A batch as a record batch; None where it has no rows."""
        chosen: Any = slice(None) if batch.valid is True else np.flatnonzero(batch.valid)
        if batch.valid is not True and not len(chosen):
            return None
        pa = arrow()
        arrays = []
        for number, values in enumerate(self.values):
            codes = np.broadcast_to(batch.box.axis(number), batch.box.shape).reshape(-1)[chosen]
            arrays.append(pa.array(codes) if values is None else values.take(pa.array(codes)))
        fields = list(self.schema)[len(self.axes) :]
        for column, field in zip(batch.columns, fields, strict=True):
            arrays.append(_array(column.reshape(-1)[chosen], field))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _array(values: Array, field: Any) -> Any:
    """Some values of a column. Errors: :class:`SweepError` where they do not fit its type."""
    pa = arrow()
    if pa.types.is_string(field.type):
        return pa.array(_texts(values.tolist()), type=field.type)
    numbers = {"int64": "i", "double": "if"}.get(str(field.type), "")  # of these Arrow takes NumPy's arrays
    try:
        return pa.array(values if values.dtype.kind in numbers else values.tolist(), type=field.type)
    except (OverflowError, pa.ArrowException):
        ints = (value for value in values.tolist() if isinstance(value, int))
    name, largest = field.name, max(ints, key=abs, default=0)
    if pa.types.is_floating(field.type) and abs(largest) > 2**53:
        raise SweepError(f"{name} has floats, and integers that no float holds", help="round it")
    if abs(largest) >= MAX_DECIMAL:
        raise SweepError(f"{name} has more than 38 digits", help="sweep smaller values")
    if abs(largest) > MAX_INT:
        help_ = "ask for wide integers (wide=True, --wide), which are decimals of 38 digits"
        raise SweepError(f"{name} reaches {largest:,}, beyond 64 bits", help=help_)
    help_ = "sweep the values of each kind on their own"
    raise SweepError(f"{name} is not {field.type} everywhere", help=help_)


def _values(axis: Axis) -> Any:
    """The values of a field, as texts where they are not all numbers, or all bools, to Arrow."""
    pa = arrow()
    try:
        found = pa.array(axis.values)
        texts = str(found.type) not in ("int64", "double", "bool")
    except (OverflowError, pa.ArrowException):
        texts = True
    return pa.array(_texts(axis.values), type=pa.string()) if texts else found


def _texts(values: Any) -> list[str | None]:
    return [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]


def _kind(value: Any) -> str:
    """What a column is in one region."""
    if isinstance(value, Poly):
        return "int" if value.low >= -MAX_INT and value.high <= MAX_INT else "wide"
    if type(value) is int:
        return "int" if abs(value) <= MAX_INT else "wide"
    if isinstance(value, Real | float):
        return "float"
    return {bool: "bool", type(None): "null"}.get(type(value), "text")


def _type(kinds: set[str], wide: bool) -> Any:
    """The type that holds all kinds of a column."""
    pa = arrow()
    kinds = kinds - {"null"}
    if "text" in kinds or ("bool" in kinds and len(kinds) > 1):
        return pa.string()
    if kinds == {"bool"}:
        return pa.bool_()
    if "float" in kinds:
        return pa.float64()
    return pa.decimal128(38, 0) if "wide" in kinds or wide else pa.int64()
