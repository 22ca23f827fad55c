"""Prompt and prefix tuning: the embeddings of virtual tokens.

formulas/adapters.json has the config fields from which peft takes the sizes of a model, and the name of its
word embeddings, by class. Source: peft/utils/other.py, peft/tuners/prompt_tuning, peft/tuners/prefix_tuning.
"""

from __future__ import annotations

from archspec.adapters.modules import ADAPTER, Module, Weight, facts
from archspec.adapters.options import Options
from archspec.configs.scope import Scope
from archspec.errors import ArchspecError
from archspec.typing_light import Any

PROMPTS = ("PROMPT_TUNING", "PREFIX_TUNING")
_SAVED = "prompt_embeddings"  # the name in the adapter's file


def add_prompt(base: Module, options: Options, scope: Scope, architecture: str) -> Module:
    """Return the frozen model with the embeddings of virtual tokens.

    Errors: :class:`ArchspecError` for classes that were not compared with peft, and for what peft rejects.
    """
    kind, tokens = options.peft_type, options.num_virtual_tokens or 0
    row = next((row for row, classes in facts()["prompts"].items() if architecture in classes), "")
    fields = dict(zip(("layers", "width", "heads", "head_width", "kv_heads", "table"), row.split()))
    if not fields or (kind == "PREFIX_TUNING" and fields["kv_heads"] == "differ"):
        raise ArchspecError(f"{kind} of {architecture} is not supported: not compared with peft's")
    for name in ("num_virtual_tokens", "task_type"):
        if getattr(options, name) is None:
            raise ArchspecError(f"{kind} needs {name}", help=f"pass {name}")
    for name, weight in base.named_weights():
        weight.trainable = weight.trainable and "." not in name  # peft freezes the children of the model
    width = options.token_dim or _read(scope, fields["width"])
    if kind == "PROMPT_TUNING":
        if options.prompt_tuning_init != "RANDOM":  # copies rows of the table
            width = dict(base.named_weights())[fields["table"]].shape[1]
        submodules = options.num_transformer_submodules or 1 + (options.task_type == "SEQ_2_SEQ_LM")
        layers = {"embedding": (tokens * submodules, width)}
    else:
        if fields["kv_heads"] != "-":
            heads = options.num_attention_heads or _read(scope, fields["heads"])
            computed = fields["head_width"] == "-"
            width = width // heads if computed else _read(scope, fields["head_width"])
            width *= _read(scope, fields["kv_heads"])
        both = (options.num_layers or _read(scope, fields["layers"])) * 2 * width  # keys and values
        layers = {"embedding": (tokens, both)}
        if options.prefix_projection:
            inner = options.encoder_hidden_size or width
            layers = {"embedding": (tokens, width), "transform.0": (inner, width), "transform.2": (both, inner)}
    top = Module(children={"base_model": base, "prompt_encoder": Module("ModuleDict", {ADAPTER: Module()})})
    for path, shape in layers.items():
        layer = Module("Embedding" if path == "embedding" else "Linear")
        layer.weights = {"weight": Weight(shape)} | ({"bias": Weight(shape[:1])} if "." in path else {})
        top.children["prompt_encoder"].children[ADAPTER].children[path] = layer
    top.buffers = {_SAVED: (tokens, both)} if len(layers) > 1 else {}
    return top


def _read(scope: Any, path: str) -> int:
    """Return the value of a config field, also of one in a part of the config."""
    *parts, name = path.split(".")
    for part in parts:
        scope = scope.get(part).scope
    return int(scope.get(name))
