"""Adapters whose tensors were recorded from peft: class, config, options, trained and all parameters."""

from __future__ import annotations

from typing import Any

LLAMA = {"num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 96, "vocab_size": 100}
LLAMA |= {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
BERT = {"num_hidden_layers": 3, "hidden_size": 64, "intermediate_size": 96, "vocab_size": 100}
BERT |= {"num_attention_heads": 4}
GPT2 = {"n_layer": 2, "n_embd": 64, "n_head": 4, "vocab_size": 100, "n_positions": 32}
MIXTRAL = {**LLAMA, "num_local_experts": 3}
TINY: dict[str, dict[str, Any]] = {"LlamaForCausalLM": LLAMA, "LlamaForSequenceClassification": LLAMA}
TINY |= {"BertModel": BERT, "BertForQuestionAnswering": BERT, "BertForSequenceClassification": BERT}
TINY |= {"BertForTokenClassification": BERT, "GPT2LMHeadModel": GPT2, "MixtralForCausalLM": MIXTRAL}
TINY |= {"Wav2Vec2Model": {"num_hidden_layers": 1, "hidden_size": 64, "intermediate_size": 96}}
TINY["Wav2Vec2Model"] |= {"num_attention_heads": 4, "num_conv_pos_embedding_groups": 8}
TINY["LukeModel"] = {**BERT, "entity_vocab_size": 10, "entity_emb_size": 16}
TINY["Mamba2Model"] = {"num_hidden_layers": 2, "hidden_size": 64, "num_heads": 8, "head_dim": 16}
TINY["Mamba2Model"] |= {"state_size": 16, "n_groups": 2, "vocab_size": 100, "chunk_size": 16}
TINY["AlbertModel"] = {**BERT, "num_hidden_groups": 2, "embedding_size": 32}
EXPERTS = ["experts.gate_up_proj", "experts.down_proj"]

ADAPTERS: list[tuple[str, dict[str, Any]]] = [
    ("LlamaForCausalLM", {"r": 16}),
    ("LlamaForCausalLM", {"target_modules": "all-linear", "use_dora": True}),
    ("LlamaForCausalLM", {"target_modules": r".*\.(q|k)_proj", "bias": "lora_only", "lora_bias": True}),
    ("LlamaForCausalLM", {"target_modules": ["embed_tokens", "lm_head"], "use_dora": True}),
    (
        "LlamaForCausalLM",
        {"target_modules": ["up_proj"], "layers_to_transform": 1, "layers_pattern": "layers"},
    ),
    (
        "LlamaForCausalLM",
        {"target_modules": ["q_proj", "up_proj"], "rank_pattern": {"up_proj": 3, "q_.*": 2}},
    ),
    ("LlamaForCausalLM", {"target_modules": "all-linear", "exclude_modules": r".*\.1\..*"}),
    ("LlamaForCausalLM", {"target_modules": ["v_proj"], "modules_to_save": ["lm_head", "embed_tokens"]}),
    ("LlamaForCausalLM", {"target_modules": ["v_proj"], "modules_to_save": ["0.mlp", "up_proj"]}),
    ("LlamaForCausalLM", {"target_modules": "all-linear", "layer_replication": [[0, 2], [1, 2]]}),
    ("LlamaForCausalLM", {"target_modules": [], "target_parameters": ["q_proj.weight"], "bias": "all"}),
    ("LlamaForSequenceClassification", {"target_modules": "all-linear", "task_type": "SEQ_CLS"}),
    ("BertModel", {"bias": "all"}),
    ("BertModel", {"bias": "lora_only", "target_modules": ["query"], "modules_to_save": ["pooler"]}),
    ("BertForSequenceClassification", {"task_type": "SEQ_CLS", "bias": "all"}),
    ("BertForQuestionAnswering", {"task_type": "QUESTION_ANS", "target_modules": ["value"]}),
    ("GPT2LMHeadModel", {"task_type": "CAUSAL_LM", "use_dora": True}),
    ("GPT2LMHeadModel", {"target_modules": ["wte", "c_fc"], "modules_to_save": ["lm_head"]}),
    ("MixtralForCausalLM", {"target_modules": ["w1", "w2", "w3", "gate", "q_proj"], "r": 4}),
    ("MixtralForCausalLM", {"target_modules": "all-linear"}),
    ("MixtralForCausalLM", {"target_modules": ["q_proj"], "target_parameters": EXPERTS, "r": 2}),
    ("Wav2Vec2Model", {"target_modules": ["conv"], "use_dora": True}),
    ("Wav2Vec2Model", {"target_modules": ["conv", "projection"], "lora_bias": True}),
]
REJECTED: list[tuple[str, dict[str, Any], str]] = [  # class, options, and a part of the message
    ("LlamaForCausalLM", {"target_modules": ["1.mlp.up_proj"], "layers_to_transform": [0]}, "no module"),
    ("LlamaForCausalLM", {"r": 0}, "rank"),
    ("LlamaForCausalLM", {"target_modules": ["nothing"]}, "no module matches"),
    ("LlamaForCausalLM", {"target_modules": ["norm"]}, "model.norm (RMSNorm)"),
    ("LlamaForCausalLM", {"target_modules": r".*\.mlp\..*"}, "act_fn"),
    ("LlamaForCausalLM", {"target_modules": r".*_proj", "layers_to_transform": 0}, "layers_to_transform"),
    ("LlamaForCausalLM", {"target_modules": ["q_proj"], "layers_pattern": "layers"}, "layers_pattern"),
    ("LlamaForCausalLM", {"target_modules": ["lm_head"], "modules_to_save": ["ead"]}, "with an adapter"),
    ("LlamaForCausalLM", {"target_modules": ["q_proj"], "modules_to_save": ["ayers"]}, "ModuleList"),
    ("LlamaForCausalLM", {"target_modules": ["embed_tokens"], "lora_bias": True}, "lora_bias"),
    ("LlamaForCausalLM", {"target_parameters": ["norm.weight"], "target_modules": []}, "1 dimensions"),
    ("LlamaForCausalLM", {"target_parameters": ["q_proj.weight"]}, "its module is a target"),
    ("LlamaForCausalLM", {"use_dora": True, "lora_bias": True}, "use_dora"),
    ("LlamaForCausalLM", {"task_type": "NONE"}, "task_type"),
    ("LlamaForCausalLM", {"target_modules": "("}, "regular expression"),
    ("LlamaForCausalLM", {"layer_replication": [[0, 5]]}, "2 layers"),
    ("GPT2LMHeadModel", {"layer_replication": [[0, 1]], "target_modules": ["nothing"]}, "layer"),
    ("BertModel", {"task_type": "CAUSAL_LM"}, "generate"),
    ("BertForQuestionAnswering", {"task_type": "QUESTION_ANS", "target_modules": "all-linear"}, "qa_outputs"),
    ("BertForTokenClassification", {"task_type": "TOKEN_CLS", "target_modules": ["classifier"]}, "adapter"),
    ("MixtralForCausalLM", {"target_modules": ["w1"]}, "w3"),
    ("MixtralForCausalLM", {}, "no module matches"),
    ("MixtralForCausalLM", {"target_parameters": EXPERTS, "target_modules": [], "use_dora": True}, "DoRA"),
    ("Wav2Vec2Model", {"target_modules": ["pos_conv_embed.conv"], "r": 3}, "8 groups"),
    ("Wav2Vec2Model", {}, "no default targets"),
]
