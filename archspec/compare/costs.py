"""The costs of the same call of two models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from archspec.costs.notes.excess import notes_of
from archspec.errors import ArchspecError

if TYPE_CHECKING:
    from archspec.models.model import Model

TITLES = {"flops": "FLOPs", "cache_elements": "cache elements"}


class CostChange(NamedTuple):
    """One cost of the same call of both models."""

    quantity: str
    before: int
    after: int


def cost_notes(a: Model, b: Model, lengths: Mapping[str, int]) -> list[str]:
    """Return notes on FLOPs of eager code that exceed what the active parameters need."""
    sides = (("A", a), ("B", b))
    return [f"in {label}, {note}" for label, model in sides for note in notes_of(model.forward(**lengths))]


def cost_changes(a: Model, b: Model, lengths: Mapping[str, int]) -> list[CostChange]:
    """Return the FLOPs of a call and the elements of its KV cache, for both models.

    Errors: :class:`ArchspecError`, with the model, if the costs of one are not supported.

    >>> import archspec
    >>> mha, gqa = archspec.load("LlamaModel"), archspec.load("LlamaModel", None, {"num_key_value_heads": 8})
    >>> cost_changes(mha, gqa, {"tokens": 1})[1]
    CostChange(quantity='cache_elements', before=262144, after=65536)
    """
    sides = []
    for model, label in ((a, "A"), (b, "B")):
        try:
            call = model.forward(**lengths)
        except ArchspecError as error:
            first = error.problems[0]
            raise ArchspecError(f"{label}: {first.message}", help=first.help) from None
        sides.append((call.flops, call.cache_elements()))
    return [CostChange(name, *pair) for name, pair in zip(TITLES, zip(*sides, strict=True), strict=True)]
