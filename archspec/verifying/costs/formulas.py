"""Closed forms of costs, validated against the exact counts and torch's polynomials in symbolic lengths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from archspec.configs.scope import Scope
from archspec.costs.lengths import usual_lengths
from archspec.costs.records import Call
from archspec.errors import ArchspecError, ConfigError, FormulaError
from archspec.reference.contents import has_encoder_and_decoder
from archspec.reference.costs import symbolic_flops
from archspec.reference.verdicts import Refused, Unavailable
from archspec.symbolic.closed_form import ClosedForm, exact_count
from archspec.verifying.costs.cases import Case, calls, with_encoder

QUANTITIES = ("flops", "masked_flops", "cache_elements", "training_flops")
AGREE = ("polynomials", "points")
NEITHER = "not over symbols"
_CALL, _ENCODER_TOKENS = Call(2, 80), 48
_LENGTHS = sympy.symbols("batch tokens encoder_tokens")
_POINTS = (80, 83, 96)  # tokens, for floor divisions by chunk sizes


def without_closed_form(case: Case) -> Iterator[str]:
    """Yield the quantities without a closed form that gives the exact count, and the reasons."""
    try:
        scope = case.scope
        compared = list(calls(scope, "encoder_tokens" in usual_lengths(scope, case.architecture)))
    except ArchspecError:
        return
    for call in compared:
        for quantity in QUANTITIES:
            try:
                exact_count(scope, case.architecture, quantity, call)
            except ArchspecError:
                continue  # neither has it a closed form
            try:
                ClosedForm.derive(scope, case.architecture, quantity, call)
            except ConfigError:
                return  # a required field is missing
            except FormulaError as error:
                yield f"{quantity} of {call}: {error}"


def compare_formulas(case: Case) -> str:
    """Return how FLOPs agree with torch: as `polynomials`, at `points`, or a text with both expressions.

    Errors: :class:`Unavailable`, :class:`ArchspecError` without an expression on one side.
    """
    model = case.model()
    call = with_encoder(_CALL, _ENCODER_TOKENS) if has_encoder_and_decoder(model) else _CALL
    theirs = symbolic_flops(model, call)
    ours = closed_form(case.scope, case.architecture, call)
    if theirs.free_symbols - set(_LENGTHS):  # lengths that depend on values, e.g. the tokens of an expert
        raise Unavailable("torch's count has other symbols")
    if theirs.free_symbols != ours.free_symbols:  # torch fixed a length, e.g. in a loop over tokens
        same, how = _substitute(ours, _CALL.tokens) == _substitute(theirs, _CALL.tokens), "points"
    elif all(one.is_polynomial(*_LENGTHS) for one in (ours, theirs)):
        same, how = sympy.expand(ours - theirs) == 0, "polynomials"
    else:
        same = all(_substitute(ours, tokens) == _substitute(theirs, tokens) for tokens in _POINTS)
        how = "points"
    return how if same else f"the spec gives {ours}, torch {theirs}"


def agreement_if_symbolic(case: Case) -> str:
    """Return the agreement, or `not over symbols` without one."""
    try:
        return compare_formulas(case)
    except (ArchspecError, Refused, Unavailable):
        return NEITHER


def closed_form(scope: Scope, architecture: str, call: Call) -> Any:
    """Return the closed form of FLOPs for a config, in the lengths of a forward pass without a past."""
    found = ClosedForm.derive(scope, architecture, "flops", call)
    encoder_tokens = sympy.Symbol("encoder_tokens") if call.encoder_tokens else 0
    lengths = {"past": 0, "encoder_tokens": encoder_tokens, "new_encoder_tokens": encoder_tokens}
    numbers = {name: value for name, value in found.symbols.items() if name not in Call._fields}
    table = {sympy.Symbol(name): sympy.sympify(value) for name, value in {**numbers, **lengths}.items()}
    return sympy.expand(found.expr.xreplace(table).doit())


def _substitute(expr: Any, tokens: int) -> Any:
    return expr.subs(dict(zip(_LENGTHS, (_CALL.batch, tokens, _ENCODER_TOKENS), strict=True)))
