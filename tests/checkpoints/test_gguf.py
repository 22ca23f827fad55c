"""Headers of GGUF files."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from archspec.checkpoints.gguf import read_gguf
from archspec.errors import ArchspecError


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


VALUES = {
    "general.architecture": (8, text("llama")),
    "llama.block_count": (4, struct.pack("<I", 2)),
    "llama.rope.freq_base": (6, struct.pack("<f", 0.5)),
    "tokenizer.ggml.tokens": (9, struct.pack("<IQ", 8, 3) + text("a") + text("bc") + text("")),
    "tokenizer.ggml.scores": (9, struct.pack("<IQ", 6, 3) + bytes(12)),
}
TENSORS = [
    ("token_embd.weight", (256, 3), 12, 0),
    ("output_norm.weight", (5,), 0, 448),
    ("x", (32, 2), 8, 480),
]


def header(tensors: list[tuple[str, tuple[int, ...], int, int]] = TENSORS, count: int | None = None) -> bytes:
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(tensors) if count is None else count, len(VALUES))]
    parts += [text(name) + struct.pack("<I", kind) + value for name, (kind, value) in VALUES.items()]
    for name, shape, kind, offset in tensors:
        parts += [
            text(name),
            struct.pack(f"<I{len(shape)}Q", len(shape), *shape),
            struct.pack("<IQ", kind, offset),
        ]
    return b"".join(parts)


def write(path: Path, content: bytes, data: int = 548) -> str:
    path.write_bytes(content + bytes(-len(content) % 32 + data))
    return str(path)


def test_a_header_lists_tensors_and_metadata(tmp_path: Path) -> None:
    found = read_gguf(write(tmp_path / "x.gguf", header()))
    assert [(one.name, one.dtype, one.shape, one.bytes) for one in found.tensors] == [
        ("token_embd.weight", "q4_k", (3, 256), 432),
        ("output_norm.weight", "f32", (5,), 20),
        ("x", "q8_0", (2, 32), 68),
    ]
    assert found.findings == [] and found.metadata["general.architecture"] == "llama"
    assert found.metadata["llama.block_count"] == 2 and found.metadata["llama.rope.freq_base"] == 0.5
    assert found.metadata["tokenizer.ggml.tokens"] == found.metadata["tokenizer.ggml.scores"] == "3 values"


@pytest.mark.parametrize(("data", "kind"), [(547, "truncated"), (600, "gap")])
def test_the_size_of_the_file(data: int, kind: str, tmp_path: Path) -> None:
    assert [one.kind for one in read_gguf(write(tmp_path / "x.gguf", header(), data)).findings] == [kind]


def test_tensors_that_overlap(tmp_path: Path) -> None:
    tensors = [TENSORS[0], ("output_norm.weight", (5,), 0, 416), TENSORS[2]]
    found = read_gguf(write(tmp_path / "x.gguf", header(tensors)))
    assert ("overlap", ("output_norm.weight",)) in [(one.kind, one.tensors) for one in found.findings]


@pytest.mark.parametrize(
    "content",
    [
        b"GGUX",
        b"GGUF",
        b"GGUF" + struct.pack("<IQQ", 1, 0, 0),
        header(count=4),
        header(count=2**60),
        header([("x", (1,), 99, 0)]),
        header([("x", (1,) * 9, 0, 0)]),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**62),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<I", 77),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<IIQ", 9, 9, 2**40),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<IIQ", 9, 4, 2**62),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("general.alignment") + struct.pack("<II", 4, 0),
    ],
)
def test_an_invalid_header_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    with pytest.raises(ArchspecError, match=r"x\.gguf: invalid header: "):
        read_gguf(str(path))
