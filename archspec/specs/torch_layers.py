"""The closed table of leaf kinds: torch's layers, with torch's constructor signatures.

Each leaf gives the tensors that its constructor creates, by torch's own names and shapes, and
refuses what torch's constructor refuses. Sizes are ints, or symbolic numbers with the same
operators (see :mod:`archspec.symbolic.builder`).
"""

from __future__ import annotations

from collections.abc import Callable

from archspec.typing_light import Any, NamedTuple

Size = Any  # int, or a symbolic number that stands for one
Shape = tuple[Size, ...]


class Leaf(NamedTuple):
    """One tensor of a layer: its name, shape and kind."""

    name: str
    shape: Shape
    kind: str = "parameter"
    trainable: bool = True


class LayerError(Exception):
    """Arguments that torch's constructor refuses."""


def concrete(size: Size) -> Any:
    """Return the value of a symbolic number for decisions, which it may record; any other value unchanged."""
    return getattr(size, "decided", size)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise LayerError(message)


def _divides(size: Size, by: Size, what: str) -> None:
    fits = concrete(by) > 0 and concrete(size) % concrete(by) == 0
    _require(fits, f"{what}: {concrete(size)} is not divisible by {concrete(by)}")


def _optional(condition: Any, *leaves: Leaf) -> list[Leaf]:
    return list(leaves) if concrete(condition) else []


def linear(in_features: Size, out_features: Size, bias: Any = True) -> list[Leaf]:
    return [Leaf("weight", (out_features, in_features)), *_optional(bias, Leaf("bias", (out_features,)))]


def transposed_linear(nf: Size, nx: Size) -> list[Leaf]:
    """transformers' Conv1D of GPT-2: a Linear with its weight transposed."""
    return [Leaf("weight", (nx, nf)), Leaf("bias", (nf,))]


def bilinear(in1_features: Size, in2_features: Size, out_features: Size, bias: Any = True) -> list[Leaf]:
    weight = Leaf("weight", (out_features, in1_features, in2_features))
    return [weight, *_optional(bias, Leaf("bias", (out_features,)))]


def _kernel(kernel_size: Any, rank: int) -> Shape:
    """A kernel's sizes. Torch does not check how many a list has: that is left to the call."""
    return tuple(kernel_size) if isinstance(kernel_size, list | tuple) else (kernel_size,) * rank


def _conv(rank: int, transposed: bool) -> Callable[..., list[Leaf]]:
    def conv(
        in_channels: Size,
        out_channels: Size,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: Size = 1,
        bias: Any = True,
    ) -> list[Leaf]:
        _require(concrete(groups) > 0, "groups must be a positive integer")
        _divides(in_channels, groups, "in_channels")
        _divides(out_channels, groups, "out_channels")
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        second = second if isinstance(groups, int) and groups == 1 else second // groups
        weight = Leaf("weight", (first, second, *_kernel(kernel_size, rank)))
        return [weight, *_optional(bias, Leaf("bias", (out_channels,)))]

    return conv


def embedding(num_embeddings: Size, embedding_dim: Size, padding_idx: Size | None = None) -> list[Leaf]:
    if padding_idx is not None:
        index, rows = concrete(padding_idx), concrete(num_embeddings)
        _require(-rows <= index < rows, f"padding_idx {index} must be within num_embeddings {rows}")
    return [Leaf("weight", (num_embeddings, embedding_dim))]


def layer_norm(
    normalized_shape: Any, eps: Any = 1e-5, elementwise_affine: Any = True, bias: Any = True
) -> list[Leaf]:
    shape = tuple(normalized_shape) if isinstance(normalized_shape, list | tuple) else (normalized_shape,)
    if not concrete(elementwise_affine):
        return []
    return [Leaf("weight", shape), *_optional(bias, Leaf("bias", shape))]


def rms_norm(normalized_shape: Any, eps: Any = None, elementwise_affine: Any = True) -> list[Leaf]:
    return layer_norm(normalized_shape, eps, elementwise_affine, bias=False)


def batch_norm(
    num_features: Size,
    eps: Any = 1e-5,
    momentum: Any = 0.1,
    affine: Any = True,
    track_running_stats: Any = True,
) -> list[Leaf]:
    shape = (num_features,)
    statistics = [Leaf("running_mean", shape, "buffer", False), Leaf("running_var", shape, "buffer", False)]
    return [
        *_optional(affine, Leaf("weight", shape), Leaf("bias", shape)),
        *_optional(track_running_stats, *statistics, Leaf("num_batches_tracked", (), "buffer", False)),
    ]


def frozen_batch_norm(n: Size) -> list[Leaf]:
    """DETR's FrozenBatchNorm2d: its affine part is made of buffers too."""
    return [Leaf(name, (n,), "buffer", False) for name in ("weight", "bias", "running_mean", "running_var")]


def group_norm(num_groups: Size, num_channels: Size, eps: Any = 1e-5, affine: Any = True) -> list[Leaf]:
    _divides(num_channels, num_groups, "num_channels")
    return _optional(affine, Leaf("weight", (num_channels,)), Leaf("bias", (num_channels,)))


def multihead_attention(
    embed_dim: Size,
    num_heads: Size,
    dropout: Any = 0.0,
    bias: Any = True,
    add_bias_kv: Any = False,
    kdim: Size | None = None,
    vdim: Size | None = None,
    batch_first: Any = False,
) -> list[Leaf]:
    """torch's MultiheadAttention; its out_proj is a layer inside it."""
    _require(concrete(embed_dim) > 0, "embed_dim must be greater than zero")
    _divides(embed_dim, num_heads, "embed_dim")
    packed = all(size is None or concrete(size) == concrete(embed_dim) for size in (kdim, vdim))
    sizes = {"q": None, "k": kdim, "v": vdim}
    sizes = {name: embed_dim if size is None else size for name, size in sizes.items()}
    projections = [Leaf(f"{name}_proj_weight", (embed_dim, size)) for name, size in sizes.items()]
    return [
        *([Leaf("in_proj_weight", (3 * embed_dim, embed_dim))] if packed else projections),
        *_optional(bias, Leaf("in_proj_bias", (3 * embed_dim,))),
        *_optional(add_bias_kv, Leaf("bias_k", (1, 1, embed_dim)), Leaf("bias_v", (1, 1, embed_dim))),
        Leaf("out_proj.weight", (embed_dim, embed_dim)),
        *_optional(bias, Leaf("out_proj.bias", (embed_dim,))),
    ]


def _recurrent(gates: int) -> Callable[..., list[Leaf]]:
    def recurrent(
        input_size: Size,
        hidden_size: Size,
        num_layers: Size = 1,
        bias: Any = True,
        batch_first: Any = False,
        dropout: Any = 0.0,
        bidirectional: Any = False,
        proj_size: Size = 0,
    ) -> list[Leaf]:
        directions = ["", "_reverse"] if concrete(bidirectional) else [""]
        state = proj_size if concrete(proj_size) else hidden_size
        leaves: list[Leaf] = []
        sizes = {"input_size": input_size, "hidden_size": hidden_size, "num_layers": num_layers}
        for name, size in sizes.items():
            _require(concrete(size) > 0, f"{name} must be greater than zero")
        _require(concrete(num_layers) <= 10_000, f"{num_layers} layers are more than are counted")
        for layer in range(concrete(num_layers)):
            entry = input_size if layer == 0 else state * len(directions)
            for direction in directions:
                end = f"_l{layer}{direction}"
                wide = gates * hidden_size
                leaves += [Leaf(f"weight_ih{end}", (wide, entry)), Leaf(f"weight_hh{end}", (wide, state))]
                leaves += _optional(bias, *(Leaf(f"bias_{p}h{end}", (wide,)) for p in "ih"))
                leaves += _optional(proj_size, Leaf(f"weight_hr{end}", (proj_size, hidden_size)))
        return leaves

    return recurrent


def _cell(gates: int) -> Callable[..., list[Leaf]]:
    def cell(input_size: Size, hidden_size: Size, bias: Any = True) -> list[Leaf]:
        wide = gates * hidden_size
        weights = [Leaf("weight_ih", (wide, input_size)), Leaf("weight_hh", (wide, hidden_size))]
        return [*weights, *_optional(bias, Leaf("bias_ih", (wide,)), Leaf("bias_hh", (wide,)))]

    return cell


def prelu(num_parameters: Size = 1) -> list[Leaf]:
    return [Leaf("weight", (num_parameters,))]


def parameter(*shape: Any, requires_grad: Any = True) -> list[Leaf]:
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], list | tuple) else shape
    return [Leaf("", sizes, "parameter", bool(concrete(requires_grad)))]


def buffer(*shape: Size) -> list[Leaf]:
    return [Leaf("", shape, "buffer", False)]


def nothing(*_: Any, **__: Any) -> list[Leaf]:
    """A module without tensors; it still takes a position in a Sequential."""
    return []


_WITHOUT_TENSORS = (
    "Identity Dropout ReLU GELU SiLU Tanh Sigmoid Softmax Activation Flatten "
    "MaxPool2d AvgPool2d AdaptiveAvgPool1d AdaptiveAvgPool2d Upsample PixelShuffle Pad"
)
LEAVES: dict[str, Callable[..., list[Leaf]]] = {
    "Linear": linear,
    "Conv1D": transposed_linear,
    "Bilinear": bilinear,
    **{f"Conv{rank}d": _conv(rank, False) for rank in (1, 2, 3)},
    **{f"ConvTranspose{rank}d": _conv(rank, True) for rank in (1, 2, 3)},
    "Embedding": embedding,
    "LayerNorm": layer_norm,
    "RMSNorm": rms_norm,
    **{f"BatchNorm{rank}d": batch_norm for rank in (1, 2, 3)},
    "FrozenBatchNorm2d": frozen_batch_norm,
    "GroupNorm": group_norm,
    "MultiheadAttention": multihead_attention,
    "LSTM": _recurrent(4),
    "GRU": _recurrent(3),
    "LSTMCell": _cell(4),
    "GRUCell": _cell(3),
    "PReLU": prelu,
    "Parameter": parameter,
    "Buffer": buffer,
    **dict.fromkeys(_WITHOUT_TENSORS.split(), nothing),
}

_DECIDING = {
    **dict.fromkeys(("LSTM", "GRU"), ("num_layers", "bidirectional", "proj_size")),
    "MultiheadAttention": ("embed_dim", "kdim", "vdim"),
}
_FLAGS = {"bias", "affine", "elementwise_affine", "track_running_stats", "add_bias_kv", "requires_grad"}


def deciding(name: str, arguments: list[Any], keywords: dict[str, Any]) -> list[Any]:
    """The arguments of a layer that decide which tensors it has, not only how large they are."""
    code = LEAVES[name].__code__
    given = dict(zip(code.co_varnames[: code.co_argcount], arguments, strict=False)) | keywords
    numbers = [given.get(argument) for argument in _DECIDING.get(name, ())]
    if name == "MultiheadAttention" and given.get("kdim") is None and given.get("vdim") is None:
        numbers = []
    return [number for number in [*numbers, *map(given.get, _FLAGS)] if number is not None]


def weight_norm(leaves: list[Leaf], name: str = "weight", dim: int | None = 0) -> list[Leaf]:
    """torch.nn.utils.parametrizations.weight_norm: the weight becomes a length g and a direction v.

    ``original0`` has the weight's shape with every axis but ``dim`` of size one.
    """
    found = [leaf for leaf in leaves if leaf.name == name]
    _require(len(found) == 1, f"the {name} to normalize is missing")
    shape = found[0].shape
    axis = None if dim is None else range(len(shape))[dim]
    _require(axis is None or concrete(shape[axis]) > 0, f"{name} has 0 rows")
    length = () if axis is None else tuple(size if i == axis else 1 for i, size in enumerate(shape))
    kept = [leaf for leaf in leaves if leaf.name != name]
    path = f"parametrizations.{name}.original"
    return [*kept, Leaf(f"{path}0", length), Leaf(f"{path}1", shape)]
