"""Headers of GGUF files. Source: docs/gguf.md and src/ggml.c of https://github.com/ggml-org/ggml."""

from __future__ import annotations

import os
import struct
from math import prod
from typing import Any, BinaryIO

from archspec.checkpoints.records import (
    MAX_HEADER_BYTES,
    MAX_TENSORS,
    Header,
    StoredTensor,
    layout_findings,
    refuse,
)
from archspec.gguf.types import ALL_BLOCKS, NUMBERS

_FORMS = "BbHhIif?saQqd"  # of struct, by the type of a metadata value; s is a text, a an array
_NAMES = {number: name for name, number in NUMBERS.items()}
_LONGEST, _MAX_DIMENSIONS = 1_000, 8  # characters of a text that is kept


def read_gguf(path: str) -> Header:
    """Return the tensors and the metadata of a file. Errors: :class:`ArchspecError` for a wrong header."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        try:
            if _take(file, 4) != b"GGUF" or _number(file, "I") not in (2, 3):
                raise ValueError("it is not GGUF of version 2 or 3")
            count, values = _number(file, "Q"), _number(file, "Q")
            if max(count, values) > MAX_TENSORS:
                raise ValueError(f"{count:,} tensors and {values:,} values are too many")
            metadata = {_text(file): _value(file, _number(file, "I")) for _ in range(values)}
            tensors = [_tensor(file, path) for _ in range(count)]
            alignment = metadata.get("general.alignment", 32)
            data = -(-file.tell() // alignment) * alignment
        except (ValueError, TypeError, ArithmeticError, LookupError, struct.error) as error:
            raise refuse(path, f"invalid header: {error}") from None
    findings = [*layout_findings(path, tensors, size - data, alignment)]
    return Header(path, "gguf", size, tensors, metadata, findings)


def _take(file: BinaryIO, count: int) -> bytes:
    found = file.read(count) if file.tell() + count <= MAX_HEADER_BYTES else b""
    if len(found) < count:
        raise ValueError("it ends too early")
    return found


def _number(file: BinaryIO, form: str) -> Any:
    return struct.unpack(f"<{form}", _take(file, struct.calcsize(f"<{form}")))[0]


def _text(file: BinaryIO) -> str:
    return _take(file, _number(file, "Q")).decode("utf-8", "replace")[:_LONGEST]


def _value(file: BinaryIO, kind: int) -> Any:
    """Return a value of the metadata; of an array only its length. Errors: :class:`ValueError`."""
    form = _FORMS[kind]
    if form == "s":
        return _text(file)
    if form != "a":
        return _number(file, form)
    inner, count = _FORMS[_number(file, "I")], _number(file, "Q")
    if inner == "a":
        raise ValueError("an array of arrays")
    if inner != "s":
        _take(file, count * struct.calcsize(f"<{inner}"))
    for _ in range(count if inner == "s" else 0):
        _text(file)
    return f"{count:,} values"


def _tensor(file: BinaryIO, path: str) -> StoredTensor:
    """Return the tensor of an entry, with its dimensions in torch's order. Errors: :class:`ValueError`."""
    name, dimensions = _text(file), _number(file, "I")
    if dimensions > _MAX_DIMENSIONS:
        raise ValueError(f"{name} has {dimensions} dimensions")
    shape = tuple(_number(file, "Q") for _ in range(dimensions))[::-1]
    dtype = _NAMES[_number(file, "I")]
    block, size = ALL_BLOCKS[dtype]
    return StoredTensor(name, dtype.lower(), shape, prod(shape) * size // block, path, _number(file, "Q"))
