"""What a model needs, as a report: memory of a call, and that of a rank in a training step."""

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

NO_CACHE = "none"  # the allocation of a class that hands none on
PARALLEL = ("data_parallel", "tensor_parallel", "pipeline_parallel", "expert_parallel")


class Memory(Report):
    """What a call needs: weights, the cache after it, a working set; made by :meth:`archspec.Model.memory`.

    Sizes are in bytes, by allocation of the cache (see :meth:`archspec.Forward.cache_bytes`), `none` where
    there is none. ``call`` is the call as :class:`archspec.Forward`, ``weights`` are the weights as they are
    stored, ``dtype`` is that of cache and activations, ``notes`` are facts about both.

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
        """What is alive beside weights and cache when it is most; the least of it where it is not exact."""
        quantized = self.weights.scheme is not None
        return {one: room(self.call, self.dtype, one, self._last, quantized) for one in self.cache_bytes}

    @property
    def total_bytes(self) -> dict[str, int]:
        """Bytes of weights, cache and working set together."""
        beside = {one: self.cache_bytes[one] + needed.bytes for one, needed in self.working_set.items()}
        return {one: self.weights_bytes + count for one, count in beside.items()}

    def as_json(self) -> dict[str, Any]:
        """Plain data, as `archspec memory --json` prints it."""
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
        """The call, what it needs by part, and where the working set is largest."""
        yield Table("memory|", call_facts(self.call), header=False)
        yield ""
        rooms = self.working_set
        names = ["bytes"] if NO_CACHE in rooms else [f"cache {one}" for one in rooms]
        yield Table("|".join(["part", *(f">{name}" for name in names)]), [*self._rows()])
        for name, one in zip(names, rooms.values(), strict=True):
            where = "most is needed in" if one.exact else "at least, not held to torch: the output of"
            yield f"{name}: {where} {one.needed_by}"
        yield from (f"note: {note}" for note in self.notes)

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for stored in self.weights.loaded:
            yield f"weights in {stored.format}", *(number(stored.bytes) for _ in self.cache_bytes)
        if NO_CACHE not in self.cache_bytes:
            yield f"cache in {self.dtype}", *map(number, self.cache_bytes.values())
        rooms = {one: needed.bytes for one, needed in self.working_set.items()}
        yield "working set", *self._least(rooms, number)
        yield "total", *self._least(self.total_bytes, number)
        yield "", *self._least(self.total_bytes, size)

    def _least(self, counts: dict[str, int], shown: Callable[[int], str]) -> Iterator[str]:
        """Numbers, each with a sign where it is only the least."""
        for one, count in counts.items():
            yield ("" if self.working_set[one].exact else ">= ") + shown(count)


class Training(TrainingStep, Report):
    """One training step on one rank, made by :meth:`archspec.Model.training`; printed, it says where its
    memory goes, as `archspec memory --train` does.

    The figures are those of :class:`archspec.costs.training.TrainingStep`.

    >>> import archspec
    >>> step = archspec.load("GPT2LMHeadModel").training(batch=1, tokens=1024, checkpointing=True)
    >>> print(step.text().partition("\\n\\n")[2])
    part                 dtype     of it             bytes
    weights              bfloat16              248,879,616   237.4 MiB
    gradients            bfloat16              248,879,616   237.4 MiB
    copy of the weights  float32               497,759,232   474.7 MiB
    momentum             float32               497,759,232   474.7 MiB
    variance             float32               497,759,232   474.7 MiB
    activations          bfloat16              228,683,788   218.1 MiB
    computed again       bfloat16               45,678,616    43.6 MiB
    total                                 >= 2,265,399,332  >= 2.1 GiB
    the loss keeps 205,860,876 bytes of the activations
    lower bound; excluded are:
      inputs and buffers
      temporary tensors of the backward pass and the optimizer step
      memory that CUDA and its allocator reserve
    """

    @cached_property
    def parts(self) -> list[Row]:
        """Where the memory of the rank goes; without activations where :attr:`not_described` says why."""
        return [*self.states, *self.gathered] if self.not_described else self.table

    @cached_property
    def not_described(self) -> str | None:
        """Why activations are not given; None where they are."""
        try:
            self.table  # noqa: B018  # asked for what it refuses
        except ArchspecError as error:
            return error.problems[0].message
        return None

    @cached_property
    def _lengthless(self) -> bool:
        """Return True if no figure depends on the lengths, because the costs of the class are unknown."""
        return self.scope.spec.library.costs(self.model_type).gap(self.architecture) is not None

    def check_used(self, batch: int | None, tokens: int | None, encoder_tokens: int | None) -> None:
        """Errors: :class:`ArchspecError` for what is given and has no effect on any figure."""
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
        """Plain data, as `archspec memory --train --json` prints it."""
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
        """Why the forward spends more FLOPs than its active parameters need, where it does."""
        if self._flops() is None:
            return []
        return notes_of(self.forward)

    def _ranks(self) -> dict[str, int]:
        return {name: getattr(self.ranks, name.removesuffix("_parallel")) for name in PARALLEL}

    def _flops(self) -> int | None:
        """The FLOPs of the step; None for a class whose costs are not given."""
        try:
            return self.flops
        except ArchspecError:
            return None

    def blocks(self) -> Iterator[Block]:
        """The step, and the parts of its memory."""
        yield Table("memory of a rank|", [*self._facts()], header=False)
        yield ""
        rows = [
            (part.name, part.dtype, f"1/{part.shared_by}" if part.shared_by > 1 else "",
             number(part.bytes), size(part.bytes))
            for part in self.parts
        ]  # fmt: skip
        total = sum(part.bytes for part in self.parts)
        totals = ("total", "", "", f">= {number(total)}", f">= {size(total)}")
        yield Table("part|dtype|of it|>bytes|>", [*rows, totals])
        if not self.not_described and self.loss_bytes:
            yield f"the loss keeps {number(self.loss_bytes)} bytes of the activations"
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
