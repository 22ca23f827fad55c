"""Numbers of a formula: the value is Python's, the expression SymPy's, and both say the same."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from archspec.symbolic.numbers import SymRange
from archspec.symbolic.values import Guard, Loop, Sym, at_turn, bare, expr_of, length_of, syms_in

A, B = sympy.symbols("a b", integer=True, nonnegative=True)
BINARY: list[Callable[[Any, Any], Any]] = [
    *(operator.add, operator.sub, operator.mul),
    *(operator.truediv, operator.floordiv, operator.mod),
]


def here(expr: Any, a: int, b: int) -> Any:
    return expr.subs({A: a, B: b})


@given(st.integers(0, 60), st.integers(1, 9), st.sampled_from(BINARY), st.booleans())
def test_an_operation_is_done_on_the_value_and_on_the_expression(
    a: int, b: int, operation: Callable[[Any, Any], Any], plain: bool
) -> None:
    for left, right in ((Sym(a, A), b if plain else Sym(b, B)), (a if plain else Sym(a, A), Sym(b, B))):
        found = operation(left, right)
        assert found.value == operation(a, b)
        assert here(found.expr, a, b) == sympy.Rational(operation(sympy.Integer(a), sympy.Integer(b)))


@given(st.integers(-9, 9), st.integers(-9, 9))
def test_comparisons_are_those_of_the_values(a: int, b: int) -> None:
    left, right = Sym(a, A), Sym(b, B)
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        assert compare(left, right) is compare(a, b) is compare(left, b) is compare(a, right)
    assert bool(left) is bool(a) and hash(left) == hash(a) and (-left).value == -a and (+left).value == a


def test_a_result_depends_on_the_loops_and_guards_of_both_sides() -> None:
    loops = [Loop(name, 0, 4, 4) for name in "ij"]
    guards = [Guard(f"{loop.variable} < 2", True, loop) for loop in loops]
    one, other = (
        Sym(1, loop.symbol, frozenset({loop}), frozenset({guard}))
        for loop, guard in zip(loops, guards, strict=True)
    )
    assert (one + other).loops == frozenset(loops) and (2 * one).loops == frozenset(loops[:1])
    assert (one * other).guards == frozenset(guards)


def test_texts_and_lists_are_plain() -> None:
    assert (Sym("a", None) + "b").value == "ab" and ("a" + Sym("b", None)).expr is None
    assert [1, 2] * Sym(2, A) == [1, 2, 1, 2]


def test_a_float_is_the_decimal_number_that_it_is_written_as() -> None:
    assert expr_of(0.1) == sympy.Rational(1, 10) and expr_of(True) == 1 and expr_of(float("inf")) is sympy.nan


@pytest.mark.parametrize(
    ("ends", "length"), [((0, 4), 4), ((1, 4), 3), ((2, 2), 0), ((0, 0), 0), ((3, 9, 2), 3)]
)
def test_the_length_of_a_range(ends: tuple[int, ...], length: int) -> None:
    plain = SymRange(*ends)
    assert length_of(plain) == length == len(plain.plain())
    if len(ends) == 2 and length:
        found = length_of(SymRange(Sym(ends[0], A), Sym(ends[1], B)))
        assert found.value == length and found.expr == B - A


def test_what_holds_symbolic_numbers() -> None:
    number = Sym(3, A)
    assert bare([number, (4, number), SymRange(0, number)]) == [3, [4, 3], range(3)]
    assert syms_in([1, [number, [number]]]) == [number, number] and syms_in("a") == []
    loop = Loop("i", 0, number, 3)
    loop.index = 2
    assert at_turn(A * loop.symbol, [loop]) == 2 * A and loop.free and str(loop) == "i in range(a)"
    assert str(Loop("i", 1, 5, 4)) == "i in range(1, 5)" and not Loop("i", 1, 5, 4).free
