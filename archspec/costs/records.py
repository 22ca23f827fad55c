"""The lengths of a forward pass, and the costs of a module with its submodules; numbers may be symbolic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod

from archspec.costs.media.sizes import Media, group_items, item_of
from archspec.errors import ArchspecError, option
from archspec.language.values import value_of
from archspec.specs.records import GRID, MAPS, MODALITIES
from archspec.tables.axes import AXES as CALL_AXES
from archspec.tables.quantities import COSTS, Term
from archspec.tree.node import Node, Routed
from archspec.tree.tensors import join_path
from archspec.typing_light import Any, NamedTuple

Axes = dict[str, Any]  # by the names of `archspec.specs.records.RUNS`, and the allocation of a cache
EXACT, STATIC, PAGES = ALLOCATIONS = ("exact", "static", "pages")  # of a KV cache
ELEMENT_BYTES = {"bfloat16": 2, "float32": 4}  # of the dtypes in which activations were validated
KERNELS = ("flash", "eager")  # of attention in training
PRODUCTS = ("Linear", "Conv1D", "Conv1d", "Conv2d", "Conv3d")  # use each weight once a token
FLOWING = ("batch", "tokens", "context", *GRID, MAPS)  # axes that a module passes on to the next one
OUTPUT_SIZES = {"Linear": 0, "Conv1D": 1}  # the dimension of the weight that is the width of the output
_TOO_LONG = 2**62  # sizes of tensors have 64 bits
_CHECKPOINT = "checkpoint"  # in `saves:`, the inputs that a recomputed layer saves


class Call(NamedTuple):
    """The lengths of one forward pass, as archspec/tables/axes.py declares them.

    ``new_encoder_tokens`` is how many encoder tokens the pass computes: all of them, or 0 if the encoder's
    output is given.

    >>> Call(1, 1, encoder_tokens=9, new_encoder_tokens=9).replace({"encoder_tokens": 12})
    Call(batch=1, tokens=1, past=0, encoder_tokens=12, new_encoder_tokens=12, images=(), videos=(), audios=())
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

    @property
    def call(self) -> Call:
        """The same forward pass as a :class:`Call`, without a cache."""
        return Call(**self.lengths(), new_encoder_tokens=self.encoder_tokens)

    def lengths(self) -> dict[str, Any]:
        """Return the lengths by the names of their axes."""
        return {"batch": self.batch, "tokens": self.tokens, "encoder_tokens": self.encoder_tokens}

    def replace(self, lengths: dict[str, Any]) -> Step:
        """Replace some lengths; those that a training step does not have are ignored."""
        return self._replace(**{name: value for name, value in lengths.items() if name in self.lengths()})

    @property
    def kind(self) -> str:
        """The key of this kind of training in formulas/costs.json."""
        return f"{self.attention} checkpointing" if self.checkpointing else self.attention


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


def axes_of(call: Call, allocation: str = EXACT) -> Axes:
    """Return the axes of a forward pass whose KV cache has an allocation."""
    once = {"times": 1, "trained": 1, "backward": 2}
    lengths = {**call.lengths(), "context": call.context}
    return {**lengths, **once, "allocation": allocation, "media": call.media, "modality": None}


def training_axes(step: Step) -> Axes:
    """Return the axes of a forward pass in training, with those of `archspec.specs.records.TRAINING`."""
    options = {"flash": step.attention == "flash", "checkpointing": step.checkpointing}
    return {**axes_of(step.call), "element_bytes": ELEMENT_BYTES[step.dtype], **options}


def is_training(axes: Axes | None) -> bool:
    """Return True for the axes of a training step."""
    return axes is not None and "element_bytes" in axes


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


def own_terms(quantity: str, node: Node, checkpointing: bool = False) -> list[Term]:
    """Return what a module itself adds to a cost; a recomputed layer saves its inputs only."""
    found = COSTS[quantity].node_terms(node)
    if quantity != "activation_bytes":
        return found
    recomputed = checkpointing and is_checkpointed(node)
    return [term for term in found if (term[0] == _CHECKPOINT) == recomputed]


def counted_children(node: Node, quantity: str, checkpointing: bool = False) -> dict[str, Node]:
    """Return the children of a module whose terms count."""
    if quantity == "cache_elements" and node.cache is None:
        return {}
    if quantity == "activation_bytes" and checkpointing and is_checkpointed(node):
        return {}
    return node.children


def walk(
    node: Node, quantity: str, checkpointing: bool = False, path: str = "", routed: Routed | None = None
) -> Iterator[tuple[str, Node, Routed | None]]:
    """Yield every module whose terms count: its path, itself, and the experts that it is a part of.

    A parameter has the path of its module. Of experts that are modules only the computed ones are visited.
    """
    routed, children = _run_children(node, quantity, checkpointing, routed)
    yield path, node, routed
    for name, child in children:
        is_parameter = child.cls in ("Parameter", "Buffer")
        yield from walk(
            child, quantity, checkpointing, path if is_parameter else join_path(path, name), routed
        )


def _run_children(
    node: Node, quantity: str, checkpointing: bool, routed: Routed | None
) -> tuple[Routed | None, list[tuple[str, Node]]]:
    own, children = routed_of(node), list(counted_children(node, quantity, checkpointing).items())
    is_list = own is not None and len(children) == own.experts and children[0][1].children
    if own is not None and is_list and COSTS[quantity].active:
        return Routed(1, 1), children[: own.chosen]
    return own or routed, children


def total_cost(node: Node, quantity: str) -> int:
    """Return the FLOPs of a module and all inside it; a module in several places is read once."""
    known: dict[tuple[int, Routed | None], int] = {}

    def total_of(one: Node, routed: Routed | None) -> int:
        if (id(one), routed) not in known:
            share, children = _run_children(one, quantity, False, routed)
            own = sum(routed_share(prod(sizes), share) for _, sizes in own_terms(quantity, one))
            known[id(one), routed] = own + sum(total_of(child, share) for _, child in children)
        return known[id(one), routed]

    return total_of(node, None)


def by_module(node: Node, quantity: str) -> dict[str, int]:
    """Return the FLOPs of each module, without those of modules inside, by its path; zeros are left out."""
    found = Counter[str]()
    for path, one, routed in walk(node, quantity):
        found[path] += sum(routed_share(prod(sizes), routed) for _, sizes in own_terms(quantity, one))
    return {path: flops for path, flops in found.items() if flops}


def routed_of(node: Node) -> Routed | None:
    """Return the experts that the code computes: those that the router chooses, or more."""
    return node.computed or node.routed


def routed_share(flops: Any, routed: Routed | None) -> Any:
    """Return the FLOPs of the chosen experts, of those of all experts."""
    if routed is None or not routed.experts:
        return flops
    return flops * min(routed.chosen, routed.experts) // routed.experts


def is_checkpointed(node: Node) -> bool:
    """Return True if checkpointing recomputes a module."""
    return any(saved.name == _CHECKPOINT for saved in node.saves)


def checkpointed_layers(node: Node) -> list[tuple[str, Node]]:
    """Return the layers that checkpointing recomputes, with their paths."""
    visits = walk(node, "activation_bytes", checkpointing=True)
    return [(path, one) for path, one, _ in visits if is_checkpointed(one)]
