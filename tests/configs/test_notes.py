"""The notes on a config that is counted."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from refused import LLAMA

import archspec
from archspec.configs.notes import notes
from archspec.configs.reader import read_config
from archspec.specs.library import shipped_library

BARE = {"model_type": "llama"}
FALCON = {"model_type": "falcon", "hidden_size": 8192, "n_head": 128, "n_head_kv": 8, "n_layer": 60}
LLAVA = {"model_type": "llava", "hidden_size": 64}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (LLAMA, []),
        ({**LLAMA, "quantization_config": {"bits": 4}}, ["parameters and modules are unquantized"]),
        ({**LLAMA, "auto_map": {"AutoModel": "x.Y"}}, ["the checkpoint has custom code (auto_map)"]),
        ({**LLAMA, "architectures": ["LlamaModel", "LlamaForCausalLM"]}, ["the config lists 2 classes"]),
        ({**LLAMA, "id2label": {"0": "a"}, "num_labels": 3}, ["id2label has 1 entries, but num_labels is 3"]),
        ({**LLAMA, "transformers_version": "4.31.0"}, []),
        ({**LLAMA, "transformers_version": "6.0.0.dev0"}, ["the config was written by transformers 6.0.0.d"]),
        ({**LLAMA, "atention_bias": True}, ["atention_bias is ignored; did you mean attention_bias?"]),
        ({**LLAMA, "rope_theta": 5, "bos_token_id": 3}, []),
        ({**LLAVA, "text_config": {**BARE, "vocab_size": 50}}, ["hidden_size is ignored at the top level"]),
        ({**LLAVA, "text_config": LLAMA}, ["hidden_size = 64 is ignored: llava has no such field"]),
        (
            {**BARE, "hidden_size": 64, "ffn_hidden_size": 9, "max_position_embeddings": 5},
            ["ffn_hidden_size = 9 is ignored: llama has no such field"],
        ),
        ({**BARE, "rope_theta": 5}, ["no field of this config affects parameter counts"]),
    ],
)
def test_notes(config: dict[str, Any], expected: list[str]) -> None:
    found = notes(read_config(config), shipped_library().load(config["model_type"]))
    assert len(found) == len(expected) and all(map(str.startswith, found, expected)), found


def test_notes_on_bytes_are_about_the_bytes_that_are_reported() -> None:
    unknown = {**LLAMA, "quantization_config": {"quant_method": "new"}}
    assert not any("bytes" in note for note in archspec.load(unknown).counts(dtype="bf16").notes)
    notes_on_bytes = [note for note in archspec.load(unknown).counts().notes if "bytes" in note]
    assert len(notes_on_bytes) == 1 and notes_on_bytes[0].startswith("bytes are not reported")


@pytest.mark.parametrize(
    ("config", "refused"),
    [
        (BARE, False),
        ({**BARE, "_name_or_path": "x", "dtype": "float16"}, False),
        ({**BARE, "rope_theta": 5}, False),
        ({**BARE, "use_mup": True, "vocab_size": 8}, False),
        ({**BARE, "use_mup": True}, True),
        ({**BARE, "use_mup": True, "dtype": "float16", "auto_map": {}}, True),
    ],
)
def test_a_config_without_a_field_of_its_type_is_refused(config: dict[str, Any], refused: bool) -> None:
    for use in (lambda: archspec.load(config), lambda: archspec.sweep(config, {"rope_theta": [2]})):
        with pytest.raises(archspec.ArchspecError, match="a field of llama") if refused else nullcontext():
            use()


def test_settings_replace_what_is_not_read() -> None:
    """A field that is set is read, in a count as in a sweep."""
    assert archspec.load({**BARE, "use_mup": True}, set={"vocab_size": 8}).params == 6_476_304_384
    fields = {"num_attention_heads": [128], "num_kv_heads": [8], "num_hidden_layers": [1, 2]}
    assert len([*archspec.sweep(FALCON, fields).rows()]) == 2
    with pytest.raises(archspec.ArchspecError, match="ignores n_head and n_head_kv"):
        archspec.sweep(FALCON, {"num_hidden_layers": [1, 2]})
