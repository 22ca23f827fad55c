"""Adapters against peft's `get_peft_model` on the meta device: names, shapes and requires_grad."""

from __future__ import annotations

import re
from typing import Any

import pytest
from adapters.cases import ADAPTERS, REJECTED, TINY

import archspec
from archspec.reference.construction import build_class

pytestmark = [pytest.mark.reference, pytest.mark.filterwarnings("ignore")]


def adapted(name: str, options: dict[str, Any]) -> Any:
    """Return peft's model of a class."""
    import torch
    from peft import LoraConfig, get_peft_model

    model = archspec.load(name, set=TINY[name])
    with torch.device("meta"):
        built = build_class(name, {"model_type": model.model_type, **TINY[name]}, model.model_type)
        return get_peft_model(built, LoraConfig(**options))


@pytest.mark.parametrize(("name", "options"), ADAPTERS)
def test_tensors_are_those_of_peft(name: str, options: dict[str, Any]) -> None:
    from peft import get_peft_model_state_dict

    model, ours = adapted(name, options), archspec.load(name, set=TINY[name]).lora(**options)
    expected = {key: (tuple(one.shape), one.requires_grad) for key, one in model.named_parameters()}
    assert {one.name: (one.shape, one.trainable) for one in ours.tensors(frozen=True)} == expected
    assert model.get_nb_trainable_parameters() == (ours.trainable_params, ours.params)
    saved = get_peft_model_state_dict(model, save_embedding_layers=False)
    assert {one.saved_name for one in ours.tensors()} <= {*saved}


@pytest.mark.parametrize(("name", "options"), [case[:2] for case in REJECTED])
def test_peft_rejects_the_same_options(name: str, options: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError, IndexError, re.error)):
        adapted(name, options)
