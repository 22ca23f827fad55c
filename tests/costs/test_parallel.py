"""What a rank holds of a model that is shared out by tensors, experts or layers."""

from __future__ import annotations

from typing import Any

import pytest

import archspec
from archspec.costs.parallel import Ranks, stages
from archspec.errors import ArchspecError

TINY = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "vocab_size": 101}
TINY |= {"num_hidden_layers": 5, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 96}
EXPERTS = {"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "num_hidden_layers": 2}


def elements(raw: dict[str, Any], ranks: Ranks) -> list[int]:
    """Parameters on each stage."""
    model = archspec.load(raw)
    held = stages(model.scope, model.architecture, model.tensors(), ranks)
    return [sum(part.numel for part in parts) for parts in held]


def test_a_rank_of_tensors_has_its_columns_and_rows_and_all_norms() -> None:
    attention, mlp, norms = 2 * 64 * 64 + 2 * 64 * 32, 3 * 64 * 96, 2 * 64
    layer = attention // 4 + mlp // 4 + norms
    vocabulary = 26  # of 101 words the first of four ranks has the most
    assert elements(TINY, Ranks(tensor=4)) == [2 * vocabulary * 64 + 5 * layer + 64]


def test_stages_have_every_layer_once_and_a_tied_embedding_twice() -> None:
    whole = archspec.load(TINY).params
    found = elements(TINY, Ranks(pipeline=3))
    layer = found[1]
    assert sum(found) == whole
    assert found == [101 * 64 + layer, layer, 101 * 64 + 64 + 3 * layer]
    tied = {**TINY, "tie_word_embeddings": True}
    assert sum(elements(tied, Ranks(pipeline=3))) == archspec.load(tied).params + 101 * 64


def test_the_stage_with_most_parameters_is_told() -> None:
    found = archspec.load(TINY).training(1, 8, pipeline_parallel=3)
    assert found.weights_bytes == 2 * max(elements(TINY, Ranks(pipeline=3)))
    assert found.optimizer_bytes == 6 * found.weights_bytes == 6 * found.gradients_bytes


def test_experts_are_whole_and_zero_finds_them_on_fewer_ranks() -> None:
    model = archspec.load(EXPERTS)
    experts = sum(tensor.numel for tensor in model.tensors() if ".experts." in tensor.name)
    others = model.params - experts
    found = model.training(1, 8, expert_parallel=4, data_parallel=8)
    assert found.weights_bytes == 2 * (others + experts // 4)
    shared = model.training(1, 8, expert_parallel=4, data_parallel=8, zero=1)
    assert shared.optimizer_bytes == 12 * (others // 8 + experts // 4 // 2)


def test_experts_are_cut_by_tensors_where_they_have_no_ranks() -> None:
    model = archspec.load(EXPERTS)
    experts = sum(tensor.numel for tensor in model.tensors() if ".experts." in tensor.name)
    both = model.training(1, 8, tensor_parallel=2, expert_parallel=2)
    tensors = model.training(1, 8, tensor_parallel=2)
    assert both.weights_bytes == tensors.weights_bytes > experts
    more = model.training(1, 8, tensor_parallel=2, expert_parallel=4, data_parallel=2)
    assert tensors.weights_bytes - more.weights_bytes == 2 * experts // 4


@pytest.mark.parametrize(
    ("raw", "options", "message"),
    [
        (TINY, {"tensor_parallel": 8}, "4 num_key_value_heads are not shared out over 8 ranks"),
        (TINY, {"pipeline_parallel": 6}, "5 layers are not shared out over 6 stages"),
        (TINY, {"expert_parallel": 2, "data_parallel": 2}, "expert_parallel: what a rank holds"),
        (EXPERTS, {"expert_parallel": 2}, "2 ranks of experts among 1 x 1"),
        (EXPERTS, {"expert_parallel": 3, "data_parallel": 3}, "128 is not cut into 3 equal parts"),
        (EXPERTS, {"expert_parallel": 2, "data_parallel": 2, "pipeline_parallel": 2}, "together"),
        ("GPT2LMHeadModel", {"tensor_parallel": 2}, "transformers ships no plan"),
        (TINY, {"tensor_parallel": 2, "optimizer": "adafactor"}, "not shared out"),
    ],
    ids=str,
)
def test_what_transformers_does_not_share_out_is_refused(
    raw: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArchspecError, match=message):
        archspec.load(raw).training(1, 8, **options)


def test_what_is_of_a_whole_model_is_not_given_of_a_part() -> None:
    found = archspec.load(TINY).training(1, 8, tensor_parallel=2)
    for name in ("flops", "activation_bytes", "total_bytes"):
        with pytest.raises(ArchspecError, match="of a rank that has a part of the model"):
            getattr(found, name)
