"""Under the reading: conditions that no config can break, by the bounds of what they compare; a draft need
not say them."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import NamedTuple

from archspec.deriving.reading import terms

_LEAST = math.ulp(0.0)  # of the numbers that are above zero


class Bounds(NamedTuple):
    """The least and the greatest that an expression may be."""

    low: float = -math.inf
    high: float = math.inf


ANY = Bounds()
Known = Mapping[str, Bounds]


def always(node: ast.expr, known: Known | None = None) -> bool:
    """Whether a condition holds whatever the config says; ``known`` are the bounds of loops' variables.

    >>> texts = ("2 ** depth != 0", "width ** 2 + 1 > 0", "width > 0")
    >>> [always(ast.parse(text, mode="eval").body) for text in texts]
    [True, True, False]
    """
    known = known or {}
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.BoolOp):
        hold = [always(part, known) for part in node.values]
        return all(hold) if isinstance(node.op, ast.And) else any(hold)
    if (
        isinstance(node, ast.Call)
        and terms.text(node.func) == "all"
        and isinstance(node.args[0], ast.GeneratorExp)
    ):
        inner = dict(known)
        for loop in node.args[0].generators:
            inner |= counters(loop.target, loop.iter, inner)
        return always(node.args[0].elt, inner)
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return False
    op, left, right = node.ops[0], node.left, node.comparators[0]
    if terms.text(left) == terms.text(right):
        return isinstance(op, ast.Eq | ast.GtE | ast.LtE)
    one, two = bounds(left, known), bounds(right, known)
    if isinstance(op, ast.NotEq):
        return one.low > two.high or one.high < two.low or (_is_zero(right) and _nonzero(left, known))
    if isinstance(op, ast.Gt | ast.GtE):
        one, two = two, one
    return one.high < two.low or (isinstance(op, ast.LtE | ast.GtE) and one.high == two.low)


def counters(target: ast.expr, iterable: ast.expr, known: Known) -> dict[str, Bounds]:
    """The bounds of a loop's variables that count."""
    if not isinstance(iterable, ast.Call) or not isinstance(iterable.func, ast.Name):
        return {}
    if (
        iterable.func.id == "enumerate"
        and isinstance(target, ast.Tuple)
        and isinstance(target.elts[0], ast.Name)
    ):
        return {target.elts[0].id: Bounds(0)}
    if iterable.func.id != "range" or not isinstance(target, ast.Name) or len(iterable.args) > 2:
        return {}
    first = bounds(iterable.args[0], known).low if len(iterable.args) == 2 else 0
    return {target.id: Bounds(first, bounds(iterable.args[-1], known).high - 1)}


def for_all(node: ast.expr, target: ast.expr, iterable: ast.expr) -> ast.expr:
    """The condition that another one holds in every turn of a loop, which may have none.

    >>> tests = ast.parse("[i < len(sizes), i in sizes]", mode="eval").body.elts
    >>> turns = terms.call("range", terms.name("depth"))
    >>> [terms.text(for_all(test, terms.name("i"), turns)) for test in tests]
    ['depth <= len(sizes)', 'all((i in sizes for i in range(depth)))']
    """
    turns = iterable.args if isinstance(iterable, ast.Call) and terms.text(iterable.func) == "range" else []
    last = (
        isinstance(node, ast.Compare)
        and isinstance(node.ops[0], ast.Lt)
        and terms.text(node.left) == terms.text(target)
    )
    if last and len(turns) == 1 and isinstance(node, ast.Compare) and len(node.comparators) == 1:
        limit = node.comparators[0]
        if not terms.names(limit) & terms.names(target) and bounds(limit, {}).low >= 0:
            return terms.compare(turns[0], ast.LtE, limit)
    loop = ast.comprehension(target, iterable, [], 0)
    return ast.Call(terms.name("all"), [ast.GeneratorExp(node, [loop])], [])


def bounds(node: ast.expr, known: Known) -> Bounds:
    """What is known of a number; of a field, nothing."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Bounds(node.value, node.value)
    if isinstance(node, ast.Name):
        return known.get(node.id, ANY)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = bounds(node.operand, known)
        return Bounds(-inner.high, -inner.low)
    if isinstance(node, ast.IfExp):
        sides = bounds(node.body, known), bounds(node.orelse, known)
        return Bounds(min(side.low for side in sides), max(side.high for side in sides))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
        return _called(node.func.id, [bounds(argument, known) for argument in node.args])
    return _calculated(node, known) if isinstance(node, ast.BinOp) else ANY


def _called(function: str, given: list[Bounds]) -> Bounds:
    if function in ("len", "sqrt"):
        return Bounds(0)
    if function == "abs":
        return Bounds(max(0, given[0].low, -given[0].high))
    if function in ("min", "max") and len(given) > 1:
        chosen = min if function == "min" else max
        return Bounds(chosen(one.low for one in given), chosen(one.high for one in given))
    if function in ("int", "floor", "ceil"):  # all of them keep what is at least 0, or 1, so
        low, high = given[0]
        return Bounds(
            math.floor(low) if math.isfinite(low) else low, math.ceil(high) if math.isfinite(high) else high
        )
    return ANY


def _calculated(node: ast.BinOp, known: Known) -> Bounds:
    one, two = bounds(node.left, known), bounds(node.right, known)
    if isinstance(node.op, ast.Add):
        return Bounds(one.low + two.low, one.high + two.high)
    if isinstance(node.op, ast.Sub):
        return Bounds(one.low - two.high, one.high - two.low)
    if isinstance(node.op, ast.Mult):
        if terms.text(node.left) == terms.text(node.right):
            return Bounds(0)
        return _product(one, two)
    if isinstance(node.op, ast.Pow):
        if one.low > 0:
            return Bounds(1 if one.low >= 1 and two.low >= 0 else _LEAST)
        return Bounds(0) if two.low == two.high and two.low % 2 == 0 and two.low >= 0 else ANY
    if isinstance(node.op, ast.Mod) and two.low > 0:
        return Bounds(0, two.high)
    if isinstance(node.op, ast.Div | ast.FloorDiv) and one.low >= 0 and two.low > 0:
        return Bounds(_LEAST if one.low > 0 and isinstance(node.op, ast.Div) else 0)
    return ANY


def _product(one: Bounds, two: Bounds) -> Bounds:
    ends = [0.0 if 0 in (a, b) else a * b for a in one for b in two]
    low = min(ends)
    return Bounds(max(low, _LEAST) if one.low > 0 and two.low > 0 else low, max(ends))


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _nonzero(node: ast.expr, known: Known) -> bool:
    """Whether a product has no factor that may be zero."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _nonzero(node.left, known) and _nonzero(node.right, known)
    inner = bounds(node, known)
    return inner.low > 0 or inner.high < 0
