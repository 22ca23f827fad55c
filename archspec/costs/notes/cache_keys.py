"""Keys of a config that transformers' cache reads, whether or not the model's class has them."""

from __future__ import annotations

from archspec.configs.scope import Scope
from archspec.errors import ConfigError

_LENGTHS = {  # of a layer, by its type
    "sliding_attention": "sliding_window",
    "hybrid_sliding": "sliding_window",
    "reference_sliding_attention": "sliding_window",
    "chunked_attention": "attention_chunk_size",
}


def check_cache_keys(scope: Scope) -> None:
    """Raise ConfigError for a key that the cache reads and the class does not.

    As in transformers' get_layer_types_and_kwargs, layer types decide which lengths are read; without layer
    types the window comes before the chunk.
    """
    kinds = scope.get("layer_types") if scope.has("layer_types") else scope.raw.get("layer_types")
    read = {"layer_types"} | {name for kind, name in _LENGTHS.items() if kinds is None or kind in kinds}
    if kinds is None and scope.has("sliding_window") and scope.get("sliding_window") is not None:
        read.remove("attention_chunk_size")
    for name in sorted(read):
        if not scope.has(name) and scope.raw.get(name) is not None:
            message = f"is read by transformers' cache, but it is not a field of {scope.spec.model_type}"
            raise ConfigError(
                scope.origin.problem(name, message, "remove it to get the costs of a cache of all positions")
            )
