"""Arrangements of a closed form: by component, module, layer or powers, or as a polynomial.

Every arrangement is a list of labelled parts that add up to the formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import sympy

from archspec.errors import FormulaError, did_you_mean, option
from archspec.render.order import sort_terms
from archspec.render.terms import arrange_terms, factor_terms
from archspec.symbolic.closed_form import ClosedForm
from archspec.symbolic.repetitions import SymbolicTensor
from archspec.tables.options import GROUPS

COMPONENTS = ("embeddings", "attention", "feed-forward", "mixer", "norms", "other", "head")
_NORM = re.compile(r"(Layer|RMS|Group|(Frozen)?Batch)Norm(\dd)?")
_HEADS = r"(lm_head|cls|score|pooler|classifier|qa_outputs|embed_out|head|vocab_\w+)\b"
_ATTENTION = (
    r"self_attn|self_attention|encoder_attn|cross_attn|crossattention|attn|attention\w*|\w*Attention\w*"
)
_MIXER = r"mixer|mamba|ssm|conv|linear_attn|rec|temporal_block"
_FEED_FORWARD = (
    r"mlp|ffn\w*|feed_forward|intermediate|output|experts|block_sparse_moe|fc1|fc2|moe|wi|wo|DenseReluDense"
)
_PATTERNS = {  # the first pattern that matches a tensor's path gives its component
    "norms": r"(^|[._])(layer_?norm|ln_?\w*|norm\w*|\w+_norm|\w*layernorm\w*)\.(weight|bias)$",
    "attention": rf"(^|[._])({_ATTENTION})\b",
    "mixer": rf"(^|[._])({_MIXER})\b",
    "feed-forward": rf"(^|[._])({_FEED_FORWARD})\b",
    "embeddings": r"(^|[._])\w*(embed|wte|wpe|shared)\w*",
}


class Part(NamedTuple):
    """A labelled part of a formula, and the terms in which it is written."""

    label: str
    expr: Any
    terms: tuple[Any, ...]

    @classmethod
    def make(cls, label: str, expr: Any, terms: Iterable[Any] = ()) -> Part:
        """Return a part with its terms in order; by default, those of the expression, factored."""
        return cls(label, expr, tuple(sort_terms(terms)) or tuple(factor_terms(expr)))


def component(tensor: SymbolicTensor) -> str:
    """Return the component of a tensor, one of :data:`COMPONENTS`."""
    if _NORM.fullmatch(tensor.layer or ""):
        return "norms"
    if tensor.embedding:
        return "embeddings" if tensor.layer == "Embedding" else "head"
    if "{" not in tensor.name and re.match(_HEADS, tensor.name):
        return "head"
    return next((name for name, pattern in _PATTERNS.items() if re.search(pattern, tensor.name)), "other")


def arrange(formula: ClosedForm, by: str, depth: int = 1) -> list[Part]:
    """Return the parts of a formula by one of `GROUPS`; ``depth`` is the depth of modules."""
    if type(depth) is not int or depth < 1:
        message = f"{option('depth')} must be at least 1, not {depth}"
        raise FormulaError(message, help=f"pass {option('depth', 1)} or more")
    if by not in GROUPS:
        message = f"{option('by')}: unknown grouping {by!r}"
        raise FormulaError(message, help=did_you_mean(str(by), GROUPS))
    if depth != 1 and by != "module":
        message = f"{option('depth')} has no effect with {option('by', by)}"
        raise FormulaError(message, help=f"pass {option('by', 'module')}, or leave out {option('depth')}")
    if by == "component":
        return _group(formula, component, COMPONENTS)
    if by == "module":
        return _group(formula, lambda one: ".".join(one.name.split(".")[:-1][:depth]) or one.name)
    if by == "layer":
        return _group(formula, _layer)
    if by == "repetition":
        return [Part("", formula.expr, tuple(arrange_terms(formula)))]
    expr = formula.expr.expand()
    return [Part.make("", expr, sympy.Add.make_args(expr))]


def _layer(tensor: SymbolicTensor) -> str:
    return tensor.name.split("}")[0] + "}" if "{" in tensor.name else "outside the layers"


def _group(
    formula: ClosedForm, label_of: Callable[[SymbolicTensor], str], labels: Iterable[str] = ()
) -> list[Part]:
    groups: dict[str, list[SymbolicTensor]] = {label: [] for label in labels}
    for tensor in formula.tensors:
        groups.setdefault(label_of(tensor), []).append(tensor)
    arranged = {label: tuple(arrange_terms(formula, tensors)) for label, tensors in groups.items()}
    parts = [Part(label, sympy.expand(sympy.Add(*terms)), terms) for label, terms in arranged.items()]
    return [part for part in parts if part.expr != 0] or arrange(formula, "repetition")


def collect_powers(formula: ClosedForm, name: str) -> list[Part]:
    """Return the formula by powers of one symbol. Errors: those of :func:`find_symbol`."""
    symbol = find_symbol(formula, name)
    found = sympy.collect(sympy.expand(formula.expr), symbol, evaluate=False)
    powers = sorted(found, key=lambda power: -sympy.degree(power, symbol) if power.has(symbol) else 0)
    terms = [found[one] if one == 1 else sympy.Mul(one, found[one], evaluate=False) for one in powers]
    return [Part("", sympy.Add(*terms, evaluate=False), tuple(terms))]


def find_symbol(formula: ClosedForm, name: str) -> Any:
    """Return a symbol by its name. Errors: :class:`FormulaError` for a name that is not in the formula."""
    symbols = {symbol.name: symbol for symbol in formula.expr.free_symbols}
    if name not in symbols:
        help_ = did_you_mean(name, symbols) or f"choose from: {', '.join(sorted(symbols))}"
        raise FormulaError(f"the formula does not depend on {name}", help=help_)
    return symbols[name]
