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
SAVED = "prompt_embeddings"  # the name in the adapter's file


def add_prompt(base: Module, options: Options, scope: Scope, architecture: str) -> Module:
    """Return the frozen model with the embeddings of virtual tokens.

    Errors: :class:`ArchspecError` for classes that were not compared with peft, and for what peft rejects.
    """
    kind, tokens = options.peft_type, options.num_virtual_tokens
    row = next((row for row, classes in facts()["prompts"].items() if architecture in classes), "")
    if not row or (kind == "PREFIX_TUNING" and "differ" in row.split()):
        raise ArchspecError(f"{kind} of {architecture} is not supported: it was not compared with peft's")
    if tokens is None or options.task_type is None:
        raise ArchspecError(f"{kind} needs num_virtual_tokens and task_type", help="pass both options")
    for name, weight in base.named_weights():
        if "." not in name:  # peft freezes the children of the model only
            raise ArchspecError(
                f"{kind} of {architecture} is not supported: {name} is trained, but not saved"
            )
        weight.trainable = False
    inner = both = width = 0  # keys of a layer, keys and values of all layers, embeddings
    if kind == "PREFIX_TUNING":
        inner, both = _prefix_sizes(options, scope, row.split())
    elif options.prompt_tuning_init == "RANDOM":
        width = options.token_dim or _size(scope, row.split()[1])
    else:  # copies rows of the word embeddings
        width = dict(base.named_weights())[row.split()[-1]].shape[1]
    submodules = options.num_transformer_submodules or 1 + (options.task_type == "SEQ_2_SEQ_LM")
    shapes = {"embedding": (tokens, both) if both else (tokens * submodules, width)}
    if options.prefix_projection:
        hidden = options.encoder_hidden_size or inner
        shapes = {"embedding": (tokens, inner), "transform.0": (hidden, inner), "transform.2": (both, hidden)}
    encoder = Module()
    for path, shape in shapes.items():
        encoder.children[path] = Module()
        encoder.children[path].weights = {"weight": Weight(shape)}
        if path != "embedding":
            encoder.children[path].weights["bias"] = Weight(shape[:1])
    top = Module(children={"base_model": base, "prompt_encoder": Module(children={ADAPTER: encoder})})
    top.buffers = {SAVED: (tokens, both)} if options.prefix_projection else {}
    return top


def _prefix_sizes(options: Options, scope: Scope, row: list[str]) -> tuple[int, int]:
    """Return the width of the keys of a layer, and that of the keys and values of all layers."""
    layers, width, heads, head_width, kv_heads, _ = row
    found = options.token_dim or _size(scope, width)
    if kv_heads != "-":
        share = found // (options.num_attention_heads or _size(scope, heads))
        given = read_field(scope, head_width) if head_width != "-" else None
        if given and given != share and (options.token_dim or options.num_attention_heads):
            message = f"token_dim and num_attention_heads do not give {head_width}, {given}"
            raise ArchspecError(message, help="leave out these options")
        found = (given or share) * _size(scope, kv_heads)
    return found, (options.num_layers or _size(scope, layers)) * 2 * found


def read_field(scope: Any, path: str) -> int | None:
    """Return the value of a config field, also of one in a part of the config."""
    *parts, name = path.split(".")
    for part in parts:
        scope = scope.get(part).scope
    value = scope.get(name)
    assert value is None or type(value) is int
    return value


def _size(scope: Scope, path: str) -> int:
    if (found := read_field(scope, path)) is None:
        raise ArchspecError(f"virtual tokens are not supported if {path} is null", help=f"set {path}")
    return found
