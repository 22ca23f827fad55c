"""The products of layers, and those of `ops:`: entries of formulas/contractions.yaml at a module's axes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from math import prod

from archspec.configs.scope import Scope
from archspec.costs.records import (
    FROZEN,
    GRADIENT,
    OUTPUT_SIZES,
    PRODUCTS,
    Axes,
    Cost,
    Kept,
    Saved,
    is_training,
)
from archspec.errors import ConfigError, did_you_mean
from archspec.language.expression import EvaluationError, Expression, Locals
from archspec.language.values import value_of
from archspec.specs.records import Contraction
from archspec.specs.torch_layers import Leaf
from archspec.tree.inside import Frame
from archspec.typing_light import Any

Costed = Any  # :class:`archspec.costs.builder.Costed`, which imports this module
_TRANSPOSED = ("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")
_RECURRENT = ("LSTM", "GRU")
_STATISTIC = 4  # bytes: norms compute in float32
ACTIVATIONS = {"GELU": 1, "SiLU": 1, "ReLU": 0, "Tanh": 0, "Sigmoid": 0}  # saved tensors, without its output
_SAVE_NOTHING = (
    "Embedding",
    "Parameter",
    "Buffer",
    "Identity",
    "Dropout",
    "Flatten",
    "Pad",
    "PixelShuffle",
    "Upsample",
)
_BATCH_NORMS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d")
_SAVE_FROZEN = ("LayerNorm", "RMSNorm", *_BATCH_NORMS, "Conv1d", "Conv2d", "Conv3d")  # if a gradient passes
_CACHE_LENGTHS = {  # the key that transformers' cache reads for a layer, by its type
    **dict.fromkeys(("sliding_attention", "hybrid_sliding", "reference_sliding_attention"), "sliding_window"),
    "chunked_attention": "attention_chunk_size",
}


def weight_costs(layer: str, tensors: list[Leaf], axes: Axes, on_grid: Axes | None = None) -> list[Cost]:
    """Return the products of a layer: 2 FLOPs for each element of its weight and each token."""
    if layer == "MultiheadAttention":
        return _attention_costs(tensors, axes)
    weights = tensors[:1] if layer in PRODUCTS or (on_grid and layer in _TRANSPOSED) else []
    if layer in _RECURRENT:
        weights = [one for one in tensors if one.name.startswith("weight")]
    if not weights:
        return []
    elements = sum(prod(one.shape) for one in weights)
    once = 2 * axes["batch"] * axes["tokens"] * elements
    flops = once * axes["times"]
    return [Cost(layer, flops, flops, once * axes["trained"] * axes["backward"])]


def _attention_costs(tensors: list[Leaf], axes: Axes) -> list[Cost]:
    """Return the projections and products of torch's attention of `tokens` queries to `context` keys."""
    batch, queries, keys = axes["batch"], axes["tokens"], axes["context"]
    weights = [one for one in tensors if one.name.endswith("weight")]
    width = weights[-1].shape[0]  # of the output projection
    projected = sum(prod(one.shape) for one in weights[:-1]) - width * width
    once = 2 * batch * (2 * queries * width * width + keys * projected + 2 * queries * keys * width)
    flops = once * axes["times"]
    return [Cost("MultiheadAttention", flops, flops, once * axes["trained"] * axes["backward"])]


def activation_saves(layer: str, axes: Axes, width: Any) -> list[Saved]:
    """Return the bytes that an activation function saves of its input; the next layer saves its output."""
    if not ACTIVATIONS[layer] or (axes[FROZEN] and not axes[GRADIENT]):
        return []
    positions = axes["times"] * axes["batch"] * axes["tokens"]
    return [Saved(layer, None if width is None else axes["element_bytes"] * positions * width)]


def layer_saves(layer: str, tensors: list[Leaf], axes: Axes, channels: Any = None) -> list[Saved]:
    """Return the bytes that a layer saves for the backward pass.

    A Linear, or a convolution on items with so many ``channels``, saves its input if its weights are trained;
    a convolution also if only its input has a gradient. A norm saves its input and the statistics of each
    token, or of each channel of a batch. An embedding saves its indices, which are inputs.
    RMSNorm is transformers' own, which computes in float32.
    """
    if layer in _SAVE_NOTHING or (axes[FROZEN] and not (axes[GRADIENT] and layer in _SAVE_FROZEN)):
        return []
    positions, element = axes["times"] * axes["batch"] * axes["tokens"], axes["element_bytes"]
    if layer in OUTPUT_SIZES:
        return [Saved(layer, element * positions * tensors[0].shape[1 - OUTPUT_SIZES[layer]])]
    if channels is not None:
        return [Saved(layer, element * positions * channels)]
    if layer in _BATCH_NORMS and tensors:
        channels = tensors[0].shape[0]
        return [Saved(layer, element * positions * channels + 2 * _STATISTIC * axes["times"] * channels)]
    if layer == "LayerNorm" and tensors:
        return [Saved(layer, positions * (element * tensors[0].shape[0] + 2 * _STATISTIC))]
    if layer == "RMSNorm" and tensors:
        width = tensors[0].shape[0]
        given = _STATISTIC * (width + 1) if axes[GRADIENT] else 0
        scaled = 0 if axes[FROZEN] else element * width  # what a trained weight multiplies
        return [Saved(layer, positions * (given + scaled))]
    return [Saved(layer, None)]


def evaluate_contraction(builder: Costed, found: Contraction, node: ast.Call, local: Locals) -> Any:
    """Return the cost, cache tensors and saved bytes of a product, or bytes for an entry without FLOPs."""
    outer, given = builder.frames[-1], _arguments(builder, found, node, local)
    if found.cache:
        _check_cache_keys(outer.scope)
    defaults = {name: d for name, d in found.parameters.items() if d is not None and name not in given}
    frame = Frame(outer.scope, dict(given), {**defaults, **found.where})
    frame.axes, frame.layer_idx = axes_here(builder), outer.layer_idx
    builder.frames.append(frame)
    try:
        for condition in found.require:
            if not builder.is_true(builder.evaluate(condition, frame.local), condition.tree):
                builder.fail(f"{found.name} is supported only if `{condition.text}`", node)
        if found.flops is None:
            return _saved_bytes(builder, found, node)
        cost = _make_cost(builder, found, found.flops)
        saved = builder.evaluate_saved(found.name, found.saves) if is_training(frame.axes) else None
        kind = builder.evaluate(found.kind, frame.local) if found.kind is not None else "state"
        kept = list(cache_tensors(builder, found.cache, kind))
        for allocation in builder.allocations[1:] if found.cache else ():
            frame.local, frame.axes = dict(given), {**frame.axes, "allocation": allocation}
            kept += cache_tensors(builder, found.cache, kind)
    finally:
        builder.frames.pop()
    return cost, kept, saved


def axes_here(builder: Costed) -> Axes:
    """Return the axes of the module that is being built, or of what it runs now."""
    frame = builder.frames[-1]
    axes: Axes | None = frame.now or frame.axes
    assert axes is not None  # `ops:`, `cache:` and `saves:` are evaluated at axes only
    return axes


def cache_tensors(builder: Costed, shapes: Mapping[str, Expression], kind: str) -> Iterator[Kept]:
    """Yield the tensors of a `cache:` that have elements; a dtype may follow the sizes."""
    axes = axes_here(builder)
    for name, shape in shapes.items():
        sizes = builder.evaluate(shape, builder.frames[-1].local)
        if sizes is None:
            continue
        dtype = sizes.pop() if sizes[-1] is None or isinstance(sizes[-1], str) else None
        if builder.keeps_empty or all(value_of(size) for size in sizes):
            yield Kept(name, kind, tuple(sizes), axes["times"], dtype, axes["allocation"])


def _arguments(builder: Costed, found: Contraction, node: ast.Call, local: Locals) -> Locals:
    given = dict(zip(found.parameters, (builder.visit(one, local) for one in node.args), strict=False))
    given |= {str(keyword.arg): builder.visit(keyword.value, local) for keyword in node.keywords}
    for name in given:
        if name not in found.parameters:
            help_ = did_you_mean(name, found.parameters)
            builder.fail(f"{name} is not a parameter of {found.name}", node, help_)
    for name, default in found.parameters.items():
        if default is None and name not in given:
            builder.fail(f"{found.name} needs {name}", node, f"parameters: {', '.join(found.parameters)}")
    return given


def _saved_bytes(builder: Costed, found: Contraction, node: ast.Call) -> Any:
    """Return the bytes that autograd saves. Errors: EvaluationError for an unknown activation function."""
    given = builder.frames[-1].local
    try:
        return builder.evaluate(found.saves, given)
    except EvaluationError as error:
        if "[kind]" not in str(error.message):
            raise
    builder.fail(f"the activations that {given.get('kind')} saves for the backward are not supported", node)


def _make_cost(builder: Costed, found: Contraction, flops: Expression) -> Cost:
    axes, local = axes_here(builder), builder.frames[-1].local
    whole = builder.evaluate(flops, local)
    masked = whole if found.masked_flops is None else builder.evaluate(found.masked_flops, local)
    backward = whole * axes["backward"]
    if found.backward_flops is not None:
        backward = builder.evaluate(found.backward_flops, local)
    return Cost(found.name, whole * axes["times"], masked * axes["times"], backward * axes["trained"])


def _check_cache_keys(scope: Scope) -> None:
    """Raise ConfigError for a key that transformers' cache reads and the model's class does not.

    As in transformers' get_layer_types_and_kwargs, layer types decide which lengths are read; without layer
    types the window comes before the chunk.
    """
    kinds = scope.get("layer_types") if scope.has("layer_types") else scope.raw.get("layer_types")
    read = {"layer_types"} | {name for kind, name in _CACHE_LENGTHS.items() if kinds is None or kind in kinds}
    if kinds is None and scope.has("sliding_window") and scope.get("sliding_window") is not None:
        read.remove("attention_chunk_size")
    for name in sorted(read):
        if not scope.has(name) and scope.raw.get(name) is not None:
            message = f"is read by transformers' cache, but it is not a field of {scope.spec.model_type}"
            help_ = "remove it to get the costs of a full-length cache"
            raise ConfigError(scope.origin.problem(name, message, help_))
