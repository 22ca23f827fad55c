"""Quantizations that configs state are counted or refused, whatever their keys say."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

import pytest

import archspec
from archspec.errors import ArchspecError
from archspec.formats.methods import METHODS
from tools.fuzz.configs import QUANTIZATIONS, mutate

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "dtype": "bfloat16",
    "vocab_size": 512,
    "hidden_size": 256,
    "intermediate_size": 384,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
}
MIXTRAL = {**LLAMA, "model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "num_local_experts": 4}


@pytest.mark.parametrize(("key", "value"), QUANTIZATIONS, ids=lambda one: str(one)[:60])
def test_mutated_quantizations_are_counted_or_refused(key: str, value: dict[str, Any]) -> None:
    """None is ignored: bytes of full precision are never reported for a config that states a quantization."""
    for seed in range(40):
        chosen = random.Random(seed)
        raw = deepcopy(chosen.choice((LLAMA, MIXTRAL)))
        stated = deepcopy(value)
        for _ in range(seed % 4):
            mutate(stated, chosen)
        raw[key] = stated
        model = archspec.load(raw)
        counts = model.counts()
        try:
            weights = model.weights()
            table = weights.table
        except ArchspecError:
            assert counts.bytes is None, stated
            continue
        if weights.scheme is None:  # the keys left say nothing of weights
            assert not stated.get("quant_algo") and stated.get("quant_method") in (None, "modelopt"), stated
            assert stated == {} or stated.get("quant_method") == "modelopt"
        else:
            assert table[0].elements > 0 and counts.bytes == weights.bytes != 2 * model.params


@pytest.mark.reference
def test_every_method_of_transformers_is_counted_or_refused() -> None:
    from transformers.quantizers.auto import AUTO_QUANTIZATION_CONFIG_MAPPING

    for method in [*AUTO_QUANTIZATION_CONFIG_MAPPING, "a new one"]:
        model = archspec.load({**LLAMA, "quantization_config": {"quant_method": method, "bits": 4}})
        if method in METHODS and model.counts().bytes is not None:
            assert model.weights().table[0].elements > 0
        else:
            assert "bytes are not reported" in model.counts().notes[-1]
            with pytest.raises(ArchspecError):
                model.params_bytes()


@pytest.mark.reference
def test_every_key_that_transformers_writes_is_known() -> None:
    import transformers

    written = [
        transformers.BitsAndBytesConfig(load_in_8bit=True),
        transformers.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_use_double_quant=True),
        transformers.GPTQConfig(bits=4),
        transformers.AwqConfig(),
        transformers.FineGrainedFP8Config(),
    ]
    for one in written:
        given = {**one.to_dict()}
        given["quant_method"] = str(getattr(given["quant_method"], "value", given["quant_method"]))
        given = {key: getattr(value, "value", value) for key, value in given.items()}
        found = archspec.load({**LLAMA, "quantization_config": given}).weights()
        assert found.table[0].elements == 2 * (2 * 256 * 256 + 2 * 128 * 256 + 3 * 256 * 384)
