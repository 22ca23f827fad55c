"""The leading order is what is left of a count when a model grows."""

from __future__ import annotations

from math import log10

import pytest
import sympy

import archspec
from archspec.render.growth import leading


@pytest.mark.parametrize(
    "architecture", ["BertModel", "JambaForCausalLM", "DeepseekV3ForCausalLM", "Gemma3ForCausalLM"]
)
def test_what_is_dropped_grows_slower(architecture: str) -> None:
    formula = archspec.formula(architecture)
    grown = ["hidden_size", "num_hidden_layers"]
    found = leading(formula, grown)
    assert sympy.expand(found.expr + found.dropped - formula.expr) == 0

    def size(expr: sympy.Expr, times: int) -> float:
        values = {name: value * (times if name in grown else 1) for name, value in formula.symbols.items()}
        return float(formula.plain(expr).subs({sympy.Symbol(name): value for name, value in values.items()}))

    def degree(term: sympy.Expr) -> int:
        return round(log10(abs(size(term, 10**9) / size(term, 10**6))) / 3)

    (top,) = {degree(term) for term in sympy.Add.make_args(found.expr)}
    assert all(degree(term) < top for term in sympy.Add.make_args(found.dropped))


@pytest.mark.parametrize("architecture", ["JambaForCausalLM", "DeepseekV3ForCausalLM"])
def test_layers_of_several_kinds_have_a_leading_order(architecture: str) -> None:
    formula = archspec.formula(architecture)
    found = leading(formula)
    assert sympy.expand(found.expr + found.dropped - formula.expr) == 0 and found.dropped_share < 0.1
