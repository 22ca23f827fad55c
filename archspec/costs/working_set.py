"""Peak temporary memory of a call: exact for validated classes, else a lower bound.

The exact peak follows from the order of transformers' code. It is supported for decoders like Llama: a norm
before attention with rotary positions, another norm before a gated feed-forward layer, in 16 bits, by torch's
`scaled_dot_product_attention` without a mask. The modules alone do not show this, so each class is validated
against torch's allocations.
"""

from __future__ import annotations

from collections.abc import Iterator

from archspec.costs.forward import Forward
from archspec.costs.records import EXACT
from archspec.formats.dtypes import dtype_bytes
from archspec.tree.node import Node
from archspec.tree.tensors import joined, output_embeddings
from archspec.typing_light import NamedTuple

HALF, _FLOAT32, _INDEX = 2, 4, 8  # bytes
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
    exact: bool


class WorkingSet(NamedTuple):
    """The bytes that are allocated at one time, and the part of the model that allocates the last of them."""

    part: str
    bytes: int


class Output(NamedTuple):
    """The output of one Linear of the model, by the module's name."""

    module: str
    elements: int


def room(
    forward: Forward, dtype: str, allocation: str = EXACT, last: bool = False, quantized: bool = False
) -> Room:
    """Return the peak temporary memory of a call, or as a lower bound the largest output of a layer.

    ``last``: the logits are of the last token only, as in generate(). Quantized weights, and a cache that is
    allocated before the call, have a lower bound only.

    >>> import archspec
    >>> room(archspec.load("BertModel").forward(tokens=128), "bfloat16")
    Room(needed_by='encoder.layer.0.intermediate.dense', bytes=786432, exact=False)
    """
    supported = allocation == EXACT and dtype_bytes(dtype) == HALF and not quantized
    found = working_set(forward, last) if supported and "working_set" in forward.held else None
    if found is not None:
        return Room(found.part, found.bytes, True)
    output = largest_output(forward, last)
    return Room(output.module, output.elements * dtype_bytes(dtype), False)


def largest_output(forward: Forward, last: bool = False) -> Output:
    """Return the largest output of a Linear in a call, the first of several; experts are left out.

    ``last``: the logits of one token a sequence.

    >>> import archspec
    >>> largest_output(archspec.load("LlamaForCausalLM").forward(tokens=2048))
    Output(module='lm_head', elements=65536000)
    """
    outputs = forward.built.outputs
    found = {path: outputs[id(node)][1] for path, node in _layers(forward.tree) if id(node) in outputs}
    for path in {*output_embeddings(forward.tree)} & {*found} if last else ():
        found[path] //= forward.call.tokens
    listed = (Output(path, elements) for path, elements in found.items())
    return max(listed, key=lambda output: output.elements, default=Output("", 0))


def _layers(node: Node, prefix: str = "") -> Iterator[tuple[str, Node]]:
    """Yield the layers that run on every token, with their paths."""
    if node.routed is not None:
        return
    if node.leaf:
        yield prefix, node
    for name, child in node.children.items():
        yield from _layers(child, joined(prefix, name))


def working_set(forward: Forward, last: bool = False) -> WorkingSet | None:
    """Return the peak temporary memory of a call in 16 bits; None if the class is not supported.

    ``last``: the logits are of the last token only, as in generate().

    >>> import archspec
    >>> working_set(archspec.load("LlamaForCausalLM").forward(tokens=2048))
    WorkingSet(part='mlp', bytes=203440128)
    """
    base = next((one for one in forward.tree.children.values() if "layers" in one.children), forward.tree)
    layers = [*base.children["layers"].children.values()] if "layers" in base.children else []
    uniform = layers and all(map(_is_llama_layer, layers)) and _is_uniform(forward, layers)
    if not uniform or _is_masked(forward):
        return None
    moments = _Moments(forward, layers)
    head = next((one for one in forward.tree.children.values() if one.cls == "Linear"), None)
    found: list[WorkingSet] = [*moments.of_layer(), *(moments.of_head(head, last) if head else ())]
    return sorted(found, key=lambda moment: moment.bytes)[-1]


def _is_llama_layer(layer: Node) -> bool:
    """Return True for a layer with the modules of Llama's; norms of queries and keys are optional."""
    if {*layer.children} != _LAYER:
        return False
    attention, mlp = ({*layer.children[name].children} for name in ("self_attn", "mlp"))
    return attention - _HEAD_NORMS == _ATTENTION and mlp == _MLP


def _is_uniform(forward: Forward, layers: list[Node]) -> bool:
    """Return True if all layers have one kind of cache and rotary positions, without further outputs."""
    scope = layers[-1].scope
    if scope is None or scope is not forward.scope:
        return False  # part of a multimodal model
    rotary = not scope.has("no_rope_layers")
    one_step = scope.get("hidden_act") in _ACTIVATIONS
    one_kind = len({tensor.kind for tensor in forward.cache}) == 1
    return rotary and one_step and one_kind and not any(map(scope.raw.get, _MORE_OUTPUTS))


def _is_masked(forward: Forward) -> bool:
    """Return True if attention needs a mask: a window, or several new tokens after a past."""
    call = forward.call
    full = all(tensor.shape[2] == call.context for tensor in forward.cache)
    return not full or (call.past > 0 and call.tokens > 1)


class _Moments:
    """Candidates for the peak: allocations in the last layer, when all earlier ones have their cache."""

    def __init__(self, forward: Forward, layers: list[Node]) -> None:
        self.attention, self.mlp = (layers[-1].children[name].children for name in ("self_attn", "mlp"))
        self.call, self.several = forward.call, len(layers) > 1
        self.window = forward.cache[0].kind == "window"
        self.positions = forward.call.batch * forward.call.tokens
        self.heads = forward.scope.get("num_attention_heads")
        self.hidden = self.tensor(self.attention["o_proj"])
        self.queries, self.keys = (self.tensor(self.attention[name]) for name in ("q_proj", "k_proj"))
        self.head_dim = self.attention["q_proj"].tensors[0].shape[0] // self.heads

    def tensor(self, linear: Node) -> int:
        """Return the bytes of the output of a Linear."""
        return HALF * self.positions * int(linear.tensors[0].shape[0])

    def norm(self, given: int, rows: int) -> int:
        """Return the bytes that an RMSNorm adds to its input: two float32 copies, two means of each row."""
        return 2 * _FLOAT32 * (given // HALF + rows)

    def of_layer(self) -> Iterator[WorkingSet]:
        # Embeddings and the layer's input stay allocated; in a model of one layer they are the same tensor.
        angles = 2 * HALF * self.call.tokens * self.head_dim + _INDEX * self.call.tokens
        base = angles + self.hidden * (2 if self.several else 1)
        for moment in self.of_attention():
            yield moment._replace(bytes=base + self.hidden + moment.bytes)  # with the normed input
        base += self.hidden  # the sum after attention
        yield WorkingSet("post_attention_layernorm", base + self.norm(self.hidden, self.positions))
        gated = 3 * self.tensor(self.mlp["up_proj"])  # the gate's activation, the other half, their product
        yield WorkingSet("mlp", base + self.hidden + gated)

    def of_attention(self) -> Iterator[WorkingSet]:
        queries, keys = self.queries, self.keys
        rows = self.positions * self.heads
        kept = 2 * keys  # counted in the cache after the call, and not allocated yet
        if "q_norm" in self.attention:
            yield WorkingSet("q_norm", queries + self.norm(queries, rows) - kept)
            rows_of_keys = rows * keys // queries
            yield WorkingSet("k_norm", queries + keys + self.norm(keys, rows_of_keys) - kept)
        # The rotation allocates two products and a rotated half.
        yield WorkingSet("self_attn", 4 * queries + 2 * keys - kept)
        yield WorkingSet("self_attn", 2 * queries + 5 * keys - kept)
        # Each tensor of the cache is copied into a longer one; with a window both copies exist at once.
        before = keys // self.call.tokens * self.call.past
        before *= 2 if self.window else 1
        yield WorkingSet("self_attn", queries + 2 * keys + before)
        yield WorkingSet("self_attn", 2 * queries + _FLOAT32 * rows + 2 * _INDEX)

    def of_head(self, head: Node, last: bool) -> Iterator[WorkingSet]:
        logits = self.tensor(head)
        if last:
            logits //= self.call.tokens
        yield WorkingSet("head", self.hidden + logits)
