"""The costs of one forward pass: FLOPs by module, FLOPs that masks let through, the KV cache after it."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from math import prod

from archspec.arguments import check_arguments
from archspec.configs.choice import text_class
from archspec.configs.notes import types_of_other_folders
from archspec.configs.scope import Scope
from archspec.costs.builder import CostBuilder, build_costs
from archspec.costs.media.items import (
    check_items,
    check_placed,
    given_modalities,
    placed_tokens,
    tokens_of_items,
    with_items,
)
from archspec.costs.records import ALLOCATIONS, EXACT, PAGES, STATIC, Call, Kept, axes_of, check_length
from archspec.costs.totals import by_module, total_cost, walk
from archspec.errors import ArchspecError, option
from archspec.formats.dtypes import element_bytes
from archspec.tables.axes import AXES
from archspec.tree.node import Node
from archspec.typing_light import Any, NamedTuple

HELD = {  # further numbers, and the reference of their validation
    "masked": ("masked FLOPs", "transformers' masks"),
    "static": ("static caches", "transformers' StaticCache"),
    "working_set": ("peak temporary memory", "torch's allocations"),
}
COUNT_HELP = "use archspec count for parameter counts, which are supported"
_PAGE = 16  # tokens: a serving engine reserves whole pages


class CacheTensor(NamedTuple):
    """A tensor of the KV cache.

    ``name`` and ``shape`` are the tensor's, ``module`` is the path of its module, ``layer`` the layer index.
    ``kind`` is full (all tokens), window (sliding window), cross (the encoder's), latent (compressed), or
    state. ``dtype`` is None if the tensor has the model's dtype.
    """

    name: str
    layer: int | None
    kind: str
    shape: tuple[int, ...]
    module: str
    dtype: str | None = None

    @property
    def numel(self) -> int:
        """Number of elements."""
        return prod(self.shape)


class Forward:
    """The costs of one forward pass; made by :meth:`archspec.Model.forward`.

    FLOPs are those of transformers' eager code, 2 per multiply-add, as torch's FlopCounterMode counts them:
    matrix products and convolutions. Norms, activations and softmax count as zero.

    ``call`` has the lengths, ``tree`` the modules with their costs, ``scope`` the config of ``architecture``,
    ``built`` the builder. ``held`` names the other validated numbers: `masked` FLOPs, `static` caches, the
    `working_set` (peak temporary memory). ``files`` has a line on each file, ``freeze`` modules not to train.
    """

    files: tuple[str, ...] = ()

    def __init__(
        self,
        scope: Scope,
        architecture: str,
        *lengths: Any,
        held: Collection[str] = tuple(HELD),
        text_tokens: int | None = None,
        freeze: tuple[str, ...] = (),
        like: CostBuilder | None = None,
        **named: Any,
    ) -> None:
        self.scope, self.architecture, self.held = scope, architecture, held
        given = {name: axis.default for name, axis in AXES.items()}
        given |= dict(zip(Call._fields, lengths, strict=False)) | named
        for name in AXES:
            check_length(name, given[name])
        if given["tokens"] is None:
            given["tokens"] = 1 if text_tokens is None else text_tokens
        known: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        call = Call(**known)
        if given["new_encoder_tokens"] is None:
            call = call._replace(new_encoder_tokens=call.default_new_encoder_tokens)
        self.call = with_items(call, scope, architecture)
        self.built = build_costs(scope, architecture, axes_of(self.call, freeze=freeze), like)
        check_items(self.built, self.call)
        if text_tokens is not None and (more := placed_tokens(self.built, self.call)):
            self.call = self.call._replace(tokens=text_tokens + more)
            self.built = build_costs(scope, architecture, axes_of(self.call, freeze=freeze), self.built)
        check_placed(self.built, self.call)
        self.tree = self.built.root
        check_encoder(self.built, architecture, given["encoder_tokens"])
        self._check_call()

    def _check_call(self) -> None:
        """Raise :class:`ArchspecError` for lengths that the architecture does not have."""
        name, returned = self.architecture, self.built.returns_cache
        if self.built.encodes and self.scope.raw.get("is_encoder_decoder") is False:
            message = f"{name} has an encoder and a decoder, but the config sets is_encoder_decoder to false"
            raise ArchspecError(message, help="remove is_encoder_decoder: costs include both")
        if self.call.new_encoder_tokens > self.call.encoder_tokens:
            new, most = option("new_encoder_tokens"), self.call.encoder_tokens
            message = f"{new} is greater than {option('encoder_tokens')} ({most:,})"
            raise ArchspecError(message, help=f"pass at most {most:,}" if most else f"leave out {new}")
        if self.call.past and (returned or not self.cache):
            why = "returns a KV cache, but its forward does not take one"
            why = why if returned else "does not return a KV cache"
            raise ArchspecError(
                f"{name} {why}", help=f"leave out {option('past')}, and pass all tokens as {option('tokens')}"
            )

    @property
    def has_items(self) -> bool:
        """True if modules run on images, videos or audio."""
        return any(self.call.media) or any(self.built.modalities.values())

    @property
    def item_tokens(self) -> int:
        """The tokens of the text that images, videos and audio take the place of, all together."""
        return sum(map(sum, self.tokens_by_item.values()))

    @cached_property
    def tokens_by_item(self) -> dict[str, list[int]]:
        """The tokens of the text that each image, video and audio takes the place of, by modality."""
        return tokens_of_items(self.built, self.call)

    def check_cache(self) -> None:
        """Raise :class:`ArchspecError` for a class that does not return a KV cache."""
        if not kept_tensors(self.tree, EXACT):
            message = f"{self.architecture} does not return a KV cache"
            raise ArchspecError(message, help="choose a class with a KV cache, such as a ForCausalLM class")

    @cached_property
    def flops(self) -> int:
        """FLOPs of the forward pass, all sequences of the batch together.

        >>> import archspec
        >>> archspec.load("LlamaForCausalLM").forward(batch=1, tokens=1).flops
        13214679040
        """
        return total_cost(self.tree, "flops")

    @cached_property
    def masked_flops(self) -> int:
        """FLOPs excluding attention scores hidden by the causal or sliding-window mask.

        Errors: :class:`ArchspecError` for a class that was not validated against transformers' masks.
        """
        self.check_held("masked")
        return total_cost(self.tree, "masked_flops")

    @cached_property
    def training_flops(self) -> int:
        """FLOPs of the forward and backward pass, without recomputation.

        Gradients are of the first output, for all parameters with requires_grad.

        Errors: :class:`ArchspecError` for a class whose gradients were not validated, and for a forward pass
        with a cache.
        """
        self.check_trained()
        return total_cost(self.tree, "training_flops")

    def check_trained(self) -> None:
        """Raise the errors of :attr:`training_flops`."""
        given = given_modalities(self.call, self.scope, self.architecture)
        check_supported(self.scope, self.architecture, training=True, items=given)
        if self.call.past or self.call.new_encoder_tokens < self.call.encoder_tokens:
            message = "a training step does not have a KV cache"
            raise ArchspecError(
                message, help=f"leave out {option('past')} and {option('new_encoder_tokens')}"
            )

    @cached_property
    def flops_by_module(self) -> dict[str, int]:
        """FLOPs of each module, excluding its submodules, by its name in `named_modules()`."""
        return by_module(self.tree, "flops")

    @cached_property
    def step_flops_by_module(self) -> dict[str, int]:
        """Forward and backward FLOPs of each module, excluding its submodules: see :attr:`training_flops`."""
        return by_module(self.tree, "training_flops")

    @cached_property
    def cache(self) -> list[CacheTensor]:
        """The tensors of the KV cache after the forward pass, in module order."""
        return _cache_of(self.tree, EXACT)

    @property
    def allocations(self) -> tuple[str, ...]:
        """The supported cache implementations: `exact`, `static` if it was validated, `pages`."""
        return tuple(one for one in ALLOCATIONS if one != STATIC or STATIC in self.held)

    @check_arguments
    def cache_elements(self, allocation: str = EXACT) -> int:
        """Return the elements of the KV cache: see :meth:`cache_bytes`."""
        return sum(tensor.numel for tensor in self.allocated_tensors(allocation))

    @check_arguments
    def allocated_tensors(self, allocation: str) -> list[CacheTensor]:
        """Return the tensors that a cache implementation allocates; see :meth:`cache_bytes`."""
        if allocation not in ALLOCATIONS:
            known = ", ".join(ALLOCATIONS)
            raise ArchspecError(f"unknown allocation {allocation!r}", help=f"choose from: {known}")
        if allocation == EXACT:
            return self.cache
        if allocation == STATIC:
            self.check_held(STATIC)
        call = whole_pages(self.call) if allocation == PAGES else self.call
        return _cache_of(build_costs(self.scope, self.architecture, axes_of(call)).root, allocation)

    @check_arguments
    def check_held(self, name: str) -> None:
        """Raise :class:`ArchspecError` if a number was not validated."""
        if name not in HELD:
            raise ArchspecError(f"unknown number {name!r}", help=f"choose from: {', '.join(HELD)}")
        if name not in self.held:
            what, reference = HELD[name]
            message = f"{what} of {self.architecture} are not supported: not validated against {reference}"
            raise ArchspecError(message, help="use its FLOPs and its KV cache, which are supported")

    @check_arguments
    def cache_bytes(self, dtype: str, allocation: str = EXACT) -> int:
        """Return the bytes of the KV cache after the forward pass in a dtype; some states have a fixed dtype.

        ``allocation`` is the cache implementation. `exact` is transformers' DynamicCache, `static` its
        StaticCache for as many tokens. `pages` is a paged cache, as in vLLM, with blocks of 16 tokens and
        sliding-window layers in full length.
        """
        kept = self.allocated_tensors(allocation)
        return sum(tensor.numel * element_bytes(tensor.dtype or dtype) for tensor in kept)


def check_supported(
    scope: Scope, architecture: str, training: bool = False, items: Collection[str] = ()
) -> None:
    """Raise :class:`ArchspecError` for costs, or gradients, that were not validated with some modalities."""
    library, model_type = scope.spec.library, scope.spec.model_type
    gap = validation_gap(scope, library.costs(model_type).gap(architecture, training, items))
    if gap is None:
        return
    text = text_class(scope, lambda model_type, name: library.costs(model_type).gap(name, training) is None)
    help_ = f"pass {option('architecture', text)} for the costs of its text model" if text else COUNT_HELP
    what = "training FLOPs" if training else "costs"
    raise ArchspecError(f"{what} are not supported for {architecture} ({model_type}): {gap}", help=help_)


def validation_gap(scope: Scope, gap: str | None) -> str | None:
    """Return a gap of a class, or that it was validated with another spec of one of its parts."""
    other = next(types_of_other_folders(scope), None)
    return gap or (f"it was validated with another spec of {other}" if other else None)


def check_encoder(built: CostBuilder, architecture: str, encoder_tokens: int | None) -> None:
    """Raise :class:`ArchspecError` for a useless or missing sequence length of an encoder."""
    if built.instructed and not encoder_tokens:
        message = f"{architecture} also reads an instruction with its {' and '.join(built.modalities)}"
        raise ArchspecError(message, help=f"pass its length, {option('encoder_tokens', 16)}, for example")
    if encoder_tokens and built.modalities and not (built.encodes or built.instructed):
        name, items = option("encoder_tokens"), " and ".join(built.modalities)
        message = f"{name} has no effect: the length of the encoder follows from the {items}"
        raise ArchspecError(message, help=f"leave out {name}")
    if encoder_tokens and not built.attends:
        name = option("encoder_tokens")
        message = f"{name} has no effect: {architecture} does not attend to an encoder"
        raise ArchspecError(message, help=f"leave out {name}")
    if built.encodes and not encoder_tokens:
        message = f"{architecture} is an encoder-decoder: it needs an encoder sequence length of at least 1"
        raise ArchspecError(message, help=f"pass {option('encoder_tokens', 512)}, for example")


def whole_pages(call: Call) -> Call:
    """Return the forward pass with a longer past, so that its context fills whole pages."""
    return call._replace(past=-(-call.context // _PAGE) * _PAGE - call.tokens)


def kept_tensors(tree: Node, allocation: str) -> list[tuple[str, Kept]]:
    """Return every tensor of the KV cache in an allocation, with the path of its module."""
    found = [(path, kept) for path, node, _ in walk(tree, "cache_elements") for kept in node.cache or ()]
    return [(path, kept) for path, kept in found if kept.allocation == allocation]


def _cache_of(tree: Node, allocation: str) -> list[CacheTensor]:
    found: list[CacheTensor] = []
    for path, kept in kept_tensors(tree, allocation):
        layer = next((int(part) for part in path.split(".") if part.isdigit()), None)
        found += [CacheTensor(kept.name, layer, kept.kind, kept.shape, path, kept.dtype)] * kept.times
    return found
