"""Questions that many ask of an expression's tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield every call in a tree, the outer before the inner."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def callee(tree: ast.AST | None) -> str:
    """Return the name that is called; '' for a tree that is not a call of a name.

    >>> callee(ast.parse("Linear(a, b)", mode="eval").body), callee(ast.parse("a.b(c)", mode="eval").body)
    ('Linear', '')
    """
    return tree.func.id if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else ""


def text_of(tree: ast.AST | None) -> str:
    """Return the text of a constant; '' for any other tree."""
    return tree.value if isinstance(tree, ast.Constant) and isinstance(tree.value, str) else ""
