"""Types and sizes that llama-quantize reports for converted models, and types in llama.cpp's own tests.

tools/llama_cases.py recorded them in cases.json: `bytes` of all tensors by type of the file, and a digest of
the types of all tensors. `snapshots` are digests of llama.cpp/tests/snapshots for published models.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.errors import ArchspecError
from archspec.gguf.types import FILES, is_quantizable
from archspec.specs.files import folder

RECORDED = json.loads((Path(__file__).parent / "cases.json").read_text(encoding="utf-8"))


def digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: case["architecture"])
def test_types_and_bytes_are_those_of_llama_quantize(case: dict[str, Any]) -> None:
    model = archspec.load({**case["config"], "architectures": [case["architecture"]]})
    found = {name: model.weights(name) for name in case["bytes"]}
    assert {name: one.bytes for name, one in found.items()} == case["bytes"]
    lines = [f"{name} {one.name} {one.type}" for name in found for one in found[name].tensors()]
    assert digest(lines) == case["digest"]


@pytest.mark.parametrize("case", RECORDED["snapshots"], ids=lambda case: case["name"])
def test_types_are_those_of_the_snapshots(case: dict[str, Any]) -> None:
    """A snapshot lists the tensors that do not have the default type of the file."""
    model = archspec.load(case["config"])
    for name, expected in case["digests"].items():
        arch = model.weights(name).file.converted.metadata.arch
        listed = [one for one in model.weights(name).tensors() if is_quantizable(one, arch)]
        lines = [f"{one.name} {one.type}" for one in listed if one.type != FILES[name]]
        assert digest(sorted(lines)) == expected, name


def test_cases_cover_every_class() -> None:
    table = json.loads((Path(folder()) / "gguf.json").read_text(encoding="utf-8"))
    recorded = {case["architecture"] for case in RECORDED["cases"]}
    assert recorded | {*RECORDED["untested"]} == {*table["classes"]}
    with pytest.raises(ArchspecError, match=r"llama\.cpp's formats are not supported for ViTModel"):
        _ = archspec.load("ViTModel").weights("Q4_K_M").bytes
