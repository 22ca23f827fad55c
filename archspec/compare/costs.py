"""What a call of two models costs, side by side."""

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
    """Why the eager code of each model spends more FLOPs than its active parameters need, where it does."""
    sides = (("A", a), ("B", b))
    return [f"in {label}, {note}" for label, model in sides for note in notes_of(model.forward(**lengths))]


def cost_changes(a: Model, b: Model, lengths: Mapping[str, int]) -> list[CostChange]:
    """FLOPs of a call, and the elements that it keeps for the next one.

    Errors: :class:`ArchspecError` where the costs of one model are not given; it says of which.

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
