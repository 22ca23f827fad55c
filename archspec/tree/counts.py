"""The exact quantities of a list of tensors, by the names of the closed forms."""

from __future__ import annotations

from archspec.tables.quantities import QUANTITIES
from archspec.tree.tensors import Tensor


def quantities_of(found: list[Tensor]) -> dict[str, int]:
    """Return each of `archspec.tables.quantities.QUANTITIES` as an exact int."""
    own = [tensor for tensor in found if tensor.tied_to is None]
    counts = {name: sum(map(quantity.term, own)) for name, quantity in QUANTITIES.items()}
    # the active parts of all experts together are whole
    return {name: int(count) if hasattr(count, "denominator") else count for name, count in counts.items()}
