"""Configs and forward passes with which classes that take images are compared."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from archspec.costs.records import Call
from archspec.reference.costs import measure
from archspec.reference.verdicts import Unavailable
from archspec.specs.library import shipped_library
from archspec.verifying.costs import instruments
from archspec.verifying.costs.cases import Case, configs
from archspec.verifying.costs.instruments import unequal_modules
from archspec.verifying.costs.media import media_calls, shallow

pytestmark = pytest.mark.reference


def few_layers(model_type: str) -> Any:
    """The default config with few layers."""
    return shallow(model_type, {"model_type": model_type})


def test_few_layers_have_as_many_outputs() -> None:
    assert few_layers("dpt")["backbone_out_indices"] == [0, 1, 2, 3]
    assert few_layers("dpt")["num_hidden_layers"] == 4
    backbone = few_layers("depth_anything")["backbone_config"]
    assert backbone["num_hidden_layers"] == 4
    assert backbone["out_features"] == ["stage1", "stage2", "stage3", "stage4"]
    assert few_layers("vit") == {"model_type": "vit", "num_hidden_layers": 2}


def test_few_layers_keep_the_layers_whose_features_are_merged() -> None:
    assert few_layers("qwen3_vl_vision")["deepstack_visual_indexes"] == [0, 1]


def test_stages_of_different_widths_are_all_kept() -> None:
    assert few_layers("glpn").get("num_encoder_blocks", 4) == 4


def test_the_first_forward_passes_are_of_the_usual_size() -> None:
    raw = few_layers("vit")
    case = Case(shipped_library().load("vit"), "ViTModel", raw)
    found = [call.images for call in media_calls(case.scope, "ViTModel", case.model())]
    assert [len(images) for images in found] == [1, 3, 1, 1]
    assert {*found[0], *found[1]} == {(224, 224)} and (224, 224) not in (*found[2], *found[3])


def test_a_module_whose_child_runs_elsewhere_counts_for_the_one_around_it() -> None:
    """FlopCounterMode does not add the child's FLOPs to a module that does not run at that time."""
    found = {"decoder": 5, "decoder.skip": 7, "encoder": 2}
    assert not [*unequal_modules({"": 7, "decoder": 5 - 7, "decoder.skip": 7, "encoder": 2}, found)]
    assert [*unequal_modules({"": 7, "decoder": 4 - 7, "decoder.skip": 7, "encoder": 2}, found)] == [
        ("", 4, 5)
    ]
    nested = {
        "layers.0.norm": -3,
        "layers.0.norm.inner": 3,
        "": 4,
    }  # `layers` and `layers.0` have no products
    assert not [*unequal_modules(nested, {"layers.0.norm.inner": 3, "": 1})]


def compared_with_a_failure(monkeypatch: pytest.MonkeyPatch, message: str) -> instruments.Comparison:
    """A comparison of a ViT whose forward pass fails at all sizes but one."""
    raw = {"model_type": "vit", "num_hidden_layers": 1, "hidden_size": 24, "intermediate_size": 8}
    case = Case(shipped_library().load("vit"), "ViTModel", {**raw, "num_attention_heads": 2})

    def refuse(model: Any, call: Call) -> Any:
        if (224, 224) not in call.images:
            raise Unavailable(message)
        return measure(model, call)

    monkeypatch.setattr(instruments, "measure", refuse)
    return instruments.compare(instruments.FORWARD, [case])


def test_a_size_that_only_the_spec_takes_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    found = compared_with_a_failure(monkeypatch, "too small")
    assert found.compared == 2
    assert [one.name for one in found.differences] == ["items of 288×256, which the class does not take"]


def test_a_size_for_which_there_is_no_memory_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    found = compared_with_a_failure(monkeypatch, "DefaultCPUAllocator: can't allocate memory: you tried to")
    assert (found.compared, found.differences) == (2, ())


def test_random_configs_resemble_the_default_one_if_no_others_are_valid() -> None:
    spec = shipped_library().load("chameleon")
    default, shallow, *drawn = islice(configs(spec, "ChameleonModel", 1, 0), 4)
    assert drawn == [one for one in drawn if one not in (default, shallow)]
    assert len(drawn) == 2
