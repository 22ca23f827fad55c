"""How a closed form grows: the terms that no other outgrows, and how it answers to each field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, NamedTuple

import sympy

from archspec.render.arrangements import Part, symbol_of
from archspec.render.factors import added, multiplied, shortest
from archspec.render.order import ordered
from archspec.symbolic.closed_form import ClosedForm

LARGER = 10  # times as large a faster term has to be, where nobody names the fields that grow
_WIDTHS = re.compile(
    r"hidden_(size|dim|channels)|embed(ding)?_dim|intermediate_(size|dim)|feature_dims"
    r"|^(width|depth)_(coef|factor|multi)|(?<!dense_)layers$"
)
_STAYS = re.compile(
    # of layers: every how many one is of a kind, and from which on
    r"period|offset|interval|_frequency|sparse|_step$|^step$|dense_(layers|replace)"
    # of images and sounds, and how they are cut up
    r"|patch|ima?ge?(_|$)|image|resolution|window|tubelet|frame|mel|audio_ch|num_channels|grid"
    r"|^(in|input)_ch[a-z]*$|rates?(_|$)|kernel|conv_l_cache|d_conv$|stride|pool(?!er)|merge|_bins$"
    # factors of a size, and what it is rounded to
    r"|ratios?$|factors?$|mult|expan|scales?$|reduction|compress|squeeze|divis|groups?$|group_num"
    # of positions, tokens, labels and tables beside the vocabulary
    r"|position|pos_shape|conv_pos|max_|min_|length|seq_len|tokens?$|quer(y_num|ies)|registers|buckets|labels?$"
    r"|classes|type_vocab|_types$|levels|points$|codebooks$|quantizers|speakers|spkrs|langs|targets|inputs$"
    r"|coords|_id$"
)

Powers = frozenset[tuple[Any, Any]]  # of the symbols that grow, without those of power 0
Rate = frozenset[Powers]  # of a sum: the powers of its terms that no other of them outgrow

CONSTANT: Powers = frozenset()


class Rates:
    """The rates at which expressions grow with some symbols, each of which grows as fast as it likes.

    >>> d, L, V = map(sympy.Symbol, "dLV")
    >>> rates = Rates({d, L, V})
    >>> rates.outgrows(rates.of(12 * L * d**2), rates.of(sympy.floor(L / 2) * d))
    True
    >>> rates.outgrows(rates.of(12 * L * d**2), rates.of(V * d))
    False
    """

    def __init__(self, growing: Iterable[Any]) -> None:
        self.growing = frozenset(growing)

    def of(self, expr: Any) -> Rate:
        """An expression's rate: a rounding's is that of what it rounds, a sum over layers is a product."""
        if not expr.free_symbols & self.growing:
            return frozenset({CONSTANT})
        if expr.is_Symbol:
            return frozenset({frozenset({(expr, sympy.Integer(1))})})
        if expr.is_Mul:
            return reduce(_product, map(self.of, expr.args))
        if expr.is_Pow and expr.exp.is_number:
            return _fastest(_raised(powers, expr.exp) for powers in self.of(expr.base))
        if isinstance(expr, sympy.log):
            return frozenset({CONSTANT})
        if isinstance(expr, sympy.Min | sympy.Mod):  # Mod is below either side
            return self.slowest(map(self.of, expr.args))
        if isinstance(expr, sympy.Sum):
            term, (index, first, last) = expr.args
            return _product(self.of(term.subs(index, last)), self.of(last - first + 1))
        parts = [part[0] for part in expr.args] if isinstance(expr, sympy.Piecewise) else expr.args
        return _fastest(powers for part in parts for powers in self.of(part))

    def outgrows(self, one: Rate, other: Rate) -> bool:
        """Whether the first has a higher power for each of the second: at least as high in every symbol."""
        return all(any(_outgrows(high, low) for high in one) for low in other)

    def slowest(self, rates: Iterable[Rate]) -> Rate:
        """The rate that all others outgrow or are; the first where there is none."""
        found = list(rates)
        below = (one for one in found if all(one == other or self.outgrows(other, one) for other in found))
        return next(below, found[0])


def _outgrows(one: Powers, other: Powers) -> bool:
    high, low = dict(one), dict(other)
    return one != other and all(high.get(symbol, 0) >= low.get(symbol, 0) for symbol in {*high, *low})


def _fastest(found: Iterable[Powers]) -> Rate:
    powers = frozenset(found)
    return frozenset(one for one in powers if not any(_outgrows(other, one) for other in powers))


def _product(one: Rate, other: Rate) -> Rate:
    return _fastest(_sum(left, right) for left in one for right in other)


def _sum(one: Powers, other: Powers) -> Powers:
    powers = dict(one)
    for symbol, power in other:
        powers[symbol] = powers.get(symbol, sympy.Integer(0)) + power
    return _without_zeros(powers)


def _raised(powers: Powers, exponent: Any) -> Powers:
    return _without_zeros({symbol: power * exponent for symbol, power in powers})


def _without_zeros(powers: Mapping[Any, Any]) -> Powers:
    return frozenset((symbol, power) for symbol, power in powers.items() if power != 0)


class Leading(NamedTuple):
    """The terms of a closed form that no other outgrows, which together stand for it where it is large.

    ``expr`` and ``dropped`` add up to the whole; ``growing`` are the symbols that grow, by name. ``value``
    and ``dropped_value`` are what the two are worth at the config, ``dropped_share`` is of the exact total.
    """

    expr: Any
    dropped: Any
    growing: tuple[str, ...]
    value: int
    dropped_value: int
    dropped_share: float
    kept: frozenset[Rate]
    rates: Rates

    def part(self, part: Part) -> Part:
        """What is left of a part of the formula, in the terms that it is written in."""
        expr = sympy.Add(*filter(self._keeps, sympy.Add.make_args(sympy.expand(part.expr))))
        terms = [left for term in part.terms or sympy.Add.make_args(part.expr) for left in self._left(term)]
        alike = sympy.expand(sympy.Add(*terms) - expr) == 0
        return Part(part.label, expr, tuple(ordered(terms) if alike and terms else shortest(expr)))

    def _keeps(self, term: Any) -> bool:
        return self.rates.of(term) in self.kept

    def _left(self, term: Any, times: Any = sympy.S.One) -> list[Any]:
        """What is left of a term, sums within it included, where it is multiplied by something else."""
        if term.is_Add:
            return [left for part in term.args for left in self._left(part, times)]
        sums = [factor for factor in term.args if factor.is_Add] if term.is_Mul else []
        if not sums:
            return [term] if self._keeps(times * term) else []
        outside = [factor for factor in term.args if factor is not sums[-1]]
        left = self._left(sums[-1], times * sympy.Mul(*outside))
        return [multiplied([*outside, added(left)])] if left else []


def leading(formula: ClosedForm, fields: Iterable[str] = ()) -> Leading:
    """The terms that count most when fields grow, however fast each of them grows.

    A term is outgrown by another one that has at least its power in every growing field, and a higher one
    in some: 13·L·d by 12·L·d², and V·d by it only where the vocabulary stays as it is. A term that is
    outgrown is left out. Where ``fields`` are named, that is all. Where none are, widths, depths, numbers of
    heads and of experts, vocabularies and the lengths of a call grow (:func:`grows`), and a term is only left
    out if the faster one is :data:`LARGER` times as large at the config, too: a constant may be large,
    as a backbone without a symbol in it.

    Terms are kept as they stand: `max(0, L - L_dense)` grows like L, and remains.

    Errors: :class:`FormulaError` for a field that does not enter.
    """
    named = [symbol_of(formula, name) for name in fields]
    growing = _following(formula, named)
    if not named:
        growing = {symbol for symbol in formula.expr.free_symbols if grows(formula, symbol.name)}
    rates = Rates(growing)
    groups: dict[Rate, list[Any]] = {}
    for term in sympy.Add.make_args(sympy.expand(formula.expr)):
        groups.setdefault(rates.of(term), []).append(term)
    sizes = {rate: abs(formula.number(sympy.Add(*terms))) for rate, terms in groups.items()}

    def outgrown(rate: Rate) -> bool:
        faster = (other for other in groups if rates.outgrows(other, rate))
        return any(named or sizes[other] >= LARGER * sizes[rate] for other in faster)

    kept = frozenset(rate for rate in groups if not outgrown(rate))
    expr = sympy.Add(*(term for rate in groups if rate in kept for term in groups[rate]))
    dropped = sympy.Add(*(term for rate in groups if rate not in kept for term in groups[rate]))
    value, left = (int(formula.number(part)) for part in (expr, dropped))
    names = tuple(sorted(symbol.name for symbol in growing))
    return Leading(expr, dropped, names, value, left, left / max(1, formula.evaluate()), kept, rates)


def grows(formula: ClosedForm, name: str) -> bool:
    """Whether a symbol grows where nobody says which do; a number of layers or a size of its own does.

    >>> import archspec
    >>> f = archspec.formula("Qwen3MoeForCausalLM")
    >>> [name for name in f.symbols if not grows(f, name)]
    ['decoder_sparse_step']
    """
    if name in formula.definitions or (formula.call and name in formula.call.lengths()):
        return True
    field = name.rpartition(".")[2]
    plain = re.sub(r"\[\d+\]", "", field).lower()
    listed = plain.endswith("in_channels") and "[" in field  # the widths of the stages of a backbone
    return bool(listed or _WIDTHS.search(plain)) or not _STAYS.search(plain)


def _following(formula: ClosedForm, named: list[Any]) -> set[Any]:
    """Symbols, and those of the formula's own that are defined by them: `L_mlp` by the number of layers."""
    fields = "|".join(re.escape(symbol.name) for symbol in named)
    said = formula.definitions.items()
    return {*named, *(sympy.Symbol(name) for name, text in said if re.search(rf"\b({fields})\b", text))}


def _smooth(expr: Any) -> Any:
    """An expression without its roundings."""
    return expr.replace(sympy.floor, lambda x: x).replace(sympy.ceiling, lambda x: x)


def slopes(formula: ClosedForm) -> dict[str, float | None]:
    """The partial derivative for each symbol of a formula: other symbols stay fixed, roundings are ignored.

    It is None where SymPy has no derivative, as of a remainder or of the end of a loop.
    """
    smooth = _smooth(formula.expr)
    derivatives = {name: sympy.diff(smooth, sympy.Symbol(name)) for name in formula.symbols}
    return {
        name: None if found.has(sympy.Derivative, sympy.Subs) else float(formula.number(found))
        for name, found in derivatives.items()
    }
