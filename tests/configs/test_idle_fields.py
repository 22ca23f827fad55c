"""Fields that no count depends on: all of them are accepted, and transformers counts the same."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import archspec
from archspec.configs.overrides import idle_fields
from archspec.configs.reader import read_config
from archspec.specs.exported import config_fields, former_fields
from archspec.specs.library import shipped_library

TYPES = (
    *("openai-gpt", "gpt2", "bert", "xlnet", "ctrl", "distilbert", "roberta", "t5", "bart", "electra"),
    *("deberta-v2", "vit", "wav2vec2", "clip_text_model", "opt", "bloom", "whisper", "llama", "falcon"),
    *("mamba", "mixtral", "phi3", "gemma3_text", "deepseek_v3", "qwen3_next"),
)
VALUES = {"int": 3, "float": 0.25, "bool": True, "list": None, "dict": None, "str": None, "any": 0.5}
CHOOSES = ("architectures", "id2label")  # of a class


def idle(model_type: str) -> dict[str, Any]:
    """The fields of a model type that its spec does not have, each with a value of its kind."""
    spec, config = shipped_library().load(model_type), read_config({"model_type": model_type})
    kinds = {**dict.fromkeys(former_fields(model_type), "any"), **config_fields(model_type)}
    firsts = {name: kind.split(" | ")[0].split("[")[0] for name, kind in kinds.items()}
    plain = {name: VALUES[first] for name, first in firsts.items() if VALUES.get(first) is not None}
    return {name: plain[name] for name in idle_fields(spec, plain, config) if name not in CHOOSES}


@pytest.mark.parametrize("model_type", TYPES)
def test_all_are_accepted_at_once(model_type: str) -> None:
    fields = idle(model_type)
    model = archspec.load(model_type, set=fields)
    assert len(fields) > 20
    assert model.params == archspec.load(model_type).params
    assert {note.split()[0] for note in model.idle} == fields.keys()


def test_unknown_names_and_types_are_refused() -> None:
    for model_type in TYPES:
        with pytest.raises(archspec.ArchspecError, match=f"{model_type} has no field droput"):
            archspec.load(model_type, set={"droput": 0.1})
    with pytest.raises(archspec.ArchspecError, match="layer_norm_epsilon must be a float, not"):
        archspec.load("gpt2", set={"layer_norm_epsilon": "x"})


@pytest.mark.reference
@pytest.mark.parametrize("model_type", ["gpt2", "bert", "t5", "xlnet", "llama", "opt", "mamba", "phi3"])
def test_transformers_counts_the_same_with_them(model_type: str) -> None:
    import torch
    import transformers

    own, small = transformers.CONFIG_MAPPING[model_type], {"num_hidden_layers": 2}
    cls = getattr(transformers, shipped_library().load(model_type).architectures[0])
    kinds = config_fields(model_type)
    fields = {name: value for name, value in idle(model_type).items() if kinds.get(name) in ("int", "float")}
    for name in Random(7).sample(sorted(fields), min(6, len(fields))):
        with torch.device("meta"):
            built = cls(own(**small, **{name: fields[name]}))
        theirs = sum(parameter.numel() for parameter in built.parameters())
        assert archspec.load({"model_type": model_type, **small}, set={name: fields[name]}).params == theirs
