"""Reports on a forward pass: its FLOPs by module, and its KV cache."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from math import prod

from archspec.costs.builder import CostBuilder
from archspec.costs.excess import notes_of
from archspec.costs.forward import CacheTensor, Forward, kept_tensors, whole_pages
from archspec.costs.lengths import positions, stated_positions
from archspec.costs.records import ALLOCATIONS, PAGES, Call, axes_of
from archspec.formats.dtypes import element_bytes
from archspec.language.values import value_of
from archspec.models.report import CallReport, Record, bytes_text, fact, facts_table, note_lines
from archspec.reports import Block, Table
from archspec.tables.quantities import ALLOCATION_HELP, ALLOCATION_TITLES, COSTS, QUANTITIES
from archspec.terminal import number, share, size
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.symbolic.path_conditions import Path

MAX_LENGTH = 2**70
EXCESS = "reasons why FLOPs exceed 2 × active parameters × tokens + attention by over 20%"
_MANY = 2**40  # tokens: a cache that has the same size at twice as many does not grow with them
_INDEX = re.compile(r"(?<=\.)\d+(?=\.|$)")


class ModuleFlops(Record):
    """a module"""

    module: str = fact("the path in the model", lambda item: item[0])
    flops: int = fact("FLOPs of the module without its submodules", lambda item: item[1])


class Flops(CallReport):
    """FLOPs of one forward pass, by module; made by :meth:`archspec.Model.flops`.

    >>> import archspec
    >>> print(archspec.load("GPT2Model", set={"n_layer": 1}).flops(tokens=16).text().partition("\\n\\n")[2])
    module, excluding submodules  count       FLOPs   share
    h.*.attn                          1     786,432   0.35%
    h.*.attn.c_attn                   1  56,623,104  24.91%
    h.*.attn.c_proj                   1  18,874,368   8.30%
    h.*.mlp.c_fc                      1  75,497,472  33.22%
    h.*.mlp.c_proj                    1  75,497,472  33.22%
    """

    flops: int = fact(COSTS["flops"].help, lambda self: self.call.flops, title="FLOPs")
    masked_flops: int | None = fact(
        "FLOPs without masked attention scores; null if not validated for the class",
        lambda self: self.call.masked_flops if "masked" in self.call.held else None,
        title=COSTS["masked_flops"].title,
        text=lambda flops, _: "not supported" if flops is None else number(flops),
    )
    flops_per_token: float = fact(
        "FLOPs per processed token",
        lambda self: self.flops / (self.batch * self.tokens),
        title="FLOPs per token",
        text=lambda flops, self: "" if self.call.has_items else f"{flops:,.0f}",
    )
    params: int = fact(QUANTITIES["params"].help, title="params")
    modules: dict[str, int] = fact(
        "modules with FLOPs; they add up to flops",
        lambda self: self.call.flops_by_module,
        kind="list[ModuleFlops]",
        json=lambda self: self.modules.items(),
    )
    notes: list[str] = fact(EXCESS, lambda self: notes_of(self.call))

    def __init__(self, call: Forward, params: int) -> None:
        super().__init__(call)
        self.params = params

    def blocks(self) -> Iterator[Block]:
        """Yield the lengths and the FLOPs, then the FLOPs of each module in all layers."""
        layers: dict[str, list[int]] = {}
        for name, flops in self.modules.items():
            layers.setdefault(_INDEX.sub("*", name) or f"({self.call.architecture})", []).append(flops)
        rows = [
            (name, number(len(each)), number(sum(each)), share(sum(each), self.flops))
            for name, each in layers.items()
        ]
        table = Table("module, excluding submodules|>count|>FLOPs|>share", rows)
        yield from (facts_table(self, "flops"), "", table)
        yield from ["", *note_lines(self.notes)] if self.notes else []


class CacheSizes:
    """The bytes of a KV cache for other batch sizes and numbers of tokens than those of a ``call``.

    The polynomials of one build over symbolic lengths hold if all its comparisons have the same results.
    """

    def __init__(self, call: Forward, dtype: str) -> None:
        from archspec.symbolic.polynomials import Space

        self.call, self.dtype = call, dtype
        self.space = Space([(1, MAX_LENGTH), (1, MAX_LENGTH), (0, MAX_LENGTH)])  # batch, tokens, past
        self.pieces: list[tuple[Path, dict[str, Any]]] = []

    def bytes(self, batch: int, tokens: int, allocation: str) -> int:
        """Return the bytes of the cache in an allocation."""
        from archspec.symbolic.expressions import value_at
        from archspec.symbolic.path_conditions import Number

        call = self.call.call._replace(batch=batch, tokens=tokens)
        lengths = whole_pages(call) if allocation == PAGES else call
        known = dict(enumerate(lengths[:3]))
        for path, sizes in self.pieces:
            if all(condition.is_met(self.space.atoms, known) for condition in path.conditions):
                size = sizes[allocation]
                return int(value_at(self.space.atoms, size.expr, known) if isinstance(size, Number) else size)
        return int(self._build(lengths)[allocation])

    def _build(self, lengths: Call) -> dict[str, Any]:
        """Return the sizes for some lengths, and cache their polynomials if there are any."""
        from archspec.symbolic.counts import Loops
        from archspec.symbolic.expressions import TooLarge
        from archspec.symbolic.path_conditions import Path
        from archspec.symbolic.swept import SweptDomain

        path, axes = Path(self.space), axes_of(lengths)
        for axis, name in enumerate(("batch", "tokens", "past")):
            axes[name] = path.number(self.space.axis(axis), axes[name])
        builder = CostBuilder(self.call.scope, {**axes, "context": axes["past"] + axes["tokens"]})
        builder.domain, builder.keeps_empty = SweptDomain(), True
        try:
            sizes = self._sizes(builder)
        except (TooLarge, Loops):
            return self._sizes(CostBuilder(self.call.scope, axes_of(lengths)))
        self.pieces.append((path, sizes))
        return {one: value_of(size) for one, size in sizes.items()}

    def _sizes(self, builder: CostBuilder) -> dict[str, Any]:
        def bytes_of(kept: Any) -> Any:
            return prod(kept.shape) * kept.times * element_bytes(kept.dtype or self.dtype)

        tree = builder.build(self.call.architecture)
        return {one: sum(bytes_of(kept) for _, kept in kept_tensors(tree, one)) for one in ALLOCATIONS}


class Held(Record):
    """tokens and batch that fit after the weights"""

    tokens: int | None = fact("the longest sequence at this batch; null if any length fits")
    batch: int = fact("the largest batch at this sequence length")


class CacheEntry(Record):
    """a tensor"""

    name: str = fact("its role: keys, values, a state")
    layer: int | None = fact("the index of its layer, or null")
    kind: str = fact(
        "full (all tokens), window (sliding window), cross (the encoder's), latent (compressed), or state"
    )
    shape: list[int] = fact("the shape")
    module: str = fact("the path of the module that stores it")
    dtype: str = fact("its dtype; many states are float32 in every model")


class Cache(CallReport):
    """The KV cache after a forward pass; made by :meth:`archspec.Model.cache`.

    >>> import archspec
    >>> kept = archspec.load("LlamaForCausalLM").cache(tokens=4096, dtype="bf16", budget=80 * 2**30)
    >>> kept.cache_bytes["exact"], kept.holds["exact"]
    (2147483648, Held(tokens=138134, batch=33))
    """

    dtype: str = fact("the dtype of the cache, except tensors with a fixed dtype")
    cache_elements: int = fact(
        COSTS["cache_elements"].help, lambda self: self.call.cache_elements(), title="elements"
    )
    cache_bytes: dict[str, int] = fact(
        "bytes of the KV cache, by cache implementation",
        lambda self: {one: self.call.cache_bytes(self.dtype, one) for one in self.call.allocations},
        keys=ALLOCATION_HELP,
        least=1,
    )
    tensors: list[CacheTensor] = fact(
        "the tensors of the cache, in module order",
        lambda self: self.call.cache,
        kind="list[CacheEntry]",
        json=lambda self: [one._replace(dtype=one.dtype or self.dtype) for one in self.tensors],
    )
    notes: list[str] = fact("notes on the dtype and the weights")
    budget_bytes: int | None = fact("bytes of the budget", kind="int", optional=True)
    weights_bytes: int = fact(
        "bytes of the weights, part of the budget",
        json=lambda self: None if self.budget_bytes is None else self.weights_bytes,
        optional=True,
    )
    holds: dict[str, Held] = fact(
        "tokens and batch that fit after the weights, by cache implementation",
        lambda self: self._fitting_lengths(),
        json=lambda self: self.holds or None,
        keys=ALLOCATION_HELP,
        least=1,
        optional=True,
    )

    def __init__(
        self, call: Forward, dtype: str, notes: list[str], budget: int | None = None, weights: int = 0
    ) -> None:
        call.check_cache()
        super().__init__(call)
        self.dtype, self.notes, self.budget_bytes, self.weights_bytes = dtype, [*notes], budget, weights
        self._most = positions(call.scope, "tokens")
        if budget is not None:
            self.notes.append("temporary memory is not included; archspec memory reports it")
            self.notes += [] if self._most is not None else [_context_note(stated_positions(call.scope))]

    def _fitting_lengths(self) -> dict[str, Held]:
        if self.budget_bytes is None:
            return {}
        left, sizes = self.budget_bytes - self.weights_bytes, CacheSizes(self.call, self.dtype)
        return {one: self._fit(left, sizes, one) for one in self.cache_bytes}

    def _fit(self, left: int, sizes: CacheSizes, allocation: str) -> Held:
        lengths = self.call.call

        def fits(tokens: int) -> bool:
            limited = self._most is not None and tokens > self._most
            return not limited and sizes.bytes(lengths.batch, tokens, allocation) <= left

        many = (sizes.bytes(1, tokens, allocation) for tokens in (_MANY, 2 * _MANY))
        grows = self._most is not None or next(many) < next(many)
        tokens = _largest_fitting(fits) if grows or not fits(_MANY) else None
        batch = _largest_fitting(lambda batch: sizes.bytes(batch, lengths.tokens, allocation) <= left)
        return Held(tokens, batch)

    def blocks(self) -> Iterator[Block]:
        """Yield the lengths and the size of the cache, the tensors, and the lengths that fit the budget."""
        sizes = [
            (f"bytes in {self.dtype}, {ALLOCATION_TITLES[one]}", bytes_text(n))
            for one, n in self.cache_bytes.items()
        ]
        kinds = Counter(one._replace(layer=None, module="") for one in self.tensors)
        rows = [
            (one.name, one.kind, str(layers), " × ".join(map(str, one.shape)), one.dtype or self.dtype)
            for one, layers in kinds.items()
        ]
        yield from (facts_table(self, "cache", *sizes), "", Table("tensor|kind|layers|shape|dtype", rows))
        yield from ["", *self._fit_lines(self.budget_bytes)] if self.budget_bytes is not None else []
        yield from note_lines(self.notes)

    def _fit_lines(self, budget: int) -> Iterator[str]:
        weights = size(self.weights_bytes)
        if self.weights_bytes > budget:
            meant = f"; did you mean {budget}GiB?" if budget < 1024 else ""
            yield f"the weights ({weights}) do not fit in {size(budget)}{meant}"
            return
        yield f"{size(budget)} minus {weights} of weights leaves room for:"
        length, batch = number(self.call.call.tokens), number(self.call.call.batch)
        for allocation, held in self.holds.items():
            tokens = "any number of" if held.tokens is None else number(held.tokens) if held.tokens else "no"
            ends = " (the model's maximum)" if held.tokens == self._most is not None else ""
            batches = f"batch size {number(held.batch)}" if held.batch else "no sequence"
            yield (
                f"  {ALLOCATION_TITLES[allocation]}: {tokens} tokens{ends} at batch size {batch}, "
                f"or {batches} at {length} tokens"
            )


def _context_note(stated: int | None) -> str:
    """Return a note on the context length that a model without position tables is trained for."""
    if stated is None:
        return "tokens are limited by memory only; the config does not state max_position_embeddings"
    return f"tokens are limited by memory only; the config's max_position_embeddings is {number(stated)}"


def _largest_fitting(fits: Callable[[int], bool]) -> int:
    """Return the largest number that fits, if all smaller ones fit; 0 if 1 does not."""
    low, high = 0, 1
    while fits(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
