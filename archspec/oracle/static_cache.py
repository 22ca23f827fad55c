"""What transformers' StaticCache reserves for a class."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from typing import Any

from archspec.costs.records import Call
from archspec.oracle.costs import cache_tensors, encodes, output_of, parameters_of
from archspec.oracle.verdicts import Unavailable

_TAKEN_AS = ("past_key_values", "cache_params")

Reserved = Counter[tuple[tuple[int, ...], str]]  # shapes and dtypes


def reserved(model: Any, call: Call) -> Reserved:
    """The tensors of a StaticCache for all positions of a call, after it.

    Errors: :class:`archspec.oracle.Unavailable`, also where a class does not use the cache that it is given.
    """
    name = next((name for name in _TAKEN_AS if name in parameters_of(model)), None)
    if name is None:
        raise Unavailable("the class takes no StaticCache")
    cache = _cache(model, call)
    whole = call._replace(tokens=call.context, past=0, encoded=call.memory)
    output = output_of(model, whole, nullcontext(), {name: cache})
    if getattr(output, name, None) is not cache:
        raise Unavailable("the class keeps something else than the StaticCache that it is given")
    kept = cache_tensors(model, output).values()
    return Counter((tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")) for tensor in kept)


def _cache(model: Any, call: Call) -> Any:
    """The cache, as generate() makes it."""
    from transformers import EncoderDecoderCache, StaticCache

    config = model.config.get_text_config(decoder=True)
    try:
        cache = StaticCache(config=config, max_cache_len=call.context)
        if encodes(model):
            return EncoderDecoderCache(cache, StaticCache(config=config, max_cache_len=call.memory))
    except Exception as error:  # layers that it does not know
        raise Unavailable(f"no StaticCache of this config: {error!r}") from None
    return cache
