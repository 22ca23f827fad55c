"""Every spec is held to transformers, tensor for tensor; and every line of a spec matters to that."""

from __future__ import annotations

import os

import pytest

from archspec import library
from archspec.verify import verify

SAMPLES = int(os.environ.get("ARCHSPEC_SAMPLES", "3"))
REFUSED_BY_DEFAULT = {"timm_backbone"}


@pytest.mark.slow
@pytest.mark.parametrize("model_type", [name for name in library.model_types() if name not in REFUSED_BY_DEFAULT])
def test_spec_is_true(model_type: str) -> None:
    """At the default config and at random ones; `ARCHSPEC_SAMPLES=20` is the full depth."""
    spec = library.load(model_type)
    wrong = []
    for architecture in spec.architectures:
        outcome = verify(model_type, architecture, SAMPLES)
        wrong += [(architecture, d.kind, d.name, d.expected, d.found, d.config) for d in outcome.differences[:3]]
        assert outcome.compared > 0, f"{architecture}: no config was built by both"
    assert not wrong
