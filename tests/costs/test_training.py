"""The memory of a training step: bytes a parameter in papers, states of optimizers, refusals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import archspec
from archspec.costs.training.optimizers import optimizer_named
from archspec.costs.training.step import TrainingStep
from archspec.errors import ArchspecError
from archspec.specs.index import CostRecord

TINY = {"model_type": "opt", "architectures": ["OPTForCausalLM"], "hidden_size": 64, "ffn_dim": 96}
TINY |= {"num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 300, "word_embed_proj_dim": 64}
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2}
LLAMA |= {"hidden_size": 640, "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 128256}
LLAMA["intermediate_size"] = 1408
MEGATRON = {"optimizer": "adamw_megatron"}


def step(**options: Any) -> TrainingStep:
    return archspec.load(TINY).training(2, 8, **options)


def states_bytes(found: TrainingStep) -> int:
    return sum(part.bytes for part in found.states)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (MEGATRON, 18),
        ({**MEGATRON, "data_parallel": 2, "zero": 1}, 6 + Fraction(12, 2)),  # Megatron-LM's docs: 6 + 12/d
        ({"dtype": "fp32"}, 16),  # without a copy
        ({**MEGATRON, "dtype": "fp32"}, 16),
    ],
    ids=str,
)
def test_bytes_a_parameter(options: dict[str, Any], expected: Fraction) -> None:
    found = step(**options)
    assert Fraction(states_bytes(found), archspec.load(TINY).params) == expected
    if options == {"dtype": "fp32"}:
        assert [part.name for part in found.states] == ["weights", "gradients", "momentum", "variance"]


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.88)], ids=str)
def test_zero_s_figure_1(stage: int, gigabytes: float) -> None:
    """arXiv:1910.02054, figure 1: 7.5e9 parameters, K = 12, 64 ranks."""
    found = step(data_parallel=64, zero=stage) if stage else step()
    assert states_bytes(found) / archspec.load(TINY).params * 7.5 == pytest.approx(gigabytes, abs=0.05)


def test_a_rank_s_part_is_rounded_up() -> None:
    params = archspec.load(TINY).params
    assert params % 11
    found = step(data_parallel=11, zero=3)
    assert found.weights_bytes == found.gradients_bytes == 2 * (params // 11 + 1)
    assert found.optimizer_bytes == 12 * (params // 11 + 1)


def test_frozen_weights_have_neither_gradients_nor_states() -> None:
    model = archspec.load("MarianMTModel")  # its positions are sinusoidal
    assert model.trainable_params < model.params
    found = model.training(1, 8, 8)
    assert found.weights_bytes == 2 * model.params
    assert found.gradients_bytes == 2 * model.trainable_params
    assert found.optimizer_bytes == 12 * model.trainable_params


def test_the_flops_are_those_of_the_call_and_of_its_gradients() -> None:
    model = archspec.load("BertForMaskedLM")
    call = model.forward(3, 50)
    assert model.training(3, 50).flops == call.training_flops == 3 * call.flops


def test_the_flops_of_megatron_s_paper_with_full_recomputation() -> None:
    """arXiv:2104.04473: 96·B·s·L·h²·(1 + s/(6h) + V/(16Lh)), a layer's forward once more."""
    batch, s, layers, h, vocab = 2, 128, 12, 768, 50257
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": h}
    config |= {"num_hidden_layers": layers, "num_attention_heads": 12, "vocab_size": vocab}
    config["intermediate_size"] = 8 * h // 3  # three matrices, as large as two of 4h
    found = archspec.load(config).training(batch, s, checkpointing=True)
    whole = 96 * batch * s * layers * h**2 + 16 * batch * s**2 * layers * h + 6 * batch * s * h * vocab
    assert found.flops + found.recomputed_flops == whole
    assert archspec.load(config).training(batch, s).recomputed_flops == 0


def test_the_total_is_the_sum_of_its_parts() -> None:
    model = archspec.load("LlamaForCausalLM")
    found, again = model.training(1, 64), model.training(1, 64, checkpointing=True)
    states = found.weights_bytes + found.gradients_bytes + found.optimizer_bytes
    assert states == 16 * model.params == states_bytes(again)
    assert found.total_bytes == states + found.activation_bytes
    assert found.activation_bytes == found.activations.bytes > again.activation_bytes
    assert [part.bytes for part in again.table[-2:]] == [
        again.activation_bytes,
        again.activations.recomputed_bytes,
    ]
    assert again.total_bytes == states + again.activation_bytes + again.activations.recomputed_bytes


def test_the_loss_is_part_of_the_activations() -> None:
    """The log-softmax of 1,024 x 128,256 logits in float32, the shifted labels, and the float32 divisor."""
    found = archspec.load(LLAMA).training(1, 1024)
    assert found.loss_bytes == 4 * 1024 * 128256 + 8 * 1025 + 4
    assert found.activation_bytes == 56_152_112 + 525_344_780 == found.activations.bytes
    assert found.total_bytes == states_bytes(found) + found.activation_bytes
    assert not any("the loss" in part for part in found.excluded)
    assert f">= {found.total_bytes:,}" in str(found)
    staged = archspec.load(LLAMA).training(1, 1024, pipeline_parallel=2)
    assert (staged.stage, staged.loss_bytes) == (1, found.loss_bytes)
    first, last = (kept for kept, _ in staged._stage_bytes)
    assert last > found.loss_bytes > first


def test_a_loss_that_is_not_known_is_named() -> None:
    found = archspec.load("LlamaModel", set={"num_hidden_layers": 2}).training(1, 64)
    assert (found.loss_bytes, found.as_json()["loss_bytes"]) == (0, None)
    assert found.excluded[0] == "the loss (not validated for LlamaModel)"
    assert "not included:\n  the loss (not validated for LlamaModel)\n  inputs and buffers" in str(found)
    routers = archspec.load("MixtralForCausalLM", set={"output_router_logits": True}).training()
    assert "the auxiliary loss of the router" in routers.excluded


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("LlamaForCausalLM", "model.layers.0"),
        ("BertForMaskedLM", "bert.embeddings.word_embeddings"),
        ("GPT2LMHeadModel", "transformer.wte"),
        ("SwinModel", "encoder.layers.3.blocks.0"),
    ],
)
def test_zero_s_stage_3_gathers_the_largest_layer(name: str, layer: str) -> None:
    model = archspec.load(name)
    found = model.training(data_parallel=4, zero=3)
    inside = (one for one in model.tensors() if one.name.startswith(f"{layer}.") and not one.tied_to)
    elements = sum(one.numel for one in inside if one.kind == "parameter")
    (row,) = found.gathered_rows
    assert (row.elements, row.bytes) == (elements, 2 * elements)
    assert row in found.parts
    assert not model.training(data_parallel=4, zero=2).gathered_rows
    assert "prefetched weights of other layers" in found.excluded


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": "adam"}, "did you mean adamw"),
        ({"optimizer": None}, "optimizer: None is not a text"),
        ({"dtype": "int8"}, "weights in int8 is not supported"),
        ({"attention": "sdpa"}, "unknown attention kernel 'sdpa'"),
        ({"zero": 4}, "zero must be 0, 1, 2 or 3, not 4"),
        ({"data_parallel": 0}, "data_parallel must be an integer of at least 1, not 0"),
        ({"zero": 1, "data_parallel": 2, "optimizer": "adafactor"}, "cannot be sharded"),
        ({"tensor_parallel": 0}, "tensor_parallel must be an integer of at least 1"),
        ({"zero": 1}, "zero has no effect without data_parallel"),
        ({"data_parallel": 2}, "data_parallel has no effect on the memory of a rank without zero"),
        ({"encoder_tokens": 8}, "does not attend to an encoder"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_unsupported_steps_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArchspecError, match=message):
        step(**options)


@pytest.mark.reference
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", ["adamw_torch", "sgd_torch", "sgd_momentum_torch", "adafactor"])
def test_states_are_those_of_the_library(name: str, dtype: str) -> None:
    """One step of the real optimizer: the bytes of the gradients, and of all tensors in its state."""
    import torch
    from transformers import Adafactor, OPTConfig, OPTForCausalLM

    optimizers = {
        "adamw_torch": torch.optim.AdamW,
        "sgd_torch": torch.optim.SGD,
        "sgd_momentum_torch": lambda parameters: torch.optim.SGD(parameters, momentum=0.9),
        "adafactor": Adafactor,
    }
    model = OPTForCausalLM(OPTConfig(**TINY)).to(getattr(torch, dtype))
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer = optimizers[name](model.parameters())
    optimizer.step()
    states = [tensor for state in optimizer.state.values() for key, tensor in state.items() if key != "step"]
    found = step(optimizer=name, dtype=dtype)
    assert found.optimizer_bytes == sum(one.nbytes for one in states if isinstance(one, torch.Tensor))
    assert found.weights_bytes == sum(parameter.nbytes for parameter in model.parameters())
    assert found.gradients_bytes == sum(parameter.grad.nbytes for parameter in model.parameters())


def test_optimizers_of_the_file() -> None:
    """AdamW8bit: bytes of all tensors that bitsandbytes 0.50.2 sets up for these parameters, measured."""
    assert step(optimizer="adamw_8bit").optimizer_bytes == 435_808
    assert optimizer_named("adafactor").source == "transformers.optimization.Adafactor"
    assert not optimizer_named("adafactor").by_element and optimizer_named("adamw").by_element


def test_items_and_frozen_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CostRecord, "activations_gap", lambda *_: None)
    monkeypatch.setattr(CostRecord, "gap", lambda *_, **__: None)
    model = archspec.load("LlavaForConditionalGeneration")
    text, whole = model.training(tokens=1024), model.training(tokens=1024, images=["336x336"])
    frozen = model.training(tokens=1024, images=["336x336"], freeze="vision_tower")
    assert text.activation_bytes < frozen.activation_bytes < whole.activation_bytes
    assert text.flops < frozen.flops < whole.flops
    tower = sum(one.numel for one in model.tensors() if one.name.startswith("model.vision_tower."))
    assert whole.gradients_bytes - frozen.gradients_bytes == 2 * tower
    assert model.training(text_tokens=24, images=["336x336"]).tokens == 24 + 576
    with pytest.raises(ArchspecError, match="does not have this module"):
        model.training(tokens=1024, freeze="tower")
    unknown = model.training(tokens=1024, freeze="language_model").unsupported
    assert unknown is not None and "freezing language_model is not supported" in unknown
    step = model.training(tokens=1024, images=["336x336"], freeze=["vision_tower"], checkpointing=True)
    with pytest.raises(ArchspecError, match="frozen modules and checkpointing"):
        _ = step.flops


def test_a_vision_class_has_a_step_of_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CostRecord, "activations_gap", lambda *_: None)
    monkeypatch.setattr(CostRecord, "gap", lambda *_, **__: None)
    model = archspec.load("ViTForImageClassification")
    two = model.training(2)
    assert two.flops == 2 * model.training().flops == model.training(images=["2@224x224"]).flops
    assert two.tokens is None and two.activation_bytes > model.training().activation_bytes
    with pytest.raises(ArchspecError, match="takes images only"):
        model.training(tokens=9)
