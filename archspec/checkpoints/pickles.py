"""Tensors of a PyTorch zip file, from the opcodes of its pickle: nothing is imported or executed.

Source: torch/serialization.py, torch/_utils.py (`_rebuild_tensor_v2`, `_rebuild_parameter`).
"""

from __future__ import annotations

import os
import zipfile
from math import prod
from pickletools import genops, markobject
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
_INVALID = ValueError, IndexError, KeyError, TypeError, RecursionError, AttributeError
_EMPTY = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_SET": list, "EMPTY_TUPLE": tuple, "DICT": dict}
_PUT, _GET = ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), ("GET", "BINGET", "LONG_BINGET")


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
    except _INVALID as error:
        raise refuse(path, f"invalid pickle: {type(error).__name__} {error}", _HELP) from None
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
    """Return the object of a pickle, with calls and globals as records. Errors: :data:`_INVALID`."""
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}
    for opcode, argument, _ in genops(content):
        name, taken = opcode.name, opcode.stack_before
        if name in _PUT:
            memo[len(memo) if argument is None else int(argument)] = stack[-1]
            continue
        if name == "MARK":
            marks.append(len(stack))
            continue
        count = len(taken)
        if markobject in taken:  # it stands for the values since the last mark
            count = len(stack) - marks.pop() + taken.index(markobject)
        items = stack[len(stack) - count :]
        del stack[len(stack) - count :]
        if name == "STOP":
            return items[0]
        if opcode.stack_after:
            stack.append(memo[int(str(argument))] if name in _GET else _value(name, argument, items))
    raise ValueError("its end is missing")


def _value(name: str, argument: Any, items: list[Any]) -> Any:
    """Return the value that an opcode pushes in place of the items that it takes."""
    if name in _EMPTY:
        return _EMPTY[name]()
    if name in ("NEWTRUE", "NEWFALSE"):
        return name == "NEWTRUE"
    if name in ("GLOBAL", "STACK_GLOBAL"):
        return _Call(argument.replace(" ", ".") if argument else ".".join(items))
    if name.startswith("TUPLE") or name in ("LIST", "FROZENSET"):
        return items if name == "LIST" else tuple(items)
    if name == "BINPERSID":
        return _Call("storage", items[0])
    if name in ("REDUCE", "NEWOBJ"):
        return _call(items[0].name, items[1])
    if name.startswith("SETITEM") and isinstance(items[0], dict):
        pairs = zip(items[1::2], items[2::2], strict=True)
        items[0].update((key, value) for key, value in pairs if isinstance(key, str))
    if name.startswith("APPEND") and isinstance(items[0], list):
        items[0].extend(items[1:])
    return items[0] if items else argument  # BUILD changes an object, which is left as it is


def _call(name: str, values: Any) -> Any:
    """Return the result of a call that builds a tensor or a dict, and any other call as a record."""
    short = name.rpartition(".")[2]
    if short == "OrderedDict":
        return {}
    if short.startswith("_rebuild_parameter"):
        return values[0]
    if not short.startswith("_rebuild_tensor"):
        return _Call(name, values)
    _, kind, storage, *_ = values[0].arguments
    offset, shape, stride = values[1:4]
    typed = kind.name.rpartition(".")[2].removesuffix("Storage")
    dtype = _STORAGES[typed] if typed in _STORAGES else values[6].name.rpartition(".")[2]
    if not all(type(one) is int and 0 <= one < 2**63 for one in (offset, *shape, *stride)):
        raise ValueError("a size is not an integer")
    extent = offset + 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    return _Tensor(str(storage), dtype, tuple(shape), offset, extent if prod(shape) else 0)


def _tensors(found: dict[str, Any]) -> dict[str, _Tensor]:
    """Return the tensors of a state dict, which may be an entry of a checkpoint."""
    inner = next((found[key] for key in _SAVED_IN if isinstance(found.get(key), dict)), found)
    return {name: one for name, one in inner.items() if isinstance(one, _Tensor)}
