"""Parameters of ranks agree with transformers; the record of validated classes."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from archspec.costs.training import parallel
from archspec.costs.training.parallel import Ranks, parts
from archspec.reference import versions
from archspec.reference.ranks import own_plans
from archspec.specs.files import folder
from archspec.specs.library import shipped_library
from archspec.verifying.costs.ranks import plans_of, step_is_exact, text, verify_ranks, verify_steps

pytestmark = pytest.mark.reference

CHOSEN = [
    ("llama", "LlamaForCausalLM", ["tensor", "pipeline"]),
    ("gpt_neox", "GPTNeoXForCausalLM", ["tensor", "pipeline"]),
    ("qwen3_moe", "Qwen3MoeForCausalLM", ["tensor", "expert", "pipeline"]),
    ("deepseek_v3", "DeepseekV3Model", ["tensor", "expert"]),
    ("gpt2", "GPT2LMHeadModel", []),
]


def recorded() -> Any:
    with open(os.path.join(folder(), parallel.PLANS), encoding="utf-8") as file:
        return json.load(file)


@pytest.mark.parametrize(("model_type", "architecture", "kinds"), CHOSEN)
def test_parts_are_those_of_transformers(model_type: str, architecture: str, kinds: list[str]) -> None:
    outcome = verify_ranks(shipped_library().load(model_type), architecture)
    assert not outcome.differences
    assert outcome.kinds == kinds
    exact = recorded()["held"]
    assert [kind for kind in parallel.KINDS if architecture in exact[kind].get(model_type, ())] == kinds


def test_a_wrong_part_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("archspec.verifying.costs.ranks.parts", lambda *given: parts(*given)[:-1])
    outcome = verify_ranks(shipped_library().load("llama"), "LlamaForCausalLM")
    assert {one.name for one in outcome.differences} >= {"lm_head.weight"}
    assert outcome.kinds == []


def test_a_step_of_a_rank_is_that_of_transformers() -> None:
    found = verify_steps(shipped_library().load("llama"), "LlamaForCausalLM")
    kinds = ("FLOPs", "flash", "flash checkpointing", "eager", "eager checkpointing")
    measured = [f"tensor {kind}" for kind in kinds] + [f"pipeline {kind}" for kind in kinds[1:]]
    assert found == measured


def test_a_wrong_share_is_not_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, few = shipped_library().load("llama"), {"model_type": "llama", "num_hidden_layers": 2}

    def exact(kind: str) -> bool:
        return step_is_exact(spec, "LlamaForCausalLM", few, Ranks(tensor=2), kind, (2, 16))

    assert exact("FLOPs") and exact("eager")
    monkeypatch.setattr(parallel.Shares, "flops", lambda *given: given[2])
    monkeypatch.setattr(parallel.Shares, "saved_bytes", lambda *given: given[2])
    assert not exact("FLOPs") and not exact("eager")


def test_plans_are_those_of_the_installed_transformers() -> None:
    found = recorded()
    assert {name: found[name] for name in versions()} == versions()
    for model_type, architecture, _ in CHOSEN:
        for name, plan in own_plans(architecture, model_type).items():
            assert found["plans"][name] == [plan.tensor, plan.expert]


def test_the_file_lists_what_is_exact() -> None:
    plans = plans_of([("llama", "LlamaModel"), ("gpt2", "GPT2Model")])
    written = json.loads(text({("llama", "LlamaModel"): ["tensor"]}, plans))
    assert list(written["plans"]) == ["LlamaModel"]
    assert written["held"] == {"tensor": {"llama": ["LlamaModel"]}, "expert": {}, "pipeline": {}}
