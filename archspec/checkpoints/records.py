"""Records of what the header of a file lists, and of the differences found in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from operator import attrgetter
from typing import Any, NamedTuple

from archspec.errors import ArchspecError, list_names

ERROR, NOTE = "error", "note"
MAX_HEADER_BYTES = 100_000_000  # as in safetensors
MAX_TENSORS = 1_000_000
_NAMES = (
    "F64 float64|F32 float32|F16 float16|BF16 bfloat16|I64 int64|I32 int32|I16 int16|I8 int8|U64 uint64|"
    "U32 uint32|U16 uint16|U8 uint8|BOOL bool|C64 complex64|F8_E4M3 float8_e4m3fn|F8_E5M2 float8_e5m2|"
    "F8_E8M0 float8_e8m0fnu|F8_E4M3FNUZ float8_e4m3fnuz|F8_E5M2FNUZ float8_e5m2fnuz|F6_E2M3 float6_e2m3|"
    "F6_E3M2 float6_e3m2|F4 float4"
)
DTYPES: dict[str, str] = dict(map(str.split, _NAMES.split("|")))  # of safetensors -> as torch spells them
BITS = {name: int((re.findall(r"\d+", name) or [8])[0]) for name in DTYPES.values()}  # of an element
Shape = tuple[int, ...]


class StoredTensor(NamedTuple):
    """A tensor of a file. The shape is None if only an index lists it; the offset counts from the data."""

    name: str
    dtype: str
    shape: Shape | None
    bytes: int
    file: str
    offset: int = 0

    @property
    def numel(self) -> int:
        """The number of elements; 0 if the shape is unknown."""
        return prod(self.shape) if self.shape is not None else 0


class Finding(NamedTuple):
    """A difference or a note; ``kind`` is its stable name, and ``tensors`` are the names it is about."""

    kind: str
    message: str
    file: str = ""
    tensors: tuple[str, ...] = ()
    severity: str = ERROR
    help: str = ""

    @property
    def line(self) -> str:
        """The finding on one line, with its file."""
        return f"{self.severity} [{self.kind}] {self.file}{': ' if self.file else ''}{self.message}"


class Header(NamedTuple):
    """The header of one file: its tensors and metadata; ``size`` is 0 if the file's size is unknown."""

    file: str
    format: str
    size: int
    tensors: list[StoredTensor]
    metadata: Mapping[str, Any]
    findings: list[Finding]


def refuse(file: str, message: str, help_: str = "download or save the file again") -> ArchspecError:
    """Return the error for a file whose header cannot be read."""
    return ArchspecError(f"{file}: {message}", help=help_)


def name_some(names: Iterable[str], most: int = 3) -> str:
    """Return the first names as a phrase.

    >>> name_some(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    listed = [*names]
    more = [f"{len(listed) - most:,} more"] if len(listed) > most else []
    return list_names([*listed[:most], *more], "and")


def about(
    kind: str, names: Iterable[str], message: str, file: str = "", severity: str = ERROR
) -> Iterator[Finding]:
    """Yield the finding on some tensors, if there are any."""
    if listed := tuple(names):
        yield Finding(kind, f"{name_some(listed)}: {message}", file, listed, severity)


def layout_findings(
    path: str, tensors: list[StoredTensor], data_bytes: int, alignment: int = 1
) -> Iterator[Finding]:
    """Yield repeated names, and bytes that do not fit, overlap, leave gaps or are beyond the file's end."""
    counts = Counter(one.name for one in tensors)
    repeated = [name for name, count in counts.items() if count > 1]
    known = (one for one in tensors if one.dtype in BITS)
    odd = [one.name for one in known if one.bytes != -(-one.numel * BITS[one.dtype] // 8)]
    end, gap, overlapping = 0, 0, []
    for one in sorted(tensors, key=attrgetter("offset", "bytes")):
        if one.offset < end:
            overlapping.append(one.name)
        gap += max(0, one.offset - -(-end // alignment) * alignment)
        end = max(end, one.offset + one.bytes)
    gap += data_bytes - end if -(-end // alignment) * alignment < data_bytes else 0
    beyond = [one.name for one in tensors if one.offset + one.bytes > data_bytes]
    short = f"the tensors take {end:,} bytes, but the file has {max(0, data_bytes):,}: it is truncated"
    yield from about("duplicate", repeated, "listed twice in the header", path)
    yield from about("bytes", odd, "the bytes do not fit shape and dtype", path)
    yield from about("overlap", overlapping, "the bytes overlap those of another tensor", path)
    yield from about("truncated", beyond, short, path)
    if gap:
        yield Finding("gap", f"{gap:,} bytes belong to no tensor", path)
