"""Closed counts of guards, compared with counting the iterations one by one."""

from __future__ import annotations

import operator
from typing import Any

import pytest
import sympy
from hypothesis import assume, given
from hypothesis import strategies as st
from random_specs import toy

from archspec.configs.scope import Scope
from archspec.symbolic.assumptions import Assumptions
from archspec.symbolic.builder import SymbolicBuilder
from archspec.symbolic.loops import Loop
from archspec.symbolic.path_conditions import SymRange
from archspec.symbolic.repetitions import Repetitions, SymbolicTensor, symbolic_tensors

START, STOP, EDGE, PERIOD = sympy.symbols("start stop edge period", integer=True, nonnegative=True)
OPERATORS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
SIGNS: dict[str, Any] = dict(zip(("<", "<=", ">", ">=", "==", "!="), OPERATORS, strict=True))


def loop_of(start: int, stop: int) -> tuple[Repetitions, Loop]:
    notes = Assumptions()
    ends = SymRange(notes.field("start", start) if start else 0, notes.field("stop", stop))
    return Repetitions(notes), Loop(notes.space, "i", ends, stop - start)


@given(
    st.integers(0, 6), st.integers(1, 20), st.integers(0, 25), st.integers(-3, 3),
    st.sampled_from(sorted(SIGNS)), st.booleans(),
)  # fmt: skip
def test_a_threshold_counts_the_iterations(
    start: int, turns: int, edge: int, shift: int, sign: str, flipped: bool
) -> None:
    stop = start + turns
    counter, loop = loop_of(start, stop)
    inside = start <= edge - shift < stop
    assume(inside or sign not in ("==", "!="))  # the formula assumes that there is the iteration
    sides = (loop.symbol + shift, EDGE)
    test = SIGNS[sign]
    held = sum(1 for i in range(start, stop) if (test(edge, i + shift) if flipped else test(i + shift, edge)))
    found = counter.count_closed((sign, *(reversed(sides) if flipped else sides)), loop)
    assert found is not None
    at = {START: start, STOP: stop, EDGE: edge}
    assert [count.subs(at) for count in found] == [held, turns - held]


@given(
    st.integers(0, 6), st.integers(1, 30), st.integers(1, 7), st.integers(0, 6), st.integers(-4, 4),
    st.sampled_from(["==", "!="]),
)  # fmt: skip
def test_a_modulus_counts_the_iterations(
    start: int, turns: int, period: int, rest: int, shift: int, sign: str
) -> None:
    assume(rest < period)
    stop = start + turns
    counter, loop = loop_of(start, stop)
    relation = (sign, sympy.Mod(loop.symbol + shift, PERIOD), EDGE)
    held = sum(1 for i in range(start, stop) if SIGNS[sign]((i + shift) % period, rest))
    found = counter.count_closed(relation, loop)
    assert found is not None and counter.notes.words == {"edge < period": True}
    at = {START: start, STOP: stop, EDGE: rest, PERIOD: period}
    assert [count.subs(at) for count in found] == [held, turns - held]


@pytest.mark.parametrize("left", ["i**2", "2*i", "Mod(2*i, period)"])
def test_other_tests_have_no_closed_count(left: str) -> None:
    counter, loop = loop_of(0, 5)
    expr = sympy.sympify(left, {"i": loop.symbol, "period": PERIOD, "Mod": sympy.Mod})
    assert counter.count_closed(("==", expr, EDGE), loop) is None


SPEC = """
model_type: toy
config:
  n: 9
  k: 3
  a: 4
fixed:
  late: = [i >= k for i in range(n)]
  kinds: '= ["late" if i >= k else "early" for i in range(n)]'
modules:
  Layer(i):
    dense: {dense}
architectures:
  ToyModel:
    layers: Layer(i) for i in range(n)
"""


def rows(dense: str, **values: int) -> tuple[list[SymbolicTensor], SymbolicBuilder]:
    builder = SymbolicBuilder(Scope(toy(SPEC.format(dense=dense)), values))
    return symbolic_tensors(builder.build("ToyModel"), builder), builder


@pytest.mark.parametrize(
    ("dense", "guard", "repetition"),
    [
        ("Parameter(a)", "", "n"),
        ("Parameter(a) if i < k else None", "i < k", "Min(k, n)"),
        ("Parameter(a) if i >= k else None", "i >= k", "Max(0, -k + n)"),
        ("Parameter(a) if i % 2 == 1 else None", "i % 2 == 1", "ceiling(n/2 - 1/2)"),
        ("Parameter(a) if i % k == 0 else Parameter(a)", "", "n"),
        ("Parameter(a) if i * i < k else None", "i * i < k", "L_dense"),
    ],
)
def test_rows_of_a_loop(dense: str, guard: str, repetition: str) -> None:
    found, builder = rows(dense)
    assert [(row.name, row.guard, str(row.repetition)) for row in found] == [
        ("layers.{i}.dense", guard, repetition)
    ]
    defined = {name: value for name, (_, value, _) in builder.notes.definitions.items()}
    assert defined == ({"L_dense": 2} if repetition == "L_dense" else {})


def at(expr: Any, **values: int) -> int:
    return int(expr.subs({symbol: values[symbol.name] for symbol in expr.free_symbols}))


def test_sizes_that_depend_on_the_index_are_added_up() -> None:
    (row,), builder = rows("Parameter(a * i)")
    for a, n in ((4, 9), (5, 6), (1, 1)):
        assert at(row.numel, a=a, n=n) == sum(a * i for i in range(n))
    assert not builder.notes.words, "a sum over all iterations holds for any number of them"


def test_iterations_of_different_sizes_under_a_guard_are_counted_one_by_one() -> None:
    found, builder = rows("Parameter(a, i) if i < 2 else Parameter(a)", n=4)
    counts = [(str(row.repetition), at(row.numel, a=7, n=4)) for row in found]
    assert counts == [("2", 7), ("Max(0, n - 2)", 14)] and builder.notes.words["n == 4"]


def test_rows_on_both_sides_of_a_guard_lose_it() -> None:
    found, _ = rows("Linear(a, 2, bias=i < k)")
    weight, bias = sorted(found, key=lambda row: row.name, reverse=True)
    assert (weight.guard, str(weight.repetition)) == ("", "n") and "i < k" in bias.guard


@pytest.mark.parametrize(
    ("asked", "noted"), [("late[i]", "not (late[i])"), ("kinds[i] == 'late'", "kinds[i] != 'late'")]
)
def test_a_test_with_one_outcome_in_all_layers_is_a_condition(asked: str, noted: str) -> None:
    _, builder = rows(f"Parameter(a) if {asked} else None", k=9)
    assert builder.notes.words == {f"{noted} for every i in range(n)": True}


def test_numbers_in_the_names_of_iterations_stay() -> None:
    text = """model_type: toy
config: {levels: 4, width: 8, channels: [5, 6, 7]}
architectures:
  Toy:
    "{i}": Linear(c, width) for i, c in enumerate(channels)
    "{i + 3}": Linear(width if i else channels[-1], width) for i in range(levels - 3)
"""
    builder = SymbolicBuilder(Scope(toy(text), {}))
    found = symbolic_tensors(builder.build("Toy"), builder)
    assert [row.name for row in found if row.name.endswith("weight")] == [f"{i}.weight" for i in range(4)]
