"""Everything that archspec counts: each quantity, its unit, and what a tensor or a module adds to it.

Counts, closed forms, sweeps, budgets, tables, JSON Schemas and help texts read :data:`QUANTITIES`; a new
quantity is one entry here. Bytes are not a quantity: they are `params` in a dtype.
"""

from __future__ import annotations

from collections.abc import Callable

from archspec.typing_light import Any, NamedTuple

Term = tuple[str, tuple[Any, ...]]  # a name, and sizes whose product is added


def _is_any(tensor: Any) -> bool:
    return True


def _no_terms(node: Any) -> list[Term]:
    return []


_UNITS = {
    "parameter": "parameters",
    "buffer": "elements",
    "cache": "elements",
    "activation": "bytes",
    "item_tokens": "tokens",
}


class Quantity(NamedTuple):
    """One quantity: ``title`` labels it in tables, ``help`` defines it.

    ``counts`` selects the tensors of its ``kind`` that belong to it, tied copies aside. If ``active``, only
    the elements that are used for a token count. ``fact`` follows the number on a page if it differs from all
    parameters. ``budget`` is the help of its option of `archspec solve`, empty if it is not a budget.
    ``node_terms`` returns what a module adds to a cost, without the modules inside. ``latex`` is the
    symbol in formulas, by default N with the title as index.
    """

    title: str
    help: str
    counts: Callable[[Any], bool] = _is_any
    kind: str = "parameter"
    active: bool = False
    fact: str = ""
    budget: str = ""
    node_terms: Callable[[Any], list[Term]] = _no_terms
    latex: str = ""

    @property
    def unit(self) -> str:
        """The unit of the number: parameters, elements, bytes, tokens or FLOPs."""
        return _UNITS.get(self.kind, "FLOPs")

    @property
    def latex_symbol(self) -> str:
        """The symbol of the quantity on the left side of a formula in LaTeX."""
        upright = "mathrm" if self.title.isalpha() else "text"
        return self.latex or rf"N_{{\{upright}{{{self.title}}}}}"

    def term(self, tensor: Any) -> Any:
        """Return what one tensor adds that is not a tied copy: an int, or a symbolic number."""
        if tensor.kind != self.kind or not self.counts(tensor):
            return 0
        return tensor.active if self.active else tensor.numel


QUANTITIES: dict[str, Quantity] = {
    "params": Quantity(
        "params",
        "unique parameters; tied weights count once",
        budget="target parameter count (7e9, 1.3B), or a range (6e9..7e9)",
    ),
    "trainable_params": Quantity(
        "trainable",
        "unique parameters with requires_grad",
        lambda tensor: tensor.trainable,
        fact="trainable",
    ),
    "active_params": Quantity(
        "active",
        "parameters used per token: the top-k of E routed experts, and everything else in full, embedding "
        "tables included",
        active=True,
        fact="active per token",
        budget="target count of active parameters, or a range",
    ),
    "active_params_without_lookup": Quantity(
        "active without lookup",
        "active parameters excluding lookup-only embedding tables, as on model cards; a table tied to the "
        "output embeddings is included",
        lambda tensor: tensor.embedding != "table",
        active=True,
    ),
    "embedding_params": Quantity(
        "embedding",
        "the tables of every nn.Embedding and the weight of get_output_embeddings(); tied weights count once",
        lambda tensor: tensor.embedding != "",
    ),
    "non_embedding_params": Quantity(
        "non-embedding",
        "all parameters except embedding_params",
        lambda tensor: not tensor.embedding,
        budget="target count of non-embedding parameters, or a range",
    ),
    "buffers": Quantity(
        "persistent buffers",
        "elements of persistent buffers",
        kind="buffer",
        fact="in persistent buffers",
    ),
}

COSTS: dict[str, Quantity] = {  # of a forward pass: they also depend on its axes
    "flops": Quantity(
        "FLOPs",
        "FLOPs of one forward pass: 2 per multiply-add of transformers' eager code",
        kind="flops",
        active=True,
        node_terms=lambda node: [(cost.name, (cost.flops,)) for cost in node.costs],
        latex="F",
    ),
    "masked_flops": Quantity(
        "FLOPs without masked scores",
        "FLOPs excluding attention scores hidden by the causal or sliding-window mask",
        kind="masked_flops",
        active=True,
        node_terms=lambda node: [(cost.name, (cost.masked,)) for cost in node.costs],
        latex=r"F_{\mathrm{masked}}",
    ),
    "training_flops": Quantity(
        "training FLOPs",
        "FLOPs of a forward and backward pass",
        kind="training_flops",
        active=True,
        node_terms=lambda node: [(cost.name, (cost.flops + cost.backward,)) for cost in node.costs],
        latex=r"F_{\mathrm{training}}",
    ),
    "activation_bytes": Quantity(
        "activations",
        "bytes that autograd saves for the backward pass of a training step",
        kind="activation",
        node_terms=lambda node: [(saved.name, (saved.nbytes,)) for saved in node.saves],
        latex=r"M_{\mathrm{activations}}",
    ),
    "cache_elements": Quantity(
        "KV cache",
        "elements of the KV cache after the forward pass",
        kind="cache",
        node_terms=lambda node: [
            (kept.name, (kept.times, *kept.shape)) for kept in node.cache or () if kept.allocation == "exact"
        ],
        latex=r"N_{\mathrm{cache}}",
    ),
    "item_tokens": Quantity(
        "tokens of images, videos and audio",
        "tokens of the text that images, videos and audio take the place of",
        kind="item_tokens",
        node_terms=lambda node: node.placed,
        latex=r"N_{\mathrm{tokens}}",
    ),
}
ALLOCATION_TITLES = {"exact": "DynamicCache", "static": "StaticCache", "pages": "16-token pages"}
ALLOCATION_HELP = {  # of the KV cache
    "exact": "transformers' DynamicCache, which grows with each token",
    "static": "transformers' StaticCache, allocated in advance; absent if it is not validated for the class",
    "pages": "a paged cache with blocks of 16 tokens in all layers",
}
COST_COLUMNS = (  # of a sweep
    *("flops", "masked_flops", "training_flops", "cache_elements", "cache_bytes", "item_tokens"),
)
FORMULAS = {**QUANTITIES, **COSTS}  # quantities with a closed form
BUDGETS = [*(name for name, quantity in QUANTITIES.items() if quantity.budget), "bytes"]  # of solve()
