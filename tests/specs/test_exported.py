"""The index of transformers' own model types and classes, compared with the specs."""

from __future__ import annotations

import pytest

from archspec.specs.exported import exported
from archspec.specs.library import shipped
from archspec.tree.node import auto_class

AUTOS = ("AutoModel", "AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "AutoBackbone")


@pytest.mark.parametrize("auto", AUTOS)
def test_auto_classes_agree_with_transformers(auto: str) -> None:
    wrong = []
    for model_type in shipped().model_types():
        spec, theirs = shipped().load(model_type), exported().get(model_type)
        classes = theirs.classes if theirs else {}
        listed = [name for name, one in classes.items() if auto in one.autos and one.reads == model_type]
        given = auto_class(spec, auto)
        if listed and given is not None and given not in listed and not spec.refuse:
            wrong.append((model_type, given, listed))
    assert wrong == []


def test_classes_and_the_model_types_whose_configs_they_read() -> None:
    llama4 = exported()["llama4"].classes
    assert llama4["Llama4ForCausalLM"].reads == "llama4_text"
    assert llama4["Llama4ForConditionalGeneration"].reads == "llama4"
    assert "hidden_size" in exported()["llama"].fields
    assert exported()["gpt2"].activations == ("activation_function",)
