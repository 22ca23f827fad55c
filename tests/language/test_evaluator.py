"""Values of expressions of the spec language, and the places of their errors: those of expressions.txt."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from archspec.errors import Place, Source
from archspec.language.evaluator import Evaluator
from archspec.language.expression import EvaluationError, parse
from archspec.language.yaml_reader import Scalar

NAMES: dict[str, Any] = {"n": 6, "x": 1.5, "flag": True, "kind": "full", "none": None, "items": [2, 3, 5]}
VALUES, FAILURES = (
    [line.split(" => ") for line in block.splitlines()[1:]]
    for block in Path(__file__).with_name("expressions.txt").read_text(encoding="utf-8").split("\n\n")
)


class Named(Evaluator):
    def name(self, name: str, node: ast.Name) -> Any:
        return NAMES[name] if name in NAMES else super().name(name, node)


def value(text: str) -> Any:
    place = Place(Source("toy.yaml", text), 1, 1)
    return Named().evaluate(parse(Scalar(text, place, False, text)))


@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_values_are_pythons(text: str, expected: str) -> None:
    assert repr(value(text)) == expected


@pytest.mark.parametrize(("text", "expected"), FAILURES)
def test_failures_name_their_place(text: str, expected: str) -> None:
    column, _, message = expected.partition(": ")
    with pytest.raises(EvaluationError) as caught:
        value(text)
    problem = caught.value.problem()
    assert message in problem.message
    assert problem.place is not None and (problem.place.line, problem.place.column) == (1, int(column))


def test_a_condition_is_evaluated_up_to_its_deciding_part() -> None:
    assert value("none is None or none > 3") is True
    assert value("none is not None and none > 3") is False
    assert value("1 if flag else nope") == 1
    assert value("2 < 1 < nope") is False
