"""`archspec.sweep`: exact counts over a grid of configs, as a table, a file or a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from archspec.arguments import check_arguments, check_arguments_of
from archspec.errors import SweepError, option
from archspec.extras import import_optional
from archspec.formats.stated import check_unquantized
from archspec.models.model import Source
from archspec.models.report import Report
from archspec.render.html import blocks_html
from archspec.reports import Block
from archspec.specs.search_path import Specs
from archspec.sweeping.axes import Columns, axes_of, named_columns
from archspec.sweeping.columns import check_used
from archspec.sweeping.engine import Engine
from archspec.sweeping.files import MANY, check_size, format_of, refuse_existing, whole_file, write
from archspec.sweeping.subject import Subject
from archspec.sweeping.table import DTYPES, Head, Table, as_array, notes_of
from archspec.tables.items import lengths_in

if TYPE_CHECKING:
    import numpy as np

Progress = Callable[[int, int], None]


class Sweep(Report):
    """A grid of configs of one architecture, and the columns that are counted over it; made by :func:`sweep`.

    Rows are evaluated on demand, in blocks: memory does not grow with the grid. Points that transformers
    rejects have no row; :attr:`refusals` counts them by reason. A sweep is an Arrow stream, which
    pandas, polars and DuckDB read directly.

    ``architecture`` is the counted class, ``points`` the number of points with or without a row, ``asked``
    the requested columns; ``wide`` makes integers decimals. ``subject``, ``engine``, ``table`` are internal.
    """

    def __init__(self, subject: Subject, asked: Sequence[str], wide: bool = False) -> None:
        self.subject, self.asked, self.wide = subject, list(asked), wide
        self.architecture = subject.architecture
        self.engine = Engine(subject)
        self.points = self.engine.points

    @property
    def refusals(self) -> dict[str, int]:
        """Number of rejected points by reason, as of the last pass over the rows."""
        return dict(self.engine.refused)

    @property
    def filtered_points(self) -> int:
        """Number of points that ``where`` excluded, as of the last pass over the rows."""
        return self.engine.filtered

    @cached_property
    def table(self) -> Table:
        return Table(self.engine, self.wide)

    @property
    def schema(self) -> Any:
        """The Arrow schema: the swept fields, the tied fields, the columns."""
        return self.table.schema

    def batches(self, progress: Progress | None = None) -> Iterator[Any]:
        """Yield Arrow record batches in the order of the grid; the last field varies fastest.

        ``progress`` is called with the number of evaluated points and of all points.
        Errors: :class:`SweepError`, with the first reason, if every point is rejected.
        """
        return (batch for batch, _ in self._batches(progress) if batch.num_rows)

    def _batches(self, progress: Progress | None = None) -> Iterator[tuple[Any, int]]:
        """Yield record batches, also without rows, each with the number of points until then."""
        done = rows = 0
        for batch, points in self.table.batches():
            done, rows = done + points, rows + batch.num_rows
            if progress is not None:
                progress(done, self.points)
            yield batch, done
        if not rows and not self.filtered_points:
            raise self.engine.first_refusal()

    def to_arrow(self, yes: bool = False) -> Any:
        """Return all rows as a pyarrow.Table. Errors: :class:`SweepError` for a large grid."""
        check_size(self.points, yes)
        return import_optional("pyarrow").Table.from_batches(list(self.batches()), self.schema)

    def to_pandas(self, yes: bool = False) -> Any:
        """Return all rows as a pandas DataFrame. Errors: those of :meth:`to_arrow`."""
        import_optional("pandas")  # which pyarrow imports
        return self.to_arrow(yes).to_pandas()

    def to_polars(self, yes: bool = False) -> Any:
        """Return all rows as a polars DataFrame. Errors: those of :meth:`to_arrow`."""
        return import_optional("polars").from_arrow(self.to_arrow(yes))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as dictionaries; iteration does the same."""
        return (row for batch in self.batches() for row in batch.to_pylist())

    __iter__ = rows

    def __len__(self) -> int:
        """Count the rows in a pass over the grid. Errors: :class:`SweepError` for a large grid."""
        check_size(self.points)
        return self._length

    @cached_property
    def _length(self) -> int:
        return sum(batch.num_rows for batch in self.batches())

    def __bool__(self) -> bool:
        return True

    @check_arguments
    def head(self, rows: int = 40, yes: bool = False, progress: Progress | None = None) -> Head:
        """Return the first rows, evaluating only as much of the grid as they need.

        Errors: :class:`SweepError` if the first 100,000,000 points have fewer rows, unless ``yes``.
        """
        taken: list[dict[str, Any]] = []
        found = seen = 0
        rows = min(rows, self.points)
        for batch, seen in self._batches(progress) if rows else ():
            found += batch.num_rows
            taken += batch.slice(0, rows - len(taken)).to_pylist()
            if len(taken) == rows:
                break
            if seen >= MANY and not yes:
                message = f"{found:,} of the first {seen:,} configs have rows, of {self.points:,}"
                raise SweepError(message, help=f"pass {option('yes', True)} to search all of them")
        more = f"{left:,} more row{'s' * (left > 1)}" if (left := found - len(taken)) else ""
        if seen < self.points:
            more = f"the first {len(taken):,} rows of a sweep over {self.points:,} configs"
        said = self.remarks(seen) if seen else []
        return Head(self.schema.names, taken, more, [*said, *self.notes])

    @check_arguments
    def remarks(self, evaluated: int | None = None) -> list[str]:
        """Return how many points have no row, and why, among all points or the first ``evaluated``."""
        is_part = evaluated is not None and 0 < evaluated < self.points
        of, found = f"the first {evaluated:,}" if is_part else f"{self.points:,}", []
        if self.filtered_points:
            found.append(f"{self.filtered_points:,} of {of} configs are excluded by {option('where')}")
        if total := self.engine.refused.total():
            [(reason, _)] = self.engine.refused.most_common(1)
            found.append(f"{total:,} of {of} configs are invalid; most common reason: {reason}")
        return found

    @property
    def notes(self) -> list[str]:
        """Batch size and lengths, fields without effect, an assumed dtype, and excess FLOPs."""
        return [f"note: {text}" for text in notes_of(self.engine)]

    @check_arguments
    def array(self, column: str = "params", yes: bool = False) -> np.ndarray[Any, Any]:
        """Return a column as an array with a dimension for each swept field: of int64, float64 or bool.

        Strings, integers above 64 bits, and columns with nulls are object arrays; in floats null is NaN.
        Errors: :class:`SweepError` for points without a row, and those of :meth:`to_arrow`.
        """
        check_size(self.points, yes)
        columns = list(self.subject.columns)
        if column not in columns:
            message = f"{column} is not a column of this sweep"
            raise SweepError(message, help=f"choose from: {', '.join(columns)}")
        number = columns.index(column)
        kind = self.table.kinds[number]
        whole = as_array(self.engine.fill(number, DTYPES.get(kind, object)), column, kind)
        return whole.reshape(self.engine.grid.lengths)

    @check_arguments
    def write(
        self,
        path: str,
        progress: Progress | None = None,
        yes: bool = False,
        overwrite: bool = False,
        csv_safe: bool = False,
    ) -> int:
        """Write the rows to a .csv, .parquet, .jsonl or .arrow file, and return their number.

        The file appears only when it is complete.

        Errors: :class:`SweepError` for a file that exists, unless
        ``overwrite``, and for a large grid or too little free disk space, unless ``yes``.
        """
        ending, swept = format_of(path), [axis.name for axis in self.subject.axes]
        refuse_existing(path, overwrite)
        check_size(self.points, yes, path, len(swept) + len(self.subject.columns))
        with whole_file(path, overwrite) as target:
            return write(self.batches(progress), self.schema, swept, target, ending, csv_safe)

    @check_arguments
    def plot(
        self,
        path: str | None = None,
        kind: str = "auto",
        log: str = "",
        overlay: Sequence[Sweep] = (),
        overwrite: bool = False,
    ) -> Any:
        """Return a matplotlib figure; with ``path``, also write it.

        ``kind`` and ``log`` are those of `archspec sweep`. ``overlay`` are sweeps of other models over the
        same fields, drawn in the same plot.
        """
        from archspec.sweeping.pictures.plot import draw

        return draw([self, *overlay], path, kind, log, overwrite)

    @check_arguments
    def sql(self, dialect: str = "duckdb", table: str | None = None) -> str:
        """Return a SQL query in `duckdb` or `spark`, for the rows of ``table`` if it is given."""
        from archspec.sweeping.sql import query

        return query(self, dialect, table)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        reader = import_optional("pyarrow").RecordBatchReader.from_batches(self.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)

    def blocks(self) -> Iterator[Block]:
        """Yield the first rows and the notes, as the command prints them."""
        return self.head().blocks()

    def as_json(self, yes: bool = False) -> list[dict[str, Any]]:
        """Return all rows as plain data; the command prints one per line. Errors: see :meth:`to_arrow`."""
        check_size(self.points, yes)
        return [
            {name: int(value) if type(value) is Decimal else value for name, value in row.items()}
            for row in self.rows()
        ]

    def _repr_html_(self) -> str:
        return blocks_html([repr(self).strip("<>"), *self.head(10).blocks()])

    def __repr__(self) -> str:
        sizes = " x ".join(f"{axis.name}: {len(axis.values):,}" for axis in self.subject.axes)
        return f"<sweep of {self.architecture} over {sizes}>"


@check_arguments_of("sweep")
def sweep(  # noqa: PLR0913 - the options of the verb
    config: Source,
    set: Mapping[str, Any] | Sequence[str],
    *,
    architecture: str | None = None,
    columns: Columns = ("params",),
    tie: Mapping[str, str] | None = None,
    where: Sequence[str] | str = (),
    dtype: str | None = None,
    wide: bool = False,
    specs: Specs = (),
    batch: int | None = None,
    tokens: int | None = None,
    past: int | None = None,
    encoder_tokens: int | None = None,
    new_encoder_tokens: int | None = None,
    text_tokens: int | None = None,
    images: Sequence[Any] = (),
    videos: Sequence[Any] = (),
    audios: Sequence[Any] = (),
    processed: bool = False,
) -> Sweep:
    """Return exact counts and costs of an architecture over a grid of configs.

    ``set`` gives each swept field or length its values: a range, a list, or text such as ``"256:8192:128"``,
    which includes its end. ``columns`` are quantities, fields, costs, or expressions over them; a mapping
    names them. ``tie`` computes fields from others, ``where`` keeps points that meet a condition; both are
    expressions in the spec language. Fields that the config leaves out are recomputed at every point: each
    row equals ``archspec.load(config, set=point).params``. Integers are exact: above 64 bits, or with
    ``wide``, columns have 38-digit decimals.

    Errors: :class:`archspec.ArchspecError` for invalid fields, values, columns and conditions.

    >>> import archspec
    >>> fields = {"hidden_size": "2048:4096:2048", "num_hidden_layers": [16, 32]}
    >>> grid = archspec.sweep("LlamaForCausalLM", fields,
    ...                       tie={"intermediate_size": "4 * hidden_size"}, columns=["params", "head_dim"])
    >>> list(list(grid.rows())[-1].values())
    [4096, 32, 16384, 8852344832, 128]
    """
    lengths, ties, asked, axes = lengths_in(locals()), dict(tie or {}), named_columns(columns), axes_of(set)
    named = {**{name: name for name in ties if name not in asked}, **asked}
    for name in (one.name for one in axes if one.name in named and one.name not in ties):
        help_ = f"leave it out of {option('columns')}"
        raise SweepError(f"{name} is swept and already has a column", help=help_)
    condition = where if isinstance(where, str) else " and ".join(f"({one})" for one in where or ()) or None
    options = ties, named, condition, dtype, lengths, specs
    subject = Subject(config, axes, architecture, *options, sweeps_lengths=True)
    check_used(subject.names, dtype, subject.lengths)
    if dtype is None and "bytes" in subject.names:
        check_unquantized(subject.config, "sweeps")
    return Sweep(subject, list(asked), wide)
