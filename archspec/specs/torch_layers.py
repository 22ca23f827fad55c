"""The closed table of torch's layers, with torch's constructor signatures.

Each layer gives the tensors that its constructor creates, by torch's names and shapes, and refuses what
torch's constructor refuses. Sizes are ints, or symbolic numbers with the same operators.
"""

# mypy: allow-untyped-defs
# The signatures are torch's, and a size may be a number of any kind.
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


def decidable(size: Size) -> Any:
    """Return the value of a symbolic number for decisions, which it may record; any other value unchanged."""
    return getattr(size, "decision_value", size)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise LayerError(message)


def _require_multiple(size: Size, of: Size, name: str) -> None:
    fits = decidable(of) > 0 and decidable(size) % decidable(of) == 0
    _require(fits, f"{name}: {decidable(size)} is not divisible by {decidable(of)}")


def _leaves_if(condition: Any, *leaves: Leaf) -> list[Leaf]:
    return list(leaves) if decidable(condition) else []


def _weight(shape: Shape, bias: Any = False, width: Size = None) -> list[Leaf]:
    return [Leaf("weight", shape), *_leaves_if(bias, Leaf("bias", shape[:1] if width is None else (width,)))]


def _buffers(shape: Shape, *names: str) -> list[Leaf]:
    return [Leaf(name, shape, "buffer", False) for name in names]


def _sizes(given: Any, times: int = 1) -> Shape:
    """Return the sizes in a list, of any length as in torch, or a number repeated."""
    return tuple(given) if isinstance(given, list | tuple) else (given,) * times


def _make_conv(rank: int) -> Callable[..., list[Leaf]]:
    def conv(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True):
        _check_groups(in_channels, out_channels, groups)
        shape = (out_channels, _of_group(in_channels, groups), *_sizes(kernel_size, rank))
        return _weight(shape, bias, out_channels)

    return conv


def _make_transposed(rank: int) -> Callable[..., list[Leaf]]:
    def conv(
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
    ):
        _check_groups(in_channels, out_channels, groups)
        shape = (in_channels, _of_group(out_channels, groups), *_sizes(kernel_size, rank))
        return _weight(shape, bias, out_channels)

    return conv


def _check_groups(in_channels: Any, out_channels: Any, groups: Any) -> None:
    _require(decidable(groups) > 0, "groups must be a positive integer")
    _require_multiple(in_channels, groups, "in_channels")
    _require_multiple(out_channels, groups, "out_channels")


def _of_group(channels: Any, groups: Any) -> Any:
    return channels if isinstance(groups, int) and groups == 1 else channels // groups


def _embedding(num_embeddings, embedding_dim, padding_idx=None):
    if padding_idx is not None:
        index, rows = decidable(padding_idx), decidable(num_embeddings)
        _require(-rows <= index < rows, f"padding_idx {index} must be within num_embeddings {rows}")
    return _weight((num_embeddings, embedding_dim))


def _norm(shape: Shape, affine: Any, bias: Any = True) -> list[Leaf]:
    return _leaves_if(affine, Leaf("weight", shape), *_leaves_if(bias, Leaf("bias", shape)))


def _batch_norm(num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
    statistics = _buffers((num_features,), "running_mean", "running_var")
    tracked = _leaves_if(track_running_stats, *statistics, *_buffers((), "num_batches_tracked"))
    return [*_norm((num_features,), affine), *tracked]


def _group_norm(num_groups, num_channels, eps=1e-5, affine=True):
    _require_multiple(num_channels, num_groups, "num_channels")
    return _norm((num_channels,), affine)


def _multihead_attention(
    embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, kdim=None, vdim=None, batch_first=False
):
    _require(decidable(embed_dim) > 0, "embed_dim must be greater than zero")
    _require_multiple(embed_dim, num_heads, "embed_dim")
    packed = all(size is None or decidable(size) == decidable(embed_dim) for size in (kdim, vdim))
    sizes = {
        name: embed_dim if size is None else size
        for name, size in zip("qkv", (None, kdim, vdim), strict=True)
    }
    projections = [Leaf(f"{name}_proj_weight", (embed_dim, size)) for name, size in sizes.items()]
    return [
        *([Leaf("in_proj_weight", (3 * embed_dim, embed_dim))] if packed else projections),
        *_leaves_if(bias, Leaf("in_proj_bias", (3 * embed_dim,))),
        *_leaves_if(add_bias_kv, Leaf("bias_k", (1, 1, embed_dim)), Leaf("bias_v", (1, 1, embed_dim))),
        Leaf("out_proj.weight", (embed_dim, embed_dim)),
        *_leaves_if(bias, Leaf("out_proj.bias", (embed_dim,))),
    ]


def _make_recurrent(gates: int) -> Callable[..., list[Leaf]]:
    def recurrent(
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
    ):
        directions = ["", "_reverse"] if decidable(bidirectional) else [""]
        state = proj_size if decidable(proj_size) else hidden_size
        sizes = {"input_size": input_size, "hidden_size": hidden_size, "num_layers": num_layers}
        for name, size in sizes.items():
            _require(decidable(size) > 0, f"{name} must be greater than zero")
        _require(decidable(num_layers) <= 10_000, f"{num_layers} layers are more than are counted")
        leaves: list[Leaf] = []
        for layer in range(decidable(num_layers)):
            entry = input_size if layer == 0 else state * len(directions)
            for end in (f"_l{layer}{direction}" for direction in directions):
                leaves += _cell(end, gates * hidden_size, entry, state, bias)
                leaves += _leaves_if(proj_size, Leaf(f"weight_hr{end}", (proj_size, hidden_size)))
        return leaves

    return recurrent


def _cell(end: str, width: Size, entry: Size, state: Size, bias: Any) -> list[Leaf]:
    weights = [Leaf(f"weight_ih{end}", (width, entry)), Leaf(f"weight_hh{end}", (width, state))]
    return [*weights, *_leaves_if(bias, Leaf(f"bias_ih{end}", (width,)), Leaf(f"bias_hh{end}", (width,)))]


def no_tensors(*_: Any, **__: Any) -> list[Leaf]:
    """Return no tensors: the layer only takes a position in a Sequential."""
    return []


_WITHOUT_TENSORS = (
    "Identity Dropout ReLU GELU SiLU Tanh Sigmoid Softmax Activation Flatten "
    "MaxPool2d AvgPool2d AdaptiveAvgPool1d AdaptiveAvgPool2d Upsample PixelShuffle Pad"
)
LEAVES: dict[str, Callable[..., list[Leaf]]] = {
    "Linear": lambda in_features, out_features, bias=True: _weight((out_features, in_features), bias),
    "Conv1D": lambda nf, nx: _weight((nx, nf), True, nf),  # of GPT-2: a Linear with its weight transposed
    "Bilinear": lambda in1_features, in2_features, out_features, bias=True: _weight(
        (out_features, in1_features, in2_features), bias
    ),
    **{f"Conv{rank}d": _make_conv(rank) for rank in (1, 2, 3)},
    **{f"ConvTranspose{rank}d": _make_transposed(rank) for rank in (1, 2, 3)},
    "Embedding": _embedding,
    "LayerNorm": lambda normalized_shape, eps=1e-5, elementwise_affine=True, bias=True: _norm(
        _sizes(normalized_shape), elementwise_affine, bias
    ),
    "RMSNorm": lambda normalized_shape, eps=None, elementwise_affine=True: _norm(
        _sizes(normalized_shape), elementwise_affine, bias=False
    ),
    **{f"BatchNorm{rank}d": _batch_norm for rank in (1, 2, 3)},
    # DETR's, whose affine part consists of buffers, too
    "FrozenBatchNorm2d": lambda n: _buffers((n,), "weight", "bias", "running_mean", "running_var"),
    "GroupNorm": _group_norm,
    "MultiheadAttention": _multihead_attention,
    "LSTM": _make_recurrent(4),
    "GRU": _make_recurrent(3),
    "LSTMCell": lambda input_size, hidden_size, bias=True: _cell(
        "", 4 * hidden_size, input_size, hidden_size, bias
    ),
    "GRUCell": lambda input_size, hidden_size, bias=True: _cell(
        "", 3 * hidden_size, input_size, hidden_size, bias
    ),
    "PReLU": lambda num_parameters=1: _weight((num_parameters,)),
    "Parameter": lambda *shape, requires_grad=True: [
        Leaf("", _sizes(*shape) if len(shape) == 1 else shape, "parameter", bool(decidable(requires_grad)))
    ],
    "Buffer": lambda *shape: _buffers(shape, ""),
    **dict.fromkeys(_WITHOUT_TENSORS.split(), no_tensors),
}

_DECIDING = dict.fromkeys(("LSTM", "GRU"), ("num_layers", "bidirectional", "proj_size"))
_DECIDING["MultiheadAttention"] = ("embed_dim", "kdim", "vdim")
_FLAGS = ("bias", "affine", "elementwise_affine", "track_running_stats", "add_bias_kv", "requires_grad")


def deciding_arguments(name: str, arguments: list[Any], keywords: dict[str, Any]) -> list[Any]:
    """Return the arguments of a layer that decide which tensors it has, not only how large they are."""
    code = LEAVES[name].__code__
    given = dict(zip(code.co_varnames[: code.co_argcount], arguments, strict=False)) | keywords
    numbers = [given.get(argument) for argument in _DECIDING.get(name, ())]
    if name == "MultiheadAttention" and given.get("kdim") is None and given.get("vdim") is None:
        numbers = []
    return [number for number in [*numbers, *map(given.get, _FLAGS)] if number is not None]


def groups_of(name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """Return the number of groups of a convolution, 1 for any other layer."""
    given = dict(zip(LEAVES[name].__code__.co_varnames, arguments, strict=False)) | keywords
    return given.get("groups", 1)


def weight_norm(leaves: list[Leaf], name: str = "weight", dim: int | None = 0) -> list[Leaf]:
    """Replace a weight by a length g and a direction v, as torch.nn.utils.parametrizations.weight_norm.

    ``original0`` has the weight's shape with every axis but ``dim`` of size one.
    """
    shapes = [leaf.shape for leaf in leaves if leaf.name == name]
    _require(len(shapes) == 1, f"the {name} to normalize is missing")
    [shape] = shapes
    axis = None if dim is None else range(len(shape))[dim]
    _require(axis is None or decidable(shape[axis]) > 0, f"{name} has 0 rows")
    length = () if axis is None else tuple(size if i == axis else 1 for i, size in enumerate(shape))
    kept = [leaf for leaf in leaves if leaf.name != name]
    path = f"parametrizations.{name}.original"
    return [*kept, Leaf(f"{path}0", length), Leaf(f"{path}1", shape)]
