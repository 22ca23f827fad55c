"""Writes the rows of a sweep to a file, which is in place only when it is complete."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

from archspec.errors import SweepError, option
from archspec.extras import import_optional

FORMATS = {".csv": "CSV", ".parquet": "Parquet", ".jsonl": "JSON lines", ".arrow": "Arrow IPC"}
MANY = 10**8  # points that a sweep evaluates without `yes`: every format writes them in minutes
_CELL = 8  # bytes of a number
_FORMULA = re.compile(r"[\x00-\x20\s\ufeff]*[=+\-@＝＋－＠]|[\t\r\n]")  # the start of a spreadsheet formula
Batches = Iterable[Any]  # of Arrow records


def check_size(points: int, yes: bool = False, path: str | None = None, columns: int = 0) -> None:
    """Check a sweep before it starts, unless ``yes``.

    Errors: :class:`SweepError` for too many points, or too little disk.

    >>> check_size(10**10)
    Traceback (most recent call last):
    archspec.errors.SweepError: the grid has 10,000,000,000 configs
    help: use larger steps, or pass yes=True
    """
    help_, size = f"use larger steps, or pass {option('yes', True)}", points * columns * _CELL
    if points > MANY and not yes:
        raise SweepError(f"the grid has {points:,} configs", help=help_)
    folder = os.path.dirname(os.path.abspath(path)) if path is not None and not yes else ""
    if os.path.isdir(folder) and size > (free := shutil.disk_usage(folder).free):
        raise SweepError(f"{path} can take {size:,} bytes, but {free:,} are free", help=help_)


def refuse_existing(path: str, overwrite: bool) -> None:
    """Raise :class:`SweepError` if a file would be overwritten without ``overwrite``."""
    if not overwrite and os.path.lexists(path) and not os.path.isdir(path):  # the system refuses a directory
        help_ = f"choose another path, or add {option('overwrite', True)}"
        raise SweepError(f"{path} already exists", help=help_)


@contextmanager
def whole_file(path: str, overwrite: bool = False) -> Iterator[str]:
    """Yield a temporary path, which replaces ``path`` at the end, or is removed if there was an error.

    Errors: :class:`SweepError` for a path that cannot be written, or that exists without ``overwrite``.
    """
    refuse_existing(path, overwrite)
    folder, name = os.path.split(os.path.abspath(path))
    partial = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.partial")
    try:
        try:
            open(partial, "x").close()
            yield partial
            refuse_existing(path, overwrite)  # the file may have appeared while this one was written
            os.replace(partial, path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(partial)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            message, help_ = f"there is no directory {folder}", "create it, or choose another path"
            raise SweepError(message, help=help_) from None
        raise SweepError(f"{path}: {error.strerror or error}", help="choose another path") from None


def format_of(path: str) -> str:
    """Return the ending of a path, which selects its format. Errors: :class:`SweepError` for any other."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in FORMATS:
        known = ", ".join(f"{key} ({name})" for key, name in FORMATS.items())
        raise SweepError(f"{path}: unknown format {ending!r}", help=f"write to a file that ends in {known}")
    return ending


def write(
    rows: Batches, schema: Any, swept: list[str], path: str, ending: str, csv_safe: bool = False
) -> int:
    """Write rows in the format of an ending, and return their number.

    ``csv_safe`` adds an apostrophe before texts that a spreadsheet would run as formulas.
    """
    if ending == ".jsonl":
        with open(path, "w", encoding="utf-8") as file:
            return write_lines(rows, file)
    pa, written = import_optional("pyarrow"), 0
    if csv_safe and ending == ".csv":
        schema = pa.schema([field.with_name(_safe_text(field.name)) for field in schema])
        rows = (_safe_batch(batch, schema) for batch in rows)
    with open(path, "wb") as binary, _writer(schema, swept, binary, ending) as writer:
        for batch in rows:
            writer.write_batch(batch)
            written += batch.num_rows
    return written


def write_lines(rows: Batches, file: IO[str]) -> int:
    """Write rows as JSON lines, and return their number. Decimals are JSON integers of any length."""
    encode, written = json.JSONEncoder(default=int).encode, 0
    for batch in rows:
        file.writelines(f"{encode(row)}\n" for row in batch.to_pylist())
        written += batch.num_rows
    return written


def _safe_text(text: str) -> str:
    """Quote a text that a spreadsheet would read as a formula.

    >>> _safe_text("=1+1"), _safe_text("gelu"), _safe_text(" \\n=1+1")
    ("'=1+1", 'gelu', "' \\n=1+1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def _safe_batch(batch: Any, schema: Any) -> Any:
    pa, columns = import_optional("pyarrow"), []
    for column in batch.columns:
        if pa.types.is_string(column.type):
            texts = [text if text is None else _safe_text(text) for text in column.to_pylist()]
            column = pa.array(texts, type=column.type)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _writer(schema: Any, swept: list[str], file: IO[bytes], ending: str) -> Any:
    if ending == ".parquet":
        import pyarrow.parquet

        return pyarrow.parquet.ParquetWriter(file, schema, compression="zstd", use_dictionary=swept)
    if ending == ".csv":
        import pyarrow.csv

        return pyarrow.csv.CSVWriter(file, schema)
    return import_optional("pyarrow").ipc.new_file(file, schema)
