"""The class that a config is counted as, and the help for a config that names none."""

from __future__ import annotations

from typing import Any

import pytest

import archspec
from archspec.configs.choice import choose
from archspec.configs.reader import read_config
from archspec.errors import ArchspecError
from archspec.specs.library import shipped_library

Raw = dict[str, Any]


def of(model_type: str, architecture: str) -> Raw:
    """A config that names a model type and a class."""
    return {"model_type": model_type, "architectures": [architecture]}


LLAMA = {"model_type": "llama"}
NAMED = of("llama", "LlamaForCausalLM")
KIMI = of("kimi_k2", "DeepseekV3ForCausalLM")
CHOSEN: list[tuple[Raw, str | None, str, str]] = [
    (LLAMA, None, "llama", "LlamaModel"),
    ({**LLAMA, "architectures": None}, None, "llama", "LlamaModel"),
    ({**LLAMA, "architectures": []}, None, "llama", "LlamaModel"),
    (NAMED, None, "llama", "LlamaForCausalLM"),
    (NAMED, "LlamaForTokenClassification", "llama", "LlamaForTokenClassification"),
    ({"architectures": ["LlamaForCausalLM"]}, None, "llama", "LlamaForCausalLM"),
    ({}, "LlamaForCausalLM", "llama", "LlamaForCausalLM"),
    ({"model_type": "clip_text_model"}, None, "clip_text_model", "CLIPTextModel"),
    ({**KIMI, "hidden_size": 64}, None, "deepseek_v3", "DeepseekV3ForCausalLM"),
    ({**KIMI, "hidden_size": 64, "auto_map": {"a": "b"}}, None, "deepseek_v3", "DeepseekV3ForCausalLM"),
    ({**LLAMA, "vocab_size": 5}, "MistralForCausalLM", "mistral", "MistralForCausalLM"),
]


def chosen(config: Raw, architecture: str | None = None) -> tuple[str, str]:
    return choose(read_config(config), architecture)[:2]


@pytest.mark.parametrize(("config", "architecture", "model_type", "expected"), CHOSEN)
def test_the_argument_the_config_or_the_base_model_decides(
    config: Raw, architecture: str | None, model_type: str, expected: str
) -> None:
    assert chosen(config, architecture) == (model_type, expected)


def test_notes_on_the_choice() -> None:
    assert choose(read_config(LLAMA)).notes == (
        "the config names no class: counting LlamaModel (no head); choose another with architecture=CLASS",
    )
    assert choose(read_config(LLAMA), "LlamaModel").notes == ()
    [note] = choose(read_config({**KIMI, "hidden_size": 64})).notes
    assert "there is no spec for the model type kimi_k2: counting DeepseekV3ForCausalLM" in note


def test_a_class_of_a_part_reads_the_part() -> None:
    clip = {"model_type": "clip", "text_config": {"hidden_size": 64}, "vision_config": {"hidden_size": 32}}
    found = choose(read_config({**clip, "architectures": ["CLIPTextModel"]}))
    assert found[:2] == ("clip_text_model", "CLIPTextModel")
    assert found.config.raw == {"hidden_size": 64} and found.config.origin.path == "text_config."
    assert found.notes == (
        "CLIPTextModel is a part of the model: only text_config is read, as by CLIPTextModel.from_pretrained",
    )
    llava = {"model_type": "llava", "text_config": {**LLAMA, "hidden_size": 64}}
    assert choose(read_config(llava), "LlamaForCausalLM").config.raw["hidden_size"] == 64


QWEN_TEXT = of("qwen3_5_moe_text", "Qwen3_5MoeForConditionalGeneration")
QWEN_TEXT |= {"hidden_size": 64, "num_hidden_layers": 4}
BY_AUTO_CLASS: list[tuple[Raw, str, str]] = [
    (QWEN_TEXT, "Qwen3_5MoeForCausalLM", "AutoModelForCausalLM"),
    ({**QWEN_TEXT, "architectures": ["Qwen3_5MoeModel"]}, "Qwen3_5MoeTextModel", "AutoModel"),
    (of("gemma3_text", "Gemma3ForConditionalGeneration"), "Gemma3ForCausalLM", "AutoModelForCausalLM"),
    (of("llama", "LLaMAForCausalLM"), "LlamaForCausalLM", "AutoModelForCausalLM"),
    (of("llama", "LLamaModel"), "LlamaModel", "AutoModel"),
    (of("gpt2", "GPT2ForCausalLM"), "GPT2LMHeadModel", "AutoModelForCausalLM"),
    (of("xlnet", "TFXLNetLMHeadModel"), "XLNetLMHeadModel", "AutoModelForCausalLM"),
    (
        of("bert", "MyBertForTokenClassification"),
        *("BertForTokenClassification", "AutoModelForTokenClassification"),
    ),
]


@pytest.mark.parametrize(("config", "expected", "auto"), BY_AUTO_CLASS)
def test_the_model_type_decides_as_in_the_auto_classes(config: Raw, expected: str, auto: str) -> None:
    found = choose(read_config(config))
    assert found[:2] == (config["model_type"], expected)
    assert f": counting {expected}, the {auto} class for {config['model_type']}" in found.notes[0]


@pytest.mark.reference
@pytest.mark.parametrize(("config", "expected", "auto"), BY_AUTO_CLASS)
def test_the_auto_class_builds_that_class(config: Raw, expected: str, auto: str) -> None:
    import torch
    import transformers

    values = {name: value for name, value in config.items() if name != "model_type"}
    built = transformers.AutoConfig.for_model(config["model_type"], **values)
    with torch.device("meta"):
        assert type(getattr(transformers, auto).from_config(built)).__name__ == expected


@pytest.mark.parametrize(
    ("config", "architecture"),
    [
        ({**QWEN_TEXT, "text_config": {"hidden_size": 32}}, None),  # nested: the type and the fields disagree
        ({**LLAMA, "architectures": ["LlamaForCausalLM2"], "auto_map": {"AutoModel": "x.y"}}, None),
        ({**LLAMA, "architectures": ["BertForMaskedLM"]}, None),
        (LLAMA, "MyLlamaForCausalLM"),
    ],
)
def test_an_unclear_class_is_refused(config: Raw, architecture: str | None) -> None:
    with pytest.raises(ArchspecError):
        choose(read_config(config), architecture)


EXPORT = "transformers 5.24.0 has no class "
NEITHER = "the config has neither model_type nor architectures"
MODEL, HEAD = "architecture='LlamaModel'", "architecture='LlamaForCausalLM'"
REFUSED: list[tuple[Raw, str | None, str, str]] = [
    ({}, None, NEITHER, "pass architecture=CLASS"),
    (
        {"peft_type": "LORA", "base_model_name_or_path": "org/model"},
        None,
        "an adapter",
        "config of org/model",
    ),
    ({"dim": 64, "n_layers": 2, "norm_eps": 1e-5}, None, "this is a params.json", "the model's config.json"),
    (
        {"_class_name": "UNet2DConditionModel"},
        "LlamaModel",
        "a model of diffusers",
        "a model of transformers",
    ),
    (LLAMA, "a/config.json", "a/config.json is not a class name", "run archspec list"),
    ({"model_type": 3}, None, "model_type must be a model type, not the number 3", "pass architecture=CLASS"),
    ({"model_type": "lama"}, None, "5.24.0 has no model type 'lama'", "did you mean llama, mllama or"),
    (
        {"model_type": "xyzzy", "auto_map": {}},
        *(None, "xyzzy is custom code in the checkpoint (auto_map)", "or specs=DIR"),
    ),
    ({"model_type": "esmfold2"}, None, "there is no spec for the model type esmfold2", ""),
    (KIMI, None, "sets no field of deepseek_v3", "pass a config of deepseek_v3"),
    (
        of("dbrx_ffn_config", "BertModel"),
        *(None, "BertModel is not a class of the model type dbrx_ffn_config, but of bert"),
        "pass a config of bert",
    ),
    (
        of("bert", "GPT2LMHeadModel"),
        *(None, "of gpt-sw3 and gpt2", "pass architecture with a class of bert, e.g. BertModel"),
    ),
    ({"model_type": "dbrx_ffn_config"}, None, "is not a model by itself: it is a part of dbrx", "list dbrx"),
    (
        {**LLAMA, "architectures": "LlamaModel"},
        None,
        "must be a list of class names, not 'LlamaModel'",
        "write",
    ),
    ({**LLAMA, "hidden_size": 64, "architectures": ["LlamaForCausalLMEagle3"]}, None, EXPORT, HEAD),
    (
        {**of("qwen3", "DFlashDraftModel"), "hidden_size": 64, "auto_map": {}},
        *(None, "DFlashDraftModel is custom code in the checkpoint (auto_map)"),
        "did you mean architecture='Qwen3Model' or architecture='Qwen3ForCausalLM'?",
    ),
    (
        {"architectures": ["TFXLNetLMHeadModel"], "d_model": 64},
        None,
        EXPORT,
        "architecture='XLNetLMHeadModel'",
    ),
    (LLAMA, "LLaMAForCausalLM", f"{EXPORT}LLaMAForCausalLM", HEAD),
    ({"model_type": "gpt2"}, "GPT2ForCausalLM", EXPORT, "architecture='GPT2LMHeadModel'"),
    ({"architectures": ["NoModel"]}, None, f"{EXPORT}NoModel", "did you mean"),
    (LLAMA, "LlamaMLP", "is a part of llama's classes that transformers does not export", MODEL),
    ({"architectures": ["EsmFold2Model"]}, None, "there is no spec for the class EsmFold2Model", "list"),
]


@pytest.mark.parametrize(("config", "architecture", "message", "help_"), REFUSED)
def test_configs_without_a_class(config: Raw, architecture: str | None, message: str, help_: str) -> None:
    with pytest.raises(ArchspecError) as caught:
        choose(read_config(config), architecture)
    problem = caught.value.problems[0]
    assert message in problem.message
    assert help_ in problem.help


def test_a_model_type_of_transformers_is_never_corrected() -> None:
    from archspec.configs.unknown import unknown_type
    from archspec.specs.exported import exported_types

    assert not any("did you mean" in unknown_type(name, shipped_library())[1] for name in exported_types())


def test_a_part_of_a_default_config_is_counted() -> None:
    named = {"model_type": "clip", "architectures": ["CLIPTextModel"]}
    assert archspec.load(named).params == 63_165_952
    assert archspec.load("apertus1p5", "Apertus1p5TextForCausalLM").params == 8_091_086_912


def test_a_config_of_distilbert_is_not_taken_for_a_params_json() -> None:
    given = {"architectures": ["DistilBertModel"], "dim": 24, "hidden_dim": 8, "n_heads": 2, "n_layers": 2}
    assert archspec.load(given).model_type == "distilbert"
