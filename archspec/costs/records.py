"""The axes of a call, and what one module computes and keeps in it; numbers may be symbolic."""

from __future__ import annotations

from archspec.specs.torch_layers import Leaf
from archspec.typing_light import Any, NamedTuple

Axes = dict[str, Any]  # by the names of `archspec.specs.records.RUNS`, and how a cache is allocated
ELEMENT_BYTES = {"bfloat16": 2, "float32": 4}  # of dtypes that activations were held to torch in
KERNELS = ("flash", "eager")  # of attention in training
STATISTIC = 4  # bytes: norms compute in float32
EXCLUDED = (  # of the memory of a training step, always
    "inputs and buffers",
    "temporary tensors of the backward pass and the optimizer step",
    "memory that CUDA and its allocator reserve",
)
_KEEP_NOTHING = ("Embedding", "Parameter", "Buffer", "Identity", "Dropout")
PRODUCTS = ("Linear", "Conv1D", "Conv1d", "Conv2d", "Conv3d")  # use each weight once a position


class Call(NamedTuple):
    """The lengths of one call: sequences, positions computed now, positions in the cache, encoder positions.

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
        """Positions in the cache after the call."""
        return self.past + self.tokens

    def lengths(self) -> dict[str, int]:
        """By the names of their axes."""
        return self._asdict()

    @property
    def usually_encoded(self) -> int:
        """The encoder positions that a call computes unless told otherwise: all, none after a past."""
        return 0 if self.past else self.encoder_tokens

    def at(self, lengths: dict[str, int]) -> Call:
        """The same with some other lengths; `new_encoder_tokens` follows them where it is as usual."""
        there = self._replace(**lengths)
        if "new_encoder_tokens" in lengths or self.new_encoder_tokens != self.usually_encoded:
            return there
        return there._replace(new_encoder_tokens=there.usually_encoded)


class Step(NamedTuple):
    """The lengths of a forward in training, and how it is trained; all encoder positions are computed.

    ``loss`` names the loss that the class computes from labels, as formulas/contractions.yaml has it; '' for
    a step without one.
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
        """The call that it is, without a cache."""
        return Call(self.batch, self.tokens, 0, self.encoder_tokens, self.encoder_tokens)

    def lengths(self) -> dict[str, int]:
        """By the names of their axes."""
        return {"batch": self.batch, "tokens": self.tokens, "encoder_tokens": self.encoder_tokens}

    def at(self, lengths: dict[str, int]) -> Step:
        """The same with some other lengths."""
        given = {**self.lengths(), **lengths}
        return self._replace(
            batch=given["batch"], tokens=given["tokens"], encoder_tokens=given["encoder_tokens"]
        )

    @property
    def kind(self) -> str:
        """How it is trained, as the record of what was held to torch says it."""
        return f"{self.attention} checkpointing" if self.checkpointing else self.attention


class Row(NamedTuple):
    """One row of where the memory of a rank goes; ``shared_by`` is how many ranks of data share it out."""

    name: str
    dtype: str
    elements: int | None
    shared_by: int
    bytes: int


class Cost(NamedTuple):
    """FLOPs of one product, 2 per multiply-add; ``masked`` of them are let through by its mask.

    ``backward`` are those of its gradients.
    """

    name: str
    flops: Any
    masked: Any
    backward: Any


class Kept(NamedTuple):
    """A tensor that a module keeps for the next call; its first size is the batch.

    ``kind`` says what of the past it holds: full, window, cross, latent, or state. A module that runs
    ``times`` times keeps as many. ``dtype`` is the one that it has whatever the model's is.
    """

    name: str
    kind: str
    shape: tuple[Any, ...]
    times: Any = 1
    dtype: str | None = None


class Saved(NamedTuple):
    """Bytes that autograd keeps for the backward, by the name of what keeps them; None: not described."""

    name: str
    nbytes: Any


class Products(NamedTuple):
    """What one contraction of `ops:` comes to."""

    cost: Cost
    kept: list[Kept]
    saved: Saved | None  # where a training step is asked for


def training_axes(step: Step) -> Axes:
    """The axes of a forward in training: beside its lengths those of `archspec.specs.records.TRAINING`."""
    return {
        **axes_of(step.call),
        "element_bytes": ELEMENT_BYTES[step.dtype],
        "flash": step.attention == "flash",
        "checkpointing": step.checkpointing,
    }


def axes_of(call: Call, allocation: str = "exact") -> Axes:
    """The axes of a call, and how its cache is allocated."""
    once = {"times": 1, "trained": 1, "backward": 2}
    return {**call._asdict(), "context": call.context, **once, "allocation": allocation}


def inner_axes(axes: Axes, given: Axes) -> Axes:
    """The axes inside a module of which some are given anew."""
    found = {**axes, **given}
    if "context" not in given:
        found["context"] = found["past"] + found["tokens"]
    times = given.get("times", 1)
    found["times"] = axes["times"] * times
    found["trained"] = axes["trained"] * given.get("trained", times)
    return found


def weight_costs(layer: str, tensors: list[Leaf], axes: Axes) -> list[Cost]:
    """The products of a layer: 2 FLOPs for each element of its weight, sequence and position."""
    if layer not in PRODUCTS:
        return []
    once = 2 * axes["batch"] * axes["tokens"]
    for size in tensors[0].shape:
        once = once * size
    flops = once * axes["times"]
    return [Cost(layer, flops, flops, once * axes["trained"] * axes["backward"])]


def trains(axes: Axes | None) -> bool:
    """Whether a call is a training step, of which is asked what it keeps."""
    return axes is not None and "element_bytes" in axes


def layer_saves(layer: str, tensors: list[Leaf], axes: Axes) -> list[Saved]:
    """What a layer keeps on its own: a Linear its input, norms the input and statistics of each position.

    An embedding keeps its indices, which are inputs unless a spec says otherwise; an RMSNorm is transformers'
    own, which computes in float32.
    """
    if layer in _KEEP_NOTHING:
        return []
    positions = axes["times"] * axes["batch"] * axes["tokens"]
    element = axes["element_bytes"]
    if layer == "Linear":
        return [Saved(layer, element * positions * tensors[0].shape[1])]
    if layer == "Conv1D":  # its weight is transposed
        return [Saved(layer, element * positions * tensors[0].shape[0])]
    if layer == "LayerNorm" and tensors:
        return [Saved(layer, positions * (element * tensors[0].shape[0] + 2 * STATISTIC))]
    if layer == "RMSNorm" and tensors:
        width = tensors[0].shape[0]
        return [Saved(layer, positions * ((STATISTIC + element) * width + STATISTIC))]
    return [Saved(layer, None)]
