"""What is counted: every quantity with its name, its unit, and what one tensor adds to it.

Counts, closed forms, sweeps, budgets, tables and help texts read :data:`QUANTITIES`; a new quantity is a line here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol


class Counted(Protocol):
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

    ``counts`` says whether a tensor that is no copy of another one belongs to it; ``active`` that of its elements
    only those count which work on a token.
    """

    title: str
    meaning: str
    unit: str
    counts: Callable[[Counted], bool]
    active: bool = False

    def term(self, tensor: Counted) -> Any:
        """What a tensor that is no copy of another one adds."""
        if not self.counts(tensor):
            return 0
        return tensor.active if self.active else tensor.numel


def _parameter(tensor: Counted) -> bool:
    return tensor.kind == "parameter"


QUANTITIES: dict[str, Quantity] = {
    "params": Quantity("params", "unique parameters, tied ones once", "parameters", _parameter),
    "trainable_params": Quantity(
        "trainable",
        "unique parameters with requires_grad",
        "parameters",
        lambda t: _parameter(t) and t.trainable,
    ),
    "active_params": Quantity(
        "active",
        "parameters that work on a token: routed experts count k of E, all else in full, embedding tables too",
        "parameters",
        _parameter,
        active=True,
    ),
    "active_params_without_lookup": Quantity(
        "active without lookup",
        "active parameters but for embedding tables that are only looked up, as model cards give them; "
        "a table that is tied to the output embeddings stays",
        "parameters",
        lambda t: _parameter(t) and t.embedding != "table",
        active=True,
    ),
    "embedding_params": Quantity(
        "embedding",
        "the tables of every nn.Embedding and the weight of get_output_embeddings(), tied or not, unique ones once",
        "parameters",
        lambda t: _parameter(t) and t.embedding != "",
    ),
    "non_embedding_params": Quantity(
        "non-embedding",
        "all parameters but embedding_params",
        "parameters",
        lambda t: _parameter(t) and not t.embedding,
    ),
    "buffers": Quantity(
        "persistent buffers", "elements of persistent buffers", "elements", lambda t: t.kind == "buffer"
    ),
}
