"""A rank's part of a model with tensor, expert or pipeline parallelism."""

from __future__ import annotations

from typing import Any

import pytest

import archspec
from archspec.costs.activations import StepActivations
from archspec.costs.parallel import Ranks, Shares, stages
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
    layer = found[1] // 2  # of five layers the first two stages have one more
    assert sum(found) == whole
    assert found == [101 * 64 + 2 * layer, 2 * layer, 101 * 64 + 64 + layer]
    tied = {**TINY, "tie_word_embeddings": True}
    assert sum(elements(tied, Ranks(pipeline=3))) == archspec.load(tied).params + 101 * 64


def test_the_stage_with_most_parameters_is_reported() -> None:
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
        (TINY, {"tensor_parallel": 8}, "tensor_parallel=8 does not divide 4 num_key_value_heads"),
        (TINY, {"pipeline_parallel": 6}, "5 layers do not fill 6 stages"),
        (
            TINY,
            {"expert_parallel": 2, "data_parallel": 2},
            "expert parallelism is not supported for LlamaForCausalLM",
        ),
        (EXPERTS, {"expert_parallel": 2}, "expert_parallel=2 does not fit 1 data × 1 tensor ranks"),
        (EXPERTS, {"expert_parallel": 3, "data_parallel": 3}, "128 cannot be cut into 3 equal parts"),
        (EXPERTS, {"expert_parallel": 2, "data_parallel": 2, "pipeline_parallel": 2}, "together"),
        (
            "GPT2LMHeadModel",
            {"tensor_parallel": 2},
            "tensor parallelism is not supported for GPT2LMHeadModel",
        ),
        (TINY, {"tensor_parallel": 2, "optimizer": "adafactor"}, "cannot be sharded"),
    ],
    ids=str,
)
def test_unsupported_shards_are_refused(raw: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArchspecError, match=message):
        archspec.load(raw).training(1, 8, **options)


def on_rank(whole: StepActivations, shares: Shares) -> dict[str, int]:
    """Bytes of activations on a rank, by module."""
    return StepActivations(whole.scope, whole.architecture, whole.step, shares).by_module


def test_a_rank_s_activations_are_cut_between_columns_and_rows() -> None:
    whole = archspec.load(TINY).training(2, 16, attention="eager")
    rank = archspec.load(TINY).training(2, 16, attention="eager", tensor_parallel=4)
    tree = archspec.load(TINY).root
    shares = Shares(tree, archspec.load(TINY).tensors(), Ranks(tensor=4))
    kept, found = whole.activations.by_module, on_rank(whole.activations, shares)
    cut = {path for path, nbytes in kept.items() if found[path] * 4 == nbytes}
    same = {path for path, nbytes in kept.items() if found[path] == nbytes}
    assert cut | same == set(kept) == set(found)
    layer = "model.layers.0"
    assert {path for path in cut if path.startswith(layer)} == {
        *(f"{layer}.{name}" for name in ("self_attn", "self_attn.o_proj", "mlp", "mlp.down_proj"))
    }
    assert rank.loss_bytes == whole.loss_bytes > 0  # every rank of tensors has all logits
    assert rank.activation_bytes - rank.loss_bytes == sum(found.values()) < sum(kept.values())


def test_what_a_flash_kernel_keeps_of_its_seed_is_whole() -> None:
    model = archspec.load(TINY)
    whole = model.training(2, 16).activations
    shares = Shares(model.root, model.tensors(), Ranks(tensor=4))
    path = "model.layers.0.self_attn"
    kept = whole.by_module[path]
    assert on_rank(whole, shares)[path] == (kept - 24) // 4 + 24


def test_a_stage_keeps_a_batch_for_each_stage_from_it_to_the_last() -> None:
    """One forward, one backward in turn: arXiv:2104.04473, section 2.2.1."""
    model = archspec.load({**TINY, "num_hidden_layers": 6, "vocab_size": 8})
    whole = model.training(2, 16).activations
    tree = model.root
    parts = [
        on_rank(whole, Shares(tree, model.tensors(), Ranks(pipeline=3, stage=stage))) for stage in range(3)
    ]
    assert {path for part in parts for path in part} == set(whole.by_module)
    layers = [sum(n for path, n in part.items() if ".layers." in path) for part in parts]
    assert layers == [layers[0]] * 3
    found = model.training(2, 16, pipeline_parallel=3)
    assert found.stage == 0
    assert found.activation_bytes == 3 * sum(parts[0].values())


def test_ranks_and_stages_share_out_all_flops() -> None:
    model = archspec.load(TINY)
    whole = model.training(2, 16).flops
    assert model.training(2, 16, tensor_parallel=4).flops * 4 - whole == 3 * (
        2 * 2 * 16 * 64 * (26 * 4 - 101)
    )
    tree = model.root
    by_module = model.forward(2, 16).step_flops_by_module
    stages_of = [Shares(tree, model.tensors(), Ranks(pipeline=3, stage=stage)) for stage in range(3)]
    each = [sum(n for path, n in by_module.items() if stage.here(path)) for stage in stages_of]
    assert sum(each) == whole
    assert model.training(2, 16, pipeline_parallel=3).flops in each


def test_unsupported_costs_of_a_rank_are_refused() -> None:
    found = archspec.load(EXPERTS).training(1, 8, expert_parallel=2, data_parallel=2)
    for name in ("flops", "activation_bytes", "total_bytes"):
        with pytest.raises(ArchspecError, match="with expert parallelism are not supported"):
            getattr(found, name)
    again = archspec.load(TINY).training(1, 8, tensor_parallel=2, checkpointing=True)
    with pytest.raises(ArchspecError, match="recomputed FLOPs"):
        _ = again.recomputed_flops


def test_columns_that_are_not_even_have_no_activations() -> None:
    model = archspec.load({**TINY, "intermediate_size": 98})
    found = model.training(1, 8, tensor_parallel=4)
    assert found.weights_bytes
    with pytest.raises(ArchspecError, match="cannot be cut into equal parts"):
        _ = found.activation_bytes
