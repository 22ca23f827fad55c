"""Numbers of a formula: the value is Python's, and the expression of fields agrees with it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

import archspec
from archspec.language.values import value_of
from archspec.symbolic.assumptions import Assumptions
from archspec.symbolic.fields import FUNCTIONS, Relation, function, in_turn, sympy_form
from archspec.symbolic.loops import Guard, Iteration, Loop
from archspec.symbolic.path_conditions import Number, SymRange, guards_of

A, B = sympy.symbols("a b", integer=True, nonnegative=True)
BINARY: list[Callable[[Any, Any], Any]] = [
    *(operator.add, operator.sub, operator.mul),
    *(operator.truediv, operator.floordiv, operator.mod),
]


def fields(**values: Any) -> tuple[Assumptions, list[Any]]:
    notes = Assumptions()
    return notes, [notes.field(name, value) for name, value in values.items()]


def loop_over(notes: Assumptions, stop: Any, variable: str = "i") -> Loop:
    return Loop(notes.space, variable, SymRange(0, stop), 4)


@given(st.integers(0, 60), st.integers(1, 9), st.sampled_from(BINARY), st.booleans())
def test_an_operation_is_done_on_the_value_and_on_the_expression(
    a: int, b: int, operation: Callable[[Any, Any], Any], plain: bool
) -> None:
    notes, (one, other) = fields(a=a, b=b)
    for left, right in ((one, b if plain else other), (a if plain else one, other)):
        found = operation(left, right)
        assert value_of(found) == operation(a, b)
        form = notes.sympy_form(found).subs({A: a, B: b})
        assert form == sympy.Rational(operation(sympy.Integer(a), sympy.Integer(b)))


@given(st.integers(0, 9), st.integers(0, 9))
def test_comparisons_are_those_of_the_values(a: int, b: int) -> None:
    _, (left, right) = fields(a=a, b=b)
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        assert compare(left, right) is compare(a, b) is compare(left, b) is compare(a, right)
    assert bool(left) is bool(a) and hash(left) == hash(a) and (-left).value == -a and (+left).value == a


def test_a_result_has_the_guards_of_both_sides() -> None:
    notes, (a, b) = fields(a=1, b=2)
    guards = [Guard(f"{name} < 2", True, loop_over(notes, 4, name)) for name in "ij"]
    one, other = (
        Number(notes.path, number.expr, number.value, frozenset({guard}))
        for number, guard in zip((a, b), guards, strict=True)
    )
    assert (one * other).guards == frozenset(guards) and (2 * one).guards == frozenset(guards[:1])
    assert guards_of([one, 3, other]) == frozenset(guards)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_have_a_sympy_form(name: str) -> None:
    notes, (a, b) = fields(a=3, b=2)
    args = (a.expr, b.expr) if name in ("min", "max", "nth_prime") else (a.expr,)
    form = sympy_form(notes.space, function(notes.space, name, args))
    assert form.free_symbols == ({A, B} if len(args) == 2 else {A})


def test_a_float_is_the_decimal_number_that_it_is_written_as() -> None:
    notes, (x,) = fields(x=0.1)
    assert notes.sympy_form(0.1) == sympy.Rational(1, 10) and notes.sympy_form(True) == 1
    assert notes.sympy_form(float("inf")) is sympy.nan
    assert notes.sympy_form(x * 2) == 2 * sympy.Symbol("x", nonnegative=True)


@pytest.mark.parametrize(("ends", "length"), [((0, 4), 4), ((1, 4), 3), ((2, 2), 0), ((0, 0), 0)])
def test_the_length_of_a_range(ends: tuple[int, int], length: int) -> None:
    assert SymRange(*ends).length == length == len(SymRange(*ends).fix())
    notes, (a, b) = fields(a=ends[0], b=ends[1])
    if length:
        found = SymRange(a, b).length
        assert found.value == length and notes.sympy_form(found) == B - A


def test_the_index_of_a_loop_is_a_number_in_an_iteration() -> None:
    notes, (a, b) = fields(a=3, b=4)
    loop, space = loop_over(notes, b), notes.space
    expr = space.multiply(space.atom("index", (loop.symbol,), 0, 9), a.expr)
    assert in_turn(space, expr, {loop.symbol: 2}) is (2 * a).expr
    assert in_turn(space, space.modulo(expr, b.expr), {loop.symbol: 2}) is (2 * a % b).expr
    assert loop.has_free_length and str(loop) == "i in range(b)" and not loop_over(notes, 5).has_free_length
    assert str(Loop(space, "i", SymRange(1, 5), 4)) == "i in range(1, 5)"


def test_tests_of_the_index_distinguish_iterations_and_tests_of_sizes_do_not() -> None:
    notes, (a, b) = fields(a=3, b=4)
    loop = loop_over(notes, b)
    index = notes.space.atom("index", (loop.symbol,), 0, 9)
    notes.loops.append(loop)
    notes.open.append(loop)
    for place in range(4):
        loop.history.append(Iteration([], {loop.symbol: place}, []))
        notes.record_test("i < a", place < 3, Relation("<", (index, a.expr)))
        notes.record_test("i < b", True, Relation("<", (index, b.expr)))
        notes.record_test("a > 2", True, Relation(">", (a.expr, notes.space.constant(2))))
        notes.record_test("kinds[i] == 'x'", place == 1)
        notes.record_test("flag", True)
    notes.open.clear()
    assert [text for text in loop.tests if loop.decides(text)] == ["i < a", "i < b", "kinds[i] == 'x'"]
    notes.finish()
    assert notes.words == {"a > 2": True, "i < b for every i in range(b)": True}


def test_the_use_of_a_plain_value_is_noted() -> None:
    notes, (a, b) = fields(a=3, b=4)
    assert [0] * (a + 1) == [0] * 4 and notes.words == {"a == 3": True} and notes.pinned == {"a"}
    assert {4: "x"}[b] == "x" and notes.pinned == {"a", "b"}


@pytest.mark.parametrize("value", [None, True, "x", [1], object(), float("nan"), float("inf")])
def test_values_of_symbols_are_numbers(value: Any) -> None:
    formula = archspec.formula("GPT2LMHeadModel")
    with pytest.raises(archspec.ArchspecError, match=r"n_layer: .* is not a number"):
        formula.value_at({**formula.symbols, "n_layer": value})
