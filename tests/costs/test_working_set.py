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


def test_allocations_by_hand() -> None:
    """The largest are a gated layer, the logits of a large vocabulary, and the copy of a layer's values."""
    width, inner, angles = 4096, 11008, 2 * 2 * 128 + 8
    gated = 2 * (4 * width + 3 * inner)  # embeddings, two sums, a norm; gate, other half and product
    mlp = Room("mlp", 1000 * (gated + angles))
    assert of(Call(1, 1000)) == mlp == of(Call(1, 1000), vocab_size=200_000, last=True)
    assert of(Call(1, 1000), vocab_size=200_000) == Room("head", 1000 * 2 * (4096 + 200_000))
    copied = width * 2 * width + 2 * 6 * width + angles
    assert of(Call(1, 1, 4096)) == Room("self_attn", copied)


def test_other_code_is_not_supported() -> None:
    """An activation of several steps, more outputs, a mask (also of a window), other decoders."""
    assert of(Call(1, 5)) is not None
    for fields in ({"hidden_act": "gelu_new"}, {"output_hidden_states": True}):
        assert of(Call(1, 5), **fields) is None
    assert of(Call(1, 5, 5)) is None
    model = archspec.load({"model_type": "mistral", "sliding_window": 16})
    calls = [Forward(model.scope, model.architecture, 1, tokens) for tokens in (15, 16)]
    assert [working_set(call) is None for call in calls] == [False, True]
    for name in ("GPT2LMHeadModel", "MixtralModel", "SmolLM3Model", "Gemma2Model", "BertModel"):
        assert working_set(Forward(archspec.load(name).scope, name, 1, 5)) is None
    assert largest_output(archspec.load("MixtralModel").forward(1, 10))[0].endswith("q_proj")  # not experts


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
        ("MistralForSequenceClassification", {"sliding_window": None, "num_key_value_heads": 2}),
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
    "MixtralForCausalLM": {"hidden_size": 64, "intermediate_size": 96, "vocab_size": 70},
}


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
