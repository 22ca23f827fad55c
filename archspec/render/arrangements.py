"""Arrangements of a closed form: by component, by module, per layer, as monomials, by powers of a symbol.

Every arrangement is a list of labelled expressions whose sum is the formula's own expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import sympy

from archspec.errors import FormulaError, did_you_mean
from archspec.render.order import ordered
from archspec.render.terms import arranged
from archspec.symbolic.closed_form import ClosedForm
from archspec.symbolic.repetitions import SymbolicTensor

COMPONENTS = ("embeddings", "attention", "feed-forward", "mixer", "norms", "other", "head")
_NORMS = (
    "LayerNorm",
    "RMSNorm",
    "GroupNorm",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "FrozenBatchNorm2d",
)
_HEADS = r"(lm_head|cls|score|pooler|classifier|qa_outputs|embed_out|head|vocab_\w+)\b"
_ATTENTION = (
    r"self_attn|self_attention|encoder_attn|cross_attn|crossattention|attn|attention\w*|\w*Attention\w*"
)
_MIXER = r"mixer|mamba|ssm|conv|linear_attn|rec|temporal_block"
_FEED_FORWARD = (
    r"mlp|ffn\w*|feed_forward|intermediate|output|experts|block_sparse_moe|fc1|fc2|moe|wi|wo|DenseReluDense"
)
_PATTERNS = {  # the first that fits a tensor's path decides
    "norms": r"(^|[._])(layer_?norm|ln_?\w*|norm\w*|\w+_norm|\w*layernorm\w*)\.(weight|bias)$",
    "attention": rf"(^|[._])({_ATTENTION})\b",
    "mixer": rf"(^|[._])({_MIXER})\b",
    "feed-forward": rf"(^|[._])({_FEED_FORWARD})\b",
    "embeddings": r"(^|[._])\w*(embed|wte|wpe|shared)\w*",
}


class Part(NamedTuple):
    """A labelled part of a formula, and the terms that it is best written in."""

    label: str
    expr: Any
    terms: tuple[Any, ...] = ()


def component(tensor: SymbolicTensor) -> str:
    """Which of :data:`COMPONENTS` a tensor belongs to, as authors group a model's parameters."""
    if tensor.layer in _NORMS:
        return "norms"
    if tensor.embedding:
        return "embeddings" if tensor.layer == "Embedding" else "head"
    if "{" not in tensor.name and re.match(_HEADS, tensor.name):
        return "head"
    return next((name for name, pattern in _PATTERNS.items() if re.search(pattern, tensor.name)), "other")


def arrangement(formula: ClosedForm, by: str, depth: int = 1) -> list[Part]:
    """The parts of a formula by one of the arrangements below; ``depth`` is that of modules.

    Errors: :class:`FormulaError` for another arrangement, and for a depth below 1.
    """
    ways = {"repetition": by_repetition, "component": by_component, "layer": by_layer}
    ways["polynomial"] = by_polynomial
    if type(depth) is not int or depth < 1:
        raise FormulaError(f"a depth of {depth} is none", help="write 1 for the modules of the model itself")
    if by == "module":
        return by_module(formula, depth)
    if by not in ways:
        help_ = did_you_mean(str(by), ways) or f"there are {', '.join([*ways, 'module'])}"
        raise FormulaError(f"{by} is no arrangement", help=help_)
    if depth != 1:
        message = f"a depth of {depth} has no effect by {by}"
        raise FormulaError(message, help="arrange by module, or leave out the depth")
    return ways[by](formula)


def by_repetition(formula: ClosedForm) -> list[Part]:
    """The whole formula, what stands once first, then each repetition times what it repeats."""
    return [Part("", formula.expr, tuple(arranged(formula)))]


def by_component(formula: ClosedForm) -> list[Part]:
    """Embeddings, attention, feed-forward, norms, head: the grouping of papers."""
    return _grouped(formula, component, COMPONENTS)


def by_module(formula: ClosedForm, depth: int = 1) -> list[Part]:
    """One part for each module down to a depth, in the model's order."""
    return _grouped(formula, lambda tensor: ".".join(tensor.name.split(".")[:-1][:depth]) or tensor.name)


def by_layer(formula: ClosedForm) -> list[Part]:
    """One part for each stack of layers, and one for what stands once."""

    def stack(tensor: SymbolicTensor) -> str:
        return tensor.name.split("}")[0] + "}" if "{" in tensor.name else "not repeated"

    return _grouped(formula, stack)


def by_polynomial(formula: ClosedForm) -> list[Part]:
    """The formula as one sum of monomials."""
    expr = formula.expr.expand()
    return [Part("", expr, tuple(ordered(sympy.Add.make_args(expr))))]


def collected(formula: ClosedForm, name: str) -> list[Part]:
    """The formula by powers of one symbol. Errors: :class:`FormulaError` for a name that does not enter."""
    symbol = symbol_of(formula, name)
    found = sympy.collect(sympy.expand(formula.expr), symbol, evaluate=False)
    powers = sorted(found, key=lambda power: -sympy.degree(power, symbol) if power.has(symbol) else 0)
    terms = [
        sympy.Mul(power, found[power], evaluate=False) if power != 1 else found[power] for power in powers
    ]
    return [Part("", sympy.Add(*terms, evaluate=False), tuple(terms))]


def _grouped(
    formula: ClosedForm, key: Callable[[SymbolicTensor], str], order: Iterable[str] = ()
) -> list[Part]:
    groups: dict[str, list[SymbolicTensor]] = {name: [] for name in order}
    for tensor in formula.tensors:
        groups.setdefault(key(tensor), []).append(tensor)
    parts = []
    for label, tensors in groups.items():
        terms = arranged(formula, tensors)
        expr = sympy.expand(sympy.Add(*terms))
        if expr != 0:
            parts.append(Part(label, expr, tuple(terms)))
    return parts or by_repetition(formula)  # a formula of 0 is one part


def symbol_of(formula: ClosedForm, name: str) -> Any:
    """A symbol by its name. Errors: :class:`FormulaError` for a name that does not enter."""
    symbol = sympy.Symbol(name)
    if symbol not in formula.expr.free_symbols:
        entering = sorted(symbol.name for symbol in formula.expr.free_symbols)
        help_ = did_you_mean(name, entering) or f"it has {', '.join(entering)}"
        raise FormulaError(f"{name} does not enter the formula", help=help_)
    return symbol
