"""Reports on a call: its FLOPs by module, and its KV cache."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from math import prod

from archspec.costs.builder import CostBuilder
from archspec.costs.forward import CacheTensor, Forward, kept_tensors, whole_pages
from archspec.costs.lengths import positions
from archspec.costs.notes.excess import notes_of
from archspec.costs.records import ALLOCATIONS, PAGES, Call, axes_of
from archspec.errors import ArchspecError
from archspec.formats.dtypes import dtype_bytes
from archspec.language.values import here
from archspec.models.report import Report, call_facts, call_json
from archspec.reports import Block, Table
from archspec.symbolic.counts import Loops
from archspec.symbolic.decisions import value_at
from archspec.symbolic.path_conditions import Number, Path
from archspec.symbolic.polynomials import Space, TooLarge
from archspec.symbolic.swept import SweptDomain
from archspec.terminal import number, share, size
from archspec.tree.node import Node
from archspec.typing_light import Any, NamedTuple

MAX_LENGTH = 2**70
_MANY = 2**40  # tokens: a cache that has the same size at twice as many does not grow with them
_INDEX = re.compile(r"(?<=\.)\d+(?=\.|$)")


class Flops(Report):
    """The FLOPs of one call by module, made by :meth:`archspec.Model.flops`.

    ``call`` is the call as :class:`archspec.Forward`, ``params`` the model's unique parameters.

    >>> import archspec
    >>> print(archspec.load("GPT2Model", set={"n_layer": 1}).flops(tokens=16).text().partition("\\n\\n")[2])
    module           modules       FLOPs   share
    h.*.attn               1     786,432   0.35%
    h.*.attn.c_attn        1  56,623,104  24.91%
    h.*.attn.c_proj        1  18,874,368   8.30%
    h.*.mlp.c_fc           1  75,497,472  33.22%
    h.*.mlp.c_proj         1  75,497,472  33.22%
    """

    def __init__(self, call: Forward, params: int) -> None:
        self.call, self.params = call, params

    @property
    def flops(self) -> int:
        """FLOPs of the call, all sequences of the batch together."""
        return self.call.flops

    @property
    def masked_flops(self) -> int | None:
        """FLOPs that masks let through; None for a class that was not validated against them."""
        return self.call.masked_flops if "masked" in self.call.held else None

    @property
    def flops_per_token(self) -> float:
        """FLOPs of each new token."""
        lengths = self.call.call
        return self.flops / (lengths.batch * lengths.tokens)

    @cached_property
    def notes(self) -> list[str]:
        """A note if eager code spends more than 2 × active parameters × tokens plus attention."""
        return notes_of(self.call)

    def as_json(self) -> dict[str, Any]:
        """Return plain data; the FLOPs of a module are without those of modules inside."""
        modules = self.call.flops_by_module.items()
        return {
            **call_json(self.call),
            "flops": self.flops,
            "masked_flops": self.masked_flops,
            "flops_per_token": self.flops_per_token,
            "params": self.params,
            "modules": [{"module": name, "flops": flops} for name, flops in modules],
            "notes": self.notes,
        }

    def blocks(self) -> Iterator[Block]:
        """Yield the call and its FLOPs, then the FLOPs of each module in all layers."""
        masked = "not supported" if self.masked_flops is None else number(self.masked_flops)
        facts = [
            *call_facts(self.call),
            ("FLOPs", number(self.flops)),
            ("masked FLOPs", masked),
            ("FLOPs a token", f"{self.flops_per_token:,.0f}"),
            ("params", number(self.params)),
        ]
        yield Table("flops|", facts, header=False)
        yield ""
        together = layers_together(self.call.flops_by_module)
        rows = [
            (name, number(count), number(flops), share(flops, self.flops))
            for name, (flops, count) in together.items()
        ]
        yield Table("module|>modules|>FLOPs|>share", rows)
        if self.notes:
            yield ""
            yield from (f"note: {note}" for note in self.notes)


class CacheSizes:
    """The bytes of a KV cache at other batch sizes and numbers of tokens than those of a ``call``.

    The polynomials of one build over symbolic lengths hold if all its comparisons have the same results.
    """

    def __init__(self, call: Forward, dtype: str) -> None:
        self.call, self.dtype = call, dtype
        self.space = Space([(1, MAX_LENGTH), (1, MAX_LENGTH), (0, MAX_LENGTH)])  # batch, tokens, past
        self.pieces: list[tuple[Path, dict[str, Any]]] = []

    def bytes(self, batch: int, tokens: int, allocation: str) -> int:
        """Return the bytes of the cache in an allocation."""
        call = self.call.call._replace(batch=batch, tokens=tokens)
        lengths = whole_pages(call) if allocation == PAGES else call
        known = dict(enumerate(lengths[:3]))
        for path, sizes in self.pieces:
            if all(condition.met(self.space, known) for condition in path.conditions):
                size = sizes[allocation]
                return int(value_at(self.space, size.expr, known) if isinstance(size, Number) else size)
        return int(self._build(lengths)[allocation])

    def _build(self, lengths: Call) -> dict[str, Any]:
        """Return the sizes at some lengths, and keep their polynomials if there are any."""
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
        return {one: here(size) for one, size in sizes.items()}

    def _sizes(self, builder: CostBuilder) -> dict[str, Any]:
        tree = builder.build(self.call.architecture)
        return {one: self._size(tree, one) for one in ALLOCATIONS}

    def _size(self, tree: Node, allocation: str) -> Any:
        terms = (kept for _, kept in kept_tensors(tree, allocation=allocation))
        return sum(prod(kept.shape) * kept.times * dtype_bytes(kept.dtype or self.dtype) for kept in terms)


class Held(NamedTuple):
    """The most tokens that a budget fits at the call's batch, and the largest batch at its number of tokens.

    ``tokens`` is None if any number fits: the cache does not grow with them.
    """

    tokens: int | None
    batch: int


class Cache(Report):
    """The KV cache after a call, made by :meth:`archspec.Model.cache`.

    ``call`` is the call as :class:`archspec.Forward`, ``dtype`` that of the bytes. Of ``budget_bytes`` the
    weights take ``weights_bytes``. ``notes`` are about the dtype and the weights.

    >>> import archspec
    >>> kept = archspec.load("LlamaForCausalLM").cache(tokens=4096, dtype="bf16", budget=80 * 2**30)
    >>> kept.cache_bytes["exact"], kept.holds["exact"]
    (2147483648, Held(tokens=138134, batch=33))
    """

    def __init__(
        self,
        call: Forward,
        dtype: str,
        budget_bytes: int | None = None,
        weights_bytes: int = 0,
        notes: Iterable[str] = (),
    ) -> None:
        if not call.cache:
            raise ArchspecError(f"{call.architecture} does not return a KV cache")
        self.call, self.dtype = call, dtype
        self.budget_bytes, self.weights_bytes = budget_bytes, weights_bytes
        self.notes = [*notes]
        self._most = positions(call.scope, "tokens")

    @property
    def tensors(self) -> list[CacheTensor]:
        """The tensors of the cache; a dtype of None is :attr:`dtype`."""
        return self.call.cache

    @property
    def cache_elements(self) -> int:
        """Elements that transformers' DynamicCache holds."""
        return self.call.cache_elements()

    @cached_property
    def cache_bytes(self) -> dict[str, int]:
        """Bytes by allocation: see :meth:`archspec.Forward.cache_bytes`."""
        return {one: self.call.cache_bytes(self.dtype, one) for one in self.call.allocations}

    @cached_property
    def holds(self) -> dict[str, Held]:
        """The tokens and the batch that fit the budget, by allocation; empty without a budget."""
        if self.budget_bytes is None:
            return {}
        left, sizes = self.budget_bytes - self.weights_bytes, CacheSizes(self.call, self.dtype)
        return {one: self._held(left, sizes, one) for one in self.call.allocations}

    def _held(self, left: int, sizes: CacheSizes, allocation: str) -> Held:
        lengths = self.call.call

        def fits(tokens: int) -> bool:
            limited = self._most is not None and tokens > self._most
            return not limited and sizes.bytes(lengths.batch, tokens, allocation) <= left

        many = (sizes.bytes(1, tokens, allocation) for tokens in (_MANY, 2 * _MANY))
        grows = self._most is not None or next(many) < next(many)
        tokens = largest(fits) if grows or not fits(_MANY) else None
        return Held(tokens, largest(lambda batch: sizes.bytes(batch, lengths.tokens, allocation) <= left))

    def as_json(self) -> dict[str, Any]:
        """Return plain data, with the tokens and the batch that fit a budget."""
        tensors = (one._replace(dtype=one.dtype or self.dtype)._asdict() for one in self.tensors)
        found = {
            **call_json(self.call),
            "dtype": self.dtype,
            "cache_elements": self.cache_elements,
            "cache_bytes": self.cache_bytes,
            "tensors": [{**one, "shape": list(one["shape"])} for one in tensors],
            "notes": self.notes,
        }
        if self.budget_bytes is None:
            return found
        budget = {"budget_bytes": self.budget_bytes, "weights_bytes": self.weights_bytes}
        return {**found, **budget, "holds": {one: held._asdict() for one, held in self.holds.items()}}

    def blocks(self) -> Iterator[Block]:
        """Yield the call and the size of its cache, the tensors, and the lengths that fit the budget."""
        facts = [*call_facts(self.call), ("elements", number(self.cache_elements))]
        for allocation, count in self.cache_bytes.items():
            facts.append((f"bytes in {self.dtype}, {allocation}", f"{number(count)}  ({size(count)})"))
        yield Table("cache|", facts, header=False)
        yield ""
        rows = Counter(one._replace(layer=None, module="") for one in self.tensors).items()
        yield Table("tensor|kind|layers|shape|dtype", [self._row(*row) for row in rows])
        if self.budget_bytes is not None:
            yield ""
            yield from self._fitting(self.budget_bytes)
        yield from (f"note: {note}" for note in self.notes)

    def _fitting(self, budget: int) -> Iterator[str]:
        lengths, weights = self.call.call, size(self.weights_bytes)
        if self.weights_bytes > budget:
            yield f"the weights ({weights}) do not fit in {size(budget)}"
            return
        yield f"{size(budget)} fit, after {weights} of weights:"
        for allocation, held in self.holds.items():
            tokens = "any number of" if held.tokens is None else number(held.tokens)
            ends = ", the model's maximum," if held.tokens == self._most is not None else ""
            yield (
                f"  {allocation}: {tokens} tokens{ends} at batch {lengths.batch}, "
                f"or a batch of {number(held.batch)} at {number(lengths.tokens)} tokens"
            )

    def _row(self, one: CacheTensor, layers: int) -> tuple[str, ...]:
        return one.name, one.kind, str(layers), " × ".join(map(str, one.shape)), one.dtype or self.dtype


def layers_together(found: dict[str, int]) -> dict[str, tuple[int, int]]:
    """Return the sums over all layers of numbers by module, with the numbers of modules.

    >>> layers_together({"model.layers.0.mlp": 3, "model.layers.1.mlp": 3, "lm_head": 5})
    {'model.layers.*.mlp': (6, 2), 'lm_head': (5, 1)}
    """
    groups: dict[str, list[int]] = {}
    for name, value in found.items():
        groups.setdefault(_INDEX.sub("*", name), []).append(value)
    return {name: (sum(values), len(values)) for name, values in groups.items()}


def largest(fits: Callable[[int], bool]) -> int:
    """Return the largest number that fits, if all smaller ones fit; 0 if 1 does not.

    >>> largest(lambda value: value <= 1000)
    1000
    """
    low, high = 0, 1
    while fits(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
