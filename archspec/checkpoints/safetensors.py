"""Headers of safetensors files: 8 bytes with the length of a JSON object, the object, then the data.

Source: https://github.com/huggingface/safetensors (safetensors/src/tensor.rs), which has the same limit of
100 MB. Signs are counted before the JSON is parsed, so that a hostile header takes bounded memory.
"""

from __future__ import annotations

import json
import os

from archspec.checkpoints.records import (
    DTYPES,
    MAX_HEADER_BYTES,
    MAX_TENSORS,
    Finding,
    Header,
    StoredTensor,
    layout_findings,
    refuse,
)
from archspec.typing_light import Any

_LENGTH, _LIMIT = 8, 2**63  # bytes before the header; sizes are below
_METADATA, _KEYS = "__metadata__", {"dtype", "shape", "data_offsets"}
_MOST = {"{": MAX_TENSORS + 2, "[": 2 * MAX_TENSORS, ",": 8 * MAX_TENSORS, ":": 5 * MAX_TENSORS}


def read_safetensors(path: str) -> Header:
    """Return the header of a file. Errors: :class:`ArchspecError` for a header that cannot be read."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(_LENGTH), "little")
        if size < _LENGTH or length > size - _LENGTH:
            message = f"the file has {size:,} bytes, but its header should have {length:,}: it is truncated"
            finding = Finding("truncated", message, path, help="download or save the file again")
            return Header(path, "safetensors", size, [], {}, [finding])
        if length > MAX_HEADER_BYTES:
            raise refuse(path, f"a header of {length:,} bytes is larger than {MAX_HEADER_BYTES:,} bytes")
        content = file.read(length)
    try:
        metadata, tensors = _parse(path, content.decode())
    except UnicodeDecodeError:
        raise refuse(path, "the header is not UTF-8") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise refuse(path, f"invalid header: {error}") from None
    findings = [*layout_findings(path, tensors, size - _LENGTH - length)]
    return Header(path, "safetensors", size, tensors, metadata, findings)


def _parse(path: str, text: str) -> tuple[dict[str, Any], list[StoredTensor]]:
    """Return the metadata and the tensors. Errors: :class:`ValueError`, :class:`TypeError`."""
    if any(text.count(sign) > most for sign, most in _MOST.items()):
        raise ValueError(f"more than {MAX_TENSORS:,} tensors")
    entries = json.loads(text, object_pairs_hook=_read_object)
    if type(entries) is not list or not text.startswith("{"):
        raise ValueError("it is not an object of tensors")
    metadata = dict(next((value for name, value in entries if name == _METADATA), ()))
    return metadata, [_tensor(path, name, value) for name, value in entries if name != _METADATA]


def _read_object(pairs: list[tuple[str, Any]]) -> Any:
    """Return the dtype, shape and offsets of a tensor; of any other object the pairs, for repeated names."""
    values = dict(pairs)
    if values.keys() != _KEYS or len(pairs) > len(values):
        return pairs
    return values["dtype"], values["shape"], values["data_offsets"]


def _tensor(path: str, name: str, entry: Any) -> StoredTensor:
    """Return the tensor of an entry. Errors: :class:`ValueError`."""
    if type(entry) is not tuple:
        raise ValueError(f"the entry of {name[:60]!r} must have dtype, shape and data_offsets")
    dtype, shape, offsets = entry
    if (known := DTYPES.get(dtype)) is None:
        raise ValueError(f"{name[:60]!r} has the unknown dtype {str(dtype)[:40]!r}")
    first, last = offsets
    if {*map(type, shape), type(first), type(last)} != {int} or not 0 <= first <= last < _LIMIT:
        raise ValueError(f"shape and data_offsets of {name[:60]!r} must be sizes, a start and an end")
    if shape and not 0 <= min(shape) <= max(shape) < _LIMIT:
        raise ValueError(f"{name[:60]!r} has an invalid shape")
    return StoredTensor(name, known, tuple(shape), last - first, path, first)
