"""Closed forms evaluated at values of their symbols."""

from __future__ import annotations

from typing import Any

import pytest

import archspec


@pytest.mark.parametrize("value", [None, True, "x", [1], object(), float("nan"), float("inf")])
def test_values_of_symbols_are_numbers(value: Any) -> None:
    formula = archspec.formula("GPT2LMHeadModel")
    with pytest.raises(archspec.ArchspecError, match=r"n_layer: .* is not a number"):
        formula.substituted({**formula.symbols, "n_layer": value})
