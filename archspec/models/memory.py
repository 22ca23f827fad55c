"""Reports on memory: of a call, and of a rank in a training step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from archspec.costs.forward import Forward
from archspec.costs.notes.excess import notes_of
from archspec.costs.records import KERNELS, Row
from archspec.costs.training import TrainingStep
from archspec.costs.weights import Weights
from archspec.costs.working_set import Room, room
from archspec.errors import ArchspecError
from archspec.models.report import Report, call_facts, call_json
from archspec.reports import Block, Table
from archspec.terminal import number, size
from archspec.typing_light import Any

NO_CACHE = "none"  # the allocation of a class without a KV cache
PARALLEL = ("data_parallel", "tensor_parallel", "pipeline_parallel", "expert_parallel")


class Memory(Report):
    """The inference memory of a call, made by :meth:`archspec.Model.memory`.

    It has the weights, the KV cache after the ``call``, and peak temporary memory. Sizes are in bytes, by
    allocation of the cache (see :meth:`archspec.Forward.cache_bytes`), `none` without a cache. ``dtype`` is
    that of cache and activations, ``weights`` are as they are stored, ``notes`` are about both.

    >>> import archspec
    >>> needed = archspec.load("LlamaForCausalLM").memory(tokens=4096, dtype="bf16", weights="nf4")
    >>> needed.weights_bytes, needed.cache_bytes["exact"], needed.total_bytes["exact"]
    (4167587840, 2147483648, 6577215488)
    """

    def __init__(
        self, call: Forward, weights: Weights, dtype: str, last: bool = False, notes: Sequence[str] = ()
    ) -> None:
        self.call, self.weights, self.dtype, self._last = call, weights, dtype, last
        _ = weights.table  # a weight that cannot be packed is refused before anything is printed
        self.notes = [*notes]
        if weights.upcast:
            count = number(weights.upcast)
            self.notes.append(f"transformers loads {count} parameters in float32, whatever the dtype")

    @property
    def weights_bytes(self) -> int:
        """Bytes of the loaded weights, a few of which transformers may load in float32."""
        return self.weights.loaded_bytes

    @cached_property
    def cache_bytes(self) -> dict[str, int]:
        """Bytes of the cache after the call."""
        if not self.call.cache:
            return {NO_CACHE: 0}
        return {one: self.call.cache_bytes(self.dtype, one) for one in self.call.allocations}

    @cached_property
    def working_set(self) -> dict[str, Room]:
        """Peak temporary memory, or a lower bound."""
        quantized = self.weights.scheme is not None
        return {one: room(self.call, self.dtype, one, self._last, quantized) for one in self.cache_bytes}

    @property
    def total_bytes(self) -> dict[str, int]:
        """Bytes of weights, cache and working set together."""
        rooms, caches = self.working_set, self.cache_bytes
        return {one: self.weights_bytes + caches[one] + rooms[one].bytes for one in rooms}

    def as_json(self) -> dict[str, Any]:
        """Return plain data, as `archspec memory --json` prints it."""
        return {
            **call_json(self.call),
            "dtype": self.dtype,
            "weights": [stored._asdict() for stored in self.weights.loaded],
            "weights_bytes": self.weights_bytes,
            "cache_bytes": self.cache_bytes,
            "working_set": {one: needed._asdict() for one, needed in self.working_set.items()},
            "total_bytes": self.total_bytes,
            "notes": self.notes,
        }

    def blocks(self) -> Iterator[Block]:
        """Yield the call, its memory by part, and the module with the peak."""
        yield Table("memory|", call_facts(self.call), header=False)
        yield ""
        rooms = self.working_set
        names = ["bytes"] if NO_CACHE in rooms else [f"cache {one}" for one in rooms]
        yield Table("|".join(["part", *(f">{name}" for name in names)]), [*self._rows()])
        for name, one in zip(names, rooms.values(), strict=True):
            peak = "the peak is in" if one.exact else "lower bound (not validated): the output of"
            yield f"{name}: {peak} {one.needed_by}"
        yield from (f"note: {note}" for note in self.notes)

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for stored in self.weights.loaded:
            yield f"weights in {stored.format}", *(number(stored.bytes) for _ in self.cache_bytes)
        if NO_CACHE not in self.cache_bytes:
            yield f"cache in {self.dtype}", *map(number, self.cache_bytes.values())
        rooms = {one: needed.bytes for one, needed in self.working_set.items()}
        yield "temporary memory", *self._bounds(rooms, number)
        yield "total", *self._bounds(self.total_bytes, number)
        yield "", *self._bounds(self.total_bytes, size)

    def _bounds(self, counts: dict[str, int], text: Callable[[int], str]) -> Iterator[str]:
        """Yield numbers as text, with >= for lower bounds."""
        for one, count in counts.items():
            yield ("" if self.working_set[one].exact else ">= ") + text(count)


class Training(TrainingStep, Report):
    """One training step on one rank, made by :meth:`archspec.Model.training`.

    The figures are those of :class:`archspec.costs.training.TrainingStep`.

    >>> import archspec
    >>> step = archspec.load("GPT2LMHeadModel").training(batch=1, tokens=1024, checkpointing=True)
    >>> print(step.text().partition("\\n\\n")[2])
    part                 dtype     share             bytes
    weights              bfloat16              248,879,616   237.4 MiB
    gradients            bfloat16              248,879,616   237.4 MiB
    copy of the weights  float32               497,759,232   474.7 MiB
    momentum             float32               497,759,232   474.7 MiB
    variance             float32               497,759,232   474.7 MiB
    activations          bfloat16              228,683,788   218.1 MiB
    recomputed           bfloat16               45,678,616    43.6 MiB
    total                                 >= 2,265,399,332  >= 2.1 GiB
    the loss has 205,860,876 bytes of the activations
    lower bound; excluded are:
      inputs and buffers
      temporary tensors of the backward pass and the optimizer step
      memory that CUDA and its allocator reserve
    """

    @cached_property
    def parts(self) -> list[Row]:
        """The rows of the rank's memory; without activations if :attr:`not_described` has a reason."""
        return [*self.states, *self.gathered] if self.not_described else self.table

    @cached_property
    def not_described(self) -> str | None:
        """The reason why activations are not counted; None if they are."""
        try:
            self.table  # noqa: B018  # it may raise
        except ArchspecError as error:
            return error.problems[0].message
        return None

    @cached_property
    def _lengthless(self) -> bool:
        """Return True if no figure depends on the lengths, because the costs of the class are unknown."""
        return self.scope.spec.library.costs(self.model_type).gap(self.architecture) is not None

    def check_used(self, batch: int | None, tokens: int | None, encoder_tokens: int | None) -> None:
        """Errors: :class:`ArchspecError` for an argument without effect."""
        named: dict[str, Any] = {
            "batch": batch,
            "tokens": tokens,
            "encoder_tokens": encoder_tokens,
            "checkpointing": self.checkpointing or None,
        }
        named["attention"] = None if self.attention == KERNELS[0] else self.attention
        idle = [name for name, given in named.items() if given is not None]
        if idle and self._lengthless:
            message = f"{idle[0]} has no effect: {self.not_described}"
            raise ArchspecError(message, help=f"leave out {idle[0]}")

    @property
    def model_type(self) -> str:
        """The model type of the class."""
        return self.scope.spec.model_type

    def as_json(self) -> dict[str, Any]:
        """Return plain data, as `archspec memory --train --json` prints it."""
        total = sum(part.bytes for part in self.parts)
        return {
            "architecture": self.architecture,
            "model_type": self.model_type,
            "batch": None if self._lengthless else self.batch,
            "tokens": None if self._lengthless else self.tokens,
            "encoder_tokens": self.encoder_tokens or 0,
            "dtype": self.dtype,
            "optimizer": self.optimizer.name,
            "attention": self.attention,
            "checkpointing": self.checkpointing,
            **self._ranks(),
            "zero": self.zero,
            "flops": self._flops(),
            "notes": self.notes,
            "parts": [part._asdict() for part in self.parts],
            "loss_bytes": None if self.not_described or self.loss_gap else self.loss_bytes,
            "not_described": self.not_described,
            "total_bytes": total,
            "excluded": self.excluded,
        }

    @property
    def excluded(self) -> list[str]:
        """The parts that are not counted, including activations if :attr:`not_described` says why."""
        return ["activations", *super().excluded] if self.not_described else super().excluded

    @cached_property
    def notes(self) -> list[str]:
        """A note if the forward pass spends more FLOPs than its active parameters need."""
        if self._flops() is None:
            return []
        return notes_of(self.forward)

    def _ranks(self) -> dict[str, int]:
        return {name: getattr(self.ranks, name.removesuffix("_parallel")) for name in PARALLEL}

    def _flops(self) -> int | None:
        """Return the FLOPs of the step; None for a class whose costs are not supported."""
        try:
            return self.flops
        except ArchspecError:
            return None

    def blocks(self) -> Iterator[Block]:
        """Yield the step, and the rows of its memory."""
        yield Table("memory of a rank|", [*self._facts()], header=False)
        yield ""
        rows = [
            (part.name, part.dtype, f"1/{part.shared_by}" if part.shared_by > 1 else "",
             number(part.bytes), size(part.bytes))
            for part in self.parts
        ]  # fmt: skip
        total = sum(part.bytes for part in self.parts)
        totals = ("total", "", "", f">= {number(total)}", f">= {size(total)}")
        yield Table("part|dtype|share|>bytes|>", [*rows, totals])
        if not self.not_described and self.loss_bytes:
            yield f"the loss has {number(self.loss_bytes)} bytes of the activations"
        yield from ("lower bound; excluded are:", *(f"  {one}" for one in self.excluded))
        if self.not_described:
            yield f"note: {self.not_described}"
        yield from (f"note: {note}" for note in self.notes)

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield from (("architecture", self.architecture), ("model type", self.model_type))
        if not self._lengthless:
            yield from (("batch", number(self.batch)), ("tokens", number(self.tokens)))
        yield "optimizer", self.optimizer.name
        if not self._lengthless:
            yield "attention", self.attention
        if self.checkpointing:
            yield "checkpointing", "every layer"
        for name, count in self._ranks().items():
            if count > 1 and name == "data_parallel":
                yield "ranks", f"{count}, ZeRO stage {self.zero}"
            elif count > 1:
                yield name.replace("_", " "), number(count)
        if (flops := self._flops()) is not None:
            yield "FLOPs", number(flops)
