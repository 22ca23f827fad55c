"""Headers of safetensors files: damage is reported by kind, hostile headers take bounded memory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from written import entries, write_header, write_safetensors

from archspec.checkpoints.records import Header
from archspec.checkpoints.safetensors import read_safetensors
from archspec.errors import ArchspecError

TENSORS = {"a": ("F32", (2, 3)), "b.weight": ("BF16", (4,)), "c": ("I64", ())}
LIMIT = 1_500_000_000  # bytes of address space


def kinds(header: Header) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.kind, one.tensors) for one in header.findings]


def test_a_header_lists_tensors(tmp_path: Path) -> None:
    header = read_safetensors(str(write_safetensors(tmp_path / "x.safetensors", TENSORS)))
    found = [(one.name, one.dtype, one.shape, one.bytes, one.offset) for one in header.tensors]
    assert found == [
        ("a", "float32", (2, 3), 24, 0),
        ("b.weight", "bfloat16", (4,), 8, 24),
        ("c", "int64", (), 8, 32),
    ]
    assert header.metadata == {"format": "pt"} and kinds(header) == []


@pytest.mark.parametrize("text", ["{}", "{ }  ", '{"__metadata__": {"a": "}"}}'])
def test_a_file_without_tensors(text: str, tmp_path: Path) -> None:
    assert read_safetensors(str(write_header(tmp_path / "x.safetensors", text))).tensors == []


def damaged(name: str) -> dict[str, Any]:
    found = entries(TENSORS)
    offsets = {"overlap": [20, 28], "gap": [26, 34], "bytes": [24, 30]}
    if name in offsets:
        found["b.weight"]["data_offsets"] = offsets[name]
        found["c"]["data_offsets"] = [offsets[name][1], offsets[name][1] + 8]
    return found


@pytest.mark.parametrize(
    ("kind", "tensors"), [("overlap", ("b.weight",)), ("gap", ()), ("bytes", ("b.weight",))]
)
def test_a_damaged_layout(kind: str, tensors: tuple[str, ...], tmp_path: Path) -> None:
    header = read_safetensors(str(write_header(tmp_path / "x.safetensors", damaged(kind))))
    assert kinds(header) == [(kind, tensors)]


def test_a_truncated_file(tmp_path: Path) -> None:
    path = write_header(tmp_path / "x.safetensors", entries(TENSORS), size=30)
    assert kinds(read_safetensors(str(path))) == [("truncated", ("b.weight", "c"))]
    for size in (100, 7, 0):
        with open(path, "r+b") as file:
            file.truncate(size)
        assert kinds(read_safetensors(str(path))) == [("truncated", ())]


def test_bytes_after_the_last_tensor(tmp_path: Path) -> None:
    path = write_header(tmp_path / "x.safetensors", entries(TENSORS), size=50)
    assert kinds(read_safetensors(str(path))) == [("gap", ())]


def test_a_name_that_is_given_twice(tmp_path: Path) -> None:
    one, two = (
        json.dumps({"a": entry})[1:-1] for entry in entries({"a": ("F32", (2,)), "b": ("F32", (1,))}).values()
    )
    path = write_header(tmp_path / "x.safetensors", f"{{{one}, {two}}}", size=12)
    assert ("duplicate", ("a",)) in kinds(read_safetensors(str(path)))


def entry(**changes: Any) -> str:
    return json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}})


INVALID = {
    "[]": "not an object",
    '"a"': "not an object",
    "{": "",
    '{"a": 1}': "must have dtype, shape and data_offsets",
    '{"a": {"dtype": "F32"}}': "must have dtype, shape and data_offsets",
    '{"dtype": "F32", "shape": [], "data_offsets": [0, 4]}': "not an object",
    entry(dtype="F33"): "the unknown dtype 'F33'",
    entry(dtype=["F32"]): "unhashable",
    entry(shape=[-1]): "an invalid shape",
    entry(shape=[2.0]): "must be sizes",
    entry(shape=[True]): "must be sizes",
    entry(shape=2): "not iterable",
    entry(shape=["2"]): "must be sizes",
    entry(shape=[2**63]): "an invalid shape",
    entry(data_offsets=[8, 0]): "a start and an end",
    entry(data_offsets=[0]): "",
    entry(data_offsets=[0, 2**64]): "a start and an end",
    entry(extra=1): "must have dtype, shape and data_offsets",
    entry() + "x": "Extra data",
    '{"a": ' + "9" * 5000 + "}": "",
}


@pytest.mark.parametrize("text", INVALID, ids=lambda text: text[:40])
def test_an_invalid_header_is_refused(text: str, tmp_path: Path) -> None:
    path = write_header(tmp_path / "x.safetensors", text, size=8)
    with pytest.raises(ArchspecError, match=re.escape("x.safetensors: invalid header: ")) as refused:
        read_safetensors(str(path))
    assert INVALID[text] in str(refused.value) and "help: " in str(refused.value)


def test_a_header_must_be_utf8(tmp_path: Path) -> None:
    with pytest.raises(ArchspecError, match="not UTF-8"):
        read_safetensors(str(write_header(tmp_path / "x.safetensors", b'{"\xff": {}}')))


def test_exabytes_are_a_truncated_file(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes((2**60).to_bytes(8, "little") + b"{}")
    assert kinds(read_safetensors(str(path))) == [("truncated", ())]
    whole = entry(shape=[2**40, 2**19], data_offsets=[0, 2**61])
    assert kinds(read_safetensors(str(write_header(path, whole)))) == [("truncated", ("a",))]


HOSTILE = {  # expressions for headers of up to 100 MB
    "nested objects": "b'{\"a\":' * 16_000_000",
    "nested lists": "b'{\"a\":' + b'[' * 99_000_000",
    "objects": "b'{' + b'\"a\":{},' * 14_000_000 + b'\"a\":{}}'",
    "numbers": "b'{\"a\":[' + b'0,' * 49_000_000 + b'0]}'",
    "names": "b'{' + b'\"abcdefg\":0,' * 8_000_000 + b'\"a\":0}'",
    "metadata": 'b\'{"__metadata__":{\' + b\'"a":"b",\' * 12_000_000 + b\'"a":""}}\'',
    "a long name": "b'{\"' + b'a' * 99_000_000 + b'\":{}}'",
    "a long number": "b'{\"a\":' + b'9' * 99_000_000 + b'}'",
    "escapes": "b'{\"' + b'\\\\\\\\u0041' * 14_000_000 + b'\":{}}'",
}
PROGRAM = """
import resource, sys
from archspec.checkpoints.safetensors import read_safetensors
from archspec.errors import ArchspecError
with open(sys.argv[1], "wb") as file:
    header = {header}
    file.write(len(header).to_bytes(8, "little") + header)
    del header
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
try:
    read_safetensors(sys.argv[1])
except ArchspecError as error:
    print("refused", str(error)[:200])
"""


def run_hostile(header: str, path: Path) -> str:
    program = PROGRAM.format(header=header, limit=LIMIT)
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_header_is_refused_in_bounded_memory(name: str, tmp_path: Path) -> None:
    assert run_hostile(HOSTILE[name], tmp_path / "x.safetensors").startswith("refused")


def test_a_header_of_a_gigabyte_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes((10**9).to_bytes(8, "little") + b"{")
    with open(path, "r+b") as file:
        file.truncate(2 * 10**9)
    with pytest.raises(ArchspecError, match="1,000,000,000 bytes is larger than 100,000,000 bytes"):
        read_safetensors(str(path))
