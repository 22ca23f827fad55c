"""What `archspec VERB --help` ends with: command lines that do something, the plainest first."""

from __future__ import annotations

EXAMPLES = {
    "count": (
        "count config.json",
        "count LlamaForCausalLM --set num_hidden_layers=40,hidden_size=5120",
        "count bert --architecture BertForMaskedLM --json",
    ),
    "tree": ("tree config.json", "tree gemma3 --depth 2"),
    "tensors": ("tensors config.json", "tensors LlamaForCausalLM --set num_hidden_layers=1"),
    "formula": (
        "formula config.json",
        "formula LlamaForCausalLM --assume intermediate_size=4*hidden_size --format latex",
        "formula MixtralForCausalLM --quantity active_params --by component",
        "formula LlamaForCausalLM --leading",
    ),
    "flops": ("flops config.json --tokens 512", "flops LlamaForCausalLM --batch 8 --tokens 1 --past 2047"),
    "cache": ("cache LlamaForCausalLM --tokens 32768", "cache LlamaForCausalLM --budget 80GiB --dtype bf16"),
    "memory": (
        "memory LlamaForCausalLM --dtype bf16",
        "memory LlamaForCausalLM --weights int8 --batch 4 --tokens 4096",
        "memory LlamaForCausalLM --train --data-parallel 8 --zero 3 --checkpointing",
    ),
    "sensitivity": (
        "sensitivity config.json",
        "sensitivity LlamaForCausalLM --quantity non_embedding_params",
    ),
    "diff": (
        "diff BertModel BertForMaskedLM",
        "diff LlamaForCausalLM LlamaForCausalLM --set-b num_key_value_heads=8",
        "diff config.json config.json --set-b num_hidden_layers=24 --format markdown",
    ),
    "table": (
        "table LlamaForCausalLM GPT2LMHeadModel",
        "table config.json bert --columns model,params --format latex",
    ),
    "sweep": (
        "sweep LlamaForCausalLM --set num_hidden_layers=16:40:8",
        "sweep config.json --set hidden_size=768:3072:768 --columns params,bytes --json",
        'sweep LlamaForCausalLM --set hidden_size=1024:8192:1024 --tie "intermediate_size=4*hidden_size"',
    ),
    "solve": (
        "solve LlamaForCausalLM --params 7e9",
        "solve LlamaForCausalLM --params 1.3B --free hidden_size --multiple hidden_size=128",
        "solve LlamaForCausalLM --compute 1e21 --law chinchilla",
    ),
    "list": ("list", "list llama"),
    "verify": ("verify bert --samples 20", "verify BertModel --costs --samples 2"),
    "derive": ("derive BertModel --no-verify", "derive my_package.model:MyModel --output specs"),
    "lint": ("lint specs", "lint specs/bert.yaml --json"),
}
