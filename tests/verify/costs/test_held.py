"""Masked FLOPs and static caches held to transformers, and what an altered spec does to that."""

from __future__ import annotations

from pathlib import Path

import pytest

from archspec.specs.library import shipped
from archspec.specs.records import Spec
from archspec.verify.costs.held import held

pytestmark = pytest.mark.oracle
SMALL = {"num_hidden_layers": 1, "hidden_size": 12, "num_attention_heads": 3, "num_key_value_heads": 3}
CHUNKS = {**SMALL, "attention_chunk_size": 64, "layer_types": ["chunked_attention"], "head_dim": 4}


def altered(tmp_path: Path, model_type: str, old: str, new: str) -> Spec:
    text = Path(shipped().files()[model_type]).read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / f"{model_type}.yaml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return shipped().load_file(str(path))


def test_both_are_held() -> None:
    assert held(shipped().load("llama"), "LlamaModel", [SMALL]) == ("masked", "static", "working_set")
    assert held(shipped().load("llama4_text"), "Llama4TextModel", [CHUNKS]) == ("masked", "static")


def test_a_class_without_a_cache_has_no_static_one() -> None:
    assert held(shipped().load("bert"), "BertModel", [{"num_hidden_layers": 1}]) == ("masked",)


def test_a_mask_that_is_another_is_found(tmp_path: Path) -> None:
    spec = altered(tmp_path, "llama4_text", "chunk=chunk", "window=chunk")
    assert held(spec, "Llama4TextModel", [CHUNKS]) == ("static",)


def test_a_working_set_that_is_another_is_found() -> None:
    spec, wide = shipped().load("granite"), {**SMALL, "intermediate_size": 4, "vocab_size": 9000}
    assert held(spec, "GraniteModel", [wide], ("working_set",)) == ("working_set",)
    assert held(spec, "GraniteForCausalLM", [wide], ("working_set",)) == ()  # scales its logits
    assert held(spec, "GraniteModel", [], ("working_set",)) == ()


def test_only_what_is_asked_for_is_held() -> None:
    assert held(shipped().load("llama"), "LlamaModel", [SMALL], ("static",)) == ("static",)


def test_a_window_that_static_caches_have_is_found(tmp_path: Path) -> None:
    raw = {**SMALL, "sliding_window": 64}
    assert held(shipped().load("mistral"), "MistralModel", [raw]) == ("masked", "static", "working_set")
    spec = altered(tmp_path, "mistral", "{window: sliding_window}", "{window: None}")
    assert held(spec, "MistralModel", [raw]) == ("working_set",)  # of calls within the window
