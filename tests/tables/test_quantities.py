"""The term that a tensor adds to each quantity."""

from __future__ import annotations

import pytest

from archspec.tables.quantities import QUANTITIES
from archspec.tree.tensors import Tensor

WEIGHT = Tensor("w", (3, 4), 12, "parameter", True, None, "Linear", 6)


@pytest.mark.parametrize(
    ("tensor", "without"),
    [
        (WEIGHT, {"embedding_params", "buffers"}),
        (WEIGHT._replace(trainable=False), {"trainable_params", "embedding_params", "buffers"}),
        (
            WEIGHT._replace(embedding="table"),
            {"active_params_without_lookup", "non_embedding_params", "buffers"},
        ),
        (WEIGHT._replace(embedding="output"), {"non_embedding_params", "buffers"}),
        (WEIGHT._replace(kind="buffer"), set(QUANTITIES) - {"buffers"}),
    ],
)
def test_what_a_tensor_adds(tensor: Tensor, without: set[str]) -> None:
    found = {name: quantity.term(tensor) for name, quantity in QUANTITIES.items()}
    active = {"active_params", "active_params_without_lookup"}
    assert found == {name: 0 if name in without else 6 if name in active else 12 for name in QUANTITIES}


def test_every_quantity_says_what_it_is() -> None:
    assert len({quantity.title for quantity in QUANTITIES.values()}) == len(QUANTITIES)
    assert all(
        quantity.help and quantity.unit in ("parameters", "elements") for quantity in QUANTITIES.values()
    )
