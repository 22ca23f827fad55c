"""Every supported class is what transformers builds.

Some model types are compared at ten random configs and at one for each branch and condition, the others at
one; test_verifier.py compares some of them at 20, and `archspec verify --all --samples 10` all every night.
"""

from __future__ import annotations

import pytest
from altering import shown

from archspec.specs.library import shipped_library
from archspec.verifying import campaign
from archspec.verifying.verifier import verify_spec

pytestmark = pytest.mark.reference

IN_FULL = "detr", "gemma3", "llama", "llava", "qwen3_moe", "whisper"
PAIRS = [(model_type, name) for model_type, names in campaign.all_architectures().items() for name in names]


@pytest.mark.parametrize(("model_type", "architecture"), PAIRS, ids=lambda part: part)
def test_exact(model_type: str, architecture: str) -> None:
    samples = 10 if model_type in IN_FULL else 1
    outcome = verify_spec(shipped_library().load(model_type), architecture, samples)
    assert [shown(difference) for difference in outcome.differences] == []
    assert outcome.compared >= samples or outcome.unavailable
