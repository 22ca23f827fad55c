"""Tensors of a PyTorch zip file, from its pickle: nothing is imported or executed.

Source: torch/serialization.py, torch/_utils.py (`_rebuild_tensor_v2`, `_rebuild_parameter`).
"""

from __future__ import annotations

import io
import os
import pickle
import re
import struct
import zipfile
from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple, cast

from archspec.checkpoints.records import (
    BITS,
    MAX_HEADER_BYTES,
    Finding,
    Header,
    Shape,
    StoredTensor,
    about,
    refuse,
)

_STORAGES = {  # of typed storages, whose dtype is not spelled as torch's dtypes are
    f"{kind}Storage": dtype
    for kind, dtype in zip(
        ("Double", "Float", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool"),
        ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"),
        strict=True,
    )
}
_SAVED_IN = ("state_dict", "model_state_dict", "model", "module")  # of checkpoints of training loops
_LIMIT = 2**63  # sizes are below
_HELP = "save the tensors with safetensors, or with torch.save of torch 1.6 or later"
_INVALID = (
    *(ValueError, LookupError, TypeError, AttributeError, OverflowError, EOFError),
    *(pickle.UnpicklingError, struct.error),
)
_OPCODES = re.compile(  # of a fixed length; the memo has fewer than 2**24 entries
    rb"(?:[](012)abelstuNQR\x85-\x89\x90\x93\x94]+|[Khq\x80].|r...\0|[Jj]....|M..|G.{8}|c[^\n]*\n[^\n]*\n){0,999}",
    re.DOTALL,
)
_LENGTHS = {
    **dict.fromkeys(b"CU\x8a\x8c", 1),
    **dict.fromkeys(b"BTX\x8b", 4),
    **dict.fromkeys(b"\x8d\x8e", 8),
}
_NEW = b"c.\n.\n)R"  # calls an object that is named, without arguments
_REPLACED = {  # of a dict, a set, an object; frames and large numbers of the memo are dropped
    b"}"[0]: (1, _NEW),
    b"\x8f"[0]: (1, _NEW),
    b"\x81"[0]: (1, b"R"),
    b"\x95"[0]: (9, b""),
    b"r"[0]: (5, b""),
}


class _Object(dict[str, Any]):
    """An object that the pickle names or makes, with its entries; nothing is imported.

    Keys that are not texts are left out, because the hash of nested tuples takes exponential time.
    """

    def __init__(self, name: str = "") -> None:
        super().__init__()
        self.name, self.label = name, name.rpartition(".")[2]

    def __call__(self, *values: Any) -> Any:
        """Return the tensor that a call makes; of any other call a new object."""
        if "._rebuild_parameter" in self.name:
            return values[0]
        return _tensor(*values) if "._rebuild_tensor" in self.name else _Object()

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, str):
            super().__setitem__(key, value)

    def _ignore(self, _: Any) -> None:
        """Leave the object as it is."""

    append = add = __setstate__ = _ignore


class _Tensor(NamedTuple):
    storage: str
    dtype: str
    shape: Shape
    offset: int  # elements before it in its storage
    extent: int  # elements of the storage up to its last one


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return _Object(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        return pid


def _rewrite(content: bytes) -> Iterator[bytes]:
    """Yield a pickle that makes objects of :class:`_Object` only, and takes as much memory as it is long.

    Errors: :class:`ValueError` for an opcode that torch does not write.
    """
    start = place = 0
    while True:
        last, place = place, cast("re.Match[bytes]", _OPCODES.match(content, place)).end()
        code = content[place]
        if width := _LENGTHS.get(code, 0):
            place += 1 + width + int.from_bytes(content[place + 1 : place + 1 + width], "little")
        elif code in _REPLACED:
            yield content[start:place]
            length, other = _REPLACED[code]
            start = place = place + length
            yield other
        elif place == last:
            if code != b"."[0]:
                raise ValueError("an opcode that torch does not write")
            yield content[start : place + 1]
            return


def read_pickle(path: str) -> Header:
    """Return the tensors of a PyTorch file. Errors: :class:`ArchspecError` for a file that cannot be read."""
    size = os.path.getsize(path)
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {one.filename: one.file_size for one in archive.infolist()}
            name = next((one for one in sizes if one.rpartition("/")[2] == "data.pkl"), "")
            if not 0 < sizes.get(name, 0) <= MAX_HEADER_BYTES:
                raise refuse(path, f"it has no data.pkl of at most {MAX_HEADER_BYTES:,} bytes", _HELP)
            with archive.open(name) as file:
                content = b"".join(_rewrite(file.read(sizes[name])))
            found = _tensors(_Reader(io.BufferedReader(io.BytesIO(content))).load())
    except zipfile.BadZipFile:
        with open(path, "rb") as start:
            if start.read(2) != b"PK":
                raise refuse(path, "it is not a zip file of torch.save", _HELP) from None
        truncated = Finding("truncated", "the end of the zip file is missing", path)
        return Header(path, "pytorch", size, [], {}, [truncated])
    except _INVALID:
        raise refuse(path, "invalid pickle: it is damaged, or has no dict of tensors", _HELP) from None
    if not found:
        raise refuse(path, "invalid pickle: it has no dict of tensors", _HELP)
    places = {key: place << 64 for place, key in enumerate({one.storage: 0 for one in found.values()})}
    tensors, short = [], []
    for label, one in found.items():
        width = BITS[one.dtype] // 8
        place = places[one.storage] + one.offset * width  # tensors that share a storage share places
        tensors.append(StoredTensor(label, one.dtype, one.shape, prod(one.shape) * width, path, place))
        if sizes.get(f"{name.removesuffix('data.pkl')}data/{one.storage}", 0) < one.extent * width:
            short.append(label)
    findings = about("truncated", short, "the file has too few bytes: it is truncated", path)
    return Header(path, "pytorch", size, tensors, {}, [*findings])


def _tensor(of: Any, offset: Any, shape: Any, stride: Any, *rest: Any) -> _Tensor:
    """Return the tensor that `_rebuild_tensor_v2` makes of a storage. Errors: :data:`_INVALID`."""
    _, kind, storage, *_ = of
    dtype = _STORAGES.get(kind.label) or rest[2].label
    sizes = (offset, *shape, *stride)
    if dtype not in BITS or {*map(type, sizes)} != {int} or not 0 <= min(sizes) <= max(sizes) < _LIMIT:
        raise ValueError("an unknown dtype, or a size that is not an integer")
    last = offset + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    return _Tensor(str(storage), dtype, tuple(shape), offset, last + 1 if 0 not in shape else 0)


def _tensors(found: dict[str, Any]) -> dict[str, _Tensor]:
    """Return the tensors of a state dict, which may be an entry of a checkpoint."""
    inner = next((one for key in _SAVED_IN if isinstance(one := found.get(key), dict) and one), found)
    return {name: one for name, one in inner.items() if isinstance(one, _Tensor)}
