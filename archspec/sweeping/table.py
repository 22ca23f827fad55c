"""A sweep's points as Arrow record batches: the swept fields, the tied ones, and the columns asked for."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import UNICODE_HELP, ArchspecError, SweepError, is_unicode
from archspec.extras import required
from archspec.language.expression import Expression
from archspec.language.kinds import UNKNOWN, Kinds, Reader, kinds_of_value, of
from archspec.sweeping.axes import Axis
from archspec.sweeping.boxes import Array
from archspec.sweeping.costs import TOKENS
from archspec.sweeping.engine import Batch, Engine
from archspec.sweeping.evaluator import MAX_INT
from archspec.sweeping.subject import Region, Subject
from archspec.symbolic.polynomials import Poly, Real
from archspec.tables.quantities import COST_COLUMNS, QUANTITIES

MAX_DECIMAL = 10**38
_EXPLORED = 48  # points that are looked at to learn which columns need more than 64 bits
_UNKNOWN = "write it in int(...), float(...), bool(...) or str(...)"


def arrow() -> Any:
    """pyarrow. Errors: :class:`MissingPackageError` where it is not installed."""
    return required("pyarrow")


class ColumnKinds:
    """The kinds of values that columns can have, from their expressions and the types of the fields in them.

    They depend on neither `where` nor the order of rows.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        values = subject.values([0] * len(subject.axes))
        with suppress(ArchspecError):  # the first point may have no count
            values = subject.settled(values)
        config = subject.configured(values)
        self.scope = Scope(subject.spec, config.raw, config.origin, demanding=False)
        self.axes = {self.canonical(one.name): one for one in subject.axes}
        self.ties = {self.canonical(name): tie for name, tie in subject.ties.items()}
        self.pending: list[str] = []

    def canonical(self, path: str) -> str:
        """A dotted path under the names that the specs give."""
        outer, dot, leaf = path.rpartition(".")
        scope = self._inner(outer.split(".") if outer else [])
        return outer + dot + (scope.canonical(leaf) if scope else leaf)

    def of(self, column: Expression) -> frozenset[str]:
        return Reader(self._name, self._attribute).read(column.tree, {}).kinds

    def _name(self, name: str) -> Kinds:
        known = (*QUANTITIES, *COST_COLUMNS, TOKENS, "bytes")
        return of("int") if name in known else self.field(self.scope, "", name)

    def _attribute(self, node: ast.Attribute) -> Kinds:
        parts = ast.unparse(node).split(".")
        scope = self._inner(parts[:-1])
        return UNKNOWN if scope is None else self.field(scope, ".".join(parts[:-1]) + ".", parts[-1])

    def _inner(self, parts: Sequence[str]) -> Scope | None:
        scope = self.scope
        for part in parts:
            try:
                value = scope.get(part) if scope.has(part) else None
                inner = value.scope if isinstance(value, SubConfig) else None
            except ArchspecError:
                inner = None
            if inner is None:
                return None
            scope = inner
        return scope

    def field(self, scope: Scope, prefix: str, name: str) -> Kinds:
        """The kinds of a field: of its swept values, of the value that is given, or of its default."""
        name = scope.canonical(name)
        path = prefix + name
        if path in self.pending:
            return UNKNOWN
        self.pending.append(path)
        try:
            return self._field(scope, prefix, name)
        finally:
            self.pending.pop()

    def _field(self, scope: Scope, prefix: str, name: str) -> Kinds:
        path, spec = prefix + name, scope.spec
        field, fixed = spec.fields.get(name), spec.fixed.get(name)
        reader = Reader(
            lambda inner: self.field(scope, prefix, inner) if scope.has(inner) else UNKNOWN, self._attribute
        )
        if fixed is not None:
            return reader.read(fixed.tree, {})
        if name == "num_labels":
            return of("int")
        if field is not None and (field.sub_config is not None or field.of_layers is not None):
            return UNKNOWN
        found = None
        if path in self.axes:
            values = self.axes[path].values
            found = of("int") if isinstance(values, range) else _together(values)
        elif path in self.ties:
            found = Reader(self._name, self._attribute).read(self.ties[path].tree, {})
        elif name in scope.raw:
            found = kinds_of_value(scope.raw[name])
        elif field is None:
            return UNKNOWN
        if field is None or field.default is None:
            return found or UNKNOWN
        if found is not None and not field.falsy and not (field.computed and "null" in found.kinds):
            return found
        default = reader.read(field.default.tree, {})
        return default if found is None else found.with_(default)


def _together(values: Sequence[Any]) -> Kinds:
    found = of()
    for value in values:
        found = found.with_(kinds_of_value(value))
    return found


class Table:
    """The rows of an engine's grid under a schema that is fixed before the first row is made."""

    def __init__(self, engine: Engine, wide: bool = False) -> None:
        self.engine, self.axes = engine, engine.subject.axes
        self.values = [None if axis.numeric else _values(axis) for axis in self.axes]
        explored = self._explored()
        pa = arrow()
        kinds = ColumnKinds(engine.subject)
        fields = [
            (axis.name, pa.int64() if values is None else values.type)
            for axis, values in zip(self.axes, self.values, strict=True)
        ]
        for number, (name, column) in enumerate(engine.subject.columns.items()):
            met = [region.values[number] for region in explored if region.values]
            fields.append((name, _type(name, set(kinds.of(column)), met, wide)))
        self.schema = pa.schema(fields)

    def _explored(self) -> list[Region]:
        """The regions of the corners, and of some points at random, whatever the order of the values."""
        random, last = Random(0), tuple(len(axis.values) - 1 for axis in self.axes)
        self.engine.visit(last)  # first, because its region often holds for fewer layers, too
        ranks = [last, (0,) * len(last)]
        ranks += [tuple(random.randrange(end + 1) for end in last) for _ in range(_EXPLORED)]
        orders = [_order(axis) for axis in self.axes]
        points = [tuple(order[rank] for order, rank in zip(orders, one, strict=True)) for one in ranks]
        return [self.engine.visit(point) for point in dict.fromkeys(points)]

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
    own = {"int64": "i", "double": "f", "bool": "b"}.get(str(field.type), "")  # these Arrow takes as they are
    if values.dtype.kind == own:
        return pa.array(values, type=field.type)
    listed = values.tolist()
    try:
        if all(_is_of(value, field.type) for value in listed):
            return pa.array(listed, type=field.type)
    except (OverflowError, pa.ArrowException):
        pass
    ints = [value for value in listed if isinstance(value, int)]
    name, largest = field.name, max(ints, key=abs, default=0)
    if pa.types.is_floating(field.type) and abs(largest) > 2**53:
        raise SweepError(f"{name} has floats, and integers that no float holds", help="round it")
    if abs(largest) >= MAX_DECIMAL:
        raise SweepError(f"{name} has more than 38 digits", help="sweep smaller values")
    if abs(largest) > MAX_INT:
        help_ = "ask for wide integers (wide=True, --wide), which are decimals of 38 digits"
        raise SweepError(f"{name} reaches {largest:,}, beyond 64 bits", help=help_)
    wrong = next((value for value in listed if not _is_of(value, field.type)), None)
    raise SweepError(f"{name} is {field.type}, but {wrong!r} is one of its values", help=_UNKNOWN)


def dtype_of(type_: Any) -> Any:
    """NumPy's type of a column's."""
    return {"int64": np.int64, "double": np.float64, "bool": np.bool_}.get(str(type_), object)


def as_array(values: Array, name: str, type_: Any) -> Array:
    """A column's values as an array of its type. Errors: :class:`SweepError` where they do not fit it."""
    dtype, text = dtype_of(type_), arrow().types.is_string(type_)
    if values.dtype == dtype or text:
        return values if values.dtype == dtype else values.astype(object)
    _array(values.reshape(-1), arrow().field(name, type_))  # checks each value
    has_null = any(value is None for value in values.reshape(-1).tolist())
    return values.astype(object if has_null and dtype is not np.float64 else dtype)


def _is_of(value: Any, type_: Any) -> bool:
    """Return True if a value has a column's type as it is; an int is a float if that is exact."""
    pa = arrow()
    if value is None:
        return True
    if type(value) is bool or pa.types.is_boolean(type_):
        return type(value) is bool and pa.types.is_boolean(type_)
    if pa.types.is_floating(type_):
        return type(value) is float or (
            type(value) is int and abs(value) <= 10**300 and int(float(value)) == value
        )
    return type(value) is int and (pa.types.is_integer(type_) or pa.types.is_decimal(type_))


def _order(axis: Axis) -> Sequence[int]:
    """The positions of an axis's values in an order that does not depend on how they are given."""
    if isinstance(axis.values, range):
        rising = range(len(axis.values))
        return rising if axis.values.step > 0 else rising[::-1]
    known = [axis.code(at) if axis.numeric else json.dumps(axis.values[at]) for at in range(len(axis.values))]
    return sorted(range(len(known)), key=lambda at: known[at])


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
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    if (wrong := next((text for text in texts if text and not is_unicode(text)), None)) is not None:
        raise SweepError(f"{wrong!r} is not Unicode text", help=UNICODE_HELP)
    return texts


def _kind(value: Any) -> str:
    """The kind of a column in one region."""
    if isinstance(value, Poly):
        return "int"
    return "float" if isinstance(value, Real) else next(iter(kinds_of_value(value).kinds))


def _is_wide(value: Any) -> bool:
    """Return True for an int that can be beyond 64 bits."""
    if isinstance(value, Poly):
        return value.low < -MAX_INT or value.high > MAX_INT
    return type(value) is int and abs(value) > MAX_INT


def _type(name: str, kinds: set[str], met: Sequence[Any], wide: bool) -> Any:
    """The type that holds all kinds of a column; ``met`` are its values in some regions."""
    pa = arrow()
    if "unknown" in kinds:  # such as an item of a mapping
        kinds = (kinds - {"unknown"}) | {_kind(value) for value in met}
        if not kinds - {"null"}:
            raise SweepError(f"the type of {name} does not follow from its expression", help=_UNKNOWN)
    kinds = kinds - {"null"}
    if not kinds:
        return pa.null()
    if kinds & {"text", "list"} or ("bool" in kinds and len(kinds) > 1):
        return pa.string()
    if kinds == {"bool"}:
        return pa.bool_()
    if "float" in kinds:
        return pa.float64()
    return pa.decimal128(38, 0) if wide or any(map(_is_wide, met)) else pa.int64()
