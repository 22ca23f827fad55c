"""Ranks of a model as transformers shards it, over a process group of one process."""

from __future__ import annotations

from typing import Any

import pytest

from archspec.costs.training.parallel import Ranks
from archspec.reference import Refused
from archspec.reference.ranks import own_plans, rank_shapes

pytestmark = pytest.mark.reference

TINY: dict[str, Any] = {"hidden_size": 64, "vocab_size": 101, "num_hidden_layers": 5, "intermediate_size": 96}
TINY |= {"num_attention_heads": 8, "num_key_value_heads": 4}
LAYER = "model.layers.0"


def shapes(ranks: Ranks, **more: Any) -> dict[str, tuple[int, ...]]:
    return rank_shapes("LlamaForCausalLM", {**TINY, **more}, "llama", ranks)


def test_tensors_are_cut_by_columns_and_rows() -> None:
    found = shapes(Ranks(tensor=4))
    assert found[f"{LAYER}.self_attn.k_proj.weight"] == (8, 64)
    assert found[f"{LAYER}.mlp.down_proj.weight"] == (64, 24)
    assert found["model.embed_tokens.weight"] == (26, 64)
    assert found[f"{LAYER}.input_layernorm.weight"] == (64,)


def test_stages_have_different_layers() -> None:
    layers = [
        {name.split(".")[2] for name in shapes(Ranks(pipeline=3, stage=stage)) if ".layers." in name}
        for stage in range(3)
    ]
    assert layers == [{"0", "1"}, {"2", "3"}, {"4"}]
    tied = shapes(Ranks(pipeline=3, stage=2), tie_word_embeddings=True)
    assert "lm_head.weight" not in tied and "model.embed_tokens.weight" in tied


def test_refusals_of_transformers() -> None:
    with pytest.raises(Refused, match="ep_plan"):
        shapes(Ranks(expert=2, data=2))
    with pytest.raises(Refused, match="divide"):
        shapes(Ranks(expert=3, data=2))


def test_the_plan_of_a_class_is_without_those_of_models_inside() -> None:
    found = own_plans("LlamaForCausalLM", "llama")
    assert found["LlamaForCausalLM"].tensor == {"lm_head": "colwise_gather_output"}
    assert found["LlamaModel"].tensor["embed_tokens"] == "embedding_rowwise"
    assert own_plans("GPT2LMHeadModel", "gpt2") == {}
