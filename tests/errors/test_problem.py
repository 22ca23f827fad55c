"""Problems as text: the place, the line with a caret, and the help."""

from __future__ import annotations

import pytest

from archspec.errors import ArchspecError, Place, Problem, Source, SpecError, did_you_mean

SOURCE = Source("toy.yaml", "a: 1\nbc: \t2\n")


@pytest.mark.parametrize(
    ("problem", "lines"),
    [
        (Problem("it is odd"), ["it is odd"]),
        (Problem("it is odd", help="make it even"), ["it is odd", "help: make it even"]),
        (Problem("it is odd", path="config.a"), ["it is odd (in config.a)"]),
        (Problem("odd", Place(SOURCE, 1, 4)), ["toy.yaml:1:4: odd", "    a: 1", "       ^"]),
        (Problem("odd", Place(SOURCE, 2, 1, 2)), ["toy.yaml:2:1: odd", "    bc:  2", "    ^^"]),
        (Problem("odd", Place(SOURCE, 1, 4, 99)), ["toy.yaml:1:4: odd", "    a: 1", "       ^"]),
        (Problem("odd", Place(SOURCE, 9, 1)), ["toy.yaml:9:1: odd"]),
    ],
)
def test_lines_of_a_problem(problem: Problem, lines: list[str]) -> None:
    assert str(problem).splitlines() == lines


def test_a_long_line_is_cut_around_the_place() -> None:
    text = "x" * 500 + "here" + "y" * 500
    _, shown, caret = str(Problem("odd", Place(Source("toy.yaml", text), 1, 501, 4))).splitlines()
    assert len(shown) == 4 + 160
    assert shown[caret.index("^") : caret.rindex("^") + 1] == "here"


def test_an_error_has_one_problem_or_several() -> None:
    place = Place(SOURCE, 1, 1)
    assert ArchspecError("odd", place, "a", "even").problems == (Problem("odd", place, "a", "even"),)
    both = SpecError([Problem("odd"), Problem("odder", help="even")])
    assert str(both) == "odd\nodder\nhelp: even" and len(both.problems) == 2


@pytest.mark.parametrize(
    ("name", "known", "help_"),
    [
        ("hiden", ["hidden", "vocab"], "did you mean hidden?"),
        ("layer_x", ["layer_a", "layer_b", "q"], "did you mean layer_b or layer_a?"),
        ("zzz", ["b", "a"], "choose from: a, b"),
        ("zzz", map(str, range(21)), ""),
        ("zzz", [], ""),
    ],
)
def test_the_nearest_names(name: str, known: list[str], help_: str) -> None:
    assert did_you_mean(name, known) == help_
