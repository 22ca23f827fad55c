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
_GROUP = 1 << 18  # rows to a row group of Parquet
Progress = Callable[[int, int], None]


@contextmanager
def whole_file(path: str) -> Iterator[str]:
    """A path to write to in the place of another, which it becomes when all went well, and else disappears.

    Where the system can, what is written has no name until it is whole: not even a process that is killed
    leaves it.
    """
    folder, name = os.path.split(os.path.abspath(path))
    try:
        with _nameless(folder) or _hidden(folder, name) as partial:
            yield partial.path
            partial.become(os.path.join(folder, name))
    except OSError as error:
        raise SweepError(f"{path}: {error.strerror or error}") from None


class _Partial:
    """A file without a name, known by its descriptor."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.path = f"/proc/self/fd/{number}"

    def __enter__(self) -> _Partial:
        return self

    def become(self, target: str) -> None:
        """The whole file takes a name, and then the place of what was there before."""
        folder, name = os.path.split(target)
        hidden = _Hidden(os.path.join(folder, f".{name}.{os.getpid()}.{self.number}.partial"))
        with hidden:  # given a descriptor, os.link is linkat, which follows the link in /proc
            os.link(self.path, hidden.path, src_dir_fd=self.number, follow_symlinks=True)
            os.replace(hidden.path, target)

    def __exit__(self, *_: object) -> None:
        os.close(self.number)


class _Hidden(_Partial):
    """A file under a name that says it is not whole."""

    def __init__(self, path: str) -> None:
        self.path = path

    def become(self, target: str) -> None:
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(self.path, 0o666 & ~umask)
        os.replace(self.path, target)

    def __exit__(self, *_: object) -> None:
        if os.path.exists(self.path):
            os.unlink(self.path)


def _nameless(folder: str) -> _Partial | None:
    """None where the system, or the folder's, knows no files without a name."""
    flag = getattr(os, "O_TMPFILE", 0)
    if not flag or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return _Partial(os.open(folder, flag | os.O_RDWR, 0o666))
    except OSError:
        return None


def _hidden(folder: str, name: str) -> _Hidden:
    number, partial = tempfile.mkstemp(prefix=f".{name}.", suffix=".partial", dir=folder)
    os.close(number)
    return _Hidden(partial)


def format_of(path: str) -> str:
    """The ending of a path, by which its format is known. Errors: :class:`SweepError` for any other."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in FORMATS:
        known = ", ".join(f"{key} ({name})" for key, name in FORMATS.items())
        raise SweepError(
            Problem(f"{path}: the ending says no format", help=f"write to a file that ends in {known}")
        )
    return ending


def write(
    table: Table, path: str, progress: Progress | None = None, check: Callable[[int], None] | None = None
) -> int:
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
    return [
        json.dumps(value) if value is None or isinstance(value, str | bool | float) else str(value)
        for value in values
    ]


def told(table: Table, progress: Progress | None) -> Iterator[Any]:
    """The batches that have rows; progress is told of all."""
    total, done = table.engine.points, 0
    for batch, points in table.batches():
        done += points
        if progress is not None:
            progress(done, total)
        if batch is not None:
            yield batch
