"""Masked FLOPs, static caches and peak temporary memory agree with transformers; altered specs do not."""

from __future__ import annotations

import pytest
from altering import altered

from archspec.specs.library import shipped_library
from archspec.verifying.blame import Config
from archspec.verifying.costs import verify
from archspec.verifying.costs.verify import further_agreeing, working_set_agrees

pytestmark = pytest.mark.reference
SMALL: Config = {"num_hidden_layers": 1, "hidden_size": 12}
SMALL |= {"num_attention_heads": 3, "num_key_value_heads": 3}
CHUNKS: Config = {**SMALL, "attention_chunk_size": 64, "layer_types": ["chunked_attention"], "head_dim": 4}


@pytest.mark.parametrize(
    ("model_type", "architecture", "raw", "expected"),
    [
        ("llama", "LlamaModel", SMALL, ("masked", "static")),
        ("llama4_text", "Llama4TextModel", CHUNKS, ("masked", "static")),
        ("bert", "BertModel", {"num_hidden_layers": 1}, ("masked",)),  # has no cache
    ],
)
def test_which_agree(model_type: str, architecture: str, raw: Config, expected: tuple[str, ...]) -> None:
    assert further_agreeing(shipped_library().load(model_type), architecture, [raw]) == expected


LOCAL = {"hidden_size": 8, "num_heads": 2, "num_layers": 2, "window_size": 4, "vocab_size": 9}
LOCAL |= {"attention_types": [[["global", "local"], 1]]}


def test_masks_in_the_code_of_a_model_are_seen_by_gradients() -> None:
    assert further_agreeing(shipped_library().load("gpt_neo"), "GPTNeoModel", [], [LOCAL]) == ("masked",)
    spec = altered("gpt_neo", 'window_size if kind == "local" else None', "None")
    assert further_agreeing(spec, "GPTNeoModel", [], [LOCAL]) == ()


def test_a_mask_that_differs_is_found_at_any_config() -> None:
    spec = altered("llama4_text", "chunk=chunk", "window=chunk")
    others = [{**SMALL, "layer_types": ["full_attention"], "head_dim": 4}]
    assert further_agreeing(spec, "Llama4TextModel", [], others) == ("masked",)
    assert further_agreeing(spec, "Llama4TextModel", [CHUNKS], others) == ("static",)


def test_peak_memory_agrees_if_each_part_is_the_largest_at_some_config() -> None:
    assert working_set_agrees(shipped_library().load("qwen3"), "Qwen3ForCausalLM", [{"num_hidden_layers": 2}])
    assert working_set_agrees(shipped_library().load("llama"), "LlamaModel", [])


def test_a_part_that_is_never_the_largest_is_not_validated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "_LARGEST", verify._LARGEST[:3])
    assert not working_set_agrees(shipped_library().load("llama"), "LlamaModel", [])


@pytest.mark.parametrize(
    ("model_type", "architecture"),
    [
        ("granite", "GraniteForCausalLM"),  # scales its logits
        ("gemma", "GemmaModel"),  # makes a copy of a norm's weight in float32
        ("helium", "HeliumModel"),  # computes its angles in each layer
        ("gpt2", "GPT2Model"),  # is not described
    ],
)
def test_a_working_set_that_is_another_is_found(model_type: str, architecture: str) -> None:
    assert not working_set_agrees(shipped_library().load(model_type), architecture, [])


def test_a_window_that_static_caches_have_is_found() -> None:
    raw = {**SMALL, "sliding_window": 64}
    assert further_agreeing(shipped_library().load("mistral"), "MistralModel", [raw]) == ("masked", "static")
    spec = altered("mistral", "{window: sliding_window}", "{window: None}")
    assert further_agreeing(spec, "MistralModel", [raw]) == ()
