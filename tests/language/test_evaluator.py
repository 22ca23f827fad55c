"""Values of expressions of the spec language, and the places of their errors."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from archspec.errors import Place, Source
from archspec.language.evaluator import Evaluator
from archspec.language.expression import EvaluationError, parse
from archspec.language.yaml_reader import Scalar

NAMES: dict[str, Any] = {"n": 6, "x": 1.5, "flag": True, "kind": "full", "none": None, "items": [2, 3, 5]}

VALUES: list[tuple[str, Any]] = [
    ("1 + 2 * 3", 7),
    ("n - 10", -4),
    ("-7 // 2", -4),
    ("7 % 3", 1),
    ("7 / 2", 3.5),
    ("2 ** 5", 32),
    ("2 ** -1", 0.5),
    ("-n", -6),
    ("+n", 6),
    ("int(x * n)", 9),
    ("int(-1.5)", -1),
    ("round(2.5)", 2),
    ("round(7.126, 2)", 7.13),
    ("ceil(x)", 2),
    ("floor(x)", 1),
    ("sqrt(9)", 3.0),
    ("log2(8)", 3.0),
    ("abs(2 - n)", 4),
    ("min(n, 4)", 4),
    ("max(items)", 5),
    ("sum(items)", 10),
    ("sum([[1], [2]], [])", [1, 2]),
    ("prod(items)", 30),
    ("len(items)", 3),
    ("any(i > 4 for i in items)", True),
    ("all(i > 4 for i in items)", False),
    ("sorted([3, 1])", [1, 3]),
    ("list(range(n, 0, -2))", [6, 4, 2]),
    ("list(reversed(items))", [5, 3, 2]),
    ("list(zip(items, range(3)))", [(2, 0), (3, 1), (5, 2)]),
    ("list(enumerate(items))", [(0, 2), (1, 3), (2, 5)]),
    ("nth_prime(6, 2)", 11),
    ("str(n) + kind", "6full"),
    ("is_list(items)", True),
    ("is_list(kind)", False),
    ("is_int(n)", True),
    ("is_int(flag)", False),
    ("items[0]", 2),
    ("items[-1]", 5),
    ("items[1:]", [3, 5]),
    ("items[::-1]", [5, 3, 2]),
    ("items[:n]", [2, 3, 5]),
    ("[0] * 3 + items", [0, 0, 0, 2, 3, 5]),
    ("(1, n)", [1, 6]),
    ("[i * j for i in items for j in (1, 10) if i != 3]", [2, 20, 5, 50]),
    ("[a + b for a, b in [[1, 2], [3, 4]]]", [3, 7]),
    ("{str(i): i for i in items}", {"2": 2, "3": 3, "5": 5}),
    ("{'a': n}['a']", 6),
    ("{'a': n}.get('b', 7)", 7),
    ("n if flag else 0", 6),
    ("0 if none is None else none", 0),
    ("flag and n", 6),
    ("none or n", 6),
    ("not items", False),
    ("1 < n < 7", True),
    ("1 < n < 3", False),
    ("n == 6.0", True),
    ("none is not None", False),
    ("kind in ['full', 'linear']", True),
    ("3 not in items", False),
    ("kind.startswith('fu')", True),
    ("kind.endswith('x')", False),
    ("'a-b'.split('-')", ["a", "b"]),
    ("' A '.strip().lower()", "a"),
    ("items.index(3)", 1),
    ("items.count(9)", 0),
]

FAILURES: list[tuple[str, int, str]] = [
    ("1 + nope", 5, "nope is not known"),
    ("1 + twice(2)", 5, "twice is not a function of the spec language"),
    ("2 + n // 0", 5, "division by zero in `n // 0`"),
    ("n % 0", 1, "division by zero in `n % 0`"),
    ("items[3]", 1, "`items` has 3 items, item 3 is wanted, counted from 0"),
    ("items['a']", 1, "list indices must be integers"),
    ("n[0]", 1, "`n` is the number 6, not a list"),
    ("1 + none", 5, "`none` is null"),
    ("kind % 2", 1, "a text is not divided"),
    ("kind < n", 1, "'<' not supported"),
    ("str(items)", 1, "a list is not text"),
    ("int('six')", 1, "invalid literal"),
    ("[a for a, b in items]", 8, "`(a, b)` does not match what the loop gives"),
    ("n.lower()", 1, ".lower does not apply to the number 6"),
    ("kind.index('f')", 1, ".index does not apply to the text 'full'"),
    ("kind.split(sep='l')", 1, ".split takes no keywords"),
    ("items.size", 1, "size is not a field of a list"),
    ("{**none}", 1, "is not allowed inside braces"),
    ("{items: 1}", 2, "`items` is a list, not a name"),
    ("2 ** 10000", 1, "the power is too large"),
    ("(2 ** 2000) * (2 ** 2000) * (2 ** 2000)", 1, "is too large"),
    ("(-8) ** 0.5", 1, "is not a real number"),
    ("[0] * 2000000", 1, "a list of more than 1,000,000 items"),
    ("[0] * 600000 + [0] * 600000", 1, "a list of more than 1,000,000 items"),
    ("range(10 ** 30)", 1, "the range is too long"),
    ("prod([2] * 5000)", 1, "the product is too large"),
    ("round(1.0, 500)", 1, "so many digits no number has"),
    ("nth_prime(0, 10 ** 9)", 1, "the prime is too far away"),
    ("[0 for i in range(10 ** 9)]", 13, "more than"),
]


class Named(Evaluator):
    def name(self, name: str, node: ast.Name) -> Any:
        return NAMES[name] if name in NAMES else super().name(name, node)


def value(text: str) -> Any:
    place = Place(Source("toy.yaml", text), 1, 1)
    return Named().evaluate(parse(Scalar(text, place, False, text)))


@pytest.mark.parametrize(("text", "expected"), VALUES, ids=[text for text, _ in VALUES])
def test_values_are_pythons(text: str, expected: Any) -> None:
    found = value(text)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize(("text", "column", "message"), FAILURES, ids=[text for text, *_ in FAILURES])
def test_failures_name_their_place(text: str, column: int, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        value(text)
    problem = caught.value.problem()
    assert message in problem.message
    assert problem.place is not None and (problem.place.line, problem.place.column) == (1, column)


def test_a_condition_is_read_up_to_what_decides_it() -> None:
    assert value("none is None or none > 3") is True
    assert value("none is not None and none > 3") is False
    assert value("1 if flag else nope") == 1
    assert value("2 < 1 < nope") is False
