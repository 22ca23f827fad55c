"""A LoRA adapter's tensors compared with the modules of its base model.

Source: peft/tuners/lora/layer.py, peft/utils/save_and_load.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from archspec.checking.conversions import load
from archspec.checking.packing import Packed
from archspec.checkpoints.records import Finding, StoredTensor, name_some
from archspec.errors import ArchspecError
from archspec.models.model import Model
from archspec.tree.tensors import Tensor

_PREFIX = "base_model.model."
_PART = re.compile(
    r"(.+)\.lora_(A|B|embedding_A|embedding_B|magnitude_vector)(\.default)?(\.weight|\.bias)?$"
)


def compare_adapter(
    model: Model | None, options: Mapping[str, Any], tensors: list[StoredTensor]
) -> Iterator[Finding]:
    """Yield the tensors that do not fit an adapter's ``options``, or its base model if that is known."""
    base = {one.name: one for one in model.tensors()} if model else {}
    parts: dict[str, dict[str, StoredTensor]] = {}
    for one in tensors:
        if found := _PART.match(one.name.removeprefix(_PREFIX)):
            parts.setdefault(found[1], {})[found[2]] = one
        elif model:
            yield from _compare_saved(model, base, one)
    for module, pair in parts.items():
        names = tuple(one.name for one in pair.values())
        if not ({"A", "B"} <= pair.keys() or {"embedding_A", "embedding_B"} <= pair.keys()):
            message = f"{module} has only a part of its tensors: {name_some(names)}"
            yield Finding("adapter", message, "", names)
        weight = _today(f"{module}.weight", model, base) if model else f"{module}.weight"
        if model and weight not in base:
            yield Finding("adapter", f"the base has no module {module} with a weight", "", names)
        else:
            yield from _compare_pair(weight, base.get(weight), _rank(module, options), pair.items())
    targets = options.get("target_modules")
    for target in targets if isinstance(targets, list) and tensors else ():
        if not any(module == target or module.endswith(f".{target}") for module in parts):
            yield Finding("adapter", f"target_modules names {target}, but no tensor is stored for it")


def _compare_pair(
    weight: str, of: Tensor | None, rank: int, pair: Iterable[tuple[str, StoredTensor]]
) -> Iterator[Finding]:
    """Yield the tensors of one module whose shapes do not fit its rank, and its weight if that is known."""
    outputs, inputs, *_ = (*of.shape, 0) if of else (None, None)
    if of and of.layer in ("Conv1D", "Embedding"):
        outputs, inputs = inputs, outputs
    wanted = {"A": (rank, inputs), "B": (outputs, rank), "magnitude_vector": (outputs,)}
    wanted |= {"embedding_A": wanted["A"], "embedding_B": wanted["B"]}
    for part, one in pair:
        sizes = zip(one.shape or (), wanted[part], strict=False)
        if any(want not in (None, size) for size, want in sizes):
            gives = str(wanted[part]).replace("None", "*")
            message = f"{one.name}: {one.shape}, but rank {rank} of {weight} gives {gives}"
            yield Finding("adapter", message, one.file, (one.name,))


def _compare_saved(model: Model, base: Mapping[str, Tensor], one: StoredTensor) -> Iterator[Finding]:
    """Yield a tensor that the adapter replaces, if it does not fit; a head may have other labels."""
    name = _today(one.name.removeprefix(_PREFIX), model, base)
    shape = base[name].shape if name in base else None
    if shape != one.shape and shape and one.shape:
        with suppress(ArchspecError):
            other = model.with_fields({"num_labels": one.shape[0]})
            shape = next((x.shape for x in other.tensors() if (x.name, x.shape) == (name, one.shape)), shape)
    if shape != one.shape:
        what = f"{one.shape}, but the base has {shape}" if shape else "the base has no such tensor"
        yield Finding("adapter", f"{one.name}: {what}", one.file, (one.name,))


def _today(name: str, model: Model, base: Mapping[str, Tensor]) -> str:
    """Return the name that the base model has for a tensor today."""
    if name in base:
        return name
    shapes = {key: one.shape for key, one in base.items()}
    return next(iter(load({name: Packed(None, "")}, shapes, model.root).shapes), name)


def _rank(module: str, options: Mapping[str, Any]) -> int:
    """Return the rank of a module: that of the first pattern that its name ends with, else `r`."""
    patterns = options.get("rank_pattern") or {}
    found = (rank for one, rank in patterns.items() if re.match(rf"(.*\.)?({one})$", module))
    return int(next(found, options.get("r", 8)))
