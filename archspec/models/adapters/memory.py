"""The memory of a training step with an adapter, without activations."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from archspec.costs.training.optimizers import Row, States, optimizer_named
from archspec.costs.training.parallel import Part, Ranks
from archspec.costs.weights import Weights
from archspec.models.report import OfModel, Record, Report, bytes_text, fact, facts_table
from archspec.reports import Block, Table
from archspec.terminal import number
from archspec.tree.tensors import Tensor
from archspec.typing_light import Any

_ADDED = "float32"  # peft keeps the matrices of adapters in float32


class AdapterPart(Record):
    """a part"""

    name: str = fact("base weights, weights that peft adds, gradients, or an optimizer state")
    dtype: str = fact("the dtype, or the weight format")
    elements: int | None = fact("elements, null for several dtypes")
    bytes: int = fact("bytes")


class AdapterMemory(OfModel, Report):
    """Memory of a training step with an adapter; made by :meth:`Adapter.memory`.

    Activations, buffers and temporary tensors are not included, so the total is a lower bound.
    """

    optimizer: str = fact("the optimizer", title="optimizer")
    parts: list[Row] = fact("weights, gradients and optimizer states", kind="list[AdapterPart]")
    total_bytes: int = fact(
        "bytes of all parts, a lower bound: activations are not included",
        lambda self: sum(part.bytes for part in self.parts),
        title="total without activations",
        text=lambda count, _: bytes_text(count),
    )

    def __init__(self, adapter: Any, weights: Weights, dtype: str, optimizer: str) -> None:
        self.architecture, self.model_type = adapter.architecture, adapter.model_type
        self.optimizer = optimizer
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

    def blocks(self) -> Iterator[Block]:
        """Yield the total and its parts."""
        yield facts_table(self, "lora")
        rows = [
            (one.name, one.dtype, "" if one.elements is None else number(one.elements), number(one.bytes))
            for one in self.parts
        ]
        yield ""
        yield Table("part|dtype|>elements|>bytes", rows)


def _part(name: str, shape: tuple[int, ...]) -> Part:
    numel = prod(shape)
    return Part(Tensor(name, shape, numel, "parameter", True, None, "", numel), shape, False)
