"""Random configs: which values are drawn, the same ones for a seed, and valid ones near them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from archspec.specs.library import shipped_library
from archspec.verifying.comparison import count
from archspec.verifying.generate.sampling import Sampler

DRAWN = """
import json
from archspec.specs.library import shipped_library
from archspec.verifying.generate.sampling import Sampler
for name in ('bert', 'wav2vec2', 'swin', 'llava'):
    sampler = Sampler(shipped_library().load(name), 5)
    for _ in range(20): print(json.dumps(sampler.sample())); sampler.add_valid()
"""
SEARCHED = """
import json
from archspec.specs.library import shipped_library
from archspec.verifying.generate.sampling import Sampler
from archspec.verifying.generate.search import Search
for name in ('gpt2', 'mixtral'):
    spec = shipped_library().load(name)
    search = Search(spec, spec.architectures[0], Sampler(spec, 5))
    for raw in search.configs([{'model_type': name, 'num_hidden_layers': 1}]): print(json.dumps(raw))
"""


@pytest.mark.parametrize("code", [DRAWN, SEARCHED])
def test_a_seed_gives_the_same_configs(code: str) -> None:
    first, second = (
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    )
    assert first == second and len(first.splitlines()) > 6


def test_a_text_that_is_compared_alone_is_not_drawn_alone() -> None:
    """LFM2's code compares a layer with "conv" only, and there is no default: others must be drawn, too."""
    sampler = Sampler(shipped_library().load("lfm2_moe"), 0)
    assert len({kind for _ in range(20) for kind in sampler.sample().get("layer_types", ())}) > 1


def test_a_part_that_is_null_by_default_is_drawn_too() -> None:
    sampler = Sampler(shipped_library().load("gemma4_unified"), 0)
    assert {type(sampler.sample().get("vision_config")) for _ in range(20)} == {dict, type(None)}


def test_a_default_that_is_refused_is_mended_by_one_field_of_a_part() -> None:
    """Gemma 4 Unified's drafter shares the keys of all its layers by default: fewer will do."""
    spec = shipped_library().load("gemma4_unified_assistant")
    (architecture,) = spec.architectures
    sampler = Sampler(spec, 0)
    sampler.sample()
    assert sampler.mend(lambda raw: count(spec, architecture, raw).error is None) is not None
