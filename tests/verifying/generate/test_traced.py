"""Numbers that know what they were computed from, and the conditions that they leave behind."""

from __future__ import annotations

import math

from archspec.verifying.generate.runs import Run
from archspec.verifying.generate.solver import Solver
from archspec.verifying.generate.traced import LENGTH, Condition, Items, Read, Trace, Traced, plain


def test_a_traced_number_is_a_number() -> None:
    number = Trace().lifted(("width",), 7)
    assert number + 1 == 8 and plain(number) == 7 and type(plain(number)) is int
    assert [*range(number)][-1] == 6 and [0] * number == [0] * 7 and f"{number}" == "7"


def test_what_is_computed_is_traced() -> None:
    trace = Trace()
    width, heads = trace.lifted(("width",), 48), trace.lifted(("heads",), 4)
    size = (width + 2) // heads * 3 - 1
    assert isinstance(size, Traced) and size == 35
    assert size.term.fields == {("width",), ("heads",)}
    part = math.floor(trace.lifted(("ratio",), 1.5) * width)
    assert isinstance(part, Traced) and part.value == 72
    assert type(2**width) is int  # no solver says what that is not


def test_comparisons_are_path_conditions_once_each() -> None:
    run = Run({}, None)
    width = run.trace.lifted(("width",), 48)
    for _ in range(2):
        assert width % 5 == 3 and not width < 9 and width
    assert [(one.operator, one.outcome) for one in run.path()] == [("==", True), ("<", False), ("==", False)]
    assert width < 2**60 and len(run.path()) == 3  # a limit says nothing


def test_a_list_has_a_length() -> None:
    items = Trace().lifted(("sizes",), [3, "a", None, [1]])
    assert isinstance(items, Items) and items == [3, "a", None, [1]]
    assert items.length == 4 and items.length.term.fields == {("sizes", LENGTH)}
    assert items[0].term.fields == {("sizes", 0)} and items[3][0].term.fields == {("sizes", 3, 0)}


def test_a_text_tells_what_it_is_compared_with() -> None:
    trace = Trace()
    kinds = trace.lifted(("text_config", "kinds"), ["wide"])
    assert kinds[0] != "plain" and kinds[0] in ("narrow", "wide")
    path = ("text_config", "kinds")
    assert trace.notes == [Read(path, "plain"), Read(path, "narrow"), Read(path, "wide")]


def solved(run: Run, wanted: Condition) -> dict[str, float]:
    held = [one for one in run.path() if one != wanted.turned()]
    found = Solver(run).solve(wanted, (), held, wanted.fields)
    return {path[0]: value for path, value in (found or {}).items()}


def test_a_condition_is_turned_round_and_the_others_hold() -> None:
    run = Run({}, None)
    width, heads = run.trace.lifted(("width",), 48), run.trace.lifted(("heads",), 4)
    assert width % heads == 0 and width > 40 and width // heads < 13
    last = run.path()[-1]
    found = solved(run, last.turned())
    numbers = {"width": 48, "heads": 4} | found
    assert numbers["width"] % numbers["heads"] == 0 and numbers["width"] > 40
    assert numbers["width"] // numbers["heads"] >= 13


def test_what_cannot_be_is_not_found() -> None:
    run = Run({}, None)
    width = run.trace.lifted(("width",), 48)
    assert width % 2 == 0 and width != 5
    assert solved(run, run.path()[-1].turned()) == {}


def test_zeros_come_only_where_nothing_else_will_do() -> None:
    run = Run({}, None)
    width = run.trace.lifted(("width",), 48)
    assert not width < 40
    assert 1 <= solved(run, run.path()[-1].turned())["width"] < 40
    assert width > 0
    assert solved(run, run.path()[-1].turned()) == {}  # it is to be at least 40
    above = run.path()[-1].turned()
    assert Solver(run).solve(above, (), (), above.fields) == {("width",): 0}
