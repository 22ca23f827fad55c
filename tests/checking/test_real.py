"""Published checkpoints: configs, names, sizes and adapters, and the findings that their owners should see.

tools/real_checkpoints.py recorded them in real.json. Files are git LFS pointers, or not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from written import write_safetensors

import archspec
from archspec.checking.check import Check
from archspec.checkpoints.records import DTYPES

RECORDS = json.loads(Path(__file__).with_name("real.json").read_text(encoding="utf-8"))
COMPARED = [
    one
    for one in RECORDS
    if "listed" in one and one["config.json"]["model_type"] in ("mixtral", "phi3", "gpt_neox", "layoutlm")
]
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize {}\n"
CODES = {dtype: code for code, dtype in DTYPES.items()}


def unfold(rows: list[list[str]]) -> Iterator[str]:
    """Yield the names of patterns with ranges of numbers."""
    for pattern, *ranges in rows:
        columns = [[n for part in one.split(",") for n in numbers(part)] for one in ranges]
        yield from (pattern.format(*some) for some in product(*columns))


def numbers(part: str) -> range:
    first, _, last = part.partition("-")
    return range(int(first), int(last or first) + 1)


def check(folder: Path, record: dict[str, Any], total: int | None = None, without: str = "") -> Check:
    for name in ("config.json", "adapter_config.json"):
        if name in record:
            (folder / name).write_text(json.dumps(record[name]))
    for name, size in record["pointers"].items():
        (folder / name).write_text(POINTER.format(size))
    if record["stored"]:
        tensors = {name: (CODES[dtype], tuple(shape)) for name, (dtype, shape) in record["stored"].items()}
        write_safetensors(folder / "adapter_model.safetensors", tensors)
    if "listed" in record:
        names, files = [*unfold(record["listed"])], record["files"]
        listed = {name: files[place % len(files)] for place, name in enumerate(names) if name != without}
        metadata = record["metadata"] if total is None else {"total_size": total}
        (folder / record["index"]).write_text(json.dumps({"metadata": metadata, "weight_map": listed}))
    return archspec.check(str(folder))


@pytest.mark.parametrize("record", RECORDS, ids=lambda one: one["name"])
def test_findings(record: dict[str, Any], tmp_path: Path) -> None:
    found = check(tmp_path, record)
    findings = [[one.severity, one.kind, len(one.tensors)] for one in found.findings]
    assert {
        "architecture": found.architecture,
        "exit_code": found.exit_code,
        "tensors": found.tensors,
        "likely": found.likely[0].architecture if found.likely else None,
        "findings": findings,
    } == record["expected"]


@pytest.mark.parametrize("record", COMPARED, ids=lambda one: one["name"])
def test_a_name_that_is_missing_and_bytes_that_differ(record: dict[str, Any], tmp_path: Path) -> None:
    norm = next(
        name for name in unfold(record["listed"]) if name.endswith(("norm.weight", "LayerNorm.weight"))
    )
    found = check(tmp_path, record, without=norm)
    kinds = {one.kind for one in found.findings if one.severity == "error"}
    assert "missing" in kinds and any(
        len(one.tensors) == 1 for one in found.findings if one.kind == "missing"
    )
    found = check(tmp_path, record, total=(found.bytes or 10**9) * 5 // 4)
    assert found.exit_code == 1
    assert {one.kind for one in found.findings if one.severity == "error"} <= {"bytes", "total_size"}
