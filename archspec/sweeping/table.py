"""A sweep's points as Arrow record batches: the swept fields, the tied ones, and the columns asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np

from archspec.errors import Problem, SweepError
from archspec.sweeping.axes import Axis
from archspec.sweeping.boxes import BOX, Array
from archspec.sweeping.engine import Batch, Engine
from archspec.sweeping.evaluator import MAX_INT
from archspec.symbolic.polynomials import Poly, Real

MAX_DECIMAL = 10**38
_EXPLORED = 48  # points that are looked at to learn what types the columns have
_WIDE = "ask for wide integers (wide=True, --wide), which are decimals of 38 digits"


def arrow() -> Any:
    """pyarrow. Errors: :class:`SweepError` where it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise SweepError(
            Problem("pyarrow is not installed", help="pip install archspec-formulas[sweep]")
        ) from None
    return pyarrow


class Table:
    """The rows of an engine's grid under a schema that is fixed before the first row is made."""

    def __init__(self, engine: Engine, wide: bool = False) -> None:
        self.engine, self.pa = engine, arrow()
        self.axes = engine.subject.axes
        self._explore()
        fields = [(axis.name, self._axis_type(axis)) for axis in self.axes]
        for number, name in enumerate(engine.subject.columns):
            kinds = {_kind(region.values[number]) for region in engine.regions if region.keep}
            fields.append((name, self._type(kinds, wide)))
        self.schema = self.pa.schema(fields)

    def _explore(self) -> None:
        """Meets the regions of the corners, and of some points at random, to learn the columns' types."""
        lengths = [len(axis.values) for axis in self.axes]
        random = Random(0)
        self.engine.visit(tuple(length - 1 for length in lengths))
        self.engine.visit(tuple(0 for _ in lengths))
        for _ in range(_EXPLORED):
            self.engine.visit(tuple(random.randrange(length) for length in lengths))

    def _axis_type(self, axis: Axis) -> Any:
        if axis.numeric:
            return self.pa.int64()
        types = {type(value) for value in axis.values} - {type(None)}
        named = {bool: self.pa.bool_(), float: self.pa.float64(), int: self.pa.int64()}
        if types <= {int, float} and types:
            return self.pa.float64() if float in types else self.pa.int64()
        return named.get(next(iter(types)), self.pa.string()) if len(types) == 1 else self.pa.string()

    def _type(self, kinds: set[str], wide: bool) -> Any:
        pa = self.pa
        kinds = kinds - {"null"}
        if "text" in kinds or ("bool" in kinds and len(kinds) > 1):
            return pa.string()
        if kinds == {"bool"}:
            return pa.bool_()
        if "float" in kinds:
            return pa.float64()
        return pa.decimal128(38, 0) if "wide" in kinds or wide else pa.int64()

    def batches(self, size: int = BOX) -> Iterator[tuple[Any, int]]:
        """Record batches in the grid's order, each with the number of points it was made from.

        A batch without rows is None. Errors: :class:`SweepError` for a column that outgrows its type.
        """
        for batch in self.engine.batches(size):
            yield self.record(batch), batch.box.size

    def record(self, batch: Batch) -> Any:
        picked = None if batch.valid is True else np.flatnonzero(batch.valid)
        if picked is not None and not len(picked):
            return None
        arrays = []
        for number, field in enumerate(self.schema):
            if number < len(self.axes):
                codes = np.broadcast_to(batch.box.axis(number), batch.box.shape).reshape(-1)
                arrays.append(
                    self.axis_array(self.axes[number], codes if picked is None else codes[picked], field.type)
                )
            else:
                values = batch.columns[number - len(self.axes)].reshape(-1)
                arrays.append(self.array(values if picked is None else values[picked], field))
        return self.pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def axis_array(self, axis: Axis, codes: Array, kind: Any) -> Any:
        if axis.numeric:
            return self.pa.array(codes)
        values = list(axis.values)
        if self.pa.types.is_string(kind):
            values = [
                value if value is None or isinstance(value, str) else json.dumps(value) for value in values
            ]
        return self.pa.array(values, type=kind).take(self.pa.array(codes))

    def array(self, values: Array, field: Any) -> Any:
        types = self.pa.types
        if types.is_int64(field.type) and values.dtype == np.int64:
            return self.pa.array(values)
        if types.is_float64(field.type) and values.dtype in (np.float64, np.int64):
            if values.dtype == np.int64 and int(np.abs(values).max()) > 2**53:
                raise SweepError(
                    Problem(f"{field.name} has floats, and integers that no float holds", help="round it")
                )
            return self.pa.array(values.astype(np.float64))
        listed = values.tolist()
        try:
            if types.is_decimal(field.type):
                return self.pa.array(
                    [None if value is None else Decimal(value) for value in listed], type=field.type
                )
            if types.is_string(field.type):
                return self.pa.array(
                    [
                        value if value is None or isinstance(value, str) else json.dumps(value)
                        for value in listed
                    ]
                )
            return self.pa.array(listed, type=field.type)
        except (OverflowError, self.pa.ArrowException):
            raise SweepError(self.outgrown(listed, field)) from None

    def outgrown(self, listed: list[Any], field: Any) -> Problem:
        numbers = [value for value in listed if isinstance(value, int)]
        if numbers and max(map(abs, numbers)) >= MAX_DECIMAL:
            return Problem(f"{field.name} has more than 38 digits", help="sweep smaller values")
        if numbers and max(map(abs, numbers)) > MAX_INT:
            return Problem(f"{field.name} reaches {max(numbers, key=abs):,}, beyond 64 bits", help=_WIDE)
        return Problem(
            f"{field.name} is not {field.type} everywhere", help="sweep the values of each kind on their own"
        )


def _kind(value: Any) -> str:
    """What a column is in one region."""
    if isinstance(value, Poly):
        return "int" if value.low >= -MAX_INT and value.high <= MAX_INT else "wide"
    if isinstance(value, Real):
        return "float"
    if isinstance(value, int) and not isinstance(value, bool):
        return "int" if abs(value) <= MAX_INT else "wide"
    return {bool: "bool", float: "float", type(None): "null"}.get(type(value), "text")
