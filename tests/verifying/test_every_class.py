"""Every described class is what transformers builds.

The first model types are held at twenty random configs and at one for each branch and condition, the others
at three; ARCHSPEC_VERIFY_SAMPLES=20 is the full depth for all.
"""

from __future__ import annotations

import os

import pytest
from altering import shown

from archspec.verifying import campaign
from archspec.verifying.verifier import verify

pytestmark = pytest.mark.reference

SAMPLES = int(os.environ.get("ARCHSPEC_VERIFY_SAMPLES", "3"))
FIRST = """
    albert bart bert bloom clip deepseek_v3 detr distilbert gemma2 gemma3 gpt2 gpt_neox jamba llama llava
    mamba mistral mixtral opt qwen2 qwen3_moe roberta swin t5 vit wav2vec2 whisper
""".split()  # noqa: SIM905
PAIRS = [(model_type, name) for model_type, names in campaign.all_architectures().items() for name in names]


@pytest.mark.parametrize(("model_type", "architecture"), PAIRS, ids=lambda part: part)
def test_exact(model_type: str, architecture: str) -> None:
    samples = max(SAMPLES, 20) if model_type in FIRST else SAMPLES
    outcome = verify(model_type, architecture, samples)
    assert [shown(difference) for difference in outcome.differences] == []
    assert outcome.compared >= samples or outcome.unavailable
