"""The closed form of FLOPs held to the polynomial that torch counts over symbolic lengths."""

from __future__ import annotations

from typing import Any

import sympy

from archspec.configs.scope import Scope
from archspec.costs.records import Call
from archspec.errors import ArchspecError
from archspec.reference.costs import encodes, instance
from archspec.reference.symbolic_costs import symbolic_flops
from archspec.reference.verdicts import Refused, Unavailable
from archspec.specs.records import Spec
from archspec.symbolic.closed_form import ClosedForm
from archspec.verifying.comparison import Config

AGREE = ("polynomials", "points")
NEITHER = "not over symbols"
_CALL = Call(2, 80)
_MEMORY = 48  # encoder positions
_LENGTHS = sympy.symbols("batch tokens encoder_tokens")
_POINTS = (80, 83, 96)  # tokens, where there are floors of chunks


def agreement(spec: Spec, architecture: str, raw: Config) -> str:
    """How the two agree: as `polynomials`, at `points`, or a text of both where they do not.

    Errors: Unavailable and :class:`ArchspecError` where there is no more than one.
    """
    model = instance(architecture, raw, spec.model_type)
    call = _CALL._replace(encoder_tokens=_MEMORY, new_encoder_tokens=_MEMORY) if encodes(model) else _CALL
    theirs = symbolic_flops(model, call)
    ours = closed_form(Scope(spec, raw), architecture, call)
    if theirs.free_symbols - set(_LENGTHS):  # lengths that depend on values, as of an expert's tokens
        raise Unavailable("torch counts over symbols of its own")
    if theirs.free_symbols != ours.free_symbols:  # torch fixed a length, as where code loops over tokens
        same, how = _at(ours, _CALL.tokens) == _at(theirs, _CALL.tokens), "points"
    elif all(one.is_polynomial(*_LENGTHS) for one in (ours, theirs)):
        same, how = sympy.expand(ours - theirs) == 0, "polynomials"
    else:
        same, how = all(_at(ours, tokens) == _at(theirs, tokens) for tokens in _POINTS), "points"
    return how if same else f"the spec gives {ours}, torch {theirs}"


def compared(spec: Spec, architecture: str, raw: Config) -> str:
    """The same, and `not over symbols` where one is not to be had."""
    try:
        return agreement(spec, architecture, raw)
    except (ArchspecError, Refused, Unavailable):
        return NEITHER


def closed_form(scope: Scope, architecture: str, call: Call) -> Any:
    """The closed form at a config's numbers, in the lengths of a first call."""
    found = ClosedForm.of(scope, architecture, "flops", call)
    encoder_tokens = sympy.Symbol("encoder_tokens") if call.encoder_tokens else 0
    lengths = {"past": 0, "encoder_tokens": encoder_tokens, "new_encoder_tokens": encoder_tokens}
    numbers = {name: value for name, value in found.symbols.items() if name not in Call._fields}
    table = {sympy.Symbol(name): sympy.sympify(value) for name, value in {**numbers, **lengths}.items()}
    return sympy.expand(found.expr.xreplace(table).doit())


def _at(expr: Any, tokens: int) -> Any:
    batch, positions, encoder_tokens = _LENGTHS
    return expr.subs({batch: _CALL.batch, positions: tokens, encoder_tokens: _MEMORY})
