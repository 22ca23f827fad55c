"""The commands of the command line, and the Python functions that they call."""

from __future__ import annotations

from collections.abc import Mapping

from archspec.tables.quantities import ALLOCATION_HELP, ALLOCATION_TITLES, FORMULAS
from archspec.typing_light import NamedTuple


class Verb(NamedTuple):
    """One command: its help, the function behind it, and command lines that do something useful.

    ``method`` is a method of :class:`archspec.Model`, ``function`` a public function of archspec; ``also`` is
    another method whose options the command takes. ``terms`` explain labels of its output.
    """

    help: str
    examples: tuple[str, ...]
    method: str = ""
    function: str = ""
    also: str = ""
    terms: Mapping[str, str] = {}


def _terms(*names: str) -> dict[str, str]:
    return {FORMULAS[name].title: FORMULAS[name].help for name in names}


_CACHES = {f"{title} ({name} in JSON)": ALLOCATION_HELP[name] for name, title in ALLOCATION_TITLES.items()}

VERBS: dict[str, Verb] = {
    "count": Verb(
        "exact parameter counts of a model, by kind and by module",
        (
            "count config.json",
            "count LlamaForCausalLM --set num_hidden_layers=40,hidden_size=5120",
            "count bert --architecture BertForMaskedLM --json",
        ),
        method="counts",
        terms=_terms("active_params", "active_params_without_lookup", "embedding_params"),
    ),
    "tree": Verb(
        "the module tree, as in print(model), with parameter counts and shares",
        ("tree config.json", "tree gemma3 --depth 2"),
        method="tree",
    ),
    "tensors": Verb(
        "every parameter and persistent buffer: name, shape, size, tied weights",
        ("tensors config.json", "tensors LlamaForCausalLM --set num_hidden_layers=1 --weights Q4_K_M"),
        method="tensors",
    ),
    "formula": Verb(
        "closed-form formula of a parameter count or cost, in terms of config fields",
        (
            "formula config.json",
            "formula LlamaForCausalLM --assume intermediate_size=4*hidden_size --format latex",
            "formula MixtralForCausalLM --quantity active_params --by component",
            "formula LlamaForCausalLM --quantity flops --leading",
        ),
        method="quantity",
    ),
    "flops": Verb(
        "FLOPs of one forward pass, by module",
        ("flops config.json --tokens 512", "flops LlamaForCausalLM --batch 8 --tokens 1 --past 2047"),
        method="flops",
        terms=_terms("flops", "masked_flops"),
    ),
    "cache": Verb(
        "KV cache size, and the context length and batch size that fit a memory budget",
        ("cache LlamaForCausalLM --tokens 32768", "cache LlamaForCausalLM --budget 80GiB --dtype bf16"),
        method="cache",
        terms=_CACHES,
    ),
    "memory": Verb(
        "inference memory: weights, KV cache, temporary memory; with --train, training memory",
        (
            "memory LlamaForCausalLM --dtype bf16",
            "memory LlamaForCausalLM --weights int8 --batch 4 --tokens 4096",
            "memory LlamaForCausalLM --train --data-parallel 8 --zero 3 --checkpointing",
        ),
        method="memory",
        also="training",
        terms=_CACHES,
    ),
    "lora": Verb(
        "parameters, tensors and FLOPs of a LoRA adapter, as peft adds it to a model",
        (
            "lora LlamaForCausalLM --rank 16 --target q_proj,v_proj",
            "lora GPT2LMHeadModel --target all-linear --dora --save wte --json",
            "lora BertForSequenceClassification --task-type SEQ_CLS --tokens 128",
        ),
        method="lora",
    ),
    "sensitivity": Verb(
        "how a count or a cost changes with each config field: derivatives and elasticities",
        ("sensitivity config.json", "sensitivity LlamaForCausalLM --quantity non_embedding_params"),
        method="sensitivity",
    ),
    "diff": Verb(
        "differences between two architectures or configs, as numbers and closed-form formulas",
        (
            "diff BertModel BertForMaskedLM",
            "diff LlamaForCausalLM LlamaForCausalLM --set-b num_key_value_heads=8",
            "diff config.json config.json --set-b num_hidden_layers=24 --format markdown",
        ),
        function="diff",
    ),
    "table": Verb(
        "several models side by side, as text, LaTeX or Markdown",
        (
            "table LlamaForCausalLM GPT2LMHeadModel",
            "table config.json bert --columns model,params --format latex",
        ),
        function="table",
    ),
    "sweep": Verb(
        "counts and costs over a grid of configs: a table, a file, a plot, a SQL query",
        (
            "sweep LlamaForCausalLM --set num_hidden_layers=16:40:8",
            "sweep config.json --set hidden_size=768:3072:768 --columns params,bytes --json",
            'sweep LlamaForCausalLM --set hidden_size=1024:8192:1024 --tie "intermediate_size=4*hidden_size"',
        ),
        function="sweep",
    ),
    "solve": Verb(
        "configs that meet a budget of parameters, bytes, FLOPs or memory",
        (
            "solve LlamaForCausalLM --params 7e9",
            "solve LlamaForCausalLM --params 1.3B --free hidden_size --multiple hidden_size=128",
            "solve LlamaForCausalLM --compute 1e21 --law chinchilla",
        ),
        function="solve",
    ),
    "check": Verb(
        "compare the tensors of checkpoint files with their config, from headers only",
        ("check checkpoint", "check model.safetensors --config config.json", "check checkpoint --json"),
        function="check",
    ),
    "list": Verb("the supported model types and architectures", ("list", "list llama"), function="catalog"),
    "verify": Verb(
        "validate specs against transformers, tensor by tensor, for random configs",
        ("verify bert --samples 20", "verify BertModel --costs --samples 2"),
        function="verify",
    ),
    "derive": Verb(
        "draft a spec from the constructor of a class, and validate it",
        ("derive BertModel --no-verify", "derive my_package.model:MyModel --output specs"),
        function="derive",
    ),
    "lint": Verb(
        "check spec files; --schema prints their JSON Schema",
        ("lint specs", "lint specs/bert.yaml --json"),
        function="lint",
    ),
}
