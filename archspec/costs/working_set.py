"""The working set of a call: the most that is allocated at one time beside weights and the cache after it.

What is alive when follows from the order of transformers' code. It is described for decoders of Llama's kind:
a norm before attention with rotary positions, another before a gated feed-forward layer, in 16 bits, by
torch's `scaled_dot_product_attention` without a mask. That a class is of this kind its modules do not say:
each is held to what torch allocates.
"""

from __future__ import annotations

from collections.abc import Iterator

from archspec.costs.forward import Forward
from archspec.tree.node import Node
from archspec.typing_light import NamedTuple

HALF, _FLOAT32, _INDEX = 2, 4, 8  # bytes
_LAYER = {"self_attn", "mlp", "input_layernorm", "post_attention_layernorm"}
_ATTENTION = {"q_proj", "k_proj", "v_proj", "o_proj"}
_HEAD_NORMS = {"q_norm", "k_norm"}
_MLP = {"gate_proj", "up_proj", "down_proj"}
_ACTIVATIONS = ("silu", "swish", "gelu", "gelu_pytorch_tanh", "relu")  # each in one step
_GIVEN_TOO = ("output_hidden_states", "output_attentions")  # what a config may ask for beside


class WorkingSet(NamedTuple):
    """The bytes that are alive at one time, and the part of the model that makes the last of them."""

    part: str
    bytes: int


def working_set(forward: Forward, last: bool = False) -> WorkingSet | None:
    """The working set of a call in 16 bits; None where it is not described.

    ``last``: with logits of the last position only, as `generate()` asks for.

    >>> import archspec
    >>> working_set(archspec.load("LlamaForCausalLM").forward(tokens=2048))
    WorkingSet(part='mlp', bytes=203440128)
    """
    base = next((one for one in forward.tree.children.values() if "layers" in one.children), forward.tree)
    layers = [*base.children["layers"].children.values()] if "layers" in base.children else []
    if not layers or not all(map(_described, layers)) or not _alike(forward, layers) or _masked(forward):
        return None
    moments = _Moments(forward, layers)
    head = next((one for one in forward.tree.children.values() if one.cls == "Linear"), None)
    found: list[WorkingSet] = [*moments.of_layer(), *(moments.of_head(head, last) if head else ())]
    return sorted(found, key=lambda moment: moment.bytes)[-1]


def _described(layer: Node) -> bool:
    """Whether a layer has the modules of Llama's, and maybe norms of each head's queries and keys."""
    if {*layer.children} != _LAYER:
        return False
    attention, mlp = ({*layer.children[name].children} for name in ("self_attn", "mlp"))
    return attention - _HEAD_NORMS == _ATTENTION and mlp == _MLP


def _alike(forward: Forward, layers: list[Node]) -> bool:
    """Whether all layers have one kind of cache and rotary positions, and nothing else is handed out."""
    scope = layers[-1].scope
    if scope is None or scope is not forward.scope:
        return False  # part of a model of more than text
    rotary = not scope.has("no_rope_layers")
    one_step = scope.get("hidden_act") in _ACTIVATIONS
    one_kind = len({tensor.kind for tensor in forward.cache}) == 1
    return rotary and one_step and one_kind and not any(map(scope.raw.get, _GIVEN_TOO))


def _masked(forward: Forward) -> bool:
    """Whether some position does not see all before it, or sees some of those computed with it."""
    call = forward.call
    whole = all(tensor.shape[2] == call.context for tensor in forward.cache)
    return not whole or (call.past > 0 and call.tokens > 1)


class _Moments:
    """What is alive when it may be most: in the last layer, when all before it have their cache."""

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
        """Bytes of the output of a Linear."""
        return HALF * self.positions * int(linear.tensors[0].shape[0])

    def norm(self, given: int, rows: int) -> int:
        """What an RMSNorm makes beside its input: two of it in float32, and of each row twice a mean."""
        return 2 * _FLOAT32 * (given // HALF + rows)

    def of_layer(self) -> Iterator[WorkingSet]:
        # the embeddings and what the layer is given are held all the time; of one layer they are the same
        angles = 2 * HALF * self.call.tokens * self.head_dim + _INDEX * self.call.tokens
        held = angles + self.hidden * (2 if self.several else 1)
        for moment in self.of_attention():
            yield moment._replace(bytes=held + self.hidden + moment.bytes)  # the normed input
        held += self.hidden  # the sum after attention
        yield WorkingSet("post_attention_layernorm", held + self.norm(self.hidden, self.positions))
        gated = 3 * self.tensor(self.mlp["up_proj"])  # the gate's activation, the other half, their product
        yield WorkingSet("mlp", held + self.hidden + gated)

    def of_attention(self) -> Iterator[WorkingSet]:
        queries, keys = self.queries, self.keys
        rows = self.positions * self.heads
        kept = 2 * keys  # is yet to be in the cache
        if "q_norm" in self.attention:
            yield WorkingSet("q_norm", queries + self.norm(queries, rows) - kept)
            rows_of_keys = rows * keys // queries
            yield WorkingSet("k_norm", queries + keys + self.norm(keys, rows_of_keys) - kept)
        yield WorkingSet(
            "self_attn", 4 * queries + 2 * keys - kept
        )  # rotated: two products, and what one is of
        yield WorkingSet("self_attn", 2 * queries + 5 * keys - kept)
        before = keys // self.call.tokens * self.call.past  # a longer tensor is made of each in the cache,
        before *= 2 if self.window else 1  # of those with a window both before either is let go of
        yield WorkingSet("self_attn", queries + 2 * keys + before)
        yield WorkingSet("self_attn", 2 * queries + _FLOAT32 * rows + 2 * _INDEX)

    def of_head(self, head: Node, last: bool) -> Iterator[WorkingSet]:
        logits = self.tensor(head)
        if last:
            logits //= self.call.tokens
        yield WorkingSet("head", self.hidden + logits)
