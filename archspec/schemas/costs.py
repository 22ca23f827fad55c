"""The JSON Schemas of costs: FLOPs, KV cache, memory of inference and of training."""

from __future__ import annotations

from archspec.schemas.build import (
    Schema,
    array,
    call,
    choice,
    flag,
    integer,
    model,
    nullable,
    number,
    quantities,
    record,
    sizes,
    text,
    texts,
)
from archspec.tables.options import options_of

ALLOCATIONS = {
    "exact": "with transformers' DynamicCache",
    "static": "with transformers' StaticCache; absent if it is not validated for the class",
    "pages": "in an engine that allocates pages of 16 tokens for all layers",
}
NO_CACHE = {"none": "for a class without a KV cache"}
EXCESS = "reasons why eager code spends over 20 % more than 2 × active parameters × tokens plus attention"
DTYPE_NOTES = "notes on the dtype and the weights"


def flops() -> Schema:
    """Return the schema of `archspec flops --json`."""
    module = {
        "module": text("the path in the model"),
        "flops": integer("FLOPs of the module without its submodules"),
    }
    return record(
        "FLOPs of one call, by module; `archspec.Model.flops().as_json()`.",
        {
            **call(),
            **quantities("flops"),
            "masked_flops": nullable(
                integer("FLOPs without masked attention scores; null if not validated for the class")
            ),
            "flops_per_token": number("FLOPs per token that the call processes", minimum=0),
            **quantities("params"),
            "modules": array("modules with FLOPs; they add up to flops", record("a module", module)),
            "notes": texts(EXCESS),
        },
    )


def cache() -> Schema:
    """Return the schema of `archspec cache --json`."""
    tensor = {
        "name": text("its role: keys, values, a state"),
        "layer": nullable(integer("the index of its layer, null for none")),
        "kind": text("the part of the past that it covers: full, window, cross, latent, or state"),
        "shape": sizes("the shape"),
        "module": text("the path of the module that keeps it"),
        "dtype": text("its dtype; many states are float32 in every model"),
    }
    fits = {
        "tokens": nullable(integer("the longest sequence at this batch, null for any length")),
        "batch": integer("the largest batch at this sequence length"),
    }
    held = {name: record(about, fits) for name, about in ALLOCATIONS.items()}
    found = record(
        "The KV cache after a call; `archspec.Model.cache().as_json()`. Keys of a budget need --budget.",
        {
            **call(),
            "dtype": text("the dtype of the cache, except tensors with a fixed dtype"),
            **quantities("cache_elements"),
            "cache_bytes": _allocated("bytes of the KV cache, by allocation", ALLOCATIONS),
            "tensors": array("the tensors of the cache, in module order", record("a tensor", tensor)),
            "notes": texts(DTYPE_NOTES),
            "budget_bytes": integer("bytes of the budget"),
            "weights_bytes": integer("bytes of the budget that the weights take"),
            "holds": record("what fits after the weights, by allocation", held, optional=("static",)),
        },
        optional=("budget_bytes", "weights_bytes", "holds"),
    )
    together = {"budget_bytes": ["weights_bytes", "holds"]}
    together |= {name: ["budget_bytes"] for name in ("weights_bytes", "holds")}
    return {**found, "dependentRequired": together}


def _allocated(help: str, allocations: dict[str, str]) -> Schema:
    """Return the schema of bytes by allocation."""
    bytes_ = {name: integer(f"bytes {about}") for name, about in allocations.items()}
    return record(
        help, bytes_, optional=tuple(name for name in bytes_ if "none" in bytes_ or name == "static")
    )


def memory() -> Schema:
    """Return the schema of `archspec memory --json`, with and without --train."""
    about = "Inference memory (`archspec.Model.memory().as_json()`); with --train, training memory of a rank"
    return {
        "description": f"{about} (`archspec.Model.training().as_json()`).",
        "oneOf": [_inference(), _training()],
    }


def _inference() -> Schema:
    stored = {
        "format": text("a dtype or a quantized weight format"),
        "elements": integer("parameters in this format"),
        "bytes": integer("their bytes, scales included"),
    }
    temporary = {
        "needed_by": text("the module that needs it"),
        "bytes": integer("bytes"),
        "exact": flag(
            "true if validated against torch; false for a lower bound, the largest output of a layer"
        ),
    }
    allocations = ALLOCATIONS | NO_CACHE
    rooms = {name: record(about, temporary) for name, about in allocations.items()}
    return record(
        "weights, KV cache after the call, and peak temporary memory",
        {
            **call(),
            "dtype": text("the dtype of cache, activations and unquantized weights"),
            "weights": array("weights by format: quantized ones first", record("one format", stored), 1),
            "weights_bytes": integer("bytes of all weights"),
            "cache_bytes": _allocated("bytes of the KV cache after the call, by allocation", allocations),
            "working_set": {
                **record("peak temporary memory, by allocation", rooms, optional=tuple(rooms)),
                "minProperties": 1,
            },
            "total_bytes": _allocated("bytes of weights, cache and temporary memory", allocations),
            "notes": texts(DTYPE_NOTES),
        },
    )


def _training() -> Schema:
    part = {
        "name": text("weights, gradients, an optimizer state, gathered weights, activations, recomputation"),
        "dtype": text("the dtype"),
        "elements": nullable(integer("elements on the rank, null for several dtypes")),
        "shared_by": integer("data-parallel ranks that it is sharded across, by ZeRO", 1),
        "bytes": integer("bytes on the rank"),
    }
    lengths = {name: one for name, one in call().items() if name in ("batch", "tokens")}
    degrees = [option for option in options_of("training") if option.name.endswith("_parallel")]
    return record(
        "one training step on the rank that needs most",
        {
            **model("trained"),
            **{name: nullable(one) for name, one in lengths.items()},
            "encoder_tokens": call()["encoder_tokens"],
            "dtype": text("the dtype of weights and activations"),
            "optimizer": text("the optimizer"),
            "attention": choice("the attention kernel", "flash", "eager"),
            "checkpointing": flag("true if layers are recomputed in the backward pass"),
            **{option.name: integer(option.help, 1) for option in degrees},
            "zero": choice("ZeRO stage across data-parallel ranks", 0, 1, 2, 3),
            "flops": nullable(integer("FLOPs of the step without recomputation; null if not validated")),
            "notes": texts(EXCESS),
            "parts": array("the parts of the memory of the rank", record("a part", part), 2),
            "loss_bytes": nullable(integer("activation bytes of the loss; null if the loss is excluded")),
            "not_described": nullable(text("why activations are missing, null if they are not")),
            "total_bytes": integer("bytes of all parts: a lower bound of the rank's memory"),
            "excluded": texts("memory that total_bytes excludes", 1),
        },
    )
