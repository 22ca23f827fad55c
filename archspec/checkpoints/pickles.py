"""Tensors of a PyTorch zip file, from its pickle: nothing is imported or executed.

Source: torch/serialization.py, torch/_utils.py (`_rebuild_tensor_v2`, `_rebuild_parameter`).
"""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from math import prod
from typing import Any, ClassVar, NamedTuple

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

_STORED = (
    "Double float64|Float float32|Half float16|BFloat16 bfloat16|Long int64|Int int32|Short int16|Char int8|"
    "Byte uint8|Bool bool"
)
_STORAGES = dict(map(str.split, _STORED.split("|")))  # typed storages -> dtypes as torch spells them
_SAVED_IN = ("state_dict", "model_state_dict", "model", "module")  # of checkpoints of training loops
_HELP = "save the tensors with safetensors, or with torch.save of torch 1.6 or later"
_INVALID = (
    *(ValueError, LookupError, TypeError, AttributeError, OverflowError, EOFError),
    *(pickle.UnpicklingError, struct.error),
)
_REFUSED = b"".join((pickle.BYTEARRAY8, pickle.NEXT_BUFFER, pickle.DICT, pickle.FROZENSET))


class _Object:
    """An object that the pickle names or makes; nothing is imported, and only tensors and dicts are made."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *values: Any) -> Any:
        if self.name.endswith("OrderedDict"):
            return _Dict()
        if "._rebuild_parameter" in self.name:
            return values[0]
        return _tensor(*values) if "._rebuild_tensor" in self.name else self

    def _ignore(self, *_: Any) -> None:
        """Leave the object as it is: its state and elements do not matter."""

    __setstate__ = __setitem__ = append = add = _ignore


class _Dict(dict[str, Any]):
    """A dict without other keys than texts: the hash of nested tuples takes exponential time."""

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, str):
            super().__setitem__(key, value)

    def __setstate__(self, _: Any) -> None:
        """Leave out attributes, such as the metadata of a state dict."""


class _Tensor(NamedTuple):
    storage: str
    dtype: str
    shape: Shape
    offset: int  # elements before it in its storage
    extent: int  # elements of the storage up to its last one


class _Reader(pickle._Unpickler):
    """A reader that makes records of objects. Its memory, unlike C's, is limited by the pickle's length."""

    dispatch: ClassVar[dict[int, Any]] = {
        **{key: one for key, one in pickle._Unpickler.dispatch.items() if key not in _REFUSED},
        pickle.NEWOBJ[0]: pickle._Unpickler.dispatch[pickle.REDUCE[0]],
        pickle.EMPTY_DICT[0]: lambda self: self.append(_Dict()),
        pickle.EMPTY_SET[0]: lambda self: self.append(_Object("set")),
    }

    def find_class(self, module: str, name: str) -> Any:
        return _Object(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        return pid


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
                found = _Reader(io.BytesIO(file.read(sizes[name]))).load()
        state = next((found[key] for key in _SAVED_IN if isinstance(found.get(key), dict)), found)
        entries = {key: one for key, one in state.items() if isinstance(one, _Tensor)}
    except zipfile.BadZipFile:
        with open(path, "rb") as start:
            if start.read(2) != b"PK":
                raise refuse(path, "it is not a zip file of torch.save", _HELP) from None
        truncated = Finding("truncated", "the end of the zip file is missing", path)
        return Header(path, "pytorch", size, [], {}, [truncated])
    except _INVALID:
        entries = {}
    if not entries:
        raise refuse(path, "invalid pickle: it is damaged, or has no dict of tensors", _HELP)
    places = {key: place << 64 for place, key in enumerate({one.storage: 0 for one in entries.values()})}
    tensors, short = [], []
    for label, one in entries.items():
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
    typed = kind.name.rpartition(".")[2].removesuffix("Storage")
    dtype = _STORAGES[typed] if typed in _STORAGES else rest[2].name.rpartition(".")[2]
    if dtype not in BITS or not all(
        type(one) is int and 0 <= one < 2**63 for one in (offset, *shape, *stride)
    ):
        raise ValueError("an unknown dtype, or a size that is not an integer")
    extent = offset + 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    return _Tensor(str(storage), dtype, tuple(shape), offset, extent if prod(shape) else 0)
