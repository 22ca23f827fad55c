"""The fields of a model are those that can be set, with their values in the config."""

from __future__ import annotations

import subprocess
import sys

import pytest

import archspec

CONFIG = {
    "model_type": "llava",
    "text_config": {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4},
    "vision_config": {"model_type": "clip_vision_model", "num_hidden_layers": 3},
}


def test_values_are_given_or_defaults() -> None:
    fields = archspec.load(CONFIG).fields
    names = ("hidden_size", "intermediate_size", "num_key_value_heads")
    hidden, inner, heads = (fields[f"text_config.{name}"] for name in names)
    assert (hidden.value, hidden.given, hidden.types) == (64, True, ("int",))
    assert (inner.value, inner.given, inner.computed) == (11008, False, False)
    assert (heads.value, heads.given, heads.computed) == (4, False, True)
    assert fields["vision_config.num_hidden_layers"].value == 3
    labels = archspec.load({"model_type": "bert", "id2label": {"0": "a", "1": "b", "2": "c"}}).fields
    assert (labels["num_labels"].value, labels["num_labels"].given) == (3, True)
    assert archspec.load("Wav2Vec2Model").fields["feat_extract_norm"].choices == ("group", "layer")


def test_each_can_be_set_by_its_path() -> None:
    model = archspec.load(CONFIG)
    assert {model.with_fields({one.field: one.value}).params for one in model.fields} == {model.params}
    layers = "text_config.num_hidden_layers"
    assert model.with_fields({layers: 2}).fields[layers].given


def test_a_field_has_the_name_that_the_config_gives_it() -> None:
    model = archspec.load({"model_type": "gpt2", "num_hidden_layers": 2})
    assert model.fields["num_hidden_layers"].value == 2
    assert model.fields["num_hidden_layers"].symbol in model.formula.symbols
    with pytest.raises(KeyError):
        model.fields["n_layer"]


def test_a_class_of_a_part_has_the_fields_of_the_part() -> None:
    config = {"model_type": "clip", "text_config": {"model_type": "clip_text_model", "hidden_size": 64}}
    model = archspec.load(config, "CLIPTextModel")
    assert "vision_config.hidden_size" not in [one.field for one in model.fields]
    assert model.with_fields({"text_config.hidden_size": 128}).params > model.params


def test_they_need_no_sympy() -> None:
    code = "import sys, archspec; archspec.load('llava').fields.as_json(); print('sympy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
