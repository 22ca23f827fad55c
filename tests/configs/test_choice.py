"""The class that a config stands for, and what is said where it stands for none."""

from __future__ import annotations

from typing import Any

import pytest

from archspec.configs.choice import choose
from archspec.configs.reader import read_config
from archspec.errors import ArchspecError
from archspec.specs.library import shipped

LLAMA = {"model_type": "llama"}
CLIP = {"model_type": "clip", "text_config": {"hidden_size": 64}, "vision_config": {"hidden_size": 32}}


def chosen(config: dict[str, Any], architecture: str | None = None) -> tuple[str, str]:
    return choose(read_config(config), architecture)[:2]


def test_the_architecture_is_the_argument_then_the_configs_then_the_base_model() -> None:
    assert chosen(LLAMA) == ("llama", "LlamaModel")
    for empty in (None, []):
        assert chosen({**LLAMA, "architectures": empty}) == ("llama", "LlamaModel")
    named = {**LLAMA, "architectures": ["LlamaForCausalLM"]}
    assert chosen(named) == ("llama", "LlamaForCausalLM")
    assert chosen(named, "LlamaForTokenClassification") == ("llama", "LlamaForTokenClassification")
    assert chosen({"architectures": ["LlamaForCausalLM"]}) == ("llama", "LlamaForCausalLM")
    assert chosen({}, "LlamaForCausalLM") == ("llama", "LlamaForCausalLM")
    assert chosen({"model_type": "clip_text_model"}) == ("clip_text_model", "CLIPTextModel")


def test_a_base_model_that_nobody_named_is_said() -> None:
    said = choose(read_config(LLAMA)).notes
    assert said == ("neither the config nor you name a class: LlamaModel is counted, without any head",)
    assert choose(read_config(LLAMA), "LlamaModel").notes == ()


def test_a_part_s_class_reads_the_part_as_from_pretrained_does() -> None:
    found = choose(read_config({**CLIP, "architectures": ["CLIPTextModel"]}))
    assert found[:2] == ("clip_text_model", "CLIPTextModel")
    assert found.config.raw == {"hidden_size": 64} and found.config.origin.path == "text_config."
    assert found.notes == (
        "CLIPTextModel is a part of the model: text_config is read, as by CLIPTextModel.from_pretrained",
    )
    llava = {"model_type": "llava", "text_config": {**LLAMA, "hidden_size": 64}}
    assert choose(read_config(llava), "LlamaForCausalLM").config.raw["hidden_size"] == 64


def test_a_class_is_honoured_on_a_foreign_model_type() -> None:
    kimi = {"model_type": "kimi_k2", "architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 64}
    found = choose(read_config(kimi))
    assert found[:2] == ("deepseek_v3", "DeepseekV3ForCausalLM")
    assert "kimi_k2 is not the model type of DeepseekV3ForCausalLM" in found.notes[0]
    assert chosen({**kimi, "auto_map": {"AutoModel": "x.y"}}) == found[:2]
    assert chosen({**LLAMA, "vocab_size": 5}, "MistralForCausalLM") == ("mistral", "MistralForCausalLM")
    with pytest.raises(ArchspecError, match="would use its defaults alone"):
        chosen({"model_type": "kimi_k2", "architectures": ["DeepseekV3ForCausalLM"]})


QWEN_TEXT = {
    "model_type": "qwen3_5_moe_text",
    "architectures": ["Qwen3_5MoeForConditionalGeneration"],
    "hidden_size": 64,
    "num_hidden_layers": 4,
}
BY_AUTO_CLASS: list[tuple[dict[str, Any], str, str]] = [
    (QWEN_TEXT, "Qwen3_5MoeForCausalLM", "AutoModelForCausalLM"),
    ({**QWEN_TEXT, "architectures": ["Qwen3_5MoeModel"]}, "Qwen3_5MoeTextModel", "AutoModel"),
    (
        {"model_type": "gemma3_text", "architectures": ["Gemma3ForConditionalGeneration"]},
        "Gemma3ForCausalLM",
        "AutoModelForCausalLM",
    ),
    ({**LLAMA, "architectures": ["LLaMAForCausalLM"]}, "LlamaForCausalLM", "AutoModelForCausalLM"),
    ({**LLAMA, "architectures": ["LLamaModel"]}, "LlamaModel", "AutoModel"),
    ({"model_type": "gpt2", "architectures": ["GPT2ForCausalLM"]}, "GPT2LMHeadModel", "AutoModelForCausalLM"),
    (
        {"model_type": "xlnet", "architectures": ["TFXLNetLMHeadModel"]},
        "XLNetLMHeadModel",
        "AutoModelForCausalLM",
    ),
    (
        {"model_type": "bert", "architectures": ["MyBertForTokenClassification"]},
        "BertForTokenClassification",
        "AutoModelForTokenClassification",
    ),
]


@pytest.mark.parametrize(("config", "expected", "auto"), BY_AUTO_CLASS)
def test_the_model_type_decides_as_in_the_auto_classes(
    config: dict[str, Any], expected: str, auto: str
) -> None:
    found = choose(read_config(config))
    assert found[:2] == (config["model_type"], expected)
    assert f"{expected} is counted, as {auto} builds it for {config['model_type']}" in found.notes[0]


@pytest.mark.reference
@pytest.mark.parametrize(("config", "expected", "auto"), BY_AUTO_CLASS)
def test_the_auto_class_builds_that_class(config: dict[str, Any], expected: str, auto: str) -> None:
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
def test_an_unclear_class_is_refused(config: dict[str, Any], architecture: str | None) -> None:
    with pytest.raises(ArchspecError):
        choose(read_config(config), architecture)


REFUSED: list[tuple[dict[str, Any], str | None, str, str]] = [
    ({}, None, "config: the config has neither model_type nor architectures", "pass --architecture CLASS"),
    ({"model_type": 3}, None, "config: model_type: the number 3 is not a model type", "pass --architecture"),
    ({"model_type": "lama"}, None, "transformers 5.24.0 has no model type 'lama'", "did you mean llama"),
    (
        {"model_type": "xyzzy", "auto_map": {"a": "b"}},
        None,
        "xyzzy is not a model type of transformers: the checkpoint brings its code (auto_map)",
        "name a class to count it as with --architecture CLASS",
    ),
    (
        {"model_type": "esmfold2"},
        None,
        "esmfold2 is a model type of transformers 5.24.0 without a spec",
        "name a class",
    ),
    (
        {"model_type": "dbrx_ffn_config", "architectures": ["BertModel"]},
        None,
        "BertModel is not an architecture of the model type dbrx_ffn_config, but of bert",
        "pass --set model_type=bert",
    ),
    (
        {"model_type": "dbrx_ffn_config"},
        None,
        "the spec of dbrx_ffn_config has no architectures",
        "pass --architecture",
    ),
    ({**LLAMA, "architectures": "LlamaModel"}, None, "'LlamaModel' is not a list of class names", "write"),
    (
        {**LLAMA, "hidden_size": 64, "architectures": ["LlamaForCausalLMEagle3"]},
        None,
        "transformers 5.24.0 does not export a class LlamaForCausalLMEagle3",
        "pass --architecture LlamaForCausalLM to count that, without the changes of LlamaForCausalLMEagle3",
    ),
    (
        {"model_type": "qwen3", "hidden_size": 64, "architectures": ["DFlashDraftModel"], "auto_map": {}},
        None,
        "does not export a class DFlashDraftModel",
        "pass one of its classes: --architecture Qwen3Model, --architecture Qwen3ForCausalLM",
    ),
    (
        {"architectures": ["TFXLNetLMHeadModel"], "d_model": 64},
        None,
        "does not export a class TFXLNetLMHeadModel: it had one for TensorFlow",
        "pass --architecture XLNetLMHeadModel to count the same model in PyTorch",
    ),
    (
        LLAMA,
        "LLaMAForCausalLM",
        "does not export a class LLaMAForCausalLM",
        "pass --architecture LlamaForCausalLM",
    ),
    (
        {"model_type": "gpt2"},
        "GPT2ForCausalLM",
        "does not export a class GPT2ForCausalLM",
        "GPT2LMHeadModel has the same head: pass --architecture GPT2LMHeadModel",
    ),
    ({"architectures": ["NoModel"]}, None, "5.24.0 does not export a class NoModel", "did you mean"),
    (LLAMA, "LlamaMLP", "LlamaMLP is a part of llama's classes", "with --architecture LlamaModel"),
    (
        {"model_type": "whisper"},
        "WhisperEncoder",
        "WhisperEncoder is a part of whisper's classes that transformers does not export",
        "count the class around it with --architecture WhisperModel",
    ),
    ({"architectures": ["EsmFold2Model"]}, None, "EsmFold2Model is a class of transformers 5.24.0", "list"),
    ({"weight_map": {}, "metadata": {}}, None, "it is the index of a checkpoint's files", "next to it"),
    ({"peft_type": "LORA"}, None, "this is not a model's config: it describes an adapter", "base model's"),
    ({"eos_token_id": 2, "max_length": 9}, None, "it describes how text is generated", "next to it"),
    ({"tokenizer_class": "LlamaTokenizer"}, None, "it describes a tokenizer", "next to it"),
    (
        {"image_processor_type": "CLIPImageProcessor"},
        None,
        "it describes how inputs are prepared",
        "next to it",
    ),
    ({"log_history": [], "epoch": 1}, None, "it is a trainer's state", "next to it"),
    ({"model_cfg": {}, "preprocess_cfg": {}}, None, "it is open_clip's", "same model in transformers"),
    ({"name": "x", "dependencies": {}}, None, "it describes a package", "config.json"),
    ({"dim": 4096, "n_layers": 32, "vocab_size": -1}, None, "weights in another format", "convert"),
]


@pytest.mark.parametrize(("config", "architecture", "message", "help_"), REFUSED)
def test_configs_that_stand_for_nothing(
    config: dict[str, Any], architecture: str | None, message: str, help_: str
) -> None:
    with pytest.raises(ArchspecError) as caught:
        choose(read_config(config), architecture)
    problem = caught.value.problems[0]
    assert message in problem.message
    assert help_ in problem.help


def test_a_model_type_that_is_right_is_never_meant_to_be_another() -> None:
    from archspec.configs.unknown import unknown_type
    from archspec.specs.exported import exported

    for name in exported():
        assert "did you mean" not in " ".join(unknown_type(name, shipped()))


def test_the_type_that_a_class_is_named_after_is_proposed() -> None:
    with pytest.raises(ArchspecError, match=r"of gpt-sw3 and gpt2\n(.*\n)*help: pass --set model_type=gpt2"):
        chosen({"model_type": "bert", "architectures": ["GPT2LMHeadModel"]})
