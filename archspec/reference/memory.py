"""Memory that transformers allocates: its StaticCache, and the peak of one forward pass, measured on meta.

A storage lives from the operation that makes it until Python and torch release it. On a GPU
`torch.cuda.max_memory_allocated()` counts the same, except its rounding to 512 bytes and the workspaces of
cuBLAS and of kernels. Attention is torch's `scaled_dot_product_attention` as transformers calls it, by a
flash kernel without a mask. Experts are grouped products.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, NamedTuple

from archspec.costs.records import Call
from archspec.reference.contents import (
    cache_tensors,
    configs_in,
    has_encoder_and_decoder,
    parameters_of,
    tensors,
)
from archspec.reference.costs import inputs, output_of, past_of, restore_attention, without_past
from archspec.reference.media.running import NO_CACHE
from archspec.reference.meta import follow_modules, on_meta, operations, replace_function
from archspec.reference.saved import storage_key
from archspec.reference.verdicts import Unavailable, measuring_errors

LAST = "logits_to_keep"  # of how many positions a forward pass gives logits
# the defaults of transformers on a GPU
_ON_A_GPU = {"_attn_implementation": "sdpa", "_experts_implementation": "grouped_mm"}
_TAKEN_AS = ("cache", "past_key_values", "cache_params")

Reserved = Counter[tuple[tuple[int, ...], str]]  # shapes and dtypes


class Peak(NamedTuple):
    """The bytes of all storages but weights and inputs, when they are most, and in which module that is."""

    bytes: int
    module: str
    operation: str
    cache_bytes: int  # after the forward pass

    @property
    def working_set(self) -> int:
        """The bytes that a forward pass needs in addition to its weights and the cache after it."""
        return self.bytes - self.cache_bytes


def measured_peak(model: Any, call: Call, last: bool = False) -> Peak:
    """Return the peak of a forward pass after one of `past` tokens; ``last``: with the logits of one token.

    Errors: :class:`archspec.reference.Unavailable` if the model does not run on meta, or not this way.
    """
    if not model._supports_sdpa:
        raise Unavailable("the class does not support scaled_dot_product_attention")
    held = _Held(model)
    given: dict[str, Any] = {LAST: 1} if last and LAST in parameters_of(model) else {}
    with measuring_errors(), on_meta():
        restore_attention(model, call)
        given |= past_of(model, call)
        taken = inputs(model, call, given)
        held.add((tensor for tensor in tensors(given).values() if tensor.ndim), "")
        with held.watch(model):
            output = model(**taken, **given)
        kept = cache_tensors(model, output).values()
    if not kept:
        raise Unavailable(NO_CACHE)
    cache_bytes = sum(tensor.numel() * tensor.element_size() for tensor in kept)
    return held.peak._replace(cache_bytes=cache_bytes)


class _Held:
    """The storages that are alive, from the operation that makes them until they are released."""

    def __init__(self, model: Any) -> None:
        self.weights = {storage_key(tensor) for tensor in (*model.parameters(), *model.buffers())}
        self.sizes: dict[int, int] = {}
        self.bytes = 0
        self.running = [""]
        self.peak = Peak(0, "", "", 0)

    def add(self, made: Iterable[Any], operation: str) -> None:
        for tensor in made:
            storage, key = tensor.untyped_storage(), storage_key(tensor)
            if key in self.weights or key in self.sizes:
                continue
            weakref.finalize(storage, self.free, key)
            self.sizes[key] = storage.nbytes()
            self.bytes += storage.nbytes()
        if self.bytes > self.peak.bytes:
            self.peak = Peak(self.bytes, self.running[-1], operation, 0)

    def free(self, key: int) -> None:
        self.bytes -= self.sizes.pop(key)

    @contextmanager
    def watch(self, model: Any) -> Iterator[None]:
        """Add the tensors of every operation, with the code that transformers runs on a GPU."""
        import torch
        from torch.utils._pytree import tree_leaves

        def run(function: Any, args: Any, kwargs: Any) -> Any:
            made = function(*args, **kwargs)
            self.add((one for one in tree_leaves(made) if isinstance(one, torch.Tensor)), str(function))
            return made

        with ExitStack() as stack:
            for config in configs_in(model.config):
                for name in {*_ON_A_GPU} & {*dir(config)}:
                    stack.callback(setattr, config, name, getattr(config, name))
                    setattr(config, name, _ON_A_GPU[name])
            flash = replace_function("scaled_dot_product_attention", _flash_attention)
            for context in (follow_modules(model, self.running), torch.no_grad(), flash, operations(run)):
                stack.enter_context(context)
            yield


def _flash_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, **given: Any
) -> Any:
    """Call the attention kernel of a GPU; on meta torch would multiply matrices."""
    import torch

    if attn_mask is not None:
        raise ValueError("attention with a mask: which kernel that takes depends on the GPU")
    kernel = torch.ops.aten._scaled_dot_product_flash_attention
    causal = given.get("is_causal", False)
    return kernel(query, key, value, dropout_p, causal, False, scale=given.get("scale"))[0]


def reserved_tensors(model: Any, call: Call) -> Reserved:
    """Return the tensors of a StaticCache for all positions, after a forward pass. Errors: Unavailable."""
    name = next((name for name in _TAKEN_AS if name in parameters_of(model)), None)
    if name is None:
        raise Unavailable("the class does not take a StaticCache")
    cache = _static_cache(model, call)
    output = output_of(model, without_past(call, call.context), nullcontext(), {name: cache})
    if getattr(output, name, None) is not cache:
        raise Unavailable("the class keeps something else than the StaticCache that it is given")
    kept = cache_tensors(model, output).values()
    return Counter((tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")) for tensor in kept)


def _static_cache(model: Any, call: Call) -> Any:
    from transformers import EncoderDecoderCache, StaticCache

    config = model.config.get_text_config(decoder=True)
    try:
        cache = StaticCache(config=config, max_cache_len=call.context)
        if has_encoder_and_decoder(model):
            return EncoderDecoderCache(cache, StaticCache(config=config, max_cache_len=call.encoder_tokens))
    except Exception as error:  # layers that it does not know
        raise Unavailable(f"no StaticCache of this config: {error!r}") from None
    return cache
