"""The lengths of a call, and the costs of one module; numbers may be symbolic."""

from __future__ import annotations

from archspec.specs.torch_layers import Leaf
from archspec.typing_light import Any, NamedTuple

Axes = dict[str, Any]  # by the names of `archspec.specs.records.RUNS`, and the allocation of a cache
EXACT, STATIC, PAGES = ALLOCATIONS = ("exact", "static", "pages")  # of a KV cache
ELEMENT_BYTES = {"bfloat16": 2, "float32": 4}  # of the dtypes in which activations were validated
KERNELS = ("flash", "eager")  # of attention in training
STATISTIC = 4  # bytes: norms compute in float32
EXCLUDED = (  # from the memory of a training step, always
    "inputs and buffers",
    "temporary tensors of the backward pass and the optimizer step",
    "memory that CUDA and its allocator reserve",
)
PRODUCTS = ("Linear", "Conv1D", "Conv1d", "Conv2d", "Conv3d")  # use each weight once a token
OUTPUT_SIZES = {"Linear": 0, "Conv1D": 1}  # the dimension of the weight that is the width of the output
_INPUT_SIZES = {"Linear": 1, "Conv1D": 0}
_SAVE_NOTHING = ("Embedding", "Parameter", "Buffer", "Identity", "Dropout")


class Call(NamedTuple):
    """The lengths of one call: sequences, new tokens, tokens in the KV cache, encoder tokens.

    ``new_encoder_tokens`` is how many encoder tokens this call computes: all of them, or 0 if the encoder's
    output is given.

    >>> Call(1, 1, encoder_tokens=9, new_encoder_tokens=9).at({"encoder_tokens": 12})
    Call(batch=1, tokens=1, past=0, encoder_tokens=12, new_encoder_tokens=12)
    """

    batch: int
    tokens: int
    past: int = 0
    encoder_tokens: int = 0
    new_encoder_tokens: int = 0

    @property
    def context(self) -> int:
        """Tokens in the KV cache after the call."""
        return self.past + self.tokens

    def lengths(self) -> dict[str, int]:
        """Return the lengths by the names of their axes."""
        return self._asdict()

    @property
    def default_new_encoder_tokens(self) -> int:
        """All encoder tokens, none after a past."""
        return 0 if self.past else self.encoder_tokens

    def at(self, lengths: dict[str, int]) -> Call:
        """Replace some lengths; `new_encoder_tokens` follows them if it has its default."""
        there = self._replace(**lengths)
        if "new_encoder_tokens" in lengths or self.new_encoder_tokens != self.default_new_encoder_tokens:
            return there
        return there._replace(new_encoder_tokens=there.default_new_encoder_tokens)


class Step(NamedTuple):
    """The lengths and options of a forward pass in training; all encoder tokens are computed.

    ``loss`` names the loss that the class computes from labels, an entry of formulas/contractions.yaml; ''
    for a step without a loss.
    """

    batch: int
    tokens: int
    encoder_tokens: int = 0
    dtype: str = "bfloat16"
    attention: str = "flash"
    checkpointing: bool = False
    loss: str = ""

    @property
    def call(self) -> Call:
        """The same forward pass as a call without a cache."""
        return Call(self.batch, self.tokens, 0, self.encoder_tokens, self.encoder_tokens)

    def lengths(self) -> dict[str, int]:
        """Return the lengths by the names of their axes."""
        return {"batch": self.batch, "tokens": self.tokens, "encoder_tokens": self.encoder_tokens}

    def at(self, lengths: dict[str, int]) -> Step:
        """Replace some lengths."""
        given = {**self.lengths(), **lengths}
        return Step(given["batch"], given["tokens"], given["encoder_tokens"], *self[3:])

    @property
    def kind(self) -> str:
        """The key of this kind of training in formulas/costs.json."""
        return f"{self.attention} checkpointing" if self.checkpointing else self.attention


class Row(NamedTuple):
    """One row of a rank's training memory, sharded over ``shared_by`` data-parallel ranks."""

    name: str
    dtype: str
    elements: int | None
    shared_by: int
    bytes: int


class Cost(NamedTuple):
    """FLOPs of one product, 2 per multiply-add.

    ``masked`` are the FLOPs that its mask lets through, ``backward`` those of its gradients.
    """

    name: str
    flops: Any
    masked: Any
    backward: Any


class Kept(NamedTuple):
    """A tensor of the KV cache in one allocation; its first size is the batch.

    ``kind`` is full, window, cross, latent or state. A module that runs ``times`` times has as many such
    tensors. ``dtype`` is None if the tensor has the model's dtype.
    """

    name: str
    kind: str
    shape: tuple[Any, ...]
    times: Any = 1
    dtype: str | None = None
    allocation: str = EXACT


class Saved(NamedTuple):
    """Bytes that autograd saves for the backward pass; None if they are not known."""

    name: str
    nbytes: Any


class Products(NamedTuple):
    """The costs of one contraction of `ops:`; ``saved`` is None without a training step."""

    cost: Cost
    kept: list[Kept]
    saved: Saved | None


def training_axes(step: Step) -> Axes:
    """Return the axes of a forward pass in training, with those of `archspec.specs.records.TRAINING`."""
    return {
        **axes_of(step.call),
        "element_bytes": ELEMENT_BYTES[step.dtype],
        "flash": step.attention == "flash",
        "checkpointing": step.checkpointing,
    }


def axes_of(call: Call, allocation: str = EXACT) -> Axes:
    """Return the axes of a call whose KV cache has an allocation."""
    once = {"times": 1, "trained": 1, "backward": 2}
    return {**call._asdict(), "context": call.context, **once, "allocation": allocation}


def inner_axes(axes: Axes, given: Axes) -> Axes:
    """Return the axes inside a module whose `runs:` replace some of them."""
    found = {**axes, **given}
    if "context" not in given:
        found["context"] = found["past"] + found["tokens"]
    times = given.get("times", 1)
    found["times"] = axes["times"] * times
    found["trained"] = axes["trained"] * given.get("trained", times)
    return found


def weight_costs(layer: str, tensors: list[Leaf], axes: Axes) -> list[Cost]:
    """Return the products of a layer: 2 FLOPs for each element of its weight and each token."""
    if layer not in PRODUCTS:
        return []
    once = 2 * axes["batch"] * axes["tokens"]
    for size in tensors[0].shape:
        once = once * size
    flops = once * axes["times"]
    return [Cost(layer, flops, flops, once * axes["trained"] * axes["backward"])]


def trains(axes: Axes | None) -> bool:
    """Return True for the axes of a training step."""
    return axes is not None and "element_bytes" in axes


def layer_saves(layer: str, tensors: list[Leaf], axes: Axes) -> list[Saved]:
    """Return the bytes that a layer saves for the backward pass.

    A Linear saves its input, a norm its input and the statistics of each token. An embedding saves its
    indices, which are inputs. RMSNorm is transformers' own, which computes in float32.
    """
    if layer in _SAVE_NOTHING:
        return []
    positions = axes["times"] * axes["batch"] * axes["tokens"]
    element = axes["element_bytes"]
    if layer in _INPUT_SIZES:
        return [Saved(layer, element * positions * tensors[0].shape[_INPUT_SIZES[layer]])]
    if layer == "LayerNorm" and tensors:
        return [Saved(layer, positions * (element * tensors[0].shape[0] + 2 * STATISTIC))]
    if layer == "RMSNorm" and tensors:
        width = tensors[0].shape[0]
        return [Saved(layer, positions * ((STATISTIC + element) * width + STATISTIC))]
    return [Saved(layer, None)]
