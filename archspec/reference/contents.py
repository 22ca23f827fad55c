"""Contents of the configs, models and outputs of transformers: sub-configs, arguments, caches, FLOPs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_CACHES = ("cache", "past_key_values", "cache_params", "mems", "past_buckets_states", "state")
_NOT_TENSORS = (int, float, str, bool, type)
_DEPTH = 7  # of a cache within objects


@contextmanager
def default_dtype(name: str) -> Iterator[None]:
    """Set the default dtype, as from_pretrained() does."""
    import torch

    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(getattr(torch, name))
        yield
    finally:
        torch.set_default_dtype(before)


def configs_in(config: Any) -> Iterator[Any]:
    """Yield a config and its sub-configs."""
    from transformers import PreTrainedConfig

    yield config
    for value in vars(config).values():
        if isinstance(value, PreTrainedConfig):
            yield from configs_in(value)


def has_encoder_and_decoder(model: Any) -> bool:
    """Return True if a model has an encoder and a decoder."""
    decodes = any("decoder" in name for name, _ in model.named_modules())
    return decodes and bool({"decoder_input_ids", "decoder_input_values"} & parameters_of(model))


def parameters_of(model: Any) -> set[str]:
    """Return the names of the arguments of a forward pass."""
    return set(inspect.signature(model.forward).parameters)


def cache_tensors(model: Any, output: Any) -> dict[str, Any]:
    """Return the tensors of the KV cache after a forward pass, by their paths in it."""
    found = tensors(cache_of(output)[1])
    return {path: tensor for path, tensor in found.items() if tensor.ndim and tensor.numel()}


def cache_of(output: Any) -> tuple[str, Any]:
    """Return the cache of an output, and its name; None without one."""
    named = ((name, getattr(output, name, None)) for name in _CACHES)
    return next(((name, cache) for name, cache in named if cache is not None), ("", None))


def tensors(holder: Any, path: str = "", seen: set[int] | None = None) -> dict[str, Any]:
    """Return every tensor of a cache object once, by its path."""
    import torch
    from transformers import PreTrainedConfig

    seen = set() if seen is None else seen
    skipped = (*_NOT_TENSORS, torch.dtype, torch.device, torch.nn.Module, PreTrainedConfig)
    if holder is None or isinstance(holder, skipped) or id(holder) in seen or path.count(".") > _DEPTH:
        return {}
    seen.add(id(holder))
    if isinstance(holder, torch.Tensor):
        return {path: holder}
    if isinstance(holder, list | tuple):
        items: Any = enumerate(holder)
    else:
        items = (holder if isinstance(holder, dict) else getattr(holder, "__dict__", {})).items()
    found: dict[str, Any] = {}
    for name, value in items:
        found |= tensors(value, f"{path}.{name}" if path else str(name), seen)
    return found


def by_module(counter: Any, model: Any) -> dict[str, int]:
    """Return the FLOPs of each module without those of its children.

    They are less than 0 if another module calls the children: FlopCounterMode counts these in that one.
    """
    name = type(model).__name__
    whole = {
        path.removeprefix(name).removeprefix("."): sum(counts.values())
        for path, counts in counter.get_flop_counts().items()
        if path != "Global"
    }
    own = dict(whole)
    for path in whole:
        parent = path.rpartition(".")[0]
        while parent and parent not in whole:
            parent = parent.rpartition(".")[0]
        if path and parent in own:
            own[parent] -= whole[path]
    return {path: flops for path, flops in own.items() if flops}
