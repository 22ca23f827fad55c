"""The bytes of layouts are those of the tensors that quantization libraries store: tools/packers.py."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import pytest
from layouts import LLAMA

import archspec
from archspec.formats.dtypes import dtype_bytes
from archspec.formats.scheme import FORMATS

RECORDED = json.loads((Path(__file__).parent / "packed.json").read_text(encoding="utf-8"))
SIZES = {"int64": 8, "int32": 4, "uint32": 4, "int16": 2, "float32": 4, "float16": 2, "bfloat16": 2}


def stored_bytes(tensors: dict[str, list[Any]]) -> int:
    return sum(SIZES.get(dtype, 1) * prod(shape) for dtype, *shape in tensors.values())


@pytest.mark.parametrize("library", RECORDED)
def test_layouts_have_the_bytes_of_the_tensors_in_files(library: str) -> None:
    """Random shapes, dtypes, bits and groups."""
    records = RECORDED[library]["records"]
    assert len(records) >= 15 and len({json.dumps(one[0]) for one in records}) >= 5
    wrong = []
    for config, rows, columns, dtype, tensors in records:
        key = "quantization" if library == "mlx" else "quantization_config"
        given = {name: value for name, value in config.items() if value != "mlx"}
        scheme = archspec.load({**LLAMA, key: given}).weights().scheme
        assert scheme is not None
        layout = scheme.layout_of("model.layers.0.mlp.up_proj", "Linear")
        assert layout is not None
        found = layout.bytes(rows, columns, dtype_bytes(dtype)) + layout.bytes_in_files(rows, columns, dtype)
        if found != stored_bytes(tensors):
            wrong.append((config, rows, columns, dtype, tensors, found, stored_bytes(tensors)))
    assert not wrong, wrong[:3]


def test_every_source_names_the_version_of_a_recorded_library() -> None:
    versions = {f"{name} {one['version']}" for name, one in RECORDED.items()}
    named = [version for version in versions if any(version in one.source for one in FORMATS.values())]
    assert {*named} == versions
