"""Writes small checkpoint files: headers with names, dtypes and shapes, and zeros as data."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import archspec

BYTES = {
    "F64": 8,
    "I64": 8,
    "F32": 4,
    "I32": 4,
    "U32": 4,
    "BF16": 2,
    "F16": 2,
    "U8": 1,
    "I8": 1,
    "F8_E4M3": 1,
}
Tensors = Mapping[str, tuple[str, tuple[int, ...]]]


def entries(tensors: Tensors) -> dict[str, Any]:
    """Return the entries of a header: each tensor follows the one before."""
    found, end = {}, 0
    for name, (dtype, shape) in tensors.items():
        start, end = end, end + prod(shape) * BYTES[dtype]
        found[name] = {"dtype": dtype, "shape": [*shape], "data_offsets": [start, end]}
    return found


def write_header(path: Path, header: str | bytes | dict[str, Any], size: int | None = None) -> Path:
    """Write a header and ``size`` bytes of data, by default as many as its last offset."""
    if isinstance(header, dict):
        ends = [one["data_offsets"][1] for one in header.values() if "data_offsets" in one]
        size = max(ends, default=0) if size is None else size
        header = json.dumps(header)
    content = header.encode() if isinstance(header, str) else header
    path.write_bytes(len(content).to_bytes(8, "little") + content)
    with open(path, "r+b") as file:
        file.truncate(8 + len(content) + (size or 0))
    return path


def write_safetensors(path: Path, tensors: Tensors) -> Path:
    """Write a file of zeros with these tensors."""
    return write_header(path, {"__metadata__": {"format": "pt"}, **entries(tensors)})


def stored_tensors(model: archspec.Model, dtype: str = "F32") -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return the tensors that transformers saves of a model under today's names: tied ones once."""
    return {one.name: (dtype, one.shape) for one in model.tensors() if not one.tied_to}


def write_checkpoint(folder: Path, config: Mapping[str, Any], **changes: Any) -> Path:
    """Write a config and its tensors; ``changes`` of tensors by name, None to leave one out."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    tensors = {**stored_tensors(archspec.load(dict(config))), **changes}
    write_safetensors(folder / "model.safetensors", {name: one for name, one in tensors.items() if one})
    return folder


GGUF_TYPES = {
    "F32": (0, 1, 4),
    "F16": (1, 1, 2),
    "Q8_0": (8, 32, 34),
    "Q4_K": (12, 256, 144),
    "Q6_K": (14, 256, 210),
}


def write_gguf(path: Path, tensors: Tensors, metadata: Mapping[str, int | str]) -> Path:
    """Write a GGUF file of zeros with these tensors, by type and shape, and texts and 32-bit integers."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    parts = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(metadata))]
    for key, value in metadata.items():
        typed = struct.pack("<II", 4, value) if isinstance(value, int) else struct.pack("<I", 8) + text(value)
        parts.append(text(key) + typed)
    end = 0
    for name, (kind, shape) in tensors.items():
        number, block, size = GGUF_TYPES[kind.upper()]
        parts.append(text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape)))
        parts.append(struct.pack("<IQ", number, end))
        end += -(-prod(shape) // block * size // 32) * 32
    header = b"".join(parts)
    path.write_bytes(header + bytes(-len(header) % 32))
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size + end)
    return path
