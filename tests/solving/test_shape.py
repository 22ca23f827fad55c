"""The fields of a shape by their roles, and the roles of notation.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.errors import SpecError
from archspec.render import notation
from archspec.solving.shape import part_of, parts_of


def test_fields_have_roles() -> None:
    found = notation.roles()
    assert {*found.values()} == {*notation.ROLES}
    wanted = {
        "hidden_size": "width",
        "decoder_layers": "decoder depth",
        "dim_feedforward": "feed-forward width",
        "moe_intermediate_size": "feed-forward width",
        "num_global_key_value_heads": "key-value heads",
        "expert_layer_period": "layer period",
        "max_position_embeddings": "context",
        "sliding_window": "constant",
    }
    assert {name: found[name] for name in wanted} == wanted
    assert "hidden_dim" not in notation.standard_glyphs() and "hidden_dim" not in notation.symbol_places()


def test_an_unknown_role_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notation.yaml"
    path.write_text("V: {latex: V, role: words, fields: [vocab_size]}\n")
    with pytest.raises(SpecError, match="unknown role 'words'") as refusal:
        notation.entries(str(path))
    assert "choose from: width, embedding width" in str(refusal.value)


def test_the_fields_of_a_shape_are_found_by_their_roles() -> None:
    def found(architecture: str) -> Any:
        return part_of(archspec.load(architecture).scope)

    t5, distilbert, whisper = map(found, ("T5ForConditionalGeneration", "DistilBertModel", "WhisperModel"))
    assert t5[2:] == ("d_model", ("num_layers",), ("num_heads",), (), ("d_ff",))
    assert distilbert[2:] == ("dim", ("n_layers",), ("n_heads",), (), ("hidden_dim",))
    assert found("MixtralForCausalLM").key_value_pairs == [("num_attention_heads", "num_key_value_heads")]
    assert whisper.depths == ("encoder_layers", "decoder_layers") and not whisper.key_value_heads
    assert found("MobileBertModel").feed_forward == ("intermediate_size",)
    assert found("ResNetModel") is None
    clip = parts_of(archspec.load("CLIPModel").scope)
    assert [one.prefix for one in clip] == ["text_config.", "vision_config."]
