"""The options of a LoRA adapter: those of peft's LoraConfig that are often set, with its names in Python."""

from __future__ import annotations

from archspec.tables.items import ITEM_OPTIONS
from archspec.tables.option import COMMAND, Option

_VERBS = ("lora",)
_BIASES, _NAMES = ("none", "all", "lora_only"), "NAME,..."
# fmt: off
ADAPTER_OPTIONS = (
    Option("adapter", "Any", "adapter_config.json of an adapter, or its directory", _VERBS, metavar="FILE"),
    Option("r", "int | None", "rank of the adapter", _VERBS, metavar="N", default_help="8"),
    Option("target_modules", "Any",
           "modules to adapt: names or ends of names, all-linear, or a regular expression of whole names",
           _VERBS, metavar=_NAMES, default_help="peft's default for the model type"),
    Option("exclude_modules", "Any", "modules not to adapt, as for --target", _VERBS, metavar=_NAMES),
    Option("target_parameters", "Any", "parameters to adapt, such as fused experts: names or ends of names",
           _VERBS, metavar=_NAMES),
    Option("modules_to_save", "Any", "modules to train in full, by the ends of their names", _VERBS,
           metavar=_NAMES),
    Option("layers_to_transform", "Any", "indices of the layers to adapt, with a list of names in --target",
           _VERBS, metavar="N,...", default_help="all"),
    Option("rank_pattern", "Mapping[str, Any] | None", "another rank for the modules whose name matches",
           _VERBS, metavar="NAME=N"),
    Option("bias", "str | None", "biases to train", _VERBS, metavar="BIAS", choices=_BIASES,
           default_help="none"),
    Option("use_dora", "bool | None", "weight-decomposed adapters (DoRA)", _VERBS),
    Option("lora_bias", "bool | None", "add a bias to the second matrix", _VERBS),
    Option("task_type", "str | None", "peft's task type, such as SEQ_CLS, which also trains the classifier",
           _VERBS, metavar="TYPE"),
    Option("tokens", "int | None", "tokens per sequence; with a length, FLOPs are reported, too", _VERBS,
           metavar="N", where=COMMAND),
    Option("batch", "int | None", "batch size: number of sequences", _VERBS, metavar="N", default_help="1",
           where=COMMAND),
    Option("encoder_tokens", "int | None", "encoder sequence length", _VERBS, metavar="N", where=COMMAND),
    *(one._replace(verbs=_VERBS, excludes=("train", "budget"), where=COMMAND) for one in ITEM_OPTIONS),
    Option("train", "bool", "report the memory of a training step, with --tokens also its activations",
           _VERBS, default=False, where=COMMAND),
    Option("weights", "str | None", "with --train or --budget: format of the weights of the base model",
           _VERBS, metavar="FORMAT", choices="formats", default_help="the config's", where=COMMAND),
    Option("dtype", "str | None", "with --train or --budget: dtype of its other weights", _VERBS,
           metavar="DTYPE", choices="dtypes", default_help="the config's dtype, else float32", where=COMMAND),
    Option("optimizer", "str", "with --train or --budget: optimizer", _VERBS, default="adamw", metavar="NAME",
           choices="optimizers", where=COMMAND),
    Option("checkpointing", "bool", "with --train or --budget: recompute layers in the backward pass", _VERBS,
           default=False, needs=("tokens",), where=COMMAND),
    Option("budget", "str | int | None", "report the largest batch size that fits in this memory, e.g. 24GiB",
           _VERBS, metavar="BYTES", needs=("tokens",), where=COMMAND),
)
# fmt: on
