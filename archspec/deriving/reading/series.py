"""Under the reading: what becomes of an expression that is put into itself, turn by turn."""

from __future__ import annotations

import ast
from collections.abc import Callable

from archspec.deriving.reading import terms


def added(step: ast.IfExp, mark: str) -> ast.expr | None:
    """`carried + k if condition else carried` as `carried + (k if condition else 0)`."""
    for one, other in ((step.body, step.orelse), (step.orelse, step.body)):
        plain = isinstance(other, ast.Name) and other.id == mark and mark not in terms.names(step.test)
        if (
            plain
            and isinstance(one, ast.BinOp)
            and isinstance(one.op, ast.Add | ast.Sub)
            and terms.text(one.left) == mark
        ):
            by = terms.conditional(
                step.test, *((one.right, terms.constant(0))[:: 1 if one is step.body else -1])
            )
            return ast.BinOp(one.left, one.op, by)
    return None


def first_turn(step: ast.expr, mark: str, init: ast.expr, counter: str, start: ast.expr) -> ast.expr:
    """`x if i > 0 else carried`: what is carried counts in the first turn only, where it is the value before
    the loop."""
    if not isinstance(step, ast.IfExp) or mark in terms.names(step.body) | terms.names(step.test):
        return step
    if terms.text(step.test) not in (f"{counter} > {terms.text(start)}", f"{counter} != {terms.text(start)}"):
        return step
    return ast.IfExp(step.test, step.body, terms.substitute(step.orelse, {mark: init}))


def divided(step: ast.expr, mark: str, inner: str) -> Callable[[ast.expr, ast.expr], ast.expr] | None:
    """`(carried + a) // s + b`, as of sizes that strided layers leave: from the first the one after n turns.

    With c for `a + b * s`, each turn makes `(carried + c) // s`, and n of them `(first + c + c * s + …) // s
    ** n`; ``inner`` is the name of the sum's counter.

    >>> after = divided(ast.parse("(x + 2 - k) // s + 1", mode="eval").body, "x", "j")
    >>> terms.text(after(terms.name("width"), terms.name("n")))
    '(width + sum([(2 - k + s) * s ** j for j in range(n)])) // s ** n'
    """
    found: list[ast.BinOp] = []

    def division(node: ast.expr) -> bool:
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.FloorDiv)
            and mark not in terms.names(node.right)
        ):
            found.append(node)
            return True
        return False

    outer = offset(step, division, mark)
    if outer is None:
        return None
    by = found[0].right
    within = offset(found[0].left, lambda node: isinstance(node, ast.Name), mark)
    if within is None:
        return None
    each = terms.binary(ast.Add, within, terms.binary(ast.Mult, outer, by))

    def after(first: ast.expr, turns: ast.expr) -> ast.expr:
        power = terms.binary(ast.Pow, by, terms.name(inner))
        loop = ast.comprehension(terms.name(inner), terms.call("range", turns), [], 0)
        total = terms.call("sum", ast.ListComp(terms.binary(ast.Mult, each, power), [loop]))
        return terms.binary(
            ast.FloorDiv, terms.binary(ast.Add, first, total), terms.binary(ast.Pow, by, turns)
        )

    return after


def offset(node: ast.expr, core: Callable[[ast.expr], bool], mark: str) -> ast.expr | None:
    """What is added to the part of an expression that holds a name, where nothing else is done to it."""
    if core(node):
        return terms.constant(0)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub):
        return None
    left, right = (mark in terms.names(side) for side in (node.left, node.right))
    if left and not right and (inner := offset(node.left, core, mark)) is not None:
        return terms.binary(type(node.op), inner, node.right)
    if (
        right
        and not left
        and isinstance(node.op, ast.Add)
        and (inner := offset(node.right, core, mark)) is not None
    ):
        return terms.binary(ast.Add, node.left, inner)
    return None
