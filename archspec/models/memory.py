"""Reports on memory: of a forward pass, and of a rank in a training step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import attrgetter

from archspec.costs.excess import notes_of
from archspec.costs.forward import Forward
from archspec.costs.records import KERNELS
from archspec.costs.training.optimizers import Row
from archspec.costs.training.step import TrainingStep
from archspec.costs.weights import Weights
from archspec.costs.working_set import Room, peak_memory
from archspec.errors import ArchspecError
from archspec.models.calls import EXCESS
from archspec.models.report import (
    CallReport,
    OfModel,
    Record,
    Report,
    fact,
    facts_table,
    items_fact,
    note_lines,
)
from archspec.reports import Block, Table
from archspec.specs.records import MODALITIES
from archspec.tables.axes import AXES
from archspec.tables.option import Option
from archspec.tables.options import options_of
from archspec.tables.quantities import ALLOCATION_HELP, ALLOCATION_TITLES
from archspec.terminal import number, size
from archspec.typing_light import Any

_NO_CACHE = "none"  # of a class without a KV cache
_ALLOCATIONS = ALLOCATION_HELP | {_NO_CACHE: "for a class without a KV cache"}


class Stored(Record):
    """one format"""

    format: str = fact("a dtype or a quantized weight format")
    elements: int = fact("parameters in this format")
    bytes: int = fact("their bytes, scales included")


class Temporary(Record):
    """peak temporary memory with one cache implementation"""

    needed_by: str = fact("the module that needs it")
    bytes: int = fact("bytes")
    validated: bool = fact(
        "true if validated against torch; false for a lower bound, the largest output of a layer",
        attrgetter("exact"),
    )


class Part(Record):
    """a part"""

    name: str = fact("weights, gradients, an optimizer state, gathered weights, activations, recomputation")
    dtype: str = fact("the dtype")
    elements: int | None = fact("elements on the rank, null for several dtypes")
    sharded_across: int = fact("data-parallel ranks that it is sharded across, by ZeRO", least=1)
    bytes: int = fact("bytes on the rank")


class Memory(CallReport):
    """Inference memory: weights, KV cache after the forward pass, and peak temporary memory.

    Made by :meth:`archspec.Model.memory`. ``weights`` is a :class:`archspec.Weights`. Numbers by cache
    implementation have the keys of :meth:`archspec.Forward.cache_bytes`, or `none` without a cache.

    >>> import archspec
    >>> needed = archspec.load("LlamaForCausalLM").memory(tokens=4096, dtype="bf16", weights="nf4")
    >>> needed.weights_bytes, needed.cache_bytes["exact"], needed.total_bytes["exact"]
    (4167587840, 2147483648, 6577215488)
    """

    dtype: str = fact("the dtype of cache, activations and unquantized weights")
    weights: Weights = fact(
        "weights by format: quantized ones first",
        kind="list[Stored]",
        json=lambda self: self.weights.loaded_table,
        least=1,
    )
    weights_bytes: int = fact("bytes of all weights", lambda self: self.weights.loaded_bytes)
    cache_bytes: dict[str, int] = fact(
        "bytes of the KV cache after the forward pass, by cache implementation",
        lambda self: self._cache_bytes(),
        keys=_ALLOCATIONS,
        least=1,
    )
    temporary_memory: dict[str, Room] = fact(
        "peak temporary memory, by cache implementation",
        lambda self: self._temporary_memory(),
        kind="dict[str, Temporary]",
        keys=_ALLOCATIONS,
        least=1,
    )
    total_bytes: dict[str, int] = fact(
        "bytes of weights, cache and temporary memory",
        lambda self: {
            one: self.weights_bytes + self.cache_bytes[one] + needed.bytes
            for one, needed in self.temporary_memory.items()
        },
        keys=_ALLOCATIONS,
        least=1,
    )
    notes: list[str] = fact("notes on the dtype and the weights")

    def __init__(self, call: Forward, weights: Weights, dtype: str, last: bool, notes: Sequence[str]) -> None:
        super().__init__(call)
        self.weights, self.dtype, self._last, self.notes = weights, dtype, last, [*notes]
        _ = weights.table  # a weight that cannot be packed is refused before anything is printed
        if weights.upcast_params:
            count = number(weights.upcast_params)
            self.notes.append(f"transformers loads {count} parameters in float32, whatever the dtype")

    def _cache_bytes(self) -> dict[str, int]:
        if not self.call.cache:
            return {_NO_CACHE: 0}
        return {one: self.call.cache_bytes(self.dtype, one) for one in self.call.allocations}

    def _temporary_memory(self) -> dict[str, Room]:
        call, is_quantized = self.call, self.weights.is_quantized
        return {one: peak_memory(call, self.dtype, one, self._last, is_quantized) for one in self.cache_bytes}

    def blocks(self) -> Iterator[Block]:
        """Yield the forward pass, its memory by part, and the module with the peak."""
        rooms, has_cache = self.temporary_memory, bool(self.call.cache)
        names = [ALLOCATION_TITLES.get(one, "bytes") for one in rooms]
        rows = [
            (f"weights in {stored.format}", *[number(stored.bytes)] * len(rooms))
            for stored in self.weights.loaded_table
        ]
        if has_cache:
            rows.append((f"cache in {self.dtype}", *map(number, self.cache_bytes.values())))
        rows.append(("peak temporary memory", *(_bound(number(room.bytes), room) for room in rooms.values())))
        totals = [*zip(self.total_bytes.values(), rooms.values(), strict=True)]
        rows.append(("total", *(_bound(number(total), room) for total, room in totals)))
        rows.append(("", *(_bound(size(total, not room.exact), room) for total, room in totals)))
        head = "|".join(["part", *(f">{name}" for name in names)])
        yield from (facts_table(self, "memory"), "", Table(head, rows))
        peaks = [_peak_text(room) for room in rooms.values()]
        if len({*peaks}) == 1:
            yield peaks[0]
        else:
            yield from (f"{name}: {peak}" for name, peak in zip(names, peaks, strict=True))
        yield from note_lines(self.notes)


def _bound(text: str, room: Room) -> str:
    return text if room.exact else f">= {text}"


def _peak_text(room: Room) -> str:
    if room.exact:
        return f"peak temporary memory occurs in {room.needed_by}"
    return f"peak temporary memory is not validated; lower bound: the output of {room.needed_by}"


def _ranks(option: Option) -> Any:
    more = ", ZeRO stage {0.zero}" if option.name == "data_parallel" else ""
    return fact(
        option.help,
        attrgetter(f"ranks.{option.name.removesuffix('_parallel')}"),
        title=option.name.replace("_", " "),
        text=lambda count, step: number(count) + more.format(step) if count > 1 else "",
        kind="int",
        least=1,
    )


def _length(name: str, title: str) -> Any:
    """Declare a length of the step, null if no figure depends on it."""
    return fact(
        AXES[name].help,
        title=title,
        json=lambda step: getattr(step, name) if step.has_lengths else None,
        kind="int | None",
        least=1,
    )


class Training(TrainingStep, OfModel, Report):
    """Memory of one training step on the rank that uses the most; made by :meth:`archspec.Model.training`.

    ``parts`` has a row per part of the memory: ``name``, ``dtype``, ``elements``, ``bytes``, and
    ``sharded_across``, the data-parallel ranks that share it by ZeRO. Gradients have the weights' dtype, as
    in torch. ``ranks`` has the degree of each kind of parallelism. ``batch`` is the micro-batch of a rank; of
    P pipeline stages, the first stores the activations of P micro-batches, the last those of one. ``call`` is
    the forward pass over the images, videos and audio that were given, or None.

    >>> import archspec
    >>> step = archspec.load("GPT2LMHeadModel").training(batch=1, tokens=1024, checkpointing=True)
    >>> step.parts[-1], step.loss_bytes
    (Row(name='recomputed', dtype='bfloat16', elements=None, sharded_across=1, bytes=45678616), 205860876)
    """

    call: Forward | None = None
    model_type: str = fact("the model type", lambda s: s.scope.spec.model_type, title="model type")
    _lengths_of_rank = {"batch": _length("batch", "batch size"), "tokens": _length("tokens", "tokens")}  # noqa: RUF012
    encoder_tokens: int = fact(AXES["encoder_tokens"].help, json=lambda s: s.encoder_tokens or 0)
    _items = {name: items_fact(name) for name in MODALITIES}  # noqa: RUF012
    dtype: str = fact("the dtype of weights and activations")
    optimizer: Any = fact("the optimizer", kind="str", json=lambda s: s.optimizer.name, title="optimizer")
    attention: str = fact(
        "the attention kernel",
        choices=KERNELS,
        title="attention",
        text=lambda kernel, s: kernel if s.has_lengths else "",
    )
    checkpointing: bool = fact(
        "true if layers are recomputed in the backward pass",
        title="checkpointing",
        text=lambda given, _: "every layer" if given else "",
    )
    _degrees = {  # noqa: RUF012
        one.name: _ranks(one) for one in options_of("training") if one.name.endswith("_parallel")
    }
    zero: int = fact("ZeRO stage across data-parallel ranks", choices=(0, 1, 2, 3))
    flops: int = fact(
        "FLOPs of the step on the rank, without recomputation; null if not validated",
        kind="int | None",
        json=lambda s: s._flops,
        title="training FLOPs",
    )
    notes: list[str] = fact(EXCESS, lambda s: [] if s._flops is None else notes_of(s.forward))
    parts: list[Row] = fact(
        "the parts of the memory of the rank; without activations if unsupported has a reason",
        lambda s: [*s.states, *s.gathered_rows] if s.unsupported else s.table,
        kind="list[Part]",
        least=2,
    )
    loss_bytes: int = fact(
        "activation bytes of the loss; null if the loss is excluded",
        kind="int | None",
        json=lambda s: None if s.unsupported or s.loss_gap else s.loss_bytes,
    )
    unsupported: str | None = fact(
        "the reason why activations are missing, null if they are included", lambda s: s._gap()
    )
    total_bytes: int = fact(
        "sum of all parts: a lower bound on the memory of a rank",
        json=lambda s: sum(part.bytes for part in s.parts),
    )
    excluded: list[str] = fact(
        "memory that total_bytes excludes",
        lambda s: ["activations"] * bool(s.unsupported) + super().excluded_parts,
        least=1,
    )

    def _gap(self) -> str | None:
        try:
            self.table  # noqa: B018  # it may raise
        except ArchspecError as error:
            return error.problems[0].message
        return None

    @cached_property
    def _flops(self) -> int | None:
        try:
            return self.flops
        except ArchspecError:
            return None

    def check_used(self, **given: Any) -> None:
        """Raise :class:`ArchspecError` for an argument without effect; None means not given."""
        given["checkpointing"] = self.checkpointing or None
        given["attention"] = None if self.attention == KERNELS[0] else self.attention
        idle = [name for name, value in given.items() if value is not None]
        if idle and not self.has_lengths:
            message = f"{idle[0]} has no effect: {self.unsupported}"
            raise ArchspecError(message, help=f"leave out {idle[0]}")

    def blocks(self) -> Iterator[Block]:
        """Yield the step, and the rows of its memory."""
        rows = list[tuple[str, ...]]()
        for part in self.parts:
            share = f"1/{part.sharded_across}" if part.sharded_across > 1 else ""
            rows.append((part.name, part.dtype, share, number(part.bytes), size(part.bytes)))
        total = sum(part.bytes for part in self.parts)
        rows.append(("total", "", "", f">= {number(total)}", f">= {size(total, is_bound=True)}"))
        heads = "part|dtype|sharding|>bytes|>"
        if not self.zero:
            heads, rows = heads.replace("|sharding", ""), [row[:2] + row[3:] for row in rows]
        yield from (facts_table(self, "memory of a rank"), "", Table(heads, rows))
        if not self.unsupported and self.loss_bytes:
            yield f"of the activations, {number(self.loss_bytes)} bytes belong to the loss"
        yield from ("lower bound; not included:", *(f"  {one}" for one in self.excluded))
        if self.unsupported:
            yield f"note: {self.unsupported}"
        yield from note_lines(self.notes)
