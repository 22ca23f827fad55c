"""What StaticCache reserves: full lengths, windows, states in float32; and which classes it does not fit."""

from __future__ import annotations

import pytest

from archspec.costs.records import Call
from archspec.oracle.costs import instance
from archspec.oracle.static_cache import reserved
from archspec.oracle.verdicts import Unavailable

pytestmark = pytest.mark.oracle
SMALL = {"num_hidden_layers": 1, "hidden_size": 12, "num_attention_heads": 3, "num_key_value_heads": 3}


def test_all_positions_or_a_window_are_reserved() -> None:
    model = instance("MistralModel", {**SMALL, "sliding_window": 8}, "mistral")
    assert reserved(model, Call(2, 3, 2)) == {((2, 3, 5, 4), "bfloat16"): 2}
    assert reserved(model, Call(2, 30)) == {((2, 3, 8, 4), "bfloat16"): 2}


def test_a_decoder_s_encoder_is_reserved_too() -> None:
    raw = {"num_layers": 1, "d_model": 12, "num_heads": 3, "d_kv": 4}
    model = instance("T5ForConditionalGeneration", raw, "t5")
    assert reserved(model, Call(1, 5, 0, 7, 7)) == {
        ((1, 3, 5, 4), "bfloat16"): 2,
        ((1, 3, 7, 4), "bfloat16"): 2,
    }


def test_what_takes_no_cache_of_that_kind_is_not_measured() -> None:
    model = instance("XLNetModel", {"n_layer": 1, "d_model": 12, "n_head": 3}, "xlnet")
    with pytest.raises(Unavailable, match="takes no StaticCache"):
        reserved(model, Call(1, 5))
