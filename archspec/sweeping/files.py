"""Tables written to files as they are made: whole or not at all, with memory that does not grow."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from archspec.errors import Problem, SweepError
from archspec.sweeping.table import Table, arrow

FORMATS = {".csv": "CSV", ".parquet": "Parquet", ".jsonl": "JSON lines", ".arrow": "Arrow IPC"}
_GROUP = 1 << 19  # rows to a row group of Parquet
Progress = Callable[[int, int], None]


@contextmanager
def whole_file(path: str) -> Iterator[str]:
    """A path to write to in the place of another, which it becomes when all went well, and else disappears."""
    folder = os.path.dirname(os.path.abspath(path))
    try:
        number, partial = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", suffix=".partial", dir=folder)
    except OSError as error:
        raise SweepError(f"{path}: {error.strerror or error}") from None
    os.close(number)
    try:
        yield partial
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(partial, 0o666 & ~umask)
        os.replace(partial, path)
    except OSError as error:
        raise SweepError(f"{path}: {error.strerror or error}") from None
    finally:
        if os.path.exists(partial):
            os.unlink(partial)


def format_of(path: str) -> str:
    """The ending of a path, by which its format is known. Errors: :class:`SweepError` for any other."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in FORMATS:
        known = ", ".join(f"{key} ({name})" for key, name in FORMATS.items())
        raise SweepError(Problem(f"{path}: the ending says no format", help=f"write to a file that ends in {known}"))
    return ending


def write(table: Table, path: str, progress: Progress | None = None, check: Callable[[int], None] | None = None) -> int:
    """Writes a table to a file; gives the number of rows, which `check` may refuse before the file is there.

    Errors: :class:`SweepError` for an ending that is no format, and for a file that cannot be written.
    """
    ending = format_of(path)
    with whole_file(path) as partial:
        if ending == ".jsonl":
            with open(partial, "w", encoding="utf-8") as file:
                rows = lines(table, file, progress)
        else:
            rows = _arrow(table, partial, ending, progress)
        if check is not None:
            check(rows)
    return rows


def _arrow(table: Table, path: str, ending: str, progress: Progress | None) -> int:
    pa = arrow()
    rows = 0
    if ending == ".parquet":
        import pyarrow.parquet

        writer: Any = pyarrow.parquet.ParquetWriter(
            path, table.schema, compression="zstd", use_dictionary=[axis.name for axis in table.axes]
        )
    elif ending == ".csv":
        import pyarrow.csv

        writer = pyarrow.csv.CSVWriter(path, table.schema)
    else:
        writer = pa.ipc.new_file(path, table.schema)
    held: list[Any] = []
    with writer:
        for batch in told(table, progress):
            rows += batch.num_rows
            held.append(batch)
            if sum(one.num_rows for one in held) >= _GROUP:
                writer.write_table(pa.Table.from_batches(held, table.schema))
                held.clear()
        if held:
            writer.write_table(pa.Table.from_batches(held, table.schema))
    return rows


def lines(table: Table, file: IO[str], progress: Progress | None = None) -> int:
    """Writes a table as JSON lines; gives the number of rows. Decimals are JSON integers of any length."""
    names = [json.dumps(name) for name in table.schema.names]
    template = "{" + ", ".join(f"{name.replace('%', '%%')}: %s" for name in names) + "}\n"
    rows = 0
    for batch in told(table, progress):
        columns = [_texts(column.to_pylist()) for column in batch.columns]
        file.writelines(template % row for row in zip(*columns, strict=True))
        rows += batch.num_rows
    return rows


def _texts(values: list[Any]) -> list[str]:
    if values and type(values[0]) is int and None not in values:
        return [str(value) for value in values]
    return [json.dumps(value) if value is None or isinstance(value, str | bool | float) else str(value) for value in values]


def told(table: Table, progress: Progress | None) -> Iterator[Any]:
    """The batches that have rows; progress is told of all."""
    total, done = table.engine.points, 0
    for batch, points in table.batches():
        done += points
        if progress is not None:
            progress(done, total)
        if batch is not None:
            yield batch
