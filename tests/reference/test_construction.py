"""Steps skipped while a model is built could not have raised errors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from archspec.reference import Refused, build

pytestmark = pytest.mark.reference


@pytest.mark.parametrize(
    "fill",
    [
        lambda init, weight: init.kaiming_uniform_(weight[0], a=1),
        lambda init, weight: init.kaiming_uniform_(weight, nonlinearity="none"),
        lambda init, weight: init.uniform_(weight, "0", 1.0),
        lambda init, weight: init.normal_(weight, 0.0, -1.0),
    ],
)
def test_layers_are_not_filled_but_refusals_stay(fill: Callable[..., Any]) -> None:
    from torch import nn

    def calls(filled: Callable[..., Any]) -> type:
        construct = lambda self, config: (nn.Module.__init__(self), filled(self))[0]  # noqa: E731
        return type("Toy", (nn.Module,), {"__init__": construct})

    def layers(self: Any) -> None:
        self.dense, self.embed, self.norm = nn.Linear(2, 3), nn.Embedding(4, 2), nn.LayerNorm(2)

    called: set[str] = set()
    sys.setprofile(lambda frame, event, _: called.add(frame.f_code.co_qualname) if event == "call" else None)
    try:
        build(calls(layers), None)
    finally:
        sys.setprofile(None)
    assert {"Embedding.reset_parameters", "LayerNorm.reset_parameters"} <= called
    skipped = {"kaiming_uniform_", "uniform_", "normal_", "ones_", "zeros_"}
    assert not called & {"Linear.reset_parameters", *skipped}
    with pytest.raises(Refused):
        build(calls(lambda self: fill(nn.init, nn.Linear(2, 3, device="meta").weight)), None)
    assert nn.init.normal_.__module__ == "torch.nn.init"  # as it was
    assert nn.Linear.reset_parameters.__module__ == "torch.nn.modules.linear"
