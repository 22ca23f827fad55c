"""The largest output of a Linear is the one that transformers' forward gives."""

from __future__ import annotations

from typing import Any

import pytest

import archspec
from archspec.costs.outputs import largest_output
from archspec.costs.records import Call

SMALL: dict[str, dict[str, Any]] = {
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
    model = archspec.load("MixtralModel")
    assert largest_output(model.scope, model.architecture, Call(1, 10)).module.endswith("q_proj")


@pytest.mark.reference
@pytest.mark.parametrize("name", SMALL)
def test_the_largest_output_is_seen_by_a_hook(name: str) -> None:
    import torch
    import transformers
    from transformers.pytorch_utils import Conv1D

    cls = getattr(transformers, name)
    model = cls(cls.config_class(num_hidden_layers=2, **SMALL[name])).eval()
    seen = []
    for module in model.modules():
        if isinstance(module, torch.nn.Linear | Conv1D):
            module.register_forward_hook(lambda module, given, output: seen.append(output.numel()))
    model(input_ids=torch.ones(3, 7, dtype=torch.long), use_cache=False)
    model_type = cls.config_class.model_type
    own = archspec.load({"model_type": model_type, "architectures": [name], **SMALL[name]})
    assert largest_output(own.scope, name, Call(3, 7)).elements == max(seen)
