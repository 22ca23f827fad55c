"""A rank's part of a model with tensor, expert or pipeline parallelism."""

from __future__ import annotations

from typing import Any

import pytest

import archspec
from archspec.costs.training.activations import StepActivations
from archspec.costs.training.parallel import Ranks, Shares, stages
from archspec.errors import ArchspecError

TINY = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "vocab_size": 101}
TINY |= {"num_hidden_layers": 5, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 96}
EXPERTS = {"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "num_hidden_layers": 2}


def elements(raw: dict[str, Any], ranks: Ranks) -> list[int]:
    """Return the number of parameters on each stage."""
    model = archspec.load(raw)
    found = stages(model.scope, model.architecture, model.tensors(), ranks)
    named = [{one.tensor.name for one in parts if ".layers." in one.tensor.name} for parts in found]
    assert sum(map(len, named)) == len(set[str]().union(*named))  # each layer is on one stage
    return [sum(part.numel for part in parts) for parts in found]


def shares_of(model: archspec.Model, **ranks: int) -> Shares:
    return Shares(model.root, model.tensors(), Ranks(**ranks))


def on_rank(model: archspec.Model, whole: StepActivations, **ranks: int) -> dict[str, int]:
    """Return the bytes of activations on a rank, by module."""
    found = StepActivations(whole.scope, whole.architecture, whole.step, shares_of(model, **ranks))
    return found.by_module


def test_a_rank_has_its_columns_and_rows_and_all_norms() -> None:
    attention, mlp, norms = 2 * 64 * 64 + 2 * 64 * 32, 3 * 64 * 96, 2 * 64
    layer = attention // 4 + mlp // 4 + norms
    vocabulary = 26  # of 101 words the first of four ranks has the most
    assert elements(TINY, Ranks(tensor=4)) == [2 * vocabulary * 64 + 5 * layer + 64]


def test_stages_have_every_layer_once_and_a_tied_embedding_twice() -> None:
    found = elements(TINY, Ranks(pipeline=3))
    layer = found[1] // 2  # of five layers the first two stages have one more
    assert sum(found) == archspec.load(TINY).params
    assert found == [101 * 64 + 2 * layer, 2 * layer, 101 * 64 + 64 + layer]
    tied = {**TINY, "tie_word_embeddings": True}
    assert sum(elements(tied, Ranks(pipeline=3))) == archspec.load(tied).params + 101 * 64
    step = archspec.load(TINY).training(1, 8, pipeline_parallel=3)  # reports the largest stage
    assert step.weights_bytes == 2 * max(found)
    assert step.optimizer_bytes == 6 * step.weights_bytes == 6 * step.gradients_bytes


def test_experts_are_whole_and_sharded_over_fewer_ranks() -> None:
    model = archspec.load(EXPERTS)
    experts = sum(tensor.numel for tensor in model.tensors() if ".experts." in tensor.name)
    others = model.params - experts
    found = model.training(1, 8, expert_parallel=4, data_parallel=8)
    assert found.weights_bytes == 2 * (others + experts // 4)
    shared = model.training(1, 8, expert_parallel=4, data_parallel=8, zero=1)
    assert shared.optimizer_bytes == 12 * (others // 8 + experts // 4 // 2)
    both = model.training(1, 8, tensor_parallel=2, expert_parallel=2)
    tensors = model.training(1, 8, tensor_parallel=2)  # cuts experts, too
    assert both.weights_bytes == tensors.weights_bytes > experts
    more = model.training(1, 8, tensor_parallel=2, expert_parallel=4, data_parallel=2)
    assert tensors.weights_bytes - more.weights_bytes == 2 * experts // 4


@pytest.mark.parametrize(
    ("raw", "options", "message"),
    [
        (TINY, {"tensor_parallel": 8}, "tensor_parallel=8 does not divide num_key_value_heads = 4"),
        (TINY, {"pipeline_parallel": 6}, "pipeline_parallel=6 is more than the 5 layers"),
        (TINY, {"expert_parallel": 2, "data_parallel": 2}, "expert parallelism is not supported for Llama"),
        (EXPERTS, {"expert_parallel": 2}, "expert_parallel=2 does not fit 1 data × 1 tensor ranks"),
        (EXPERTS, {"expert_parallel": 3, "data_parallel": 3}, "128 cannot be cut into 3 equal parts"),
        (EXPERTS, {"expert_parallel": 2, "data_parallel": 2, "pipeline_parallel": 2}, "cannot be combined"),
        ("GPT2LMHeadModel", {"tensor_parallel": 2}, "tensor parallelism is not supported for GPT2LMHead"),
        (TINY, {"tensor_parallel": 2, "optimizer": "adafactor"}, "cannot be sharded"),
    ],
    ids=str,
)
def test_unsupported_shards_are_refused(raw: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArchspecError, match=message):
        archspec.load(raw).training(1, 8, **options)


@pytest.mark.parametrize(
    ("raw", "options", "names", "message"),
    [
        (
            EXPERTS,
            {"expert_parallel": 2, "data_parallel": 2},
            ("flops", "activation_bytes", "total_bytes"),
            "expert parallelism are not supported",
        ),
        (TINY, {"tensor_parallel": 2, "checkpointing": True}, ("recomputed_flops",), "recomputed FLOPs"),
        ({**TINY, "intermediate_size": 98}, {"tensor_parallel": 4}, ("activation_bytes",), "equal parts"),
    ],
    ids=["experts", "recomputed", "uneven columns"],
)
def test_unsupported_costs_of_a_rank_are_refused(
    raw: Any, options: dict[str, Any], names: tuple[str, ...], message: str
) -> None:
    found = archspec.load(raw).training(1, 8, **options)
    assert found.weights_bytes
    for name in names:
        with pytest.raises(ArchspecError, match=message):
            getattr(found, name)


def test_a_rank_s_activations_are_cut_between_columns_and_rows() -> None:
    model = archspec.load(TINY)
    whole = model.training(2, 16, attention="eager")
    rank = model.training(2, 16, attention="eager", tensor_parallel=4)
    kept, found = whole.activations.by_module, on_rank(model, whole.activations, tensor=4)
    cut = {path for path, nbytes in kept.items() if found[path] * 4 == nbytes}
    assert cut | {path for path, nbytes in kept.items() if found[path] == nbytes} == {*kept} == {*found}
    layer, parts = "model.layers.0", ("self_attn", "self_attn.o_proj", "mlp", "mlp.down_proj")
    assert {path for path in cut if path.startswith(layer)} == {f"{layer}.{name}" for name in parts}
    assert rank.loss_bytes == whole.loss_bytes > 0  # every rank of tensors has all logits
    assert rank.activation_bytes - rank.loss_bytes == sum(found.values()) < sum(kept.values())
    flash, path = model.training(2, 16).activations, "model.layers.0.self_attn"
    seed = 24  # bytes of a flash kernel's random state, on every rank
    assert on_rank(model, flash, tensor=4)[path] == (flash.by_module[path] - seed) // 4 + seed


def test_a_stage_keeps_a_batch_for_each_stage_from_it_to_the_last() -> None:
    """One forward, one backward in turn: arXiv:2104.04473, section 2.2.1."""
    model = archspec.load({**TINY, "num_hidden_layers": 6, "vocab_size": 8})
    whole = model.training(2, 16).activations
    parts = [on_rank(model, whole, pipeline=3, stage=stage) for stage in range(3)]
    assert {path for part in parts for path in part} == set(whole.by_module)
    layers = [sum(n for path, n in part.items() if ".layers." in path) for part in parts]
    assert layers == [layers[0]] * 3
    found = model.training(2, 16, pipeline_parallel=3)
    assert (found.stage, found.activation_bytes) == (0, 3 * sum(parts[0].values()))


def test_ranks_and_stages_have_all_flops() -> None:
    model = archspec.load(TINY)
    whole, padding = model.training(2, 16).flops, 3 * (2 * 2 * 16 * 64 * (26 * 4 - 101))  # of the vocabulary
    assert model.training(2, 16, tensor_parallel=4).flops * 4 - whole == padding
    by_module = model.forward(2, 16).step_flops_by_module.items()
    ranks = [shares_of(model, pipeline=3, stage=stage) for stage in range(3)]
    each = [sum(flops for path, flops in by_module if rank.here(path)) for rank in ranks]
    assert sum(each) == whole
    assert model.training(2, 16, pipeline_parallel=3).flops in each
