"""The lengths of a forward pass, and the costs of a module with its submodules; numbers may be symbolic."""

from __future__ import annotations

from archspec.costs.media.sizes import Media, group_items, item_of
from archspec.errors import ArchspecError, option
from archspec.language.values import value_of
from archspec.specs.records import GRID, MAPS, MODALITIES
from archspec.tables.axes import AXES as CALL_AXES
from archspec.typing_light import Any, NamedTuple

Axes = dict[str, Any]  # by the names of `archspec.specs.records.RUNS`, and the allocation of a cache
EXACT, STATIC, PAGES = ALLOCATIONS = ("exact", "static", "pages")  # of a KV cache
ELEMENT_BYTES = {"bfloat16": 2, "float32": 4}  # of the dtypes in which activations were validated
KERNELS = ("flash", "eager")  # of attention in training
PRODUCTS = ("Linear", "Conv1D", "Conv1d", "Conv2d", "Conv3d")  # use each weight once a token
MEDIA = (*MODALITIES, "padded")  # fields of a call
FLOWING = ("batch", "tokens", "context", *GRID, MAPS)  # axes that a module passes on to the next one
OUTPUT_SIZES = {"Linear": 0, "Conv1D": 1}  # the dimension of the weight that is the width of the output
FREEZE, FROZEN = "freeze", "frozen"  # axes: names of modules that are not trained; inside one of them
HOOKED = "hooked"  # an axis: checkpointing asks for gradients of what a frozen tower's first layer returns
ADAPTED = "adapted"  # an axis: gradients pass through all frozen modules, to adapters
GRADIENT = "gradient"  # an axis: the input of the next layer has a gradient, as items have none
WITH_MEDIA = " with media"  # at the end of a kind of training
_TOO_LONG = 2**62  # sizes of tensors have 64 bits
CHECKPOINT = "checkpoint"  # in `saves:`, the inputs that a recomputed layer saves


class Call(NamedTuple):
    """The lengths of one forward pass, as archspec/tables/axes.py declares them.

    ``new_encoder_tokens`` is how many encoder tokens the pass computes: all of them, or 0 if the encoder's
    output is given.

    >>> Call(1, 1, encoder_tokens=9, new_encoder_tokens=9).replace({"encoder_tokens": 12}).new_encoder_tokens
    12
    """

    # axes of "forward"
    batch: int
    tokens: int
    past: int = 0
    encoder_tokens: int = 0
    new_encoder_tokens: int = 0
    # all items of the call: sizes of the tensors that the model receives
    images: tuple[tuple[int, int], ...] = ()  # height, width
    videos: tuple[tuple[int, int, int], ...] = ()  # frames, height, width
    audios: tuple[int, ...] = ()  # feature frames, or samples of a waveform
    padded: tuple[tuple[str, int], ...] = ()  # by modality, the patches that a processor pads each tensor to

    @property
    def context(self) -> int:
        """Tokens in the KV cache after the forward pass."""
        return self.past + self.tokens

    def lengths(self) -> dict[str, Any]:
        """Return the lengths by the names of their axes; number and size of items if they have one size."""
        found: dict[str, Any] = {name: getattr(self, name) for name in CALL_AXES}
        given = {name: groups for name, groups in self.media._asdict().items() if groups}
        if len({MODALITIES[name][-1] for name in given}) < len(given):
            return found  # heights of images and of videos
        for name, groups in given.items():
            if len(groups) == 1:
                [(count, size)] = groups
                found |= {name: count, **dict(zip(MODALITIES[name], size, strict=True))}
        return found

    @property
    def media(self) -> Media:
        """The items of each modality, grouped by size in the order of their first one."""
        return Media(*(group_items(getattr(self, name)) for name in MODALITIES))

    @property
    def default_new_encoder_tokens(self) -> int:
        """All encoder tokens, none after a past."""
        return 0 if self.past else self.encoder_tokens

    def replace(self, lengths: dict[str, Any]) -> Call:
        """Replace some lengths; `new_encoder_tokens` follows them if it has its default."""
        items = dict[str, Any]()
        for name, axes in MODALITIES.items():
            if lengths.keys() & {name, *axes} and getattr(self, name):
                size = [lengths.get(axis, self.lengths()[axis]) for axis in axes]
                number = lengths.get(name, self.lengths()[name])
                items[name] = (item_of(size),) * number
        found = self._replace(**{name: lengths[name] for name in CALL_AXES if name in lengths}, **items)
        if "new_encoder_tokens" in lengths or self.new_encoder_tokens != self.default_new_encoder_tokens:
            return found
        return found._replace(new_encoder_tokens=found.default_new_encoder_tokens)


class Step(NamedTuple):
    """The lengths and options of a forward pass in training; all encoder tokens are computed.

    ``loss`` names the loss that the class computes from labels, an entry of formulas/contractions.yaml; ''
    for a step without a loss.
    """

    # axes of "training"
    batch: int
    tokens: int
    encoder_tokens: int = 0
    # the options
    dtype: str = "bfloat16"
    attention: str = "flash"
    checkpointing: bool = False
    loss: str = ""
    # all items of the step, as in a :class:`Call`; in the dtype of the weights
    images: tuple[tuple[int, int], ...] = ()
    videos: tuple[tuple[int, int, int], ...] = ()
    audios: tuple[int, ...] = ()
    padded: tuple[tuple[str, int], ...] = ()
    freeze: tuple[str, ...] = ()  # names of modules whose parameters are not trained
    adapted: bool = False  # no parameters are trained, but what the embeddings return has a gradient

    @property
    def call(self) -> Call:
        """The same forward pass as a :class:`Call`, without a cache."""
        items = {name: getattr(self, name) for name in MEDIA}
        return Call(**self.lengths(), new_encoder_tokens=self.encoder_tokens, **items)

    def at_call(self, call: Call) -> Step:
        """Return the same step on the lengths and items of a forward pass."""
        given = call._asdict()
        return self._replace(**{name: given[name] for name in self._fields if name in given})

    def lengths(self) -> dict[str, Any]:
        """Return the lengths by the names of their axes."""
        return {"batch": self.batch, "tokens": self.tokens, "encoder_tokens": self.encoder_tokens}

    def replace(self, lengths: dict[str, Any]) -> Step:
        """Replace some lengths; those that a training step does not have are ignored."""
        return self._replace(**{name: value for name, value in lengths.items() if name in self.lengths()})

    @property
    def kind(self) -> str:
        """The key of this kind of training in formulas/costs.json."""
        kind = f"{self.attention} checkpointing" if self.checkpointing else self.attention
        return f"{kind}{WITH_MEDIA}{' frozen' if self.freeze else ''}" if any(self.call.media) else kind


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


def axes_of(call: Call, allocation: str = EXACT, freeze: tuple[str, ...] = ()) -> Axes:
    """Return the axes of a forward pass whose KV cache has an allocation; ``freeze`` are names of modules."""
    once: Axes = {"times": 1, "trained": 1, "backward": 2, "pooled": True, "unread": 0, HOOKED: True}
    once |= {FREEZE: freeze, FROZEN: False, GRADIENT: True}
    lengths = {**call.lengths(), "context": call.context}
    items = {"media": call.media, "padding": call.padded, "modality": None}
    return {**lengths, **once, **items, "allocation": allocation}


def training_axes(step: Step) -> Axes:
    """Return the axes of a forward pass in training, with those of `archspec.specs.records.TRAINING`."""
    options = {"flash": step.attention == "flash", "checkpointing": step.checkpointing}
    options |= {FROZEN: step.adapted, ADAPTED: step.adapted}
    return {**axes_of(step.call, freeze=step.freeze), "element_bytes": ELEMENT_BYTES[step.dtype], **options}


def is_training(axes: Axes | None) -> bool:
    """Return True for the axes of a training step."""
    return axes is not None and "element_bytes" in axes


def asks_gradients(axes: Axes) -> bool:
    """Return True where what the first layer returns has a gradient though its weights have none."""
    return bool(axes.get(ADAPTED) or (axes.get("checkpointing") and axes[HOOKED]))


def inner_axes(axes: Axes, given: Axes) -> Axes:
    """Return the axes inside a module whose `runs:` replace some of them."""
    found = {**axes, **given}
    if given.keys() == {"tokens"}:
        found |= dict.fromkeys(name for name in GRID if name in axes)  # convolutions run on these tokens
    if "context" not in given:
        past = found["past"]
        found["context"] = found["tokens"] if type(past) is int and past == 0 else past + found["tokens"]
    times = given.get("times", 1)
    found["times"] = axes["times"] * times
    found["trained"] = axes["trained"] * given.get("trained", times)
    return found


def check_length(name: str, value: int | None) -> None:
    """Raise :class:`ArchspecError` for a length that is not an integer, or is out of range."""
    least = CALL_AXES[name].minimum if name in CALL_AXES else 0
    if value is None or (type(value_of(value)) is int and least <= value < _TOO_LONG):
        return
    if type(value) is int and value >= least:
        raise ArchspecError(f"{option(name, value)} is too large", help=f"pass a smaller {option(name)}")
    message = f"{option(name)} must be an integer of at least {least}, not {value!r}"
    raise ArchspecError(message, help=f"pass {option(name, least)} or more")
