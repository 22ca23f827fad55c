"""What is counted: every quantity with its name, its unit, and what one tensor adds to it.

Counts, closed forms, sweeps, budgets, tables and help texts read :data:`QUANTITIES`; a new quantity is an
entry here. Bytes are no quantity of their own: they are those of `params` at a dtype.
"""

from __future__ import annotations

from collections.abc import Callable

from archspec.typing_light import Any, NamedTuple, Protocol


class Countable(Protocol):
    """A tensor, or a row of equal ones; ``numel`` and ``active`` may be symbolic."""

    @property
    def kind(self) -> str: ...
    @property
    def trainable(self) -> bool: ...
    @property
    def embedding(self) -> str: ...
    @property
    def numel(self) -> Any: ...
    @property
    def active(self) -> Any: ...


class Quantity(NamedTuple):
    """One quantity: ``title`` is its row in a table, ``meaning`` what it counts, in words.

    ``counts`` says whether a tensor that is no copy of another one belongs to it; ``active`` that of its
    elements only those count which work on a token. ``fact`` follows its number on a page, where that is not
    what one expects: all parameters, or no elements. ``budget`` is the help of `archspec solve`, none where
    it is no budget.
    """

    title: str
    meaning: str
    unit: str
    counts: Callable[[Countable], bool]
    active: bool = False
    fact: str = ""
    budget: str = ""

    def term(self, tensor: Countable) -> Any:
        """What a tensor that is no copy of another one adds."""
        if not self.counts(tensor):
            return 0
        return tensor.active if self.active else tensor.numel


def _of_parameters(
    title: str, meaning: str, which: Callable[[Countable], bool], active: bool = False, **texts: str
) -> Quantity:
    def counts(tensor: Countable) -> bool:
        return tensor.kind == "parameter" and which(tensor)

    return Quantity(title, meaning, "parameters", counts, active, **texts)


QUANTITIES: dict[str, Quantity] = {
    "params": _of_parameters(
        "params",
        "unique parameters, tied ones once",
        lambda tensor: True,
        budget="come near this many parameters (7e9, 1.3B), or stay within 6e9..7e9",
    ),
    "trainable_params": _of_parameters(
        "trainable",
        "unique parameters with requires_grad",
        lambda tensor: tensor.trainable,
        fact="trainable",
    ),
    "active_params": _of_parameters(
        "active",
        "parameters that work on a token: routed experts count k of E, all else in full, "
        "embedding tables too",
        lambda tensor: True,
        active=True,
        fact="active on a token",
        budget="the same for the parameters that work on a token",
    ),
    "active_params_without_lookup": _of_parameters(
        "active without lookup",
        "active parameters but for embedding tables that are only looked up, as model cards give them; "
        "a table that is tied to the output embeddings stays",
        lambda tensor: tensor.embedding != "table",
        active=True,
    ),
    "embedding_params": _of_parameters(
        "embedding",
        "the tables of every nn.Embedding and the weight of get_output_embeddings(), tied or not, "
        "unique ones once",
        lambda tensor: tensor.embedding != "",
    ),
    "non_embedding_params": _of_parameters(
        "non-embedding",
        "all parameters but embedding_params",
        lambda tensor: not tensor.embedding,
    ),
    "buffers": Quantity(
        "persistent buffers",
        "elements of persistent buffers",
        "elements",
        lambda tensor: tensor.kind == "buffer",
        fact="in persistent buffers",
    ),
}


def _of_call(title: str, meaning: str, unit: str, kind: str) -> Quantity:
    return Quantity(title, meaning, unit, lambda row: row.kind == kind, active=True)


COSTS: dict[str, Quantity] = {  # of a call: they depend on its lengths, too
    "flops": _of_call("FLOPs", "2 per multiply-add of transformers' eager code", "FLOPs", "flops"),
    "masked_flops": _of_call(
        "masked FLOPs",
        "the same, of attention only what the causal mask and the window let through",
        "FLOPs",
        "masked_flops",
    ),
    "cache_elements": _of_call("cache", "elements that are kept for the next call", "elements", "cache"),
}
FORMULAS = {**QUANTITIES, **COSTS}  # what has a closed form
BUDGETS = [*(name for name, quantity in QUANTITIES.items() if quantity.budget), "bytes"]  # what solve() takes
