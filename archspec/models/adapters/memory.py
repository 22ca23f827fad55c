"""The memory of a training step with an adapter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

from archspec.adapters.activations import AdaptedActivations
from archspec.costs.training.optimizers import Row, States, optimizer_named
from archspec.costs.training.parallel import Part, Ranks
from archspec.costs.weights import Weights
from archspec.errors import ArchspecError, option
from archspec.models.report import OfModel, Record, Report, bytes_text, fact, facts_table
from archspec.reports import Block, Table
from archspec.sizes import bytes_of
from archspec.terminal import number, size
from archspec.tree.tensors import Tensor
from archspec.typing_light import Any

_LIKE_DTYPES = ("nf4", "fp4")  # starts of formats whose layers save the same as those in a dtype
Activations = Callable[[int], AdaptedActivations]  # of a batch size


class AdapterPart(Record):
    """a part"""

    name: str = fact("base weights, weights that peft adds, gradients, optimizer states, or activations")
    dtype: str = fact("the dtype, or the weight format")
    elements: int | None = fact("elements, null for several dtypes")
    bytes: int = fact("bytes")


class AdapterMemory(OfModel, Report):
    """Memory of a training step with an adapter; made by :meth:`Adapter.memory`.

    Buffers and temporary tensors are not included, so the total is a lower bound.
    """

    optimizer: str = fact("the optimizer", title="optimizer")
    batch: int | None = fact("batch size; null without activations", title="batch size")
    parts: list[Row] = fact("weights, gradients, optimizer states, activations", kind="list[AdapterPart]")
    total_bytes: int = fact(
        "bytes of all parts, a lower bound",
        lambda self: sum(part.bytes for part in self.parts),
        title="total, lower bound",
        text=lambda count, _: bytes_text(count),
    )
    budget_bytes: int | None = fact("bytes of the budget, null without a budget")
    fitting_batch: int | None = fact("the largest batch size that fits in the budget, null without a budget")

    def __init__(
        self,
        adapter: Any,
        weights: Weights,
        dtype: str,
        optimizer: str,
        batch: int,
        activations: Activations | None = None,
        budget: str | int | None = None,
    ) -> None:
        self.architecture, self.model_type = adapter.architecture, adapter.model_type
        self.optimizer, self.batch = optimizer, batch if activations else None
        self.parts = [
            Row("base weights", one.format, one.elements, 1, one.bytes) for one in weights.loaded_table
        ]
        trained = {name: one for name, one in adapter.tree.named_weights() if one.trainable}
        matrices = frozenset(name for name, one in trained.items() if not one.origin)
        states = States(optimizer_named(optimizer), dtype, matrices, Ranks(), 0)
        for names in (adapter.added_names, trained):
            rows = states.rows([_part(name, one.shape) for name, one in trained.items() if name in names])
            are_weights = names is not trained
            self.parts += [row for row in rows if row.name.startswith("weights") == are_weights and row.bytes]
        self.budget_bytes, self.fitting_batch = None if budget is None else bytes_of(budget), None
        if activations is None:
            return
        if weights.is_quantized and not weights.format.startswith(_LIKE_DTYPES):
            message = f"the activations of layers in {weights.table[0].format} are not supported"
            raise ArchspecError(message, help="use nf4, fp4 or a dtype, or leave out the lengths")
        if self.budget_bytes is not None:
            self.fitting_batch = _largest_batch(activations, self.budget_bytes - self.total_bytes)
        self.parts += _rows(activations(batch))

    def blocks(self) -> Iterator[Block]:
        """Yield the total and its parts."""
        yield facts_table(self, "lora")
        rows = [
            (one.name, one.dtype, "" if one.elements is None else number(one.elements), number(one.bytes))
            for one in self.parts
        ]
        yield ""
        yield Table("part|dtype|>elements|>bytes", rows)
        if self.budget_bytes is not None:
            batch = f"batch size {number(self.fitting_batch)}" if self.fitting_batch else "no sequence"
            yield f"{size(self.budget_bytes)} fit {batch} at most: temporary tensors are not included"
        if self.batch is None:
            yield f"activations are not included; add {option('tokens', 2048)}"


def _rows(found: AdaptedActivations) -> list[Row]:
    sizes = {"activations": found.bytes, "recomputed": found.recomputed_bytes}
    return [Row(name, found.trained.step.dtype, None, 1, nbytes) for name, nbytes in sizes.items() if nbytes]


def _largest_batch(activations: Activations, room: int) -> int:
    """Return the largest batch size whose activations fit; they are linear from two sequences on."""
    two, three = (sum(row.bytes for row in _rows(activations(batch))) for batch in (2, 3))
    batch = max(1, 2 + (room - two) // (three - two))
    while batch and sum(row.bytes for row in _rows(activations(batch))) > room:
        batch -= 1
    return batch


def _part(name: str, shape: tuple[int, ...]) -> Part:
    numel = prod(shape)
    return Part(Tensor(name, shape, numel, "parameter", True, None, "", numel), shape, False)
