"""Numbers of a formula: the value is Python's, the expression one of fields, and both say the same."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from archspec.symbolic.assumptions import Assumptions, Guard, Loop
from archspec.symbolic.fields import FUNCTIONS, Relation
from archspec.symbolic.path_conditions import Number, SymRange, guards_of
from archspec.symbolic.swept import length_of

A, B = sympy.symbols("a b", integer=True, nonnegative=True)
BINARY: list[Callable[[Any, Any], Any]] = [
    *(operator.add, operator.sub, operator.mul),
    *(operator.truediv, operator.floordiv, operator.mod),
]


def fields(**values: Any) -> tuple[Assumptions, list[Any]]:
    path = Assumptions()
    return path, [path.field(name, value) for name, value in values.items()]


def loop_over(path: Assumptions, stop: Any, variable: str = "i") -> Loop:
    return Loop(path, variable, SymRange(0, stop), 4)


@given(st.integers(0, 60), st.integers(1, 9), st.sampled_from(BINARY), st.booleans())
def test_an_operation_is_done_on_the_value_and_on_the_expression(
    a: int, b: int, operation: Callable[[Any, Any], Any], plain: bool
) -> None:
    path, (one, other) = fields(a=a, b=b)
    for left, right in ((one, b if plain else other), (a if plain else one, other)):
        found = operation(left, right)
        assert found.value == operation(a, b)
        shown = path.shown(found).subs({A: a, B: b})
        assert shown == sympy.Rational(operation(sympy.Integer(a), sympy.Integer(b)))


@given(st.integers(0, 9), st.integers(0, 9))
def test_comparisons_are_those_of_the_values(a: int, b: int) -> None:
    _, (left, right) = fields(a=a, b=b)
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        assert compare(left, right) is compare(a, b) is compare(left, b) is compare(a, right)
    assert bool(left) is bool(a) and hash(left) == hash(a) and (-left).value == -a and (+left).value == a


def test_a_result_came_through_the_guards_of_both_sides() -> None:
    path, (a, b) = fields(a=1, b=2)
    guards = [Guard(f"{name} < 2", True, loop_over(path, 4, name)) for name in "ij"]
    one, other = (
        Number(path, number.expr, number.value, frozenset({guard}))
        for number, guard in zip((a, b), guards, strict=True)
    )
    assert (one * other).guards == frozenset(guards) and (2 * one).guards == frozenset(guards[:1])
    assert guards_of([one, 3, other]) == frozenset(guards)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_show_themselves(name: str) -> None:
    path, (a, b) = fields(a=3, b=2)
    args = (a.expr, b.expr) if name in ("min", "max", "nth_prime") else (a.expr,)
    shown = path.fields.shown(path.fields.function(name, args))
    assert shown.free_symbols == ({A, B} if len(args) == 2 else {A})


def test_a_float_is_the_decimal_number_that_it_is_written_as() -> None:
    path, (x,) = fields(x=0.1)
    assert path.shown(0.1) == sympy.Rational(1, 10) and path.shown(True) == 1
    assert path.shown(float("inf")) is sympy.nan and path.shown(x * 2) == 2 * sympy.Symbol(
        "x", nonnegative=True
    )


@pytest.mark.parametrize(("ends", "length"), [((0, 4), 4), ((1, 4), 3), ((2, 2), 0), ((0, 0), 0)])
def test_the_length_of_a_range(ends: tuple[int, int], length: int) -> None:
    assert length_of(SymRange(*ends)) == length == len(SymRange(*ends).plain())
    path, (a, b) = fields(a=ends[0], b=ends[1])
    if length:
        found = length_of(SymRange(a, b))
        assert found.value == length and path.shown(found) == B - A


def test_a_loops_index_is_a_number_in_a_turn() -> None:
    path, (a, b) = fields(a=3, b=4)
    loop = loop_over(path, b)
    index = path.fields.index(loop.symbol)
    expr = path.space.multiply(index, a.expr)
    assert (
        path.fields.at(expr, {loop.symbol: 2}) is (2 * a).expr and loop.free and str(loop) == "i in range(b)"
    )
    rest = path.space.modulo(expr, b.expr)
    assert path.fields.at(rest, {loop.symbol: 2}) is (2 * a % b).expr
    assert str(Loop(path, "i", SymRange(1, 5), 4)) == "i in range(1, 5)" and not loop_over(path, 5).free


def test_tests_of_the_index_tell_turns_apart_and_tests_of_sizes_do_not() -> None:
    path, (a, b) = fields(a=3, b=4)
    loop = loop_over(path, b)
    path.loops.append(loop)
    index = path.fields.index(loop.symbol)
    path.open.append(loop)
    for loop.place in range(4):
        path.tested("i < a", loop.place < 3, Relation("<", (index, a.expr)))
        path.tested("i < b", True, Relation("<", (index, b.expr)))
        path.tested("a > 2", True, Relation(">", (a.expr, path.space.constant(2))))
        path.tested("kinds[i] == 'x'", loop.place == 1)
        path.tested("flag", True)
    path.open.clear()
    assert [text for text in loop.tests if loop.decides(text)] == ["i < a", "i < b", "kinds[i] == 'x'"]
    path.settle()
    assert path.words == {"a > 2": True, "every i in range(b) has i < b": True}


def test_a_plain_value_is_noted_once_it_is_used() -> None:
    path, (a, b) = fields(a=3, b=4)
    assert [0] * (a + 1) == [0] * 4 and path.words == {"a == 3": True} and path.pinned == {"a"}
    assert {4: "x"}[b] == "x" and path.pinned == {"a", "b"}
