"""StaticCache allocations, peak temporary memory, and classes without these measurements."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from archspec.costs.records import Call
from archspec.reference.costs import instance
from archspec.reference.memory import Peak, measured_peak, reserved_tensors
from archspec.reference.verdicts import Unavailable

pytestmark = pytest.mark.reference
SMALL = {"num_hidden_layers": 1, "hidden_size": 12, "num_attention_heads": 3, "num_key_value_heads": 3}


def test_all_positions_or_a_window_are_reserved() -> None:
    model = instance("MistralModel", {**SMALL, "sliding_window": 8}, "mistral")
    assert reserved_tensors(model, Call(2, 3, 2)) == {((2, 3, 5, 4), "bfloat16"): 2}
    assert reserved_tensors(model, Call(2, 30)) == {((2, 3, 8, 4), "bfloat16"): 2}
    raw = {"num_layers": 1, "d_model": 12, "num_heads": 3, "d_kv": 4}
    found = reserved_tensors(instance("T5ForConditionalGeneration", raw, "t5"), Call(1, 5, 0, 7, 7))
    assert found == {((1, 3, length, 4), "bfloat16"): 2 for length in (5, 7)}  # of the encoder, too
    other = instance("XLNetModel", {"n_layer": 1, "d_model": 12, "n_head": 3}, "xlnet")
    with pytest.raises(Unavailable, match="does not take a StaticCache"):
        reserved_tensors(other, Call(1, 5))


def test_a_peak_counts_living_tensors() -> None:
    import torch
    from torch import nn
    from transformers import PreTrainedConfig

    class Halves(nn.Module):  # type: ignore[misc]
        """Makes a tensor of one of half its size, lets go of that, and gives a small one."""

        _supports_sdpa = True

        def __init__(self) -> None:
            super().__init__()
            self.config = PreTrainedConfig()
            self.first, self.second = nn.Linear(1, 50, bias=False), nn.Linear(100, 10, bias=False)

        def forward(self, input_ids: Any) -> SimpleNamespace:
            half = self.first(input_ids.float())  # 20 bytes, then 1,000
            whole = torch.cat([half, half], -1)
            del half
            return SimpleNamespace(past_key_values=(self.second(whole[..., :100]),))

    found = measured_peak(Halves().to("meta"), Call(5, 1))
    assert found == Peak(1000 + 2000, "", "aten.cat.default", 200)
    assert found.working_set == 2800


def test_a_peak_has_the_past_and_no_weights() -> None:
    model = instance("LlamaModel", {**SMALL, "vocab_size": 1_000_000}, "llama")
    found = measured_peak(model, Call(1, 1))
    assert found.cache_bytes == 2 * 2 * 12
    assert found.working_set < 100_000  # in its feed-forward layer
    narrow = instance("LlamaModel", {**SMALL, "intermediate_size": 4}, "llama")
    found = measured_peak(narrow, Call(1, 1, 1000))
    assert (found.cache_bytes, found.operation) == (1001 * 2 * 2 * 12, "aten.cat.default")
    assert found.working_set > 1000 * 2 * 12  # the values before and after


def test_other_code_has_no_peak() -> None:
    """A mask, whose kernel depends on the GPU; a class without a cache, and one without sdpa."""
    with pytest.raises(Unavailable, match="mask"):
        measured_peak(instance("LlamaModel", SMALL, "llama"), Call(1, 5, 5))
    model = instance("BertModel", {"num_hidden_layers": 1}, "bert")
    with pytest.raises(Unavailable, match="no cache"):
        measured_peak(model, Call(1, 5))
    model._supports_sdpa = False
    with pytest.raises(Unavailable, match="scaled_dot_product_attention"):
        measured_peak(model, Call(1, 5))


def test_the_model_is_left_as_it_was() -> None:
    model = instance("LlamaModel", SMALL, "llama")
    measured_peak(model, Call(1, 5))
    assert model.config._attn_implementation == "eager"
    assert not any(module._forward_hooks for module in model.modules())
