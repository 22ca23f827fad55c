"""Questions about an expression's tree."""

from __future__ import annotations

import ast

import pytest

from archspec.language.trees import callee, calls, text_of


def tree(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def test_every_call_the_outer_first() -> None:
    assert [ast.unparse(call) for call in calls(tree("f(g(1), a=h()) + a.b(2)"))] == [
        "f(g(1), a=h())",
        "a.b(2)",
        "g(1)",
        "h()",
    ]


@pytest.mark.parametrize(
    ("text", "called", "said"),
    [("f(a)", "f", ""), ("a.f(b)", "", ""), ("f", "", ""), ("'f'", "", "f"), ("3", "", ""), ("''", "", "")],
)
def test_what_a_tree_is(text: str, called: str, said: str) -> None:
    assert callee(tree(text)) == called
    assert text_of(tree(text)) == said


def test_nothing_is_neither() -> None:
    assert callee(None) == text_of(None) == ""
