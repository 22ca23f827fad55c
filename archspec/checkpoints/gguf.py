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

_FORMS = "BbHhIif?saQqd"  # of struct, by the type of a metadata value; s is a text, a an array
_TYPES = (  # name, its number, elements and bytes of a block
    "f32 0 1 4|f16 1 1 2|q4_0 2 32 18|q4_1 3 32 20|q5_0 6 32 22|q5_1 7 32 24|q8_0 8 32 34|q8_1 9 32 40|"
    "q2_k 10 256 84|q3_k 11 256 110|q4_k 12 256 144|q5_k 13 256 176|q6_k 14 256 210|q8_k 15 256 292|"
    "iq2_xxs 16 256 66|iq2_xs 17 256 74|iq3_xxs 18 256 98|iq1_s 19 256 50|iq4_nl 20 32 18|iq3_s 21 256 110|"
    "iq2_s 22 256 82|iq4_xs 23 256 136|i8 24 1 1|i16 25 1 2|i32 26 1 4|i64 27 1 8|f64 28 1 8|iq1_m 29 256 56|"
    "bf16 30 1 2|tq1_0 34 256 54|tq2_0 35 256 66|mxfp4 39 32 17|nvfp4 40 64 36|q1_0 41 128 18"
)
_BLOCKS = {
    int(number): (name, int(block), int(size))
    for name, number, block, size in map(str.split, _TYPES.split("|"))
}
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
    dtype, block, size = _BLOCKS[_number(file, "I")]
    return StoredTensor(name, dtype, shape, prod(shape) * size // block, path, _number(file, "Q"))
