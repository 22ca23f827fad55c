"""Tables written to files as they are made: whole or not at all, with memory that does not grow."""

from __future__ import annotations

import json
import os
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

from archspec.errors import SweepError
from archspec.extras import required

FORMATS = {".csv": "CSV", ".parquet": "Parquet", ".jsonl": "JSON lines", ".arrow": "Arrow IPC"}
_GROUP = 1 << 18  # rows to a row group of Parquet
_FORMULA = re.compile(r"[\x00-\x20\s\ufeff]*[=+\-@＝＋－＠]|[\t\r\n]")  # how a spreadsheet's formula starts
Batches = Iterable[Any]  # of Arrow records


def refuse_existing(path: str, overwrite: bool) -> None:
    """Errors: :class:`SweepError` if a file would be overwritten without ``overwrite``."""
    if not overwrite and os.path.lexists(path) and not os.path.isdir(path):  # the system refuses a directory
        help_ = "write to another path, or add --overwrite (overwrite=True) to replace it"
        raise SweepError(f"{path} already exists", help=help_)


@contextmanager
def whole_file(path: str, overwrite: bool = False) -> Iterator[str]:
    """A path to write to in the place of another, which it becomes when all went well, and else disappears.

    Where the system can, what is written has no name until it is whole: not even a process that is killed
    leaves it.

    Errors: :class:`SweepError` for a path that cannot be written, or that exists without ``overwrite``.
    """
    refuse_existing(path, overwrite)
    target = os.path.abspath(path)
    folder, name = os.path.split(target)
    hidden = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.partial")
    try:
        number = _nameless(folder)
        try:
            if number is None:
                open(hidden, "x").close()
                yield hidden
            else:
                partial = f"/proc/self/fd/{number}"
                yield partial
                # given a descriptor, os.link is linkat, which follows the link in /proc
                os.link(partial, hidden, src_dir_fd=number, follow_symlinks=True)
            refuse_existing(path, overwrite)  # the file may have appeared while this one was written
            os.replace(hidden, target)
        finally:
            if number is not None:
                os.close(number)
            with suppress(FileNotFoundError):
                os.unlink(hidden)
    except OSError as error:
        raise SweepError(f"{path}: {error.strerror or error}") from None


def _nameless(folder: str) -> int | None:
    """A file without a name, by its descriptor; None where the system, or the folder's, knows no such."""
    flag = getattr(os, "O_TMPFILE", 0)
    if not flag or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, flag | os.O_RDWR, 0o666)
    except OSError:
        return None


def format_of(path: str) -> str:
    """The ending of a path, by which its format is known. Errors: :class:`SweepError` for any other."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in FORMATS:
        known = ", ".join(f"{key} ({name})" for key, name in FORMATS.items())
        raise SweepError(f"{path}: the ending says no format", help=f"write to a file that ends in {known}")
    return ending


def write(
    rows: Batches, schema: Any, swept: list[str], path: str, ending: str, csv_safe: bool = False
) -> int:
    """Writes rows to a file in the format of an ending; returns their number.

    ``csv_safe`` puts an apostrophe before texts that a spreadsheet would take for a formula.
    """
    if ending == ".jsonl":
        with open(path, "w", encoding="utf-8") as file:
            return write_lines(rows, file)
    written = 0
    if csv_safe and ending == ".csv":
        schema = schema.empty_table().rename_columns([_safe_text(name) for name in schema.names]).schema
        rows = (_safe_batch(batch, schema) for batch in rows)
    with _writer(schema, swept, path, ending) as writer:
        for group in _groups(rows):
            writer.write_table(required("pyarrow").Table.from_batches(group, schema))
            written += sum(batch.num_rows for batch in group)
            group.clear()  # not to be held while the next ones are counted
    return written


def _safe_text(text: str) -> str:
    """A text with an apostrophe before a formula.

    >>> _safe_text("=1+1"), _safe_text("gelu"), _safe_text(" \\n=1+1")
    ("'=1+1", 'gelu', "' \\n=1+1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def _safe_batch(batch: Any, schema: Any) -> Any:
    pa, columns = required("pyarrow"), []
    for column in batch.columns:
        if pa.types.is_string(column.type):
            texts = [text if text is None else _safe_text(text) for text in column.to_pylist()]
            column = pa.array(texts, type=column.type)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def bytes_of(batch: Any, schema: Any, swept: list[str], ending: str) -> int:
    """How large a file of some rows is."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"rows{ending}")
        write([batch], schema, swept, path, ending)
        return os.path.getsize(path)


def write_lines(rows: Batches, file: IO[str]) -> int:
    """Writes rows as JSON lines; gives their number. Decimals are JSON integers of any length."""
    encode = json.JSONEncoder(default=int).encode
    written = 0
    for batch in rows:
        names = (encode(name).replace("%", "%%") for name in batch.schema.names)
        line = f"{{{', '.join(f'{name}: %s' for name in names)}}}\n"
        columns = (column.to_pylist() for column in batch.columns)
        texts = [values if set(map(type, values)) == {int} else map(encode, values) for values in columns]
        file.writelines(map(line.__mod__, zip(*texts, strict=True)))
        written += batch.num_rows
    return written


def _writer(schema: Any, swept: list[str], path: str, ending: str) -> Any:
    if ending == ".parquet":
        import pyarrow.parquet

        return pyarrow.parquet.ParquetWriter(path, schema, compression="zstd", use_dictionary=swept)
    if ending == ".csv":
        import pyarrow.csv

        return pyarrow.csv.CSVWriter(path, schema)
    return required("pyarrow").ipc.new_file(path, schema)


def _groups(rows: Batches) -> Iterator[list[Any]]:
    """Batches together until they have enough rows: where most points are refused, each has few."""
    held: list[Any] = []
    for batch in rows:
        held.append(batch)
        if sum(one.num_rows for one in held) >= _GROUP:
            yield held
            held = []
    if held:
        yield held
