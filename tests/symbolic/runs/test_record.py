"""Values that record what a spec asks of them, and numbers that take another path."""

from __future__ import annotations

import math

import pytest

from archspec.symbolic.expressions import Condition
from archspec.symbolic.path_conditions import Number, concrete_values
from archspec.symbolic.runs.record import LENGTH, Items, Read, Run
from archspec.symbolic.runs.solver import Solver

PLAIN = {"width": 48, "heads": 4}


def lifted(run: Run) -> list[Number]:
    return [run.lift((name,), value) for name, value in PLAIN.items()]


def test_a_recorded_number_behaves_as_a_python_number() -> None:
    number = Run({}).lift(("width",), 7)
    assert number + 1 == 8 and concrete_values(number) == 7 and type(concrete_values(number)) is int
    assert [*range(number)][-1] == 6 and [0] * number == [0] * 7 and f"{number}" == "7"


def test_arithmetic_keeps_the_fields() -> None:
    run = Run({})
    width, heads = lifted(run)
    size = (width + 2) // heads * 3 - 1
    assert isinstance(size, Number) and size == 35 and size.expr.axes == {("width",), ("heads",)}
    part = math.floor(run.lift(("ratio",), 1.5) * width)
    assert isinstance(part, Number) and part.value == 72


def test_each_comparison_is_one_path_condition() -> None:
    run = Run({})
    width, _ = lifted(run)
    for _ in range(2):
        assert width % 5 == 3 and not width < 9 and width
    assert [(one.op, one.holds) for one in run.conditions()] == [("==", True), ("<", False), ("==", False)]
    assert width < 2**60 and len(run.conditions()) == 3  # not a condition: configs are far smaller


def test_a_list_has_a_length() -> None:
    items = Run({}).lift(("sizes",), [3, "a", None, [1]])
    assert isinstance(items, Items) and items == [3, "a", None, [1]]
    assert items.length == 4 and items.length.expr.axes == {("sizes", LENGTH)}
    assert items[0].expr.axes == {("sizes", 0)} and items[3][0].expr.axes == {("sizes", 3, 0)}


def test_a_text_records_the_texts_it_is_compared_with() -> None:
    run, path = Run({}), ("text_config", "kinds")
    kinds = run.lift(path, ["wide"])
    assert kinds[0] != "plain" and kinds[0] in ("narrow", "wide")
    assert run.notes == [Read(path, "plain"), Read(path, "narrow"), Read(path, "wide")]


def solved(run: Run, wanted: Condition) -> dict[str, float]:
    held = [one for one in run.conditions() if one != wanted.negate()]
    found = Solver(run).solve(wanted, (), held, wanted.axes)
    return {path[0]: value for path, value in (found or {}).items()}


def test_a_condition_is_flipped_and_the_others_hold() -> None:
    run = Run({})
    width, heads = lifted(run)
    assert width % heads == 0 and width > 40 and width // heads < 13
    numbers = PLAIN | solved(run, run.conditions()[-1].negate())
    assert numbers["width"] % numbers["heads"] == 0 and numbers["width"] > 40
    assert numbers["width"] // numbers["heads"] >= 13


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (lambda width, heads: max(width, heads * 3) == width, lambda width, heads: width < heads * 3),
        (lambda width, heads: math.ceil(width / heads) < 13, lambda width, heads: -(-width // heads) >= 13),
        (lambda width, heads: math.trunc(width * 1.5) == 72, lambda width, heads: int(width * 1.5) != 72),
    ],
)
def test_rounding_and_extremes_are_flipped(test: object, expected: object) -> None:
    run = Run({})
    assert test(*lifted(run))  # type: ignore[operator]
    numbers = PLAIN | solved(run, run.conditions()[-1].negate())
    assert expected(**numbers) and numbers != PLAIN  # type: ignore[operator]


def test_what_cannot_be_is_not_found() -> None:
    run = Run({})
    width, _ = lifted(run)
    assert width % 2 == 0 and width != 5
    assert solved(run, run.conditions()[-1].negate()) == {}


def test_zeros_come_only_if_nothing_else_does() -> None:
    run = Run({})
    width, _ = lifted(run)
    assert not width < 40
    assert 1 <= solved(run, run.conditions()[-1].negate())["width"] < 40
    assert width > 0
    assert solved(run, run.conditions()[-1].negate()) == {}  # the width must be at least 40
    above = run.conditions()[-1].negate()
    assert Solver(run).solve(above, (), (), above.axes) == {("width",): 0}
