"""What `archspec` gives by name, and what its functions return, can be reached from it."""

from __future__ import annotations

import archspec


def test_every_name_is_there() -> None:
    assert all(hasattr(archspec, name) for name in archspec.__all__)
    assert {*archspec.__all__} <= {*dir(archspec)}


def test_what_a_model_gives_is_public() -> None:
    model = archspec.load("LlamaForCausalLM")
    assert isinstance(model.forward(), archspec.Forward)
    assert isinstance(model.forward().cache[0], archspec.CacheTensor)
    assert isinstance(model.training(batch=1, tokens=8), archspec.Training)
    assert isinstance(model.weights(), archspec.Weights)
