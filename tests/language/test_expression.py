"""Expressions of the spec language, and the errors of other texts."""

from __future__ import annotations

import ast

import pytest

from archspec.errors import Place, Source, SpecError
from archspec.language.expression import Expression, callee, calls, names, parse, text_of
from archspec.language.yaml_reader import Scalar


def parsed(text: str, line: int = 1, column: int = 1, skip: int = 0, quoted: bool = False) -> Expression:
    source = Source("toy.yaml", "\n" * (line - 1) + " " * (column - 1) + text)
    return parse(Scalar(text, Place(source, line, column), quoted, text), "config.a", skip)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("1 +", 1, 1, "not an expression: invalid syntax"),
        ("f(a,, b)", 1, 5, "not an expression: invalid syntax"),
        ("a +\n  ) b", 2, 3, "not an expression: unmatched ')'"),
        ("lambda: 1", 1, 1, "a lambda is not part of the spec language"),
        ("1 + (a := 2)", 1, 6, "`:=` is not part of the spec language"),
        ("a + f'{b}'", 1, 5, "an f-string is not part of the spec language"),
        ("f(*a)", 1, 3, "`*` is not part of the spec language"),
        ("a + ~b", 1, 5, "the operator Invert is not part of the spec language"),
        ("a + (b @ 2)", 1, 6, "the operator MatMult is not part of the spec language"),
        ("1j", 1, 1, "1j is not part of the spec language"),
        ("b''", 1, 1, "b'' is not part of the spec language"),
        ("a or true", 1, 6, "true is not defined"),
        ("__import__('os')", 1, 1, "__import__ is not part of the spec language"),
        ("a.__class__", 1, 1, "__class__ is not part of the spec language"),
        ("a.pop()", 1, 1, "there is no method .pop()"),
        ("a[0]()", 1, 1, "only a name can be called"),
        ("(" * 301 + ")" * 301, 1, 1, "not an expression: nested deeper than 300 levels"),
        ("-" * 70 + "1", 1, 1, "an expression nested deeper than 60 levels"),
        ("1" + " + 1" * 10_000, 1, 1, "an expression longer than"),
    ],
    ids=lambda part: str(part)[:20],
)
def test_texts_that_are_not_expressions(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        parsed(text)
    [problem] = caught.value.problems
    assert problem.message.startswith(message)
    assert problem.place is not None and (problem.place.line, problem.place.column) == (line, column)
    assert problem.path == "config.a" and problem.help
    assert problem.help == "write True" or "true" not in text


@pytest.mark.parametrize(
    ("text", "options", "line", "column", "width"),
    [
        ("aa + bb", {}, 1, 6, 2),
        ("aa + bb", {"line": 3, "column": 7}, 3, 12, 2),
        ("= aa + bb", {"skip": 1, "column": 5}, 1, 12, 2),
        ("aa + bb", {"quoted": True}, 1, 7, 2),
        ("'é' + bb", {}, 1, 7, 2),  # two bytes, one character
        ("aa +\n  bb", {}, 2, 3, 2),
    ],
)
def test_a_part_of_an_expression_knows_its_place(
    text: str, options: dict[str, int], line: int, column: int, width: int
) -> None:
    expression = parsed(text, **options)  # type: ignore[arg-type]
    assert isinstance(expression.tree, ast.BinOp)
    place = expression.place_of(expression.tree.right)
    assert (place.line, place.column, place.width) == (line, column, width)


def test_names_are_those_that_are_read() -> None:
    assert names(parsed("f(a, b=c.d) + [e for e in 'text' if g]").tree) == {"f", "a", "c", "e", "g"}


def test_calls_are_yielded_the_outer_first() -> None:
    found = calls(ast.parse("f(g(1), a=h()) + a.b(2)"))
    assert [ast.unparse(call) for call in found] == ["f(g(1), a=h())", "a.b(2)", "g(1)", "h()"]


@pytest.mark.parametrize(
    ("text", "called", "constant"),
    [("f(a)", "f", ""), ("a.f(b)", "", ""), ("f", "", ""), ("'f'", "", "f"), ("3", "", ""), ("''", "", "")],
)
def test_callee_and_constant_of_a_tree(text: str, called: str, constant: str) -> None:
    tree = ast.parse(text, mode="eval").body
    assert (callee(tree), text_of(tree)) == (called, constant)
    assert callee(None) == text_of(None) == ""
