"""Peak temporary memory of a call: hand counts, torch's allocations, and unsupported classes."""

from __future__ import annotations

from typing import Any

import pytest

import archspec
from archspec.costs.forward import Forward
from archspec.costs.records import Call
from archspec.costs.working_set import Room, largest_output, working_set

SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 70}
CALLS = (Call(1, 5), Call(3, 40), Call(2, 1, 9), Call(1, 1, 600))


def of(call: Call, architecture: str = "LlamaForCausalLM", last: bool = False, **fields: Any) -> Room | None:
    model = archspec.load({"model_type": "llama", **fields}, architecture)
    return working_set(Forward(model.scope, architecture, *call), last)


def test_a_prompt_is_largest_in_the_gated_layer() -> None:
    width, inner = 4096, 11008
    held = 2 * (4 * width + 3 * inner)  # embeddings, two sums, a norm; gate, other half and product
    angles = 2 * 2 * 128 + 8
    assert of(Call(1, 1000)) == Room("mlp", 1000 * (held + angles))


def test_a_large_vocabulary_is_largest_in_its_logits() -> None:
    logits = Room("head", 1000 * 2 * (4096 + 200_000))
    assert of(Call(1, 1000), vocab_size=200_000) == logits
    assert of(Call(1, 1000), vocab_size=200_000, last=True) == of(Call(1, 1000))


def test_a_step_copies_the_values_of_a_layer() -> None:
    found = of(Call(1, 1, 4096))
    assert found is not None and found.needed_by == "self_attn"
    assert found.bytes == 4096 * 2 * 4096 + 2 * 6 * 4096 + 2 * 2 * 128 + 8


@pytest.mark.parametrize(
    "fields",
    [{"hidden_act": "gelu_new"}, {"output_hidden_states": True}],
    ids=lambda fields: next(iter(fields)),
)
def test_what_makes_more_tensors_is_not_described(fields: dict[str, Any]) -> None:
    assert of(Call(1, 5)) is not None
    assert of(Call(1, 5), **fields) is None


def test_a_call_with_a_mask_is_not_described() -> None:
    assert of(Call(1, 5, 5)) is None
    model = archspec.load({"model_type": "mistral", "sliding_window": 16})
    lengths = {
        tokens: working_set(Forward(model.scope, model.architecture, 1, tokens)) for tokens in (15, 16)
    }
    assert lengths[15] is not None and lengths[16] is None


def test_other_decoders_are_not_described() -> None:
    for name in ("GPT2LMHeadModel", "MixtralModel", "SmolLM3Model", "Gemma2Model", "BertModel"):
        model = archspec.load(name)
        assert working_set(Forward(model.scope, name, 1, 5)) is None


@pytest.mark.reference
@pytest.mark.parametrize("call", CALLS, ids=str)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("LlamaForCausalLM", {}),
        ("LlamaForCausalLM", {"num_hidden_layers": 1, "intermediate_size": 8, "vocab_size": 5000}),
        ("LlamaModel", {"intermediate_size": 8}),
        ("Qwen3ForCausalLM", {"intermediate_size": 8, "head_dim": 32, "num_key_value_heads": 1}),
        ("MistralForCausalLM", {"sliding_window": 4096, "num_key_value_heads": 2, "head_dim": 16}),
        (
            "MistralForSequenceClassification",
            {"sliding_window": None, "num_key_value_heads": 2, "head_dim": 16},
        ),
    ],
)
def test_torch_allocates_as_much(name: str, fields: dict[str, Any], call: Call, last: bool) -> None:
    from archspec.reference.costs import instance
    from archspec.reference.memory import measured_peak

    given = {**SMALL, **fields}
    model = archspec.load({"model_type": archspec.load(name).model_type, **given}, name)
    ours = working_set(Forward(model.scope, name, *call), last)
    assert ours is not None
    measured = measured_peak(instance(name, dict(model.config.raw), model.model_type), call, last)
    assert ours.bytes == measured.working_set, measured


OUTPUTS: dict[str, dict[str, Any]] = {
    "LlamaForCausalLM": {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4},
    "LlamaModel": {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4},
    "BertModel": {"hidden_size": 48, "num_attention_heads": 4, "intermediate_size": 100},
    "GPT2Model": {"n_embd": 48, "n_head": 4},
    "AlbertModel": {"hidden_size": 48, "num_attention_heads": 4, "intermediate_size": 100},
    "MixtralForCausalLM": {
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_attention_heads": 8,
        "vocab_size": 70,
    },
}


def test_experts_are_left_out() -> None:
    assert largest_output(archspec.load("MixtralModel").forward(1, 10))[0].endswith("q_proj")


@pytest.mark.reference
@pytest.mark.parametrize("name", OUTPUTS)
def test_the_largest_output_is_seen_by_a_hook(name: str) -> None:
    import torch
    import transformers
    from transformers.pytorch_utils import Conv1D

    cls = getattr(transformers, name)
    model = cls(cls.config_class(num_hidden_layers=2, **OUTPUTS[name])).eval()
    seen = []
    for module in model.modules():
        if isinstance(module, torch.nn.Linear | Conv1D):
            module.register_forward_hook(lambda module, given, output: seen.append(output.numel()))
    model(input_ids=torch.ones(3, 7, dtype=torch.long), use_cache=False)
    model_type = cls.config_class.model_type
    own = archspec.load({"model_type": model_type, "architectures": [name], **OUTPUTS[name]})
    assert largest_output(own.forward(3, 7))[1] == max(seen)
