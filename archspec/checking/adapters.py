"""A LoRA adapter's tensors compared with the modules of its base model.

Source: peft/tuners/lora/layer.py, peft/utils/save_and_load.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from archspec.adapters.options import read_options
from archspec.adapters.targets import has_name
from archspec.checking.conversions import load
from archspec.checkpoints.records import NOTE, Finding, Shape, StoredTensor, about, name_some
from archspec.errors import ArchspecError
from archspec.models.model import Model
from archspec.tree.tensors import Tensor

_PREFIX = "base_model.model."
_PART = re.compile(r"(.+)\.lora_(A|B|embedding_A|embedding_B|magnitude_vector)(\.default)?(\.weight)?$")


def compare_adapter(
    model: Model | None, options: Mapping[str, Any], tensors: list[StoredTensor]
) -> Iterator[Finding]:
    """Yield the tensors that do not fit an adapter's ``options``, or its base model if that is known."""
    if (kind := options.get("peft_type", "LORA")) != "LORA":
        yield Finding("adapter", f"tensors of {kind} adapters are not compared", severity=NOTE)
        return
    try:
        ranks = read_options({name: options[name] for name in ("r", "rank_pattern") if name in options}, {})
    except ArchspecError as error:
        yield Finding("adapter", f"adapter_config.json: {error.problems[0].message}")
        return
    parts, saved = _by_module(tensors)
    known, trained, notes = _predict(model, options)
    yield from notes
    base = _tensors_of(model, [*saved, *(f"{module}.weight" for module in parts)])
    for name, one in saved.items():
        if model and (name in base or not notes) and known.get(one.name) != one.shape:
            yield from _compare_saved(model, base.get(name), one)
    for module, pair in parts.items():
        of, names = base.get(f"{module}.weight"), tuple(one.name for one in pair.values())
        if not _is_pair(pair):
            message = f"{module} has only a part of its tensors: {name_some(names)}"
            yield Finding("adapter", message, "", names)
        if all(known.get(one.name) == one.shape for one in pair.values()):
            continue
        if model and not of:
            yield Finding("adapter", f"the base has no module {module} with a weight", "", names)
        else:
            weight = of.name if of else f"{module}.weight"
            yield from _compare_pair(weight, of, ranks.rank_of(module), pair.items())
    if tensors:
        has_former_names = not {one.name for one in tensors} <= known.keys()
        yield from _find_lost(options, parts, [] if has_former_names else trained, tensors)


def _by_module(
    tensors: list[StoredTensor],
) -> tuple[dict[str, dict[str, StoredTensor]], dict[str, StoredTensor]]:
    """Return the parts of each module's adapter, and the tensors that replace those of the base."""
    parts: dict[str, dict[str, StoredTensor]] = {}
    saved: dict[str, StoredTensor] = {}
    for one in tensors:
        if found := _PART.match(one.name.removeprefix(_PREFIX)):
            parts.setdefault(found[1], {})[found[2]] = one
        else:
            saved[one.name.removeprefix(_PREFIX)] = one
    return parts, saved


def _is_pair(parts: Iterable[str]) -> bool:
    return any({f"{kind}A", f"{kind}B"} <= {*parts} for kind in ("", "embedding_"))


def _find_lost(
    options: Mapping[str, Any],
    parts: Mapping[str, Mapping[str, StoredTensor]],
    trained: list[str],
    tensors: list[StoredTensor],
) -> Iterator[Finding]:
    """Yield targets without tensors, and trained tensors that are not stored."""
    targets, stored = options.get("target_modules"), {one.name for one in tensors}
    listed = targets if isinstance(targets, list) else []
    absent = [target for target in listed if not any(has_name(module, [target]) for module in parts)]
    for target in absent:
        yield Finding("adapter", f"target_modules names {target}, but no tensor is stored for it")
    reported = [*absent, *(module for module, pair in parts.items() if not _is_pair(pair))]
    modules = {name: name.removeprefix(_PREFIX).partition(".lora_")[0] for name in trained}
    lost = (name for name in trained if name not in stored and not has_name(modules[name], reported))
    yield from about("adapter", lost, "trained, but not stored")


def _predict(
    model: Model | None, options: Mapping[str, Any]
) -> tuple[dict[str, Shape], list[str], list[Finding]]:
    """Return shapes of the model with its adapter by names in files, the trained names, and notes."""
    try:
        found = model.lora(options).tensors(frozen=True) if model else []
    except ArchspecError as error:
        message = f"tensors are compared by their modules only: {error.problems[0].message}"
        return {}, [], [Finding("adapter", message, severity=NOTE)]
    shapes = {one.saved_name: one.shape for one in found}
    return shapes, [one.saved_name for one in found if one.trainable], []


def _tensors_of(model: Model | None, names: list[str]) -> dict[str, Tensor]:
    """Return the tensors of a base model by names that it, or an older version of it, has for them."""
    if model is None:
        return {}
    base = {one.name: one for one in model.tensors()}
    shapes = {name: one.shape for name, one in base.items()}
    others = {name: StoredTensor(name, "", None, 0, "") for name in names if name not in base}
    loaded = load(others, shapes, model.root)
    return base | {old: base[name] for name, of in loaded.sources.items() for old in of}


def _compare_pair(
    weight: str, of: Tensor | None, rank: int, pair: Iterable[tuple[str, StoredTensor]]
) -> Iterator[Finding]:
    """Yield the tensors of one module whose shapes do not fit its rank, and its weight if that is known."""
    outputs, inputs, *_ = (*of.shape, 0) if of else (None, None)
    if of and of.layer in ("Conv1D", "Embedding"):
        outputs, inputs = inputs, outputs
    wanted = {"A": (rank, inputs), "B": (outputs, rank), "magnitude_vector": (outputs,)}
    for part, one in pair:
        shape = wanted[part.removeprefix("embedding_")]
        sizes = zip(one.shape or (), shape, strict=False)
        if any(want not in (None, size) for size, want in sizes):
            gives = str(shape).replace("None", "*")
            message = f"{one.name}: {one.shape}, but rank {rank} of {weight} gives {gives}"
            yield Finding("adapter", message, one.file, (one.name,))


def _compare_saved(model: Model, of: Tensor | None, one: StoredTensor) -> Iterator[Finding]:
    """Yield a tensor that the adapter replaces, if it does not fit; a head may have other labels."""
    shapes = [of.shape] if of else []
    with suppress(ArchspecError):
        if of and one.shape and one.shape != of.shape:
            other = model.with_fields({"num_labels": one.shape[0]})
            shapes += [tensor.shape for tensor in other.tensors() if tensor.name == of.name]
    if one.shape not in shapes:
        what = f"{one.shape}, but the base has {shapes[0]}" if shapes else "the base has no such tensor"
        yield Finding("adapter", f"{one.name}: {what}", one.file, (one.name,))
