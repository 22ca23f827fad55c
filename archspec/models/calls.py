"""What a call costs, as a report: its FLOPs by module, and the cache that it leaves behind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from archspec.costs.forward import CacheTensor, Forward
from archspec.costs.lengths import positions
from archspec.costs.notes.excess import notes_of
from archspec.errors import ArchspecError
from archspec.models.report import Report
from archspec.reports import Block, Table
from archspec.terminal import number, share, size
from archspec.typing_light import Any, NamedTuple

_MANY = 2**40  # tokens: a cache that is as large at twice as many does not grow with them
_INDEX = re.compile(r"(?<=\.)\d+(?=\.|$)")


class Flops(Report):
    """The FLOPs of one call by module, made by :meth:`archspec.Model.flops`.

    ``call`` is the call as :class:`archspec.Forward`, ``params`` the model's unique parameters.

    >>> import archspec
    >>> print(archspec.load("GPT2Model", set={"n_layer": 1}).flops(tokens=16))
    architecture   GPT2Model
    model type     gpt2
    batch          1
    tokens         16
    FLOPs          227,278,848
    masked FLOPs   226,910,208
    FLOPs a token  14,204,928
    params         46,473,216
    <BLANKLINE>
    module           of them       FLOPs   share
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
        """Those that masks let through, None for a class that was not held to transformers' masks."""
        return self.call.masked_flops if "masked" in self.call.held else None

    @property
    def flops_per_token(self) -> float:
        """FLOPs for each position that is computed."""
        lengths = self.call.call
        return self.flops / (lengths.batch * lengths.tokens)

    @cached_property
    def notes(self) -> list[str]:
        """Why eager code spends more than 2 × active parameters × tokens plus attention, where it does."""
        return notes_of(self.call)

    def as_json(self) -> dict[str, Any]:
        """Plain data; the FLOPs of a module are without its children's."""
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
        """The call and its FLOPs, then those of each module, of all layers together."""
        masked = "not given" if self.masked_flops is None else number(self.masked_flops)
        yield Table(
            "flops|",
            [
                *call_facts(self.call),
                ("FLOPs", number(self.flops)),
                ("masked FLOPs", masked),
                ("FLOPs a token", f"{self.flops_per_token:,.0f}"),
                ("params", number(self.params)),
            ],
            header=False,
        )
        yield ""
        together = layers_together(self.call.flops_by_module)
        rows = [
            (name, number(count), number(flops), share(flops, self.flops))
            for name, (flops, count) in together.items()
        ]
        yield Table("module|>of them|>FLOPs|>share", rows)
        if self.notes:
            yield ""
            yield from (f"note: {note}" for note in self.notes)


class Held(NamedTuple):
    """The most tokens that a budget fits at the call's batch, and the largest batch at its number of tokens.

    ``tokens`` is None where any number fits: the cache does not grow with them.
    """

    tokens: int | None
    batch: int


class Cache(Report):
    """The tensors that a call keeps for the next, made by :meth:`archspec.Model.cache`.

    ``call`` is the call as :class:`archspec.Forward`, ``dtype`` that of the bytes; ``budget_bytes`` was asked
    for, of which the weights take ``weights_bytes``. ``lengthened`` gives the call of another batch and
    number of tokens, ``notes`` are facts about the dtype and the weights.

    >>> import archspec
    >>> kept = archspec.load("LlamaForCausalLM").cache(tokens=4096, dtype="bf16", budget=80 * 2**30)
    >>> kept.cache_bytes["exact"], kept.holds["exact"]
    (2147483648, Held(tokens=138134, batch=33))
    """

    def __init__(
        self,
        call: Forward,
        dtype: str,
        lengthened: Callable[[int, int], Forward],
        budget_bytes: int | None = None,
        weights_bytes: int = 0,
        notes: Iterable[str] = (),
    ) -> None:
        if not call.cache:
            raise ArchspecError(f"{call.architecture} hands no cache on to a next call")
        self.call, self.dtype, self._lengthened = call, dtype, lengthened
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
        """What the budget holds, by allocation; empty without one."""
        if self.budget_bytes is None:
            return {}
        left = self.budget_bytes - self.weights_bytes
        return {one: self._held(left, one) for one in self.call.allocations}

    def _held(self, left: int, allocation: str) -> Held:
        lengths = self.call.call

        def needed(batch: int, tokens: int) -> int:
            return self._lengthened(batch, tokens).cache_bytes(self.dtype, allocation)

        def fits(tokens: int) -> bool:
            return (self._most is None or tokens <= self._most) and needed(lengths.batch, tokens) <= left

        grows = self._most is not None or needed(1, _MANY) < needed(1, 2 * _MANY)
        tokens = largest(fits) if grows or not fits(_MANY) else None
        return Held(tokens, largest(lambda batch: needed(batch, lengths.tokens) <= left))

    def as_json(self) -> dict[str, Any]:
        """Plain data; what a budget holds is there where one was given."""
        found = {
            **call_json(self.call),
            "dtype": self.dtype,
            "cache_elements": self.cache_elements,
            "cache_bytes": self.cache_bytes,
            "tensors": [
                {**one._asdict(), "shape": list(one.shape), "dtype": one.dtype or self.dtype}
                for one in self.tensors
            ],
        }
        found["notes"] = self.notes
        if self.budget_bytes is None:
            return found
        budget = {"budget_bytes": self.budget_bytes, "weights_bytes": self.weights_bytes}
        return {**found, **budget, "holds": {one: held._asdict() for one, held in self.holds.items()}}

    def blocks(self) -> Iterator[Block]:
        """The call and the size of its cache, the tensors, what the budget holds."""
        facts = [*call_facts(self.call), ("elements", number(self.cache_elements))]
        for allocation, count in self.cache_bytes.items():
            facts.append((f"bytes in {self.dtype}, {allocation}", f"{number(count)}  ({size(count)})"))
        yield Table("cache|", facts, header=False)
        yield ""
        yield Table("tensor|kind|layers|shape|dtype", [*map(self._row, _alike(self.tensors))])
        if self.budget_bytes is not None:
            yield ""
            yield from self._told(self.budget_bytes)
        yield from (f"note: {note}" for note in self.notes)

    def _told(self, budget: int) -> Iterator[str]:
        weights = size(self.weights_bytes)
        if self.weights_bytes > budget:
            yield f"{size(budget)} do not hold the weights ({weights})"
            return
        yield f"{size(budget)} hold the weights ({weights}) and"
        lengths = self.call.call
        for allocation, held in self.holds.items():
            tokens = "any number of" if held.tokens is None else number(held.tokens)
            ends = ", all that it has positions for," if held.tokens == self._most is not None else ""
            yield (
                f"  {allocation}: {tokens} tokens{ends} at batch {lengths.batch}, "
                f"or a batch of {number(held.batch)} at {number(lengths.tokens)} tokens"
            )

    def _row(self, alike: list[CacheTensor]) -> tuple[str, ...]:
        one = alike[0]
        shape = " × ".join(map(str, one.shape))
        return one.name, one.kind, str(len(alike)), shape, one.dtype or self.dtype


def _alike(tensors: Iterable[CacheTensor]) -> list[list[CacheTensor]]:
    """Tensors of one name, kind, shape and dtype together."""
    groups: dict[Any, list[CacheTensor]] = {}
    for one in tensors:
        groups.setdefault((one.name, one.kind, one.shape, one.dtype), []).append(one)
    return list(groups.values())


def call_json(call: Forward) -> dict[str, Any]:
    """What was called, as plain data."""
    lengths = call.call._asdict()
    return {"architecture": call.architecture, "model_type": call.scope.spec.model_type, **lengths}


def call_facts(call: Forward) -> list[tuple[str, str]]:
    """What was called, as rows of a table."""
    lengths = {name: getattr(call.call, name) for name in ("batch", "tokens", "past", "encoder_tokens")}
    names = [("architecture", call.architecture), ("model type", call.scope.spec.model_type)]
    return [*names, *((name, number(length)) for name, length in lengths.items() if length)]


def layers_together(found: dict[str, int]) -> dict[str, tuple[int, int]]:
    """Numbers by module, those of all layers together: the sum, and of how many modules it is.

    >>> layers_together({"model.layers.0.mlp": 3, "model.layers.1.mlp": 3, "lm_head": 5})
    {'model.layers.*.mlp': (6, 2), 'lm_head': (5, 1)}
    """
    together: dict[str, tuple[int, int]] = {}
    for name, flops in found.items():
        template = _INDEX.sub("*", name)
        total, count = together.get(template, (0, 0))
        together[template] = (total + flops, count + 1)
    return together


def largest(fits: Callable[[int], bool]) -> int:
    """The largest number that fits, of those up to which all fit; 0 where 1 does not.

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
