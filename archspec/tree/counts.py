"""The exact quantities of a list of tensors, by the names of the closed forms."""

from __future__ import annotations

from archspec.tables.quantities import QUANTITIES
from archspec.tree.tensors import Tensor
from archspec.typing_light import Any


def quantities_of(found: list[Tensor]) -> dict[str, int]:
    """Each of `archspec.tables.quantities.QUANTITIES` as an exact int."""
    own = [tensor for tensor in found if tensor.tied_to is None]
    return {name: _whole(sum(map(quantity.term, own))) for name, quantity in QUANTITIES.items()}


def _whole(count: Any) -> Any:
    """The parts of all experts together are whole."""
    return int(count) if hasattr(count, "denominator") else count
