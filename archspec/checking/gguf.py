"""A GGUF file compared with the model of a config, as llama.cpp's converter and llama-quantize write it.

The rules are those of archspec.gguf.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from math import prod
from typing import Any

from archspec.checking.comparison import Comparison, by_layer, differences
from archspec.checkpoints.records import NOTE, Finding, StoredTensor, name_some
from archspec.errors import ArchspecError
from archspec.gguf.names import Converted, convert_tensors
from archspec.gguf.types import FILE_NUMBERS, Recipe, choose_types, without_ones
from archspec.models.model import Model
from archspec.specs.files import read_json

_BASES = "F32", "F16", "BF16"
_SIZES = {  # of the metadata, below the architecture
    "block_count": "layers",
    "attention.head_count": "heads",
    "attention.head_count_kv": "key_value_heads",
    "expert_count": "experts",
}


def compare_gguf(model: Model, tensors: list[StoredTensor], metadata: Mapping[str, Any]) -> Comparison:
    """Return the differences between the tensors and metadata of a GGUF file and a model."""
    file = FILE_NUMBERS.get(str(metadata.get("general.file_type")), "")
    base = file if file in _BASES else "F16"
    try:
        converted = convert_tensors(model.scope, model.architecture, model.tensors(), base)
    except ArchspecError as error:
        return Comparison([Finding("conversion", error.problems[0].message, severity=NOTE)], 0)
    expected = {one.name: one.shape for one in converted.tensors}
    stored = {one.name: without_ones(one.shape or ()) for one in tensors}
    missing = [one for one in converted.tensors if one.name not in stored]
    computed = (one.name for one in missing if not one.sources)
    reasons = {name: _unused_reason(name, converted, stored) for name in stored if name not in expected}
    wrong = {name: stored[name] for name, shape in expected.items() if stored.get(name, shape) != shape}
    findings = [
        *differences(model, expected, [one.name for one in missing if one.sources], reasons, wrong),
        *by_layer("missing", dict.fromkeys(computed, "not in the file, as older converters wrote it"), NOTE),
        *_metadata(converted, metadata),
        *_types(converted, Recipe(file, imatrix="quantize.imatrix.file" in metadata), tensors),
    ]
    return Comparison(findings, sum(prod(shape) for name, shape in stored.items() if not reasons.get(name)))


def _unused_reason(name: str, converted: Converted, stored: Mapping[str, Any]) -> str:
    """Return why a tensor that the converter does not write may be in a file; empty if it may not."""
    block = name.split(".")[1] if name.startswith("blk.") else ""
    if converted.leaves_out_prediction and block.isdecimal() and int(block) >= converted.metadata.layers:
        return "a layer for multi-token prediction"
    if name == "output.weight" and stored.get("token_embd.weight") == stored[name]:
        return "tied by the config, but stored separately"
    return "computed from the config" if name.startswith(("rope_freqs.", "rope_factors_")) else ""


def _metadata(converted: Converted, metadata: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the sizes of the metadata that are not those of the config."""
    sizes = converted.metadata
    stated = metadata.get("general.architecture")
    if stated != sizes.arch:
        message = f"general.architecture is {stated}, but that of the config is {sizes.arch}"
        yield Finding("metadata", message)
        return
    for key, field in _SIZES.items():
        value, wanted = metadata.get(f"{stated}.{key}"), getattr(sizes, field)
        if type(value) is int and value != wanted:
            yield Finding("metadata", f"{stated}.{key} is {value:,}, but the config gives {wanted:,}")


def _types(converted: Converted, recipe: Recipe, tensors: list[StoredTensor]) -> Iterator[Finding]:
    """Yield the tensors whose types are not those that llama-quantize chooses, which other tools may do."""
    chosen = converted.tensors if recipe.file else []
    with suppress(ArchspecError):
        if recipe.file and recipe.file not in _BASES:
            chosen = choose_types(chosen, recipe, converted.metadata)
        types, used = {one.name: one.type for one in chosen}, {one.name: one.dtype.upper() for one in tensors}
        text = f"but {recipe.file} of llama-quantize has"
        other = {
            name: f"{used[name]}, {text} {one}" for name, one in types.items() if used.get(name, one) != one
        }
        yield from by_layer("dtype", other, NOTE)


def name_classes(metadata: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the note on the classes that the converter writes with the architecture of a file."""
    stated = metadata.get("general.architecture")
    classes = [name for name, row in read_json("gguf.json")["classes"].items() if row["arch"] == stated]
    if classes:
        message = f"general.architecture is {stated}, that of {name_some(classes)}"
        yield Finding("metadata", message, severity=NOTE)
