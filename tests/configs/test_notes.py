"""What a count warns of."""

from __future__ import annotations

from typing import Any

import pytest
from refused import LLAMA

from archspec.configs.notes import notes
from archspec.configs.reader import read_config
from archspec.specs.library import shipped


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"quantization_config": {"bits": 4}}, ["tensors are those of the unquantized model"]),
        ({"auto_map": {"AutoModel": "x.Y"}}, ["auto_map names the checkpoint's code"]),
        ({"architectures": ["LlamaModel", "LlamaForCausalLM"]}, ["architectures names 2 classes"]),
        ({"id2label": {"0": "a"}, "num_labels": 3}, ["id2label has 1 entries, but num_labels is 3"]),
        ({"transformers_version": "4.31.0"}, []),
        ({"transformers_version": "6.0.0.dev0"}, ["the config was written by transformers 6.0.0.dev0"]),
        ({"atention_bias": True}, ["atention_bias is not read; did you mean attention_bias?"]),
        ({"rope_theta": 5, "bos_token_id": 3}, []),
    ],
)
def test_notes(fields: dict[str, Any], expected: list[str]) -> None:
    found = notes(read_config({**LLAMA, **fields}), shipped().load("llama"))
    assert len(found) == len(expected) and all(map(str.startswith, found, expected)), found


def test_notes_on_fields_that_stand_too_high() -> None:
    part = {"model_type": "llama", "vocab_size": 50}
    llava = {"model_type": "llava", "hidden_size": 64, "text_config": part, "vocab_size": 50}
    found = notes(read_config(llava), shipped().load("llava"))
    assert found[0] == "transformers ignores hidden_size at the top level; it reads text_config.hidden_size"
    assert not any("at the top level" in note for note in found[1:]), found


def test_what_the_part_says_itself_is_only_repeated_at_the_top() -> None:
    llava = {"model_type": "llava", "hidden_size": 64, "text_config": LLAMA}
    found = notes(read_config(llava), shipped().load("llava"))
    assert found == ["hidden_size = 64 is not read: llava has no such field"]


def test_sizes_that_no_field_takes_and_configs_that_give_nothing() -> None:
    told = {"model_type": "llama", "hidden_size": 64, "ffn_hidden_size": 9, "max_position_embeddings": 5}
    assert notes(read_config(told), shipped().load("llama")) == [
        "ffn_hidden_size = 9 is not read: llama has no such field"
    ]
    nothing = {"model_type": "llama", "d_model": 64}
    assert notes(read_config(nothing), shipped().load("llama"))[0] == (
        "the config sets no field that llama reads: the count is of its default config"
    )
