"""Pairs of positions within transformers' masks, and classes whose masks cannot be observed."""

from __future__ import annotations

from typing import Any

import pytest

from archspec.costs.records import Call
from archspec.reference.costs import instance
from archspec.reference.masks import let_through
from archspec.reference.verdicts import Unavailable

pytestmark = pytest.mark.reference
SMALL = {"num_hidden_layers": 1, "hidden_size": 12, "num_attention_heads": 3, "num_key_value_heads": 3}
EACH = 2 * 3 * (4 + 4)  # FLOPs of a pair: 3 heads of 4


def left_out(model_type: str, architecture: str, call: Call, **more: Any) -> int:
    model = instance(architecture, {**SMALL, **more}, model_type)
    computed, through = let_through(model, call)
    differ = {name for name in computed if computed[name] != through[name]}
    assert differ <= {"layers.0.self_attn"}
    return sum(computed.values()) - sum(through.values())


CHUNKS = {"attention_chunk_size": 2, "layer_types": ["chunked_attention"], "head_dim": 4}


@pytest.mark.parametrize(
    ("names", "call", "fields", "pairs"),
    [
        (("llama", "LlamaModel"), Call(2, 5), {}, 2 * (25 - 15)),  # later tokens
        (("llama", "LlamaModel"), Call(1, 3, 4), {}, 3),
        (("mistral", "MistralModel"), Call(1, 5), {"sliding_window": 2}, 25 - 9),  # and those before a window
        (("llama4_text", "Llama4TextModel"), Call(1, 5), CHUNKS, 25 - 7),
    ],
)
def test_masks_leave_out_pairs(names: tuple[str, str], call: Call, fields: Any, pairs: int) -> None:
    assert left_out(*names, call, **fields) == EACH * pairs


def test_a_bias_is_not_a_mask() -> None:
    raw = {"num_layers": 1, "d_model": 12, "num_heads": 3, "d_kv": 4}
    computed, through = let_through(instance("T5ForConditionalGeneration", raw, "t5"), Call(1, 5, 0, 7, 7))
    assert sum(computed.values()) - sum(through.values()) == EACH * 10


def own_code(**more: Any) -> Any:
    """A model that masks attention in its own code, apart from transformers' masks."""
    raw = {"num_layers": 1, "hidden_size": 12, "num_heads": 3, "vocab_size": 9, **more}
    return instance("GPTNeoModel", {"attention_types": [[["global"], 1]], **raw}, "gpt_neo")


def test_custom_attention_is_measured_by_gradients() -> None:
    for call, pairs in ((Call(2, 5), 2 * 10), (Call(1, 3, 4), 3)):
        computed, through = let_through(own_code(), call)
        assert {name for name in computed if computed[name] != through[name]} == {"h.0.attn.attention"}
        assert computed["h.0.attn.attention"] - through["h.0.attn.attention"] == EACH * pairs


def test_some_masks_cannot_be_measured() -> None:
    with pytest.raises(Unavailable, match="in a large model"):
        let_through(own_code(vocab_size=3_000_000), Call(1, 5))
    with pytest.raises(Unavailable, match="with 2001 positions"):
        let_through(own_code(), Call(1, 2_001))
    raw = {"n_layer": 1, "d_model": 12, "n_head": 3, "d_inner": 4, "vocab_size": 9}
    with pytest.raises(Unavailable, match="its first size is not the batch"):
        let_through(instance("XLNetModel", raw, "xlnet"), Call(1, 5))


def test_eager_attention_is_restored() -> None:
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, eager_mask
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    left_out("llama", "LlamaModel", Call(1, 2))
    assert ALL_MASK_ATTENTION_FUNCTIONS["eager"] is eager_mask
    assert "eager" not in ALL_ATTENTION_FUNCTIONS
