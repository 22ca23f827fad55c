"""Both interpreters agree: the closed form of a random config evaluates to its exact count."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import archspec
from archspec import library
from archspec.counts import counted
from archspec.errors import ArchspecError
from archspec.sampling import Sampler

TYPES = ["bert", "gpt2", "llama", "t5", "mixtral", "qwen3_moe", "deepseek_v3", "jamba", "albert", "vit", "whisper"]


@pytest.mark.parametrize("model_type", TYPES)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**20))
def test_closed_form_is_the_exact_count(model_type: str, seed: int) -> None:
    spec = library.load(model_type)
    try:
        model = archspec.load(Sampler(spec, seed).sample(), spec.architectures[-1])
        exact = counted(model.tensors())
    except ArchspecError:
        return
    for quantity in ("params", "active_params", "trainable_params", "buffers"):
        formula = model.quantity(quantity)
        assert formula.evaluate() == exact[quantity]
