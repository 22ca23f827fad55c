"""Under the reading: the one thing that code asks of a number's bits, whether it is a power of two."""

from __future__ import annotations

import ast

from archspec.deriving.reading import terms


def several(op: type[ast.operator], left: ast.expr | None, right: ast.expr | None) -> ast.expr | None:
    """`x & (x - 1)` as what counts of it, whether it is 0: it is for 0 and for the powers of two.

    >>> terms.text(several(ast.BitAnd, terms.name("n"), ast.parse("n - 1", mode="eval").body))
    'n < 0 or (n > 0 and 2 ** int(log2(n)) != n)'
    """
    if op is not ast.BitAnd or left is None or right is None:
        return None
    if terms.text(right) != terms.text(terms.binary(ast.Sub, left, terms.constant(1))):
        return None
    power = terms.binary(ast.Pow, terms.constant(2), terms.call("int", terms.call("log2", left)))
    above = terms.both(
        [terms.compare(left, ast.Gt, terms.constant(0)), terms.compare(power, ast.NotEq, left)]
    )
    found = terms.either([terms.compare(left, ast.Lt, terms.constant(0)), above])
    found.truth = True  # type: ignore[attr-defined]  # no number to go on with
    return found
