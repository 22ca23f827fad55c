"""Peak temporary memory of a forward pass: exact for validated classes, else a lower bound.

The exact peak follows from the order of transformers' code. It is supported for decoders like Llama: a norm
before attention with rotary positions, another norm before a gated feed-forward layer, in 16 bits, by torch's
`scaled_dot_product_attention` without a mask. The modules alone do not show this, so each class is validated
against torch's allocations.
"""

from __future__ import annotations

from archspec.costs.forward import Forward
from archspec.costs.records import EXACT
from archspec.costs.totals import walk
from archspec.formats.dtypes import dtype_bytes
from archspec.tree.node import Node
from archspec.tree.tensors import output_embeddings
from archspec.typing_light import NamedTuple

_HALF, _FLOAT32, _INDEX = 2, 4, 8  # bytes
_LAYER = {"self_attn", "mlp", "input_layernorm", "post_attention_layernorm"}
_ATTENTION = {"q_proj", "k_proj", "v_proj", "o_proj"}
_HEAD_NORMS = {"q_norm", "k_norm"}
_MLP = {"gate_proj", "up_proj", "down_proj"}
_ACTIVATIONS = ("silu", "swish", "gelu", "gelu_pytorch_tanh", "relu")  # each in one step
_MORE_OUTPUTS = ("output_hidden_states", "output_attentions")


class Room(NamedTuple):
    """Bytes of peak temporary memory and the part that needs them; a lower bound unless ``exact``."""

    needed_by: str
    bytes: int
    exact: bool = True


def peak_memory(
    forward: Forward, dtype: str, allocation: str = EXACT, last: bool = False, quantized: bool = False
) -> Room:
    """Return the peak temporary memory of a forward pass, or as a lower bound the largest output of a layer.

    ``last``: the logits are of the last token only, as in generate(). Quantized weights, and a cache that is
    allocated before the forward pass, have a lower bound only.

    >>> import archspec
    >>> peak_memory(archspec.load("BertModel").forward(tokens=128), "bfloat16")
    Room(needed_by='encoder.layer.0.intermediate.dense', bytes=786432, exact=False)
    """
    supported = allocation == EXACT and dtype_bytes(dtype) == _HALF and not quantized
    found = working_set(forward, last) if supported and "working_set" in forward.held else None
    if found is not None:
        return found
    module, elements = largest_output(forward, last)
    return Room(module, elements * dtype_bytes(dtype), False)


def largest_output(forward: Forward, last: bool = False) -> tuple[str, int]:
    """Return the module and the elements of the largest output of a Linear; experts are left out.

    ``last``: the logits of one token a sequence.

    >>> import archspec
    >>> largest_output(archspec.load("LlamaForCausalLM").forward(tokens=2048))
    ('lm_head', 65536000)
    """
    outputs, found = forward.built.outputs, {}
    for path, node, routed in walk(forward.tree, "flops"):
        if routed is None and id(node) in outputs:
            found[path] = outputs[id(node)][1]
    for path in {*output_embeddings(forward.tree)} & {*found} if last else ():
        found[path] //= forward.call.tokens
    return max(found.items(), key=lambda output: int(output[1]), default=("", 0))


def working_set(forward: Forward, last: bool = False) -> Room | None:
    """Return the peak temporary memory of a forward pass in 16 bits; None if the class is not supported.

    ``last``: the logits are of the last token only, as in generate().

    >>> import archspec
    >>> working_set(archspec.load("LlamaForCausalLM").forward(tokens=2048))
    Room(needed_by='mlp', bytes=203440128, exact=True)
    """
    base = next((one for one in forward.tree.children.values() if "layers" in one.children), forward.tree)
    layers = [*base.children["layers"].children.values()] if "layers" in base.children else []
    if not layers or not all(map(_is_llama_layer, layers)) or not _is_supported(forward, layers[-1]):
        return None
    rooms = _peaks(forward, layers[-1], len(layers), last)
    return sorted(rooms, key=lambda one: one.bytes)[-1]


def _is_llama_layer(layer: Node) -> bool:
    """Return True for a layer with the modules of Llama's; norms of queries and keys are optional."""
    if {*layer.children} != _LAYER:
        return False
    attention, mlp = ({*layer.children[name].children} for name in ("self_attn", "mlp"))
    return attention - _HEAD_NORMS == _ATTENTION and mlp == _MLP


def _is_supported(forward: Forward, layer: Node) -> bool:
    """Return True for a text model with one kind of cache and rotary positions, without a mask."""
    scope, call = layer.scope, forward.call
    if scope is None or scope is not forward.scope or scope.has("no_rope_layers"):
        return False
    plain = scope.get("hidden_act") in _ACTIVATIONS and not any(map(scope.raw.get, _MORE_OUTPUTS))
    full = all(tensor.shape[2] == call.context for tensor in forward.cache)  # a window needs a mask
    one_kind = len({tensor.kind for tensor in forward.cache}) == 1
    return plain and one_kind and full and (call.past == 0 or call.tokens == 1)


def _peaks(forward: Forward, layer: Node, depth: int, last: bool) -> list[Room]:
    """Return the allocations in the last layer, when all earlier ones have their cache, and in the head."""
    call, attention, mlp = forward.call, *(layer.children[name] for name in ("self_attn", "mlp"))
    positions, heads = call.batch * call.tokens, forward.scope.get("num_attention_heads")

    def output(linear: Node) -> int:
        return _HALF * positions * int(linear.tensors[0].shape[0])

    def norm(given: int, rows: int) -> int:  # adds two float32 copies of its input, and two means of each row
        return 2 * _FLOAT32 * (given // _HALF + rows)

    queries, keys, hidden = (output(attention.children[name]) for name in ("q_proj", "k_proj", "o_proj"))
    head_dim, rows = attention.children["q_proj"].tensors[0].shape[0] // heads, positions * heads
    # Embeddings and the layer's input stay allocated; in a model of one layer they are the same tensor.
    angles = 2 * _HALF * call.tokens * head_dim + _INDEX * call.tokens
    base = angles + hidden * (2 if depth > 1 else 1)
    normed = base + hidden
    kept = 2 * keys  # counted in the cache after the forward pass, and not allocated yet
    # Each tensor of the cache is copied into a longer one; with a window both copies exist at once.
    before = keys // call.tokens * call.past * (2 if forward.cache[0].kind == "window" else 1)
    gated = 3 * output(mlp.children["up_proj"])  # the gate's activation, the other half, their product
    found = []
    if "q_norm" in attention.children:
        found.append(Room("q_norm", normed + queries + norm(queries, rows) - kept))
        found.append(Room("k_norm", normed + queries + keys + norm(keys, rows * keys // queries) - kept))
    found += [
        # The rotation allocates two products and a rotated half.
        Room("self_attn", normed + 4 * queries + 2 * keys - kept),
        Room("self_attn", normed + 2 * queries + 5 * keys - kept),
        Room("self_attn", normed + queries + 2 * keys + before),
        Room("self_attn", normed + 2 * queries + _FLOAT32 * rows + 2 * _INDEX),
        # With the sum after attention.
        Room("post_attention_layernorm", base + hidden + norm(hidden, positions)),
        Room("mlp", base + 2 * hidden + gated),
    ]
    head = next((one for one in forward.tree.children.values() if one.cls == "Linear"), None)
    if head is not None:
        found.append(Room("head", hidden + output(head) // (call.tokens if last else 1)))
    return found
