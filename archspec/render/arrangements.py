"""Arrangements of a closed form: by component, module, layer or power, under assumptions, leading order.

Every arrangement is a list of labelled expressions whose sum is the formula's own expression; only
:func:`leading` leaves something out, and says how much.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import sympy

from archspec.errors import FormulaError, Place, Problem, Source, SpecError, did_you_mean
from archspec.language.evaluator import Evaluator
from archspec.language.expression import EvaluationError, parse
from archspec.language.yaml_reader import Scalar
from archspec.render.printers import arranged
from archspec.symbolic.closed_form import ClosedForm
from archspec.symbolic.repetitions import SymbolicTensor
from archspec.symbolic.values import Sym

AnyForm = TypeVar("AnyForm", bound=ClosedForm)
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
_PATTERNS = (  # the first that fits a tensor's path decides
    ("norms", r"(^|[._])(layer_?norm|ln_?\w*|norm\w*|\w+_norm|\w*layernorm\w*)\.(weight|bias)$"),
    (
        "attention",
        r"(^|[._])(self_attn|self_attention|encoder_attn|cross_attn|crossattention|attn|attention\w*|\w*Attention\w*)\b",
    ),
    ("mixer", r"(^|[._])(mixer|mamba|ssm|conv|linear_attn|rec|temporal_block)\b"),
    (
        "feed-forward",
        r"(^|[._])(mlp|ffn\w*|feed_forward|intermediate|output|experts|block_sparse_moe|fc1|fc2|moe|wi|wo|DenseReluDense)\b",
    ),
    ("embeddings", r"(^|[._])\w*(embed|wte|wpe|shared)\w*"),
)
# Counts of things that do not grow when a model is widened or deepened.
_FIXED = re.compile(
    r"vocab|position|type_vocab|num_labels|heads?$|experts?|_head$|buckets|kernel|channels|image|patch|window|expand|groups?$|per_tok"
)


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
    if "{" not in tensor.name and re.match(
        r"(lm_head|cls|score|pooler|classifier|qa_outputs|embed_out|head|vocab_\w+)\b", tensor.name
    ):
        return "head"
    for name, pattern in _PATTERNS:
        if re.search(pattern, tensor.name):
            return name
    return "other"


def by_component(formula: ClosedForm) -> list[Part]:
    """Embeddings, attention, feed-forward, norms, head: the grouping of papers."""
    return _grouped(formula, component, COMPONENTS)


def by_module(formula: ClosedForm, depth: int = 1) -> list[Part]:
    """One part for each module down to a depth, in the model's order."""
    return _grouped(formula, lambda tensor: ".".join(tensor.name.split(".")[:-1][:depth]) or tensor.name)


def per_layer(formula: ClosedForm) -> list[Part]:
    """One part for each stack of layers, and one for what stands once."""
    return _grouped(
        formula, lambda tensor: tensor.name.split("}")[0] + "}" if "{" in tensor.name else "not repeated"
    )


def polynomial(formula: ClosedForm) -> list[Part]:
    """The formula as one sum of monomials."""
    return [Part("", formula.expr.expand())]


def collected(formula: ClosedForm, name: str) -> list[Part]:
    """The formula by powers of one symbol. Errors: :class:`FormulaError` for a name that does not enter."""
    symbol = _symbol(formula, name)
    collected = sympy.collect(sympy.expand(formula.expr), symbol, evaluate=False)
    order = sorted(collected, key=lambda power: -sympy.degree(power, symbol) if power.has(symbol) else 0)
    terms = [
        sympy.Mul(power, collected[power], evaluate=False) if power != 1 else collected[power]
        for power in order
    ]
    return [Part("", sympy.Add(*terms, evaluate=False))]


def _grouped(
    formula: ClosedForm, key: Callable[[SymbolicTensor], str], order: Iterable[str] = ()
) -> list[Part]:
    groups: dict[str, list[SymbolicTensor]] = {name: [] for name in order}
    for tensor in formula.tensors:
        groups.setdefault(key(tensor), []).append(tensor)
    parts = []
    for label, tensors in groups.items():
        terms = arranged(formula, tensors)
        whole = factored(sympy.Add(*terms))
        if whole != 0:
            short = len(terms) > 1 and len(str(whole)) < sum(len(str(term)) + 3 for term in terms)
            parts.append(Part(label, sympy.expand(sympy.Add(*terms)), (whole,) if short else tuple(terms)))
    return parts


def factored(expr: Any) -> Any:
    """A sum with the symbols that all of its terms share in front: L·(4·d² + 9·d)."""
    return sympy.factor_terms(sympy.expand(expr))


def _symbol(formula: ClosedForm, name: str) -> Any:
    symbol = sympy.Symbol(name)
    if symbol not in formula.expr.free_symbols:
        entering = [s.name for s in formula.expr.free_symbols]
        problem = Problem(
            f"{name} does not enter the formula",
            help=did_you_mean(name, entering) or f"it has {', '.join(sorted(entering))}",
        )
        raise FormulaError(problem)
    return symbol


class _Names(Evaluator):
    """The right side of an assumption: an expression over the formula's fields."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def name(self, name: str, node: ast.Name) -> Any:
        if name not in self.values:
            self.fail(f"{name} is no field of this formula", node, did_you_mean(name, self.values))
        return Sym(self.values[name], sympy.Symbol(name))

    def attribute(self, value: Any, name: str, node: ast.Attribute) -> Any:
        return self.fail("write a field of a sub-config on the left side only", node)


def assume(formula: AnyForm, assumptions: Iterable[str]) -> AnyForm:
    """The formula with fields replaced by expressions of others: `intermediate_size=4*hidden_size`.

    Errors: :class:`FormulaError` with line and column for an assumption that cannot be read, and for
    fields that do not exist.
    """
    result = formula
    known = {**dict.fromkeys(formula.unused, 1), **formula.symbols}
    for text in assumptions:
        left, equals, right = text.partition("=")
        left = left.strip()
        place = Place(Source("--assume", text), 1, len(left) + 2, max(1, len(right)))
        if not equals or not right.strip():
            raise FormulaError(
                Problem(
                    f"{text!r} is no assumption",
                    help="write field=expression, e.g. intermediate_size=4*hidden_size",
                )
            )
        if left not in known:
            raise FormulaError(
                Problem(
                    f"{left} is no field of this formula",
                    place._replace(column=1),
                    help=did_you_mean(left, known),
                )
            )
        names = _Names({name: max(int(value), 1) for name, value in known.items() if name.isidentifier()})
        try:
            value = names.evaluate(parse(Scalar(right.strip(), place, False, right.strip())))
        except EvaluationError as error:
            raise FormulaError(error.problem()) from None
        except SpecError as error:
            raise FormulaError(error.problems) from None
        expr = value.expr if isinstance(value, Sym) else sympy.sympify(value)
        if not isinstance(expr, sympy.Expr) or sympy.Symbol(left) in expr.free_symbols:
            raise FormulaError(
                Problem(
                    f"{left} cannot be replaced by {right.strip()}",
                    place,
                    help="use other fields on the right",
                )
            )
        result = result.replaced({sympy.Symbol(left): expr}, f"{left} = {right.strip()}")
    return result


class Leading(NamedTuple):
    """The terms of highest order, and what was dropped at the config's values."""

    expr: Any
    dropped: Any
    dropped_value: int
    dropped_share: float


def leading(formula: ClosedForm, symbols: Iterable[str] = ()) -> Leading:
    """The terms of the highest degree in width and depth (or in the given symbols).

    The vocabulary, positions, heads, experts and other counts that stay when a model grows have
    degree zero. ``dropped_share`` is of the exact total at the config.
    """
    chosen = {_symbol(formula, name) for name in symbols}
    if not chosen:
        chosen = {s for s in formula.expr.free_symbols if not _FIXED.search(s.name.rpartition(".")[2])}
    terms = sympy.Add.make_args(sympy.expand(formula.expr))
    degrees = [_degree(term, chosen) for term in terms]
    top = max(degrees)
    kept = sympy.Add(*(term for term, degree in zip(terms, degrees, strict=True) if degree == top))
    dropped = sympy.Add(*(term for term, degree in zip(terms, degrees, strict=True) if degree != top))
    value = formula.number(dropped)
    return Leading(kept, dropped, int(value), float(value) / max(1, formula.evaluate()))


def _degree(term: Any, symbols: set[Any]) -> Any:
    """The degree of a term when all the symbols grow alike; a rounding counts as what it rounds."""
    term = term.replace(sympy.floor, lambda x: x).replace(sympy.ceiling, lambda x: x)
    growth = sympy.Symbol("growth", positive=True)
    grown = term.subs({symbol: symbol * growth for symbol in symbols}, simultaneous=True)
    if not grown.has(growth):
        return sympy.Integer(0)
    return sympy.limit(
        sympy.log(sympy.Abs(grown.subs({s: 2 for s in grown.free_symbols if s != growth})))
        / sympy.log(growth),
        growth,
        sympy.oo,
    )


class Sensitivity(NamedTuple):
    """How a quantity answers to one field at a config.

    ``derivative`` is the partial derivative, ``step`` the exact change for one more
    (None where that is no count), ``elasticity``
    the percent that one percent more adds.
    """

    field: str
    value: int | float
    derivative: float
    step: int | None
    elasticity: float


def sensitivity(formula: ClosedForm) -> list[Sensitivity]:
    """Every field that enters, the most elastic first; derivatives ignore rounding."""
    found = []
    base = formula.evaluate()
    smooth = formula.expr.replace(sympy.floor, lambda x: x).replace(sympy.ceiling, lambda x: x)
    for name, value in formula.symbols.items():
        slope = formula.number(sympy.diff(smooth, sympy.Symbol(name)))
        step = sympy.sympify(
            formula.number(formula.expr.subs(sympy.Symbol(name), sympy.Symbol(name) + 1)) - base
        )
        found.append(
            Sensitivity(
                name,
                value,
                float(slope),
                int(step) if step.is_Integer else None,
                float(slope) * float(value) / base if base else 0.0,
            )
        )
    return sorted(found, key=lambda row: -abs(row.elasticity))


def piecewise(
    formula: AnyForm, rebuild: Callable[[dict[str, Any]], AnyForm], limit: int = 5
) -> list[tuple[dict[str, bool], AnyForm]]:
    """The formula for every combination of the yes/no flags that change it.

    ``rebuild`` gives the formula of the same architecture with some flags set. Errors:
    :class:`FormulaError` when more than ``limit`` flags matter.
    """
    matter = []
    for name in [n for n, value in formula.flags.items() if isinstance(value, bool)]:
        try:
            if rebuild({name: not formula.flags[name]}).expr != formula.expr:
                matter.append(name)
        except FormulaError:
            raise
        except Exception as error:  # a flag that the architecture refuses is no case of its own
            if type(error).__module__ != "archspec.errors":
                raise
    if len(matter) > limit:
        raise FormulaError(
            f"{len(matter)} flags change this formula: {', '.join(matter)}; set some with --set"
        )
    cases = []
    for bits in range(2 ** len(matter)):
        flags = {name: bool(bits >> position & 1) for position, name in enumerate(matter)}
        cases.append((flags, rebuild(flags)))
    return cases
