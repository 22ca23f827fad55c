"""Adapters of IA3, VeRA, prompt and prefix tuning whose tensors were recorded from peft."""

from __future__ import annotations

from typing import Any

import archspec

_LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "num_decoder_layers", "encoder_layers")
_LAYERS += ("decoder_layers", "n_layers")
_DECODERS = [
    "StableLmForCausalLM",
    "Olmo2ForCausalLM",
    "LlamaForCausalLM",
    "MistralForCausalLM",
    "MixtralForCausalLM",
    "GPT2LMHeadModel",
    "GPTNeoXForCausalLM",
    "GPTJForCausalLM",
    "OPTForCausalLM",
    "BloomForCausalLM",
    "FalconForCausalLM",
    "PhiForCausalLM",
    "GemmaForCausalLM",
    "Gemma2ForCausalLM",
    "Gemma3ForCausalLM",
    "Qwen2ForCausalLM",
    "Qwen3ForCausalLM",
]
_CLASSIFIERS = ["LlamaForSequenceClassification", "BertForSequenceClassification"]
_CLASSIFIERS += ["RobertaForSequenceClassification", "DebertaV2ForSequenceClassification"]
_DUAL = ["T5ForConditionalGeneration", "MT5ForConditionalGeneration", "BartForConditionalGeneration"]
_OTHERS = {"BertForTokenClassification": "TOKEN_CLS", "RobertaModel": "FEATURE_EXTRACTION"}
_OTHERS |= {"DebertaForQuestionAnswering": "QUESTION_ANS"}
_TASKS = {**dict.fromkeys(_DECODERS, "CAUSAL_LM"), **dict.fromkeys(_CLASSIFIERS, "SEQ_CLS")}
_TASKS |= {**dict.fromkeys(_DUAL, "SEQ_2_SEQ_LM"), **_OTHERS}
_WITH_TARGETS = [
    "ViTForImageClassification",
    "Dinov2Model",
    "CLIPModel",
    "SiglipVisionModel",
    "WhisperForConditionalGeneration",
    "ConvNextModel",
    "Wav2Vec2Model",
    "MambaForCausalLM",
    "LlavaForConditionalGeneration",
    "Qwen3MoeForCausalLM",
    "ModernBertModel",
    "GPTNeoForCausalLM",
    "GPTBigCodeForCausalLM",
]
_VERA: dict[str, Any] = {"peft_type": "VERA"}
_IA3: dict[str, Any] = {"peft_type": "IA3"}
_PROMPT: dict[str, Any] = {"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 7}
_PREFIX: dict[str, Any] = {"peft_type": "PREFIX_TUNING", "num_virtual_tokens": 7}
_CAUSAL = {"task_type": "CAUSAL_LM"}
_LINEAR: dict[str, Any] = {"target_modules": "all-linear"}


def _defaults(name: str, task: str) -> list[tuple[str, dict[str, Any]]]:
    """Return one adapter of each kind."""
    return [(name, {**kind, "task_type": task}) for kind in (_IA3, _VERA, _PROMPT, _PREFIX)]


CASES: list[tuple[str, dict[str, Any]]] = [
    *(case for name, task in _TASKS.items() for case in _defaults(name, task)),
    *((name, {**_VERA, **_LINEAR, "r": 5}) for name in _WITH_TARGETS),
    *((name, {**_IA3, **_LINEAR, "feedforward_modules": ["fc2", "down_proj"]}) for name in _WITH_TARGETS),
    *(("GPT2LMHeadModel", {**kind, **_LINEAR}) for kind in (_IA3, _VERA)),
    (
        "ConvNextModel",
        {**_IA3, "target_modules": r".*(dwconv|downsampling_layer\.1)", "feedforward_modules": []},
    ),
    ("ConvNextModel", {**_IA3, "target_modules": ["dwconv"], "feedforward_modules": r".*layers\.0\..*"}),
    ("ConvNextModel", {**_VERA, "target_modules": ["dwconv"]}),
    ("CLIPModel", {**_IA3, "target_modules": ["token_embedding"], "feedforward_modules": []}),
    ("LlamaForCausalLM", {**_VERA, "target_modules": ["embed_tokens", "q_proj"]}),
    ("LlamaForCausalLM", {**_IA3, "target_modules": ["k_proj"], "modules_to_save": ["lm_head"]}),
    ("LlamaForCausalLM", {**_IA3, "target_modules": ["k_proj"], "feedforward_modules": ["up_proj"]}),
    ("LlamaForCausalLM", {**_IA3, **_LINEAR, "exclude_modules": ["q_proj"]}),
    ("LlamaForCausalLM", {**_VERA, "save_projection": False, "vera_dropout": 0.1, "projection_prng_key": 4}),
    ("LlamaForCausalLM", {**_VERA, "target_modules": ["up_proj", "down_proj"], "layers_to_transform": [1]}),
    ("LlamaForCausalLM", {**_VERA, "target_modules": r".*\.q_proj", "layers_to_transform": [1]}),
    ("LlamaForCausalLM", {**_VERA, "layers_pattern": ["layers"]}),
    ("LlamaForCausalLM", {**_VERA, "modules_to_save": ["norm"], "r": 0}),
    ("LlamaForCausalLM", {**_VERA, "modules_to_save": ["norm"]}),
    ("LlamaForCausalLM", {**_VERA, "modules_to_save": ["embed_tokens"], "bias": "some"}),
    *(("BertModel", {**_VERA, "bias": bias}) for bias in ("all", "vera_only")),
    ("WhisperForConditionalGeneration", {**_VERA, "task_type": "CAUSAL_LM"}),
    ("BertModel", {**_PROMPT}),
    ("BertModel", {**_PROMPT, **_CAUSAL}),
    ("BertModel", {"peft_type": "PREFIX_TUNING", "task_type": "FEATURE_EXTRACTION"}),
    ("ViTForImageClassification", {**_PROMPT, "task_type": "FEATURE_EXTRACTION"}),
    ("LlamaForCausalLM", {**_PROMPT, **_CAUSAL, "token_dim": 12, "num_transformer_submodules": 3}),
    ("LlamaForCausalLM", {**_PROMPT, **_CAUSAL, "token_dim": 12, "prompt_tuning_init": "SAMPLE_VOCAB"}),
    ("LlamaForCausalLM", {**_PROMPT, **_CAUSAL, "prompt_tuning_init": "TEXT"}),
    ("LlamaForCausalLM", {**_PROMPT, **_CAUSAL, "modules_to_save": ["lm_head"]}),
    *((name, {**_PREFIX, "task_type": task, "prefix_projection": True}) for name, task in _TASKS.items()),
    ("LlamaForCausalLM", {**_PREFIX, **_CAUSAL, "prefix_projection": True, "encoder_hidden_size": 11}),
    (
        "LlamaForCausalLM",
        {**_PREFIX, **_CAUSAL, "num_layers": 3, "token_dim": 1024, "num_attention_heads": 8},
    ),
    ("GPT2LMHeadModel", {**_PREFIX, **_CAUSAL, "num_layers": 3, "token_dim": 12, "num_attention_heads": 2}),
    ("MistralForCausalLM", {**_PREFIX, **_CAUSAL, "modules_to_save": ["lm_head"], "init_weights": "zero"}),
]


def config(name: str) -> dict[str, Any]:
    """Return the fields of a config with two layers."""
    fields = archspec.load(name).spec.fields
    found: dict[str, Any] = {one: 2 for one in _LAYERS if one in fields}
    if name.startswith("Llama"):
        found |= {"num_key_value_heads": 8}
    return found | ({"attention_types": [[["global"], 2]]} if name.startswith("GPTNeoFor") else {})
