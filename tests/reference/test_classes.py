"""The classes of transformers, and their refusals."""

from __future__ import annotations

import subprocess
import sys

import pytest

from archspec.reference import Refused, Unavailable, auto_classes, config_class, config_of, transformers_rows
from archspec.reference.classes import exported_classes
from archspec.specs.exported import ACTIVATIONS
from archspec.specs.exported import exported_types as shipped_types
from tools.from_transformers import activations, types_are_stale

pytestmark = pytest.mark.reference


def test_every_class_of_transformers_is_listed() -> None:
    assert len(auto_classes()) == 1606
    assert auto_classes()["bert", "BertForPreTraining"] == ("AutoModelForPreTraining",)
    found = exported_classes()
    assert len({architecture for _, architecture in found}) == 1761
    assert found["clip_text_model", "CLIPTextModelWithProjection"].autos == ("no auto class",)
    assert found["llama4", "Llama4ForCausalLM"].reads == "llama4_text"
    assert not any(architecture == "BartPretrainedModel" for _, architecture in found)


def test_the_shipped_lists_are_those_of_transformers() -> None:
    from transformers.activations import ACT2FN

    assert not types_are_stale()
    assert {*ACT2FN} == ACTIVATIONS


@pytest.mark.parametrize(
    ("model_type", "named"),
    [("llama", ["hidden_act"]), ("bert", ["hidden_act"]), ("gpt2", ["activation_function"])],
)
def test_activations_that_a_class_looks_up_are_found(model_type: str, named: list[str]) -> None:
    assert [*activations(model_type, [])] == named == [*shipped_types()[model_type].activations]


@pytest.mark.parametrize("model_type", ["coarse_acoustics", "qwen3_omni_moe_code2wav"])
def test_config_classes_that_no_auto_class_knows_are_found(model_type: str) -> None:
    assert config_class(model_type)().to_dict()


def test_missing_packages_are_unavailable_and_bad_sizes_are_refused() -> None:
    with pytest.raises(Unavailable, match="detectron2"):
        transformers_rows("LayoutLMv2Model", {"model_type": "layoutlmv2"}, "layoutlmv2")
    with pytest.raises(Unavailable, match="no config class"):
        config_of("no_such_type", {})
    with pytest.raises(Refused, match="multiple of the number of attention heads") as refusal:
        transformers_rows("BertModel", {"model_type": "bert", "hidden_size": 25}, "bert")
    assert refusal.value.owners[0] == "BertSelfAttention"
    # A class without a constructor is followed by its parent.
    raw = {"model_type": "data2vec-vision", "num_attention_heads": 7, "num_hidden_layers": 1}
    with pytest.raises(Refused) as refusal:
        transformers_rows("Data2VecVisionModel", raw, "data2vec-vision")
    assert set(refusal.value.owners[:2]) == {"Data2VecVisionSelfAttention", "Data2VecVisionSdpaSelfAttention"}


def test_constructors_print_nothing() -> None:
    """PE prints which docstrings it lacks, the first time that a process builds it."""
    code = (
        "from archspec.reference.construction import transformers_rows\n"
        "raw = {'model_type': 'pe_video'}\n"
        "print(len(transformers_rows('PeVideoModel', raw, 'pe_video')) > 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
