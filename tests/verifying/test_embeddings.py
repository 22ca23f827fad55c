"""Verification holds the embedding split to the model."""

from __future__ import annotations

import pytest

from archspec.specs.library import shipped
from archspec.verifying.verifier import verify_spec

pytestmark = pytest.mark.reference


def test_verify_holds_the_split_to_the_model() -> None:
    spec = shipped().load("bert")
    module = spec.modules["BertForMaskedLM"]
    silent = spec._replace(
        modules={**spec.modules, "BertForMaskedLM": module._replace(output_embeddings=None)}
    )
    outcome = verify_spec(silent, "BertForMaskedLM", samples=0)
    assert {difference.kind for difference in outcome.differences} == {"embedding"}
    assert any(
        place.endswith(f"bert.yaml:{module.place.line}:{module.place.column}")
        for place in outcome.differences[0].places
    )
    assert not verify_spec(spec, "BertForMaskedLM", samples=0).differences
