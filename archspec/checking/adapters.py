"""A LoRA adapter's tensors compared with the modules of its base model.

Source: peft/tuners/lora/layer.py, peft/utils/save_and_load.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from archspec.checking.conversions import load
from archspec.checking.packing import Packed
from archspec.checkpoints.records import Finding, StoredTensor, name_some
from archspec.models.model import Model

_PREFIX = "base_model.model."
_PART = re.compile(
    r"(.+)\.lora_(A|B|embedding_A|embedding_B|magnitude_vector)(\.default)?(\.weight|\.bias)?$"
)


def compare_adapter(
    model: Model, options: Mapping[str, Any], tensors: list[StoredTensor]
) -> Iterator[Finding]:
    """Yield the tensors that do not fit the base model ``model``; ``options`` are an adapter_config.json."""
    layers = {one.name: one.layer for one in model.tensors()}
    shapes = {one.name: one.shape for one in model.tensors()}
    parts: dict[str, dict[str, StoredTensor]] = {}
    for one in tensors:
        name = one.name.removeprefix(_PREFIX)
        if found := _PART.match(name):
            parts.setdefault(found[1], {})[found[2]] = one
        elif one.shape != (shape := shapes.get(_today(name, model, shapes))):
            what = f"{one.shape}, but the base has {shape}" if shape else "the base has no such tensor"
            yield Finding("adapter", f"{one.name}: {what}", one.file, (one.name,))
    for module, pair in parts.items():
        weight = _today(f"{module}.weight", model, shapes)
        names = tuple(one.name for one in pair.values())
        if weight not in shapes:
            yield Finding("adapter", f"the base has no module {module} with a weight", "", names)
            continue
        outputs, inputs, *_ = (*shapes[weight], 0)
        if layers[weight] in ("Conv1D", "Embedding"):
            outputs, inputs = inputs, outputs
        rank = _rank(module, options)
        wanted = {"A": (rank, inputs), "B": (outputs, rank), "magnitude_vector": (outputs,)}
        wanted |= {"embedding_A": wanted["A"], "embedding_B": wanted["B"]}
        for part, one in pair.items():
            if one.shape is not None and one.shape[: len(wanted[part])] != wanted[part]:
                message = f"{one.name}: {one.shape}, but rank {rank} of {weight} gives {wanted[part]}"
                yield Finding("adapter", message, one.file, (one.name,))
        if not ({"A", "B"} <= pair.keys() or {"embedding_A", "embedding_B"} <= pair.keys()):
            yield Finding(
                "adapter", f"{module} has only a part of its tensors: {name_some(names)}", "", names
            )
    targets = options.get("target_modules")
    for target in targets if isinstance(targets, list) else ():
        if not any(module == target or module.endswith(f".{target}") for module in parts):
            yield Finding("adapter", f"target_modules names {target}, but no tensor is stored for it")


def _today(name: str, model: Model, shapes: Mapping[str, tuple[int, ...]]) -> str:
    """Return the name that the base model has for a tensor today."""
    if name in shapes:
        return name
    loaded = load({name: Packed(None, "")}, shapes, model.root)
    return next(iter(loaded.shapes), name)


def _rank(module: str, options: Mapping[str, Any]) -> int:
    """Return the rank of a module: that of the first pattern that its name ends with, else `r`."""
    patterns = options.get("rank_pattern") or {}
    found = (rank for one, rank in patterns.items() if re.match(rf"(.*\.)?({one})$", module))
    return int(next(found, options.get("r", 8)))
