"""What one call of a model costs: FLOPs by module, those that masks let through, the cache after it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from math import prod

from archspec.arguments import TEXT, checked
from archspec.configs.choice import text_class
from archspec.configs.notes import types_of_other_folders
from archspec.configs.scope import Scope
from archspec.costs.builder import CostBuilder
from archspec.costs.records import Call, Cost, Kept, axes_of
from archspec.errors import ArchspecError
from archspec.formats.dtypes import dtype_bytes
from archspec.language.values import here
from archspec.tree.node import Node, Routed
from archspec.typing_light import Any, NamedTuple

ALLOCATIONS = ("exact", "static", "pages")
HELD = {  # further numbers, and what they are held to
    "masked": ("masked FLOPs", "transformers' masks"),
    "static": ("static caches", "transformers' StaticCache"),
    "working_set": ("working sets", "what torch allocates"),
}
POSITIONS_HELP = "give the number of its encoder's positions as encoder_tokens"
PAGE = 16  # positions that a serving engine reserves at once


class CacheTensor(NamedTuple):
    """A tensor that a call hands on to the next one.

    ``layer`` is the number of the layer that it belongs to; ``kind`` says what of the past it holds: all
    positions (full), the last ones (window), the encoder's (cross), compressed ones (latent), or a state.
    ``dtype`` is None where it is the model's: many states are float32 whatever that is.
    """

    name: str
    layer: int | None
    kind: str
    shape: tuple[int, ...]
    module: str
    dtype: str | None = None

    @property
    def numel(self) -> int:
        """Its elements."""
        return prod(self.shape)


class Forward:
    """The costs of one call, made by :meth:`archspec.Model.forward`.

    FLOPs are those of transformers' own (eager) code, 2 per multiply-add, as torch's FlopCounterMode counts
    them: products of matrices and convolutions; norms, activations and softmax count nothing.
    ``call`` are its lengths, ``tree`` the modules of the ``architecture`` with their costs at the config of
    ``scope``. ``held`` names what of the further numbers is given: `masked` FLOPs, `static` caches, the
    `working_set` beside weights and cache.
    """

    def __init__(
        self,
        scope: Scope,
        architecture: str,
        batch: int,
        tokens: int,
        past: int = 0,
        encoder_tokens: int | None = None,
        new_encoder_tokens: int | None = None,
        held: Collection[str] = tuple(HELD),
    ) -> None:
        self.scope, self.architecture, self.held = scope, architecture, held
        _whole(batch=batch, tokens=tokens)
        _whole(0, past=past, encoder_tokens=0 if encoder_tokens is None else encoder_tokens)
        _whole(0, new_encoder_tokens=0 if new_encoder_tokens is None else new_encoder_tokens)
        call = Call(batch, tokens, past, encoder_tokens or 0)
        self.call = call._replace(
            new_encoder_tokens=call.usually_encoded if new_encoder_tokens is None else new_encoder_tokens
        )
        builder = CostBuilder(scope, axes_of(self.call))
        self.tree = builder.build(architecture)
        self._check(builder, encoder_tokens)

    def _check(self, builder: CostBuilder, encoder_tokens: int | None) -> None:
        """Lengths that the architecture has no use for, or misses."""
        if encoder_tokens and not builder.attends:
            raise ArchspecError(f"{self.architecture} attends to no encoder", help="leave encoder_tokens out")
        if builder.encoder and encoder_tokens is None:
            raise ArchspecError(f"{self.architecture} reads what its encoder gives", help=POSITIONS_HELP)
        if builder.encoder and self.scope.raw.get("is_encoder_decoder") is False:
            raise ArchspecError(
                f"{self.architecture} is an encoder and a decoder, its config says is_encoder_decoder: false",
                help="costs are those of both: leave it out",
            )
        if self.call.new_encoder_tokens > self.call.encoder_tokens:
            raise ArchspecError(
                "more encoder positions are computed than there are",
                help="new_encoder_tokens is at most encoder_tokens",
            )
        if self.call.past and (builder.returned or not self.cache):
            takes_none = "returns a cache, but its forward does not take one"
            why = takes_none if builder.returned else "hands no cache on to a next call"
            raise ArchspecError(f"{self.architecture} {why}", help="past is 0: give all tokens at once")

    @cached_property
    def flops(self) -> int:
        """FLOPs of the call, all sequences of the batch together.

        >>> import archspec
        >>> archspec.load("LlamaForCausalLM").forward(batch=1, tokens=1).flops
        13214679040
        """
        return int(self._totals.flops)

    @cached_property
    def masked_flops(self) -> int:
        """The same, of attention only what the causal mask and the window let through.

        Errors: :class:`ArchspecError` for a class that was not held to the masks that transformers makes.
        """
        self.check_held("masked")
        return int(self._totals.masked)

    @cached_property
    def training_flops(self) -> int:
        """FLOPs of this call and of its gradients, without recomputation.

        The gradients are those of the first output, for all parameters that require one.

        Errors: :class:`ArchspecError` for a class whose gradients have not met the instrument, and for a call
        on a cache.
        """
        self.check_trained()
        return self.flops + int(self._totals.backward)

    def check_trained(self) -> None:
        """Errors: as of :attr:`training_flops`."""
        held_to_transformers(self.scope, self.architecture, training=True)
        if self.call.past or self.call.new_encoder_tokens < self.call.encoder_tokens:
            raise ArchspecError("a training step has no cache", help="leave past and new_encoder_tokens out")

    @cached_property
    def _totals(self) -> Cost:
        return total(self.tree)

    @cached_property
    def flops_by_module(self) -> dict[str, int]:
        """Each module's own FLOPs, without its children's, by its name in `named_modules()`."""
        return _by_module((path, cost.flops) for path, cost in own_flops(self.tree))

    @cached_property
    def step_flops_by_module(self) -> dict[str, int]:
        """The same with those of gradients, as described: see :attr:`training_flops`."""
        return _by_module((path, cost.flops + cost.backward) for path, cost in own_flops(self.tree))

    @cached_property
    def cache(self) -> list[CacheTensor]:
        """The tensors that are handed on to the next call, in the order of their modules."""
        return _cache(self.tree)

    @property
    def allocations(self) -> tuple[str, ...]:
        """Of :data:`ALLOCATIONS` those that are given."""
        return tuple(one for one in ALLOCATIONS if one != "static" or one in self.held)

    @checked(allocation=TEXT)
    def cache_elements(self, allocation: str = "exact") -> int:
        """Elements of the cache: see :meth:`cache_bytes`."""
        return sum(tensor.numel for tensor in self.allocated(allocation))

    @checked(allocation=TEXT)
    def allocated(self, allocation: str) -> list[CacheTensor]:
        """The tensors that an allocation reserves for these positions."""
        if allocation not in ALLOCATIONS:
            raise ArchspecError(f"{allocation} is no allocation", help=f"known: {', '.join(ALLOCATIONS)}")
        if allocation == "exact":
            return self.cache
        if allocation == "static":
            self.check_held("static")
        axes = axes_of(_whole_pages(self.call, allocation), allocation)
        return _cache(CostBuilder(self.scope, axes).build(self.architecture))

    @checked(name=TEXT)
    def check_held(self, name: str) -> None:
        """Errors: :class:`ArchspecError` for a number that was not held to its instrument."""
        if name not in HELD:
            raise ArchspecError(f"unknown number {name!r}; choose {', '.join(HELD)}")
        if name not in self.held:
            what, instrument = HELD[name]
            message = f"{what} of {self.architecture} are not given: they were not held to {instrument}"
            raise ArchspecError(message, help="its FLOPs and its cache are")

    @checked(allocation=TEXT)
    def cache_bytes(self, dtype: str, allocation: str = "exact") -> int:
        """Bytes of the cache after this call in a dtype; states keep the one that they have of their own.

        ``allocation``: `exact` is what transformers' DynamicCache holds; `static` what its StaticCache
        reserves where these positions are its length; `pages` what an engine reserves that gives all layers
        pages of 16 positions, those with a window in full length, too.
        """
        kept = self.allocated(allocation)
        return sum(tensor.numel * dtype_bytes(tensor.dtype or dtype) for tensor in kept)


def _by_module(flops: Iterator[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for path, own in flops:
        found[path] = found.get(path, 0) + own
    return {path: own for path, own in found.items() if own}


def held_to_transformers(scope: Scope, architecture: str, training: bool = False) -> None:
    """Errors: :class:`ArchspecError` for a class whose costs, or gradients, have not met the instrument."""
    model_type = scope.spec.model_type
    gap = scope.spec.library.costs(model_type).gap(architecture, training) or parts_gap(scope)
    if gap is not None:
        what = "training FLOPs" if training else "costs"
        message = f"the {what} of {architecture} ({model_type}) are not given: {gap}"
        raise ArchspecError(message, help=supported_instead(scope, training))


def supported_instead(scope: Scope, training: bool = False) -> str:
    """The help line for a class without costs: the class of its text part, or its parameters."""
    library = scope.spec.library
    text = text_class(scope, lambda model_type, name: library.costs(model_type).gap(name, training) is None)
    if text:
        return f"pass --architecture {text} for the costs of its text model"
    return "archspec count reports its parameters"


def parts_gap(scope: Scope) -> str | None:
    """That a part is described in another folder than the whole, which was held without it; or None."""
    other = next(types_of_other_folders(scope), None)
    return f"they were held to transformers with another spec of {other}" if other else None


def _whole(least: int = 1, **lengths: Any) -> None:
    for name, value in lengths.items():
        if type(here(value)) is not int or value < least:
            raise ArchspecError(f"{name} is {value!r}", help=f"give an integer of at least {least}")


def _whole_pages(call: Call, allocation: str) -> Call:
    if allocation != "pages":
        return call
    return call._replace(past=-(-call.context // PAGE) * PAGE - call.tokens)


def total(node: Node, known: dict[int, Cost] | None = None) -> Cost:
    """All FLOPs of a module; layers that share one node are looked at once."""
    known = {} if known is None else known
    if id(node) not in known:
        parts = [*node.costs, *(total(child, known) for child in node.children.values())]
        sums = (sum(getattr(part, name) for part in parts) for name in ("flops", "masked", "backward"))
        whole = Cost("", *sums)
        known[id(node)] = whole if node.routed is None else _routed(whole, node.routed)
    return known[id(node)]


def _routed(cost: Cost, routed: Routed) -> Cost:
    """Of the products of all experts those of the chosen ones."""
    if not routed.experts:
        return cost
    k, e = min(routed.chosen, routed.experts), routed.experts
    numbers = (cost.flops, cost.masked, cost.backward)
    return Cost(cost.name, *(number * k // e for number in numbers))


def own_flops(node: Node, prefix: str = "", routed: Routed | None = None) -> Iterator[tuple[str, Cost]]:
    """Every product with the path of its module, those of routed experts as often as they work."""
    routed, children = node.routed or routed, list(node.children.items())
    if node.routed is not None and len(children) == node.routed.experts and children[0][1].children:
        routed, children = None, children[: node.routed.chosen]  # experts with layers of their own
    for cost in node.costs:
        yield prefix, cost if routed is None else _routed(cost, routed)
    for name, child in children:
        own = child.cls in ("Parameter", "Buffer")
        yield from own_flops(child, prefix if own else f"{prefix}.{name}" if prefix else name, routed)


def kept_tensors(node: Node, prefix: str = "") -> Iterator[tuple[str, Kept]]:
    """Every tensor that is handed on to the next call, with the path of its module."""
    if node.cache is None:
        return
    for kept in node.cache:
        yield prefix, kept
    for name, child in node.children.items():
        yield from kept_tensors(child, f"{prefix}.{name}" if prefix else name)


def _cache(tree: Node) -> list[CacheTensor]:
    found = []
    for path, kept in kept_tensors(tree):
        layer = next((int(part) for part in path.split(".") if part.isdigit()), None)
        tensor = CacheTensor(kept.name, layer, kept.kind, kept.shape, path, kept.dtype)
        found += [tensor] * kept.times
    return found
