"""What is counted: every quantity with its name, its unit, and what one tensor adds to it.

Counts, closed forms, sweeps, budgets, tables and help texts read :data:`QUANTITIES`; a new quantity is an
entry here. Bytes are no quantity of their own: they are those of `params` at a dtype.
"""

from __future__ import annotations

from collections.abc import Callable

from archspec.typing_light import Any, NamedTuple


def _every(tensor: Any) -> bool:
    return True


class Quantity(NamedTuple):
    """One quantity: ``title`` is its row in a table, ``meaning`` what it counts, in words.

    ``counts`` says which tensors of its ``kind`` that are no copy of another one belong to it; ``active``
    that of their elements only those count which work on a token. ``fact`` follows its number on a page,
    where that is not what one expects: all parameters, or no elements. ``budget`` is the help of
    `archspec solve`, none where it is no budget.
    """

    title: str
    meaning: str
    counts: Callable[[Any], bool] = _every
    kind: str = "parameter"
    active: bool = False
    fact: str = ""
    budget: str = ""

    @property
    def unit(self) -> str:
        return "parameters" if self.kind == "parameter" else "elements"

    def term(self, tensor: Any) -> Any:
        """What a tensor, or a row of equal ones, that is no copy adds: an int, or a symbolic number."""
        if tensor.kind != self.kind or not self.counts(tensor):
            return 0
        return tensor.active if self.active else tensor.numel


QUANTITIES: dict[str, Quantity] = {
    "params": Quantity(
        "params",
        "unique parameters, tied ones once",
        budget="come near this many parameters (7e9, 1.3B), or stay within 6e9..7e9",
    ),
    "trainable_params": Quantity(
        "trainable",
        "unique parameters with requires_grad",
        lambda tensor: tensor.trainable,
        fact="trainable",
    ),
    "active_params": Quantity(
        "active",
        "parameters that work on a token: routed experts count k of E, all else in full, "
        "embedding tables too",
        active=True,
        fact="active on a token",
        budget="the same for the parameters that work on a token",
    ),
    "active_params_without_lookup": Quantity(
        "active without lookup",
        "active parameters but for embedding tables that are only looked up, as model cards give them; "
        "a table that is tied to the output embeddings stays",
        lambda tensor: tensor.embedding != "table",
        active=True,
    ),
    "embedding_params": Quantity(
        "embedding",
        "the tables of every nn.Embedding and the weight of get_output_embeddings(), tied or not, "
        "unique ones once",
        lambda tensor: tensor.embedding != "",
    ),
    "non_embedding_params": Quantity(
        "non-embedding",
        "all parameters but embedding_params",
        lambda tensor: not tensor.embedding,
        budget="the same for all parameters but those of embeddings",
    ),
    "buffers": Quantity(
        "persistent buffers",
        "elements of persistent buffers",
        kind="buffer",
        fact="in persistent buffers",
    ),
}

COSTS: dict[str, Quantity] = {  # of a call: they depend on its lengths, too
    "flops": Quantity("FLOPs", "2 per multiply-add of transformers' eager code", kind="flops", active=True),
    "masked_flops": Quantity(
        "masked FLOPs",
        "the same, of attention only what the causal mask and the window let through",
        kind="masked_flops",
        active=True,
    ),
    "training_flops": Quantity(
        "training FLOPs", "those of a call and of its gradients", kind="training_flops", active=True
    ),
    "activation_bytes": Quantity(
        "activations", "bytes that autograd keeps for the backward of a training step", kind="activation"
    ),
    "cache_elements": Quantity("cache", "elements that are kept for the next call", kind="cache"),
}
COST_COLUMNS = ("flops", "masked_flops", "training_flops", "cache_elements", "cache_bytes")  # of a sweep
FORMULAS = {**QUANTITIES, **COSTS}  # what has a closed form
BUDGETS = [*(name for name, quantity in QUANTITIES.items() if quantity.budget), "bytes"]  # what solve() takes
