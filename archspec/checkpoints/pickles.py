"""Tensors of a PyTorch zip file, from the opcodes of its pickle: nothing is imported or executed.

Source: torch/serialization.py, torch/_utils.py (`_rebuild_tensor_v2`, `_rebuild_parameter`).
"""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

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
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
}
_SAVED_IN = ("state_dict", "model_state_dict", "model", "module")  # of checkpoints of training loops
_HELP = "save the tensors with safetensors, or with torch.save of torch 1.6 or later"
_INVALID = ValueError, IndexError, KeyError, TypeError, AttributeError, struct.error
_STOP, _MARK, _GLOBAL, _MEMOIZE, _GET, _PUT, _LONG_GET, _LONG_PUT = b".(c\x94hqjr"
_IGNORED = b"\x80\x95"  # the protocol, and frames
_BYTE, _SHORT, _INT, _LONG, _LONG_LONG, _FLOAT = map(struct.Struct, ("B", "<H", "<i", "<I", "<Q", ">d"))
_TEXT, _INTEGER = bytes.decode, lambda content: int.from_bytes(content, "little", signed=True)
_ARGUMENTS: dict[int, tuple[struct.Struct, Callable[[bytes], Any] | None]] = {
    # opcode -> the number that follows it; if that is a length, the reader of the bytes after it
    **dict.fromkeys(b"K\x80", (_BYTE, None)),
    **dict.fromkeys(b"M", (_SHORT, None)),
    **dict.fromkeys(b"J", (_INT, None)),
    **dict.fromkeys(b"jr", (_LONG, None)),
    **dict.fromkeys(b"\x95", (_LONG_LONG, None)),
    **dict.fromkeys(b"G", (_FLOAT, None)),
    **dict.fromkeys(b"U\x8c", (_BYTE, _TEXT)),
    **dict.fromkeys(b"XT", (_LONG, _TEXT)),
    **dict.fromkeys(b"\x8d", (_LONG_LONG, _TEXT)),
    **dict.fromkeys(b"C", (_BYTE, bytes)),
    **dict.fromkeys(b"B", (_LONG, bytes)),
    **dict.fromkeys(b"\x8e", (_LONG_LONG, bytes)),
    **dict.fromkeys(b"\x8a", (_BYTE, _INTEGER)),
    **dict.fromkeys(b"\x8b", (_LONG, _INTEGER)),
}


class _Call(NamedTuple):
    """A call that the pickle asks for, or a global that it names."""

    name: str
    arguments: Any = None


class _Tensor(NamedTuple):
    storage: str
    dtype: str
    shape: Shape
    offset: int  # elements before it in its storage
    extent: int  # elements of the storage up to its last one


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
                found = _tensors(_read_object(file.read(sizes[name])))
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


def _read_object(content: bytes) -> Any:
    """Return the object of a pickle, with calls and globals as records. Errors: :data:`_INVALID`.

    Opcodes are those of protocol 2 and later. Each one reads on, so a pickle takes memory like its length.
    """
    stack: list[Any] = []
    marks: list[list[Any]] = []
    memo: dict[int, Any] = {}
    place = 0
    while (opcode := content[place]) != _STOP:
        place += 1
        if opcode == _GET:
            stack.append(memo[content[place]])
            place += 1
        elif opcode == _PUT:
            memo[content[place]] = stack[-1]
            place += 1
        elif opcode == _MARK:
            marks.append(stack)
            stack = []
        elif (step := _STEPS.get(opcode)) is not None:
            count, make = step
            start = len(stack) - count
            items = stack[start:]
            if count < 0:  # the items since the last mark, and those before it that the opcode changes
                items, stack = stack, marks.pop()
                start = len(stack) + count + 1
                items = stack[start:] + items
            del stack[start:]
            stack.append(make(items))
        elif opcode == _GLOBAL:
            end = content.index(b"\n", content.index(b"\n", place) + 1)
            stack.append(_Call(content[place:end].decode().replace("\n", ".")))
            place = end + 1
        elif opcode == _MEMOIZE:
            memo[len(memo)] = stack[-1]
        else:
            form, read = _ARGUMENTS[opcode]
            (value,) = form.unpack_from(content, place)
            place += form.size
            if opcode == _LONG_PUT:
                memo[value] = stack[-1]
            elif opcode == _LONG_GET:
                stack.append(memo[value])
            elif opcode not in _IGNORED:
                stack.append(read(content[place : place + value]) if read else value)
                place += value if read else 0
    return stack.pop()


def _call(items: list[Any]) -> Any:
    """Return the result of a call that builds a tensor or a dict, and any other call as a record."""
    name, values = items[0].name, items[1]
    if name.endswith("OrderedDict"):
        return {}
    if "._rebuild_parameter" in name:
        return values[0]
    if "._rebuild_tensor" not in name:
        return _Call(name, values)
    _, kind, storage, *_ = values[0]
    of_kind = values[6].name if len(values) > 6 else kind.name
    return _Tensor(str(storage), *_layout(kind.name, of_kind, *values[1:4]))


@lru_cache(10_000)
def _layout(kind: str, dtype: str, offset: Any, shape: Any, stride: Any) -> tuple[str, Shape, int, int]:
    """Return the dtype, the shape, the offset and the extent of a tensor; many have the same ones."""
    typed = kind.rpartition(".")[2].removesuffix("Storage")
    name = _STORAGES[typed] if typed in _STORAGES else dtype.rpartition(".")[2]
    if name not in BITS or not all(
        type(one) is int and 0 <= one < 2**63 for one in (offset, *shape, *stride)
    ):
        raise ValueError("an unknown dtype, or a size that is not an integer")
    extent = offset + 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    return name, shape, offset, extent if prod(shape) else 0


def _set_items(items: list[Any]) -> Any:
    if isinstance(items[0], dict):
        pairs = zip(items[1::2], items[2::2], strict=True)
        items[0].update((key, value) for key, value in pairs if isinstance(key, str))
    return items[0]


def _append(items: list[Any]) -> Any:
    if isinstance(items[0], list):
        items[0].extend(items[1:])
    return items[0]


_STEPS: dict[int, tuple[int, Callable[[list[Any]], Any]]] = {  # -> items that it takes, and their value
    **dict.fromkeys(b"}", (0, lambda _: {})),
    **dict.fromkeys(b"]\x8f", (0, list)),
    **dict.fromkeys(b")", (0, tuple)),
    **dict.fromkeys(b"N", (0, lambda _: None)),
    **dict.fromkeys(b"\x88\x89", (0, bool)),  # no value is a bool
    **dict.fromkeys(b"Q", (1, lambda items: items[0])),
    **{opcode: (count, tuple) for count, opcode in enumerate(b"\x85\x86\x87", 1)},
    **dict.fromkeys(b"\x93", (2, lambda items: _Call(".".join(items)))),
    **dict.fromkeys(b"R\x81", (2, _call)),
    **dict.fromkeys(b"b", (2, lambda items: items[0])),  # an object is left as it is
    **dict.fromkeys(b"a", (2, _append)),
    **dict.fromkeys(b"s", (3, _set_items)),
    **dict.fromkeys(b"t\x91", (-1, tuple)),
    **dict.fromkeys(b"l", (-1, list)),
    **dict.fromkeys(b"d", (-1, lambda items: _set_items([{}, *items]))),
    **dict.fromkeys(b"u", (-2, _set_items)),
    **dict.fromkeys(b"e\x90", (-2, _append)),
}


def _tensors(found: dict[str, Any]) -> dict[str, _Tensor]:
    """Return the tensors of a state dict, which may be an entry of a checkpoint."""
    inner = next((found[key] for key in _SAVED_IN if isinstance(found.get(key), dict)), found)
    return {name: one for name, one in inner.items() if isinstance(one, _Tensor)}
